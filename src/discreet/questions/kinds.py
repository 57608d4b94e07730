"""The kind of a question, from its text alone: a linear classifier over the words that frame it.

A question has words that frame it ("how many ... with ...") and words of its own subject. Frequent words of the
training wordings are kept; all others are one sign, so that a question about an unknown disease has the same frame. The
features are words, and pairs and triples of neighbours. `discreet_lab.experiments accuracy kinds` trains the weights,
and reports them beside a classifier on the packaged embedder (docs/results/understanding.md). They are whole numbers:
the same question has the same kind on every machine, without a model.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Literal, get_args

from discreet.questions.sentences import entry, mended

Statistic = Literal["count", "share", "versus", "trend", "typical", "list", "summary"]
Kind = Statistic | Literal["fact", "person", "two-questions", "nothing", "follow-up", "superlative", "other"]
STATISTICS = frozenset(get_args(Statistic))
"""The kinds that are numbers of many units. `versus` is a difference or a comparison: the grammar tells which."""
KINDS: tuple[Kind, ...] = tuple(chain(*map(get_args, get_args(Kind))))
SCALE = 16
"""So many steps of a weight are 1."""
_WORD = re.compile(r"\d+|[^\W\d_]+(?:'[^\W\d_]+)?|[%+/&:,?]")
_OTHER, _NAME = "_", "N"
_MOST = 60
"""So many words of a question decide its kind."""


_ONE = re.compile(entry("kinds.one"))
"""Marks of one individual: a title with a name, a bed, a number, an address of mail."""


@dataclass(frozen=True)
class Guess:
    """What a question is taken for.

    Attributes:
        kind: the likeliest kind.
        shares: the probability of each kind.
    """

    kind: Kind
    shares: Mapping[Kind, float]

    @property
    def confidence(self) -> float:
        """The probability of the likeliest kind."""
        return self.shares[self.kind]

    def among(self, kinds: frozenset[str]) -> float:
        """Return the probability that it is one of these kinds."""
        return sum(share for kind, share in self.shares.items() if kind in kinds)


@lru_cache(256)
def guess_kind(question: str) -> Guess:
    """Return what a question is taken for: public, a function of its text."""
    if _ONE.search(question):
        return Guess("person", {kind: float(kind == "person") for kind in KINDS})
    words, weights, bias = _weights()
    found = [weights[one] for one in sorted(set(features(question, words))) if one in weights]
    scale = SCALE * math.sqrt(max(1, len(found)))
    columns = zip(*found, strict=True) if found else ((),) * len(bias)
    scores = [sum(column) / scale + first / SCALE for column, first in zip(columns, bias, strict=True)]
    most = max(scores)
    powers = [math.exp(one - most) for one in scores]
    shares = {kind: one / sum(powers) for kind, one in zip(KINDS, powers, strict=True)}
    return Guess(max(shares, key=lambda one: shares[one]), shares)


def features(question: str, words: frozenset[str]) -> Iterator[str]:
    """Yield the features of a question.

    Args:
        question: its text.
        words: the words that are kept.
    """
    frame = ["^"]
    spoken = _words(question)
    for place, word in enumerate(spoken[:_MOST]):
        low = word.casefold()
        sign = "#" if word.isdigit() else low if low in words else _OTHER
        if sign == _OTHER and place and word[0].isupper() and not word.isupper():
            sign = _NAME
        if sign not in (_OTHER, _NAME) or sign != frame[-1]:
            frame.append(sign)
        if sign in words:
            yield sign
    frame.append("$")
    for size in (2, 3):
        yield from (" ".join(frame[at : at + size]) for at in range(len(frame) - size + 1))
    yield "first " + " ".join(frame[1:4])
    yield f"length {min(len(spoken) // 4, 5)}"


def _words(question: str) -> list[str]:
    return _WORD.findall(mended(" ".join(question.replace("\u2019", "'").split())))


def words_of(question: str) -> frozenset[str]:
    """Return the words of a question in lower case, as the classifier counts them."""
    return frozenset(one.casefold() for one in _words(question) if not one.isdigit())


@cache
def _weights() -> tuple[frozenset[str], dict[str, list[int]], list[int]]:
    """Return the words that are kept, the weights of each feature by kind, and those of no feature."""
    told = json.loads(files("discreet.questions").joinpath("kinds.json").read_text(encoding="utf-8"))
    if told["kinds"] != list(KINDS):
        raise RuntimeError(
            "kinds.json was trained for other kinds: python -m discreet_lab.experiments accuracy kinds --train"
        )
    return frozenset(told["words"]), told["weights"], told["bias"]
