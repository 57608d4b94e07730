"""What a text says, as single facts that many texts may share: ("treatment", "warm oil").

The public model writes the text anew as short facts, always with its best token, each text by itself; what it wrote is
taken apart. "The symptoms of Ana are itchy ears, humming noise" says ("symptoms", "itchy ears") and ("symptoms",
"humming noise"). Of whom is left out: everybody's name would keep their facts apart.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from discreet.algorithms.text.normalize import ARTICLES, SENTENCE_END, head, words_of
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import Layout, rewrite_layout
from discreet.generation.ray_backend.model import RayModel
from discreet.generation.torch_backend.greedy import decode_rows
from discreet.generation.torch_backend.length_buckets import in_order, map_in_buckets
from discreet.synthesis.base import Fact

PARSED = 1
"""Changes when the same text is taken apart otherwise: facts that are kept are not mixed with others."""
BLOCK = 32
"""Texts that are written anew together, always: what one says must not depend on how many others there are."""
LONGEST_KIND = 4
"""Words. What is longer is no kind of facts, but a sentence of its own."""
_IS = r"(?:is|are|was|were|(?:should|must|will|would|may|can|could) be)"
_LINK = re.compile(rf"\b{_IS}\b", re.IGNORECASE)
# "The diagnosis is Brindle Ear and the treatment should be warm oil": two sentences.
_AND = re.compile(rf",?\s+and\s+(?=the\s+(?:\S+\s+){{1,{LONGEST_KIND}}}?{_IS}\b)", re.IGNORECASE)
_COMMA = re.compile(r"[,;]\s+(?:and\s+|or\s+)?", re.IGNORECASE)


def stated(
    model: ScoringModel,
    texts: Sequence[str],
    tokens: int,
    text_tokens: int,
) -> Iterator[tuple[int, list[Fact]]]:
    """The facts of each text, with its place among the texts, as they are read.

    Args:
        model: the public model; if it is spread over a cluster, workers read many texts at a time.
        texts: the texts.
        tokens: the most that is written for a text: public.
        text_tokens: how many tokens of a text are read: public.
    """
    if isinstance(model, RayModel):
        found = model.read(partial(_by_a_worker, tokens=tokens, text_tokens=text_tokens), texts)
        yield from enumerate([(str(kind), str(value)) for kind, value in facts] for facts in found)
        return
    laid_out = rewrite_layout(model, text_tokens, tokens)

    def read(room: int, block: list[list[int]]) -> list[list[Fact]]:
        return _written(model, replace(laid_out, document_tokens=room), block, tokens)

    yield from map_in_buckets(model, texts, text_tokens, BLOCK, read)


def facts_of(written: str, whole: bool = True) -> list[Fact]:
    """The facts that a text states, each once, in its order.

    Args:
        written: sentences such as "The diagnosis is Brindle Ear."
        whole: whether it is all there. Of one that was cut off, what stands last does not count.
    """
    found = [fact for sentence in _sentences(written) for fact in _facts(sentence)]
    return list(dict.fromkeys(fact for fact in (found if whole else found[:-1]) if fact[1]))


def found_in(text: str, facts: Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    """The facts whose value stands in the text, word by word; of what kind it is, the model says.

    A value that a small model makes up, or takes from the examples in its prompt, does not count.
    """
    there = set(words_of(text))
    return tuple((kind, value) for kind, value in facts if there.issuperset(words_of(value)))


def sentences(facts: Sequence[Fact]) -> str:
    """Facts as a text for anybody to read; those of one kind together, in the order in which they are given."""
    kinds = list(dict.fromkeys(kind for kind, _ in facts))
    return " ".join(_sentence(kind, [value for own, value in facts if own == kind]) for kind in kinds)


def _sentence(kind: str, values: Sequence[str]) -> str:
    if not kind:
        return " ".join(f"{value[:1].upper()}{value[1:]}." for value in values)
    several = kind.endswith("s") and not kind.endswith(("ss", "is"))
    return f"The {kind} {'are' if several else 'is'} {', '.join(values)}."


def _sentences(written: str) -> list[str]:
    whole = [part for line in written.splitlines() for part in SENTENCE_END.split(line)]
    return [part for sentence in whole for part in _AND.split(sentence) if part.strip()]


def _facts(sentence: str) -> list[Fact]:
    link = _LINK.search(sentence)
    kind = " ".join(head(_plain(sentence[: link.start()]))) if link else ""
    if link is None or not 0 < len(kind.split()) <= LONGEST_KIND:
        return [("", " ".join(_plain(sentence)))]
    return [(kind, " ".join(_plain(value))) for value in _COMMA.split(sentence[link.end() :])]


def _plain(text: str) -> list[str]:
    """Words without case, punctuation, and articles in front."""
    words = words_of(text)
    while words and words[0] in ARTICLES:
        words = words[1:]
    return words


def _written(model: ScoringModel, laid_out: Layout, texts: Sequence[Sequence[int]], tokens: int) -> list[list[Fact]]:
    prompts = [laid_out.prompt(text) for text in texts] + [laid_out.prompt()] * (BLOCK - len(texts))
    decoding = model.start(laid_out.shared, prompts, tokens)
    written = decode_rows(decoding, decoding.best(), tokens, model.end_tokens, all_steps=False)
    return [facts_of(model.decode(own), whole=ended) for own, ended in written[: len(texts)]]


def _by_a_worker(model: ScoringModel, texts: list[str], tokens: int, text_tokens: int) -> list[list[Fact]]:
    return in_order(stated(model, texts, tokens, text_tokens))
