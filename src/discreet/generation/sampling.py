"""Texts of the public model, sampled: of public prompts alone, so none of it costs anything.

What is drawn follows from the name of each text, so that the same names give the same texts: this randomness protects
nobody, and must not be used where something private is drawn from (that is what `privacy.noise` is for).
"""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from discreet.generation.model import Logits, ScoredDecoding, ScoringModel
from discreet.generation.prompts import Layout

_BLOCK = 32


def sampled_texts(
    model: ScoringModel,
    laid_out: Layout,
    prompts: Sequence[tuple[str, str]],
    *,
    tokens: int,
    temperature: float,
    progress: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """A text for each prompt.

    Args:
        model: the public model.
        laid_out: the prompt, but for what each of them says.
        prompts: of each text its name, and what its prompt says.
        tokens: the most tokens of a text.
        temperature: above 0; the larger, the more varied.
        progress: told how many texts are done.

    Returns:
        texts in one line each, in the order of the prompts; empty where the model had nothing to say.
    """
    found: list[str] = []
    for first in range(0, len(prompts), _BLOCK):
        block = prompts[first : first + _BLOCK]
        decoding = model.start(laid_out.shared, [laid_out.prompt(model.encode(said)) for _, said in block], tokens)
        written = _written(model, decoding, [name for name, _ in block], tokens, temperature)
        found += [" ".join(model.decode(text).split()) for text in written]
        progress(len(found))
    return found


def _written(
    model: ScoringModel, decoding: ScoredDecoding, names: Sequence[str], tokens: int, temperature: float
) -> list[list[int]]:
    """The tokens of each row, up to one that ends it."""
    written: list[list[int]] = [[] for _ in names]
    ended = [False] * len(names)
    for step in range(tokens):
        chosen = [
            _token(logits, temperature, _uniform(f"{name} {step}"))
            for logits, name in zip(decoding.logits(), names, strict=True)
        ]
        for row, token in enumerate(chosen):
            ended[row] = ended[row] or token in model.end_tokens
            if not ended[row]:
                written[row].append(token)
        if all(ended) or step == tokens - 1:
            break
        decoding.append_each(chosen)
    return written


def _token(logits: Logits, temperature: float, place: float) -> int:
    """The token at a place in [0, 1) of the model's distribution."""
    moved = (logits - logits.max()).astype(np.float64) / temperature
    reached = np.cumsum(np.exp(moved))
    return min(int(np.searchsorted(reached, place * reached[-1], side="right")), len(reached) - 1)


def _uniform(name: str) -> float:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
