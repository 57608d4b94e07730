"""Step 1 (a) of DP-SynRAG: the keywords of each text, by the model.

The paper asks a model to list them. Here they are the words that surprise the public model most, given what stands
before them: no decoding, the same for the same text, and what a text says that the model does not know comes first.
Each text is read by itself.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from discreet.algorithms.text.normalize import keywords
from discreet.engines.ray import RayModel
from discreet.generation.model import Prompt, ScoringModel
from discreet.generation.torch_backend.length_buckets import in_order, map_in_buckets
from discreet.synthesis.base import Ranked

BEFORE = "Record:\n"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BATCH = 64


def ranked_keywords(
    model: ScoringModel,
    texts: Sequence[str],
    most: int,
    text_tokens: int,
) -> Iterator[tuple[int, Ranked]]:
    """Yield the `most` most surprising words of each text, with the text's position, one text after the other.

    Args:
        model: the public model; on a cluster, workers read many texts at a time.
        texts: the texts.
        most: the number of words of a text.
        text_tokens: the number of tokens of a text that are read: public.
    """
    if isinstance(model, RayModel):
        found = model.read(partial(_by_a_worker, most=most, text_tokens=text_tokens), texts)
        yield from enumerate(tuple((str(word), float(nats)) for word, nats in ranked) for ranked in found)
        return
    shared = model.encode(BEFORE)

    def read(room: int, block: list[list[int]]) -> list[Ranked]:
        losses = model.token_nll(shared, [_padded(model, tuple(own), room) for own in block]).tolist()
        return [_ranked(model, own, nats[room - len(own) :], most) for own, nats in zip(block, losses, strict=True)]

    yield from map_in_buckets(model, texts, text_tokens, _BATCH, read)


def _by_a_worker(model: ScoringModel, texts: list[str], most: int, text_tokens: int) -> list[Ranked]:
    return in_order(ranked_keywords(model, texts, most, text_tokens))


def _ranked(model: ScoringModel, tokens: Sequence[int], surprise: Sequence[float], most: int) -> Ranked:
    pieces = [model.decode([token]) for token in tokens]
    owner = [place for place, piece in enumerate(pieces) for _ in piece]
    found: dict[str, float] = {}
    for match in _WORD.finditer("".join(pieces)):
        nats = sum(surprise[place] for place in set(owner[match.start() : match.end()]))
        for word in keywords(match.group()):
            found[word] = max(nats, found.get(word, 0.0))
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple((word, round(nats, 3)) for word, nats in best[:most])


def _padded(model: ScoringModel, tokens: tuple[int, ...], length: int) -> Prompt:
    padding = length - len(tokens)
    return Prompt((model.pad_token,) * padding + tokens, padding)
