"""The statements of a text about the attributes of a schema, each asked of the model by itself.

1  The model reads the text once, after the public instructions and examples.
2  For each attribute it continues "The treatment is", greedily, up to the end of the sentence.
3  The sentence becomes values of the attribute's type. A value that does not stand in the text is left out.

All steps are a function of this one text, of the schema and of the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from discreet.algorithms.text.normalize import SENTENCE_END
from discreet.algorithms.text.phrases import is_denied_in, sentences_of
from discreet.engines.ray import RayModel
from discreet.generation.asking import asking_layout, begin_sentence
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import Layout
from discreet.generation.torch_backend.length_buckets import in_order, map_in_buckets
from discreet.retrieval.codebook import Codebook
from discreet.synthesis.asked_values import values_said
from discreet.synthesis.fact_extraction import BLOCK

ASKED = 1
"""The version of the steps: what was read with another version is not used."""

Found = tuple[str, str, bool, float | None, str]
"""A statement as plain data: its attribute and value, whether it is denied, its number, and the unit of the number."""


def asked(
    model: ScoringModel, texts: Sequence[str], schema: Codebook, tokens: int, text_tokens: int
) -> Iterator[tuple[int, list[Found]]]:
    """Yield the statements of each text, with the text's position.

    Args:
        model: the public model; on a cluster, workers read many texts at a time.
        texts: the texts.
        schema: the public schema.
        tokens: the maximum number of tokens that are written for an attribute: public.
        text_tokens: the number of tokens of a text that are read: public.
    """
    said: Iterator[tuple[int, list[str]]]
    if isinstance(model, RayModel):
        reader = partial(_by_a_worker, schema=schema, tokens=tokens, text_tokens=text_tokens)
        said = enumerate([str(one) for one in own] for own in model.read(reader, texts))
    else:
        said = _said(model, texts, schema, tokens, text_tokens)
    yield from ((place, statements_said(schema, texts[place], own)) for place, own in said)


def statements_said(schema: Codebook, text: str, said: Sequence[str]) -> list[Found]:
    """Return the statements of a text, from what the model wrote for each attribute.

    A text that says a value of one attribute does not say it of a later one: a small model repeats what it read.
    """
    statements: list[Found] = []
    sentences = sentences_of(text)
    taken: set[str] = set()
    for attribute, sentence in zip(schema.attributes, said, strict=True):
        for one in values_said(attribute, sentence, text):
            if one.text in taken and attribute.type == "text":
                continue
            taken.add(one.text)
            statements.append((attribute.name, one.text, is_denied_in(sentences, one.text), one.number, one.unit))
    return statements


def _said(
    model: ScoringModel, texts: Sequence[str], schema: Codebook, tokens: int, text_tokens: int
) -> Iterator[tuple[int, list[str]]]:
    beginnings = [model.encode(begin_sentence(one.name)) for one in schema.attributes]
    room = tokens + max(map(len, beginnings))
    laid_out = asking_layout(model, text_tokens, room)

    def read(length: int, block: list[list[int]]) -> list[list[str]]:
        return _written(model, replace(laid_out, document_tokens=length), block, beginnings, tokens)

    return map_in_buckets(model, texts, text_tokens, BLOCK, read)


def _written(
    model: ScoringModel, laid_out: Layout, texts: Sequence[Sequence[int]], beginnings: list[list[int]], tokens: int
) -> list[list[str]]:
    """Return what the model writes of each text for each attribute. The text is fed once."""
    prompts = [laid_out.prompt(text) for text in texts] + [laid_out.prompt()] * (BLOCK - len(texts))
    decoding = model.start(laid_out.shared, prompts, tokens + max(map(len, beginnings)))
    sentences: list[list[str]] = [[] for _ in texts]
    for beginning in beginnings:
        decoding.truncate(0)
        for token in beginning:
            decoding.append(token)
        written: list[list[int]] = [[] for _ in prompts]
        ended = [place >= len(texts) for place in range(len(prompts))]
        for step in range(tokens):
            best = decoding.best().tolist()
            for place, token in enumerate(best):
                ended[place] = ended[place] or token in model.end_tokens
                if not ended[place]:
                    written[place].append(token)
                    ended[place] = _is_whole(model.decode(written[place]))
            if step == tokens - 1 or all(ended):
                break
            decoding.append_each(best)
        for own, one in zip(sentences, written, strict=False):
            own.append(model.decode(one))
    return sentences


def _is_whole(said: str) -> bool:
    """Return whether a sentence has ended: the word after it has begun, so "2.5" is no end."""
    end = SENTENCE_END.search(said)
    return "\n" in said or (end is not None and end.end() < len(said.rstrip()))


def _by_a_worker(
    model: ScoringModel, texts: list[str], schema: Codebook, tokens: int, text_tokens: int
) -> list[list[str]]:
    return in_order(_said(model, texts, schema, tokens, text_tokens))
