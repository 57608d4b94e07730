"""A schema that the model proposes, from public texts alone: the attributes that many of them state.

1  The model writes what each text states, in the form in which it is asked later (generation/asking.py).
2  Of each text, the kinds of statements whose values stand in it are counted.
3  A kind of at least a tenth of the texts is an attribute. Its type follows from its values.

A kind of which nearly every text has another value, such as a name, tells individuals apart, and is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from discreet.algorithms.text.attributes import matches
from discreet.errors import BadData
from discreet.generation.answers import decode_rows
from discreet.generation.asking import asking_layout
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import DOCUMENT_TOKENS
from discreet.generation.torch_backend.length_buckets import map_in_buckets
from discreet.reading.fields import read_date
from discreet.retrieval.codebook import LONGEST_NAME, Attribute, Codebook, Type
from discreet.synthesis.asked_values import numbers_in, stands_in, unit_of
from discreet.synthesis.base import Fact
from discreet.synthesis.fact_extraction import BLOCK, facts_of

MOST_TEXTS, MOST_PROPOSED = 200, 8
LEAST_SHARE = 0.1
"""The part of the texts that state an attribute, at least."""
_TOKENS = 64
_ALIKE = 0.8
"""The part of the values that have a type, at least."""
_TOO_MANY = 0.8
"""The part of the values that are different, at most; of a text."""


def propose_schema(model: ScoringModel, texts: Sequence[str]) -> Codebook:
    """Return the attributes that public texts state most often.

    Args:
        model: the model.
        texts: public texts; at most 200 of them, spread evenly, are read.

    Raises:
        BadData: if the texts share no attribute.
    """
    number = min(MOST_TEXTS, len(texts))
    some = [texts[place * len(texts) // number] for place in range(number)]
    values: dict[str, list[str]] = defaultdict(list)
    stated: Counter[str] = Counter()
    for place, facts in _stated(model, some):
        kinds: dict[str, None] = {}
        for kind, value in facts:
            if kind and len(kind.split()) <= LONGEST_NAME and _stands_in(value, some[place]):
                same_kind = next((one for one in values if matches(one, kind) and matches(kind, one)), kind)
                values[same_kind].append(value)
                kinds[same_kind] = None
        stated.update(list(kinds))
    common = [kind for kind, count in stated.most_common() if count >= LEAST_SHARE * number]
    attributes = [one for kind in common if (one := _attribute(kind, values[kind]))]
    if not attributes:
        raise BadData(
            f"The model found no attribute that a tenth of the {number} texts state. Write a schema yourself."
        )
    return Codebook(attributes=tuple(_distinct(attributes)[:MOST_PROPOSED]))


def _attribute(kind: str, values: Sequence[str]) -> Attribute | None:
    """Return the attribute of a kind, with its type; None if its values tell individuals apart."""
    type_ = _type(values)
    if type_ == "number":
        after = Counter(unit_of(word) for value in values for _, word in numbers_in(value))
        unit = after.most_common(1)[0][0]
        return Attribute(name=kind, type="number", unit=unit)
    different = len(set(values)) / len(values)
    return None if type_ == "text" and len(values) > 1 and different > _TOO_MANY else Attribute(name=kind, type=type_)


def _type(values: Sequence[str]) -> Type:
    enough = _ALIKE * len(values)
    if sum(read_date(value) is not None for value in values) >= enough:
        return "date"
    return "number" if sum(_is_number(value) for value in values) >= enough else "text"


def _is_number(value: str) -> bool:
    """Return whether a value is a number, alone or with its unit."""
    return len(list(numbers_in(value))) == 1 and len(value.split()) <= 2


def _distinct(made: Sequence[Attribute]) -> list[Attribute]:
    """Return the attributes that a question can tell apart: of two alike, the more frequent one."""
    kept: list[Attribute] = []
    for one in made:
        if not any(matches(one.name, other.name) or matches(other.name, one.name) for other in kept):
            kept.append(one)
    return kept


def _stands_in(value: str, text: str) -> bool:
    numbers = list(numbers_in(value))
    return stands_in(value, numbers[0][0] if _is_number(value) else None, text)


def _stated(model: ScoringModel, texts: Sequence[str]) -> Iterator[tuple[int, list[Fact]]]:
    laid_out = asking_layout(model, DOCUMENT_TOKENS, _TOKENS)

    def read(length: int, block: list[list[int]]) -> list[list[Fact]]:
        own = replace(laid_out, document_tokens=length)
        prompts = [own.prompt(text) for text in block] + [own.prompt()] * (BLOCK - len(block))
        decoding = model.start(own.shared, prompts, _TOKENS)
        written = decode_rows(decoding, decoding.best(), _TOKENS, model.end_tokens, all_steps=False)
        return [facts_of(model.decode(tokens), whole=ended) for tokens, ended in written[: len(block)]]

    return map_in_buckets(model, texts, DOCUMENT_TOKENS, BLOCK, read)
