"""A codebook: what is looked for in each record. It is public, and the custodian decides it.

    name: medical visit
    attributes:
      - name: complaint
        type: any of                     one of | any of | number | date | text
        meaning: what the patient complains of
        words: [symptom, problem]
        most: 3
        values:
          - name: breathing
            meaning: trouble with lungs or airways
            words: [breathing problems, cough]
            examples: [She has been short of breath for two days.]
      - name: age
        type: number
        unit: years
        low: 0
        high: 120

Each record is coded once, alone, under the book. The values of "one of" and "any of" are codes: they are public before
any record is seen, so a statistic on them needs no threshold, and a value that no record has is shown, too.

VAULT/codebook.yaml    the codebook of the vault, in this form
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import BadData, UnknownName, UsageError
from discreet.system.words import is_unicode

Type = Literal["text", "one of", "any of", "number", "date"]
CODED: tuple[Type, ...] = ("one of", "any of")
"""The types whose values are public."""
FILE = "codebook.yaml"
MOST_ATTRIBUTES, MOST_VALUES, LONGEST_NAME = 20, 100, 4
USUAL_MOST = 3
"""How many values of "any of" count for a unit, if the book does not say it."""
_LONGEST, _MOST_BYTES = 300, 2**20
_NAME = re.compile(r"\w[\w'&+.-]*(?: [\w'&+.-]+)*")


def _tidy(text: str) -> str:
    if not is_unicode(text):
        raise ValueError("the text is no Unicode")
    return " ".join(text.split())


def _named(text: str) -> str:
    name = _tidy(text.replace("_", " ")).casefold()  # a code is a field, whose name has an underscore for each space
    if not _NAME.fullmatch(name) or len(name.split()) > LONGEST_NAME:
        raise ValueError(f"a name has 1 to {LONGEST_NAME} words of letters and digits")
    return name


def _said(text: str) -> str:
    word = _tidy(text).casefold()
    if not word or re.search(r"[/,=()\"|]", word):
        raise ValueError("a word has letters, digits, spaces, hyphens and apostrophes alone")
    return word


Text = Annotated[str, Field(max_length=_LONGEST), AfterValidator(_tidy)]
Name = Annotated[str, Field(max_length=_LONGEST), AfterValidator(_named)]
Words = Annotated[tuple[Annotated[str, Field(max_length=_LONGEST), AfterValidator(_said)], ...], Field(max_length=100)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)

    def describe(self) -> dict[str, Any]:
        """Return it as plain data, without what is not set."""
        return self.model_dump(mode="json", exclude_defaults=True)


class CodedValue(_Part):
    """A public value of an attribute.

    Attributes:
        name: its name, in lower case.
        meaning: what it means, in a few words.
        words: other words for it, by which questions may name it.
        examples: public sentences that state it.
        threshold: the least likeness of a clause that states it, for a coder by an embedder; the attribute's if None.
    """

    name: Name
    meaning: Text = ""
    words: Words = ()
    examples: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    threshold: float | None = None


class Attribute(_Part):
    """An attribute of a codebook.

    Attributes:
        name: its name, in lower case: "complaint".
        type: "one of" or "any of" its values, or "text", "number" or "date".
        words: other words for it: "symptom".
        meaning: what it means, in a few words.
        unit: the unit of a number: "years"; empty if it has none.
        low, high: the public range of a number; None if it has none.
        values: the public values of "one of" and "any of".
        most: how many values of "any of" count for a unit, over all its records; 0 for the usual number.
        denied, past, family: whether it counts what a text denies ("no cough"), says of former times ("had asthma as a
            child"), or says of a relative.
        threshold: the least likeness of a clause that states a value; the coder's own if None.
    """

    name: Name
    type: Type = "text"
    words: Words = ()
    meaning: Text = ""
    unit: Text = ""
    low: float | None = None
    high: float | None = None
    values: Annotated[tuple[CodedValue, ...], Field(max_length=MOST_VALUES)] = ()
    most: int = Field(default=0, ge=0, le=MOST_VALUES)
    denied: bool = False
    past: bool = True
    family: bool = False
    threshold: float | None = None

    @model_validator(mode="after")
    def _check_parts(self) -> "Attribute":
        if self.values and not self.is_coded:
            raise ValueError(f"'{self.name}' has values and is '{self.type}'; with values it is 'one of' or 'any of'")
        if self.is_coded and not self.values:
            raise ValueError(f"'{self.name}' is '{self.type}' and has no values; list them under `values`")
        if self.type != "number" and (self.unit or self.low is not None or self.high is not None):
            raise ValueError(f"'{self.name}' is '{self.type}'; only a number has a unit, and a range from low to high")
        ends = [one for one in (self.low, self.high) if one is not None]
        if ends and not (len(ends) == 2 and ends[0] < ends[1]):
            raise ValueError(f"the range of '{self.name}' goes from a smaller to a larger number, low to high")
        if self.most and self.type != "any of":
            raise ValueError(f"'{self.name}' is '{self.type}'; only 'any of' has `most`")
        _check_once((word for one in self.values for word in (one.name, *one.words)), f"two values of '{self.name}'")
        return self

    @property
    def is_coded(self) -> bool:
        """Whether its values are public."""
        return self.type in CODED

    @property
    def each(self) -> int:
        """How many of its values count for a unit."""
        return (self.most or USUAL_MOST) if self.type == "any of" else 1

    @property
    def called(self) -> tuple[str, ...]:
        """Its name and its other words."""
        return (self.name, *self.words)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values."""
        return tuple(one.name for one in self.values)


class Codebook(_Part):
    """The attributes that are looked for in each record, in their order.

    Attributes:
        name: what kind of records it is for.
        attributes: the attributes.
        changed: "declared" or "not declared" if the book was changed after records were coded: whether the custodian
            declares that the change was made without a look at them. Empty if it was not changed.
        f1: of each attribute that was measured, the F1 of its codes on public labels (`codebook fit`).
        f1_of: the coder and the book that were measured (`coder_of`): the F1 of another one is unknown.
    """

    name: Text = ""
    attributes: tuple[Attribute, ...] = Field(min_length=1, max_length=MOST_ATTRIBUTES)
    changed: Literal["", "declared", "not declared"] = ""
    f1: dict[Name, Annotated[float, Field(ge=0, le=1)]] = {}
    f1_of: Annotated[str, Field(max_length=_LONGEST)] = ""

    def __hash__(self) -> int:
        return hash((self.name, self.attributes, self.changed, self.f1_of))  # a dict has no hash

    @model_validator(mode="after")
    def _check_words(self) -> "Codebook":
        _check_once((word for one in self.attributes for word in one.called), "two attributes")
        return self

    @staticmethod
    def read(path: Path) -> "Codebook":
        """Return the codebook in a file.

        Raises:
            UsageError: if the file does not exist.
            BadData: if the file holds no codebook; the error names the part and the form that is expected.
        """
        try:
            content = path.read_bytes()
            if len(content) > _MOST_BYTES:
                raise ValueError("the file is larger than 1 MiB")
            return Codebook.parse(yaml.safe_load(content.decode("utf-8-sig")))
        except FileNotFoundError:
            raise UsageError(
                f"There is no codebook at {path}. Begin with a packaged one ({', '.join(packaged_books())}): "
                "discreet codebook new BOOK.yaml --like NAME."
            ) from None
        except OSError as error:
            raise BadData(f"{path} cannot be read: {error.strerror}. Expected: a YAML file with a codebook.") from error
        except (ValueError, OverflowError, RecursionError, yaml.YAMLError) as error:
            raise BadData(f"{path} holds no codebook: {error}. Expected: {_EXAMPLE}") from error

    @staticmethod
    def parse(found: object) -> "Codebook":
        """Return the codebook that plain data describe.

        Raises:
            ValueError: if they describe none.
        """
        if not isinstance(found, dict) or "attributes" not in found:
            raise ValueError("it needs a list `attributes`")
        try:
            # The form of JSON: a YAML list is a tuple, and a number is no text.
            return Codebook.model_validate_json(json.dumps(found, default=str), strict=True)
        except ValidationError as error:
            raise ValueError("; ".join(_why(error)[:3])) from None

    def text(self) -> str:
        """Return the content of a file."""
        return str(yaml.safe_dump(self.describe(), allow_unicode=True, sort_keys=False, width=110))

    @property
    def digest(self) -> str:
        """The digest of what a coder reads: another one for another book."""
        described = json.dumps([one.describe() for one in self.attributes], sort_keys=True)
        return blake2b(described.encode(), digest_size=8).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(one.name for one in self.attributes)

    @property
    def coded(self) -> tuple[Attribute, ...]:
        """The attributes whose values are public."""
        return tuple(one for one in self.attributes if one.is_coded)

    def part(self, *, coded: bool) -> "Codebook | None":
        """Return the book of the codes alone, or of the attributes that a model states; None if it has none."""
        some = tuple(one for one in self.attributes if one.is_coded == coded)
        return self.model_copy(update={"attributes": some}) if some else None

    @property
    def assumed(self) -> tuple[str, ...]:
        """What a receipt says of the book: whether a person who saw records may have changed it."""
        said = "the codebook was changed after records were coded; that this was done without a look at them: {}"
        return (said.format(self.changed),) if self.changed else ()

    def trusted(self, names: Iterable[str], about: Sequence[object]) -> str:
        """Return what a number by the codes of some attributes takes for granted, with what is known of their errors.

        Args:
            names: the attributes.
            about: all that the codes depend on beside the texts.
        """
        f1 = self.f1 if self.f1_of == coder_of(about) else {}
        known = ", ".join(f"{name} {f1[name]:.2f}" if name in f1 else f"{name} not measured" for name in names)
        return f"that the codes are right, which no interval covers; F1 of the coder on public labels: {known}"

    @property
    def fields(self) -> dict[str, str]:
        """Its codes as fields of a record, in the form of declared fields: "category(breathing=cough/wheeze)"."""
        return {one.name.replace(" ", "_"): _as_field(one) for one in self.coded}


def coder_of(about: Sequence[object]) -> str:
    """Return the coder, its version, its embedder and the book, without how a machine rounds."""
    return " ".join(map(str, (*about[:3], *about[-1:])))


def _as_field(attribute: Attribute) -> str:
    return f"category({', '.join('='.join(filter(None, (v.name, '/'.join(v.words)))) for v in attribute.values)})"


def packaged_books() -> tuple[str, ...]:
    """Return the names of the packaged codebooks."""
    return tuple(sorted(one.stem for one in _BOOKS.glob("*.yaml")))


def find_book(name: str | Path) -> Codebook:
    """Return the packaged codebook with a name, or the one in a file.

    Raises:
        UsageError, BadData: as `Codebook.read`.
    """
    path = Path(name)
    if str(name) in packaged_books():
        path = _BOOKS / f"{name}.yaml"
    elif path.suffix not in (".yaml", ".yml", ".json") and not path.exists():
        raise UnknownName("packaged codebook", str(name), packaged_books())
    return Codebook.read(path)


_BOOKS = Path(str(files("discreet"))) / "books"
_EXAMPLE = "attributes: [{name: disease}, {name: age, type: number, unit: years}]"


def _check_once(words: Any, what: str) -> None:
    twice = sorted(word for word, count in Counter(words).items() if count > 1)
    if twice:
        raise ValueError(f"the word '{twice[0]}' stands for {what}, or twice for one")


def _why(error: ValidationError) -> list[str]:
    # A list with a wrong part counts as empty, too: that alone is not said.
    errors = [one for one in error.errors() if one["type"] != "too_short"] or error.errors()
    return [
        f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}".removeprefix(": ")
        for one in errors
    ]
