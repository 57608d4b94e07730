"""Sample texts from the public model on public prompts; this costs no budget.

The randomness is derived from the name of each text, so equal names give equal texts. It protects no data, and must
not be used for draws from private values; `privacy.noise` is for these.
"""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from discreet.generation.model import Logits, ScoredDecoding, ScoringModel
from discreet.generation.prompts import Layout

_BLOCK = 32


def sample_texts(
    model: ScoringModel,
    laid_out: Layout,
    prompts: Sequence[tuple[str, str]],
    *,
    tokens: int,
    temperature: float,
    on_progress: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """Sample a text for each prompt.

    Args:
        model: the public model.
        laid_out: the layout of all prompts.
        prompts: the name of each text, and the text of its prompt.
        tokens: the most tokens of a text.
        temperature: above 0; a larger one gives more varied texts.
        on_progress: called with the number of finished texts.

    Returns:
        one-line texts in the order of the prompts; a text is empty if the model ended at once.
    """
    texts: list[str] = []
    for first in range(0, len(prompts), _BLOCK):
        block = prompts[first : first + _BLOCK]
        decoding = model.start(laid_out.shared, [laid_out.prompt(model.encode(said)) for _, said in block], tokens)
        written = _sample_rows(model, decoding, [name for name, _ in block], tokens, temperature)
        texts += [" ".join(model.decode(text).split()) for text in written]
        on_progress(len(texts))
    return texts


def _sample_rows(
    model: ScoringModel, decoding: ScoredDecoding, names: Sequence[str], tokens: int, temperature: float
) -> list[list[int]]:
    """Return the tokens of each row up to its end token."""
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
    """Return the token at a quantile in [0, 1) of the model's distribution."""
    moved = (logits - logits.max()).astype(np.float64) / temperature
    reached = np.cumsum(np.exp(moved))
    return min(int(np.searchsorted(reached, place * reached[-1], side="right")), len(reached) - 1)


def _uniform(name: str) -> float:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
