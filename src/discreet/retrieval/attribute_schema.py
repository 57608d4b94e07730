"""A schema: the attributes that the model looks for in each text. It is public, and the custodian decides it.

    {"attributes": [
        {"name": "disease", "words": ["diagnosis"], "description": "what the patient has"},
        {"name": "age", "type": "number", "unit": "years", "low": 0, "high": 120},
        {"name": "ward", "type": "category", "categories": ["north", "south"]}]}

VAULT/schema.json    the schema of the vault, in this form
"""

import json
import math
import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, cast, get_args

from discreet.errors import BadData, UsageError
from discreet.system.words import is_unicode

Type = Literal["text", "category", "number", "date"]
TYPES: tuple[Type, ...] = get_args(Type)
FILE = "schema.json"
MOST_ATTRIBUTES, MOST_CATEGORIES, LONGEST_NAME = 20, 100, 4
_LONGEST, _MOST_BYTES = 100, 2**20
_NAME = re.compile(r"\w[\w'-]*(?: \w[\w'-]*)*")
_KNOWN = ("name", "type", "words", "description", "unit", "categories", "low", "high")


@dataclass(frozen=True)
class Attribute:
    """An attribute of a schema.

    Attributes:
        name: its name, in lower case: "disease".
        type: "text", "category", "number" or "date".
        words: other words for it: "diagnosis".
        description: what it means, in a few words.
        unit: the unit of a number: "years"; empty if it has none.
        categories: the values of a category.
        low, high: the public range of a number; None if it has none.
    """

    name: str
    type: Type = "text"
    words: tuple[str, ...] = ()
    description: str = ""
    unit: str = ""
    categories: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def called(self) -> tuple[str, ...]:
        """Its name and its other words."""
        return (self.name, *self.words)

    def describe(self) -> dict[str, Any]:
        """Return the attribute as plain data, without what is not set."""
        found = {name: getattr(self, name) for name in _KNOWN}
        return {
            name: list(one) if isinstance(one, tuple) else one
            for name, one in found.items()
            if one not in ("", ()) and one is not None
        }


@dataclass(frozen=True)
class AttributeSchema:
    """The attributes that are read of each text, in the order in which they are asked for."""

    attributes: tuple[Attribute, ...]

    @staticmethod
    def read(path: Path) -> "AttributeSchema":
        """Return the schema in a file.

        Raises:
            UsageError: if the file does not exist.
            BadData: if the file holds no schema; the error names the attribute and the form that is expected.
        """
        try:
            content = path.read_bytes()
            if len(content) > _MOST_BYTES:
                raise ValueError("the file is larger than 1 MiB")
            return AttributeSchema.parse(json.loads(content.decode("utf-8-sig")))
        except FileNotFoundError:
            raise UsageError(f"There is no file at {path}. Write a schema, or have one proposed: {_PROPOSE}.") from None
        except OSError as error:
            raise BadData(f"{path} cannot be read: {error.strerror}. Expected: a JSON file with a schema.") from error
        except (ValueError, OverflowError, RecursionError) as error:
            raise BadData(f"{path} holds no schema: {error}. Expected: {_EXAMPLE}") from error

    @staticmethod
    def parse(found: object) -> "AttributeSchema":
        """Return the schema that plain data describe.

        Raises:
            ValueError: if they describe none.
        """
        given = found.get("attributes") if isinstance(found, dict) else None
        if not isinstance(given, list) or not 1 <= len(given) <= MOST_ATTRIBUTES:
            raise ValueError(f'it needs a list "attributes" of 1 to {MOST_ATTRIBUTES} attributes')
        attributes = tuple(_attribute(number, one) for number, one in enumerate(given, 1))
        called = [word for one in attributes for word in one.called]
        if twice := sorted({word for word in called if called.count(word) > 1}):
            raise ValueError(f"the word '{twice[0]}' stands for two attributes, or twice for one")
        return AttributeSchema(attributes)

    def describe(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        return {"attributes": [one.describe() for one in self.attributes]}

    def text(self) -> str:
        """Return the content of a file."""
        return json.dumps(self.describe(), ensure_ascii=False, indent=2) + "\n"

    @property
    def digest(self) -> str:
        """The digest of the schema: another one for another schema."""
        return blake2b(json.dumps(self.describe(), sort_keys=True).encode(), digest_size=8).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(one.name for one in self.attributes)


_PROPOSE = "discreet read VAULT --propose-schema PUBLIC.jsonl"
_EXAMPLE = '{"attributes": [{"name": "disease"}, {"name": "age", "type": "number", "unit": "years"}]}'


def _attribute(number: int, given: object) -> Attribute:
    if not isinstance(given, dict):
        raise ValueError(f"attribute {number} is no object with a name")
    if strange := sorted(map(str, set(given) - set(_KNOWN))):
        raise ValueError(f"attribute {number} has the unknown key '{strange[0]}'; the keys are {', '.join(_KNOWN)}")
    name = _plain(number, "name", given.get("name")).casefold()
    if not _NAME.fullmatch(name) or len(name.split()) > LONGEST_NAME:
        raise ValueError(f"attribute {number} needs a name of 1 to {LONGEST_NAME} words, of letters and digits")
    kind = given.get("type", "text")
    if kind not in TYPES:
        raise ValueError(f"'{name}' has the type {kind!r}; the types are {', '.join(TYPES)}")
    made = Attribute(
        name,
        cast(Type, kind),
        tuple(one.casefold() for one in _words(number, "words", given.get("words", []))),
        _plain(number, "description", given.get("description", "")),
        _plain(number, "unit", given.get("unit", "")),
        tuple(_words(number, "categories", given.get("categories", []))),
        _bound(name, given.get("low")),
        _bound(name, given.get("high")),
    )
    _check_parts(made)
    return made


def _check_parts(made: Attribute) -> None:
    if (made.type == "category") != bool(made.categories) or len(made.categories) > MOST_CATEGORIES:
        raise ValueError(
            f"'{made.name}' is a {made.type} with {len(made.categories)} categories; a category has 1 to "
            f"{MOST_CATEGORIES}, and no other type has any"
        )
    if made.type != "number" and (made.unit or made.low is not None or made.high is not None):
        raise ValueError(f"'{made.name}' is a {made.type}; only a number has a unit, and a range from low to high")
    if (made.low is None) != (made.high is None) or (made.low is not None and made.low >= cast(float, made.high)):
        raise ValueError(f"the range of '{made.name}' goes from a smaller to a larger number, low to high")


def _plain(number: int, what: str, given: object) -> str:
    if not isinstance(given, str) or len(given) > _LONGEST or not is_unicode(given):
        raise ValueError(f"the {what} of attribute {number} is no text of at most {_LONGEST} characters")
    return " ".join(given.split())


def _words(number: int, what: str, given: object) -> list[str]:
    if not isinstance(given, list):
        raise ValueError(f"the {what} of attribute {number} are no list of texts")
    found = [_plain(number, what, one) for one in given]
    if not all(found) or len(found) > MOST_CATEGORIES:
        raise ValueError(f"the {what} of attribute {number} have an empty text, or are more than {MOST_CATEGORIES}")
    return found


def _bound(name: str, given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise ValueError(f"the range of '{name}' has the end {given!r}, which is no finite number")
    return float(given)
