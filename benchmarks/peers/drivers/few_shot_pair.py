"""Neighbouring inputs of DP few-shot generation, by its own loop.

    python -m benchmarks.peers.drivers.few_shot_pair JOB RESULT

The mean of the prompts' probabilities, for one token, with a made-up model: a prompt with a chosen document writes one
token, another prompt the other. First one document is replaced in the prompts, which is what the noise is made for.
Then a document is removed that no prompt has, with the seed of the subsamples that the peer takes by default: all
places in the shuffle change with the number of documents. The law of the token follows exactly.
"""

import asyncio
import importlib
import math
from collections.abc import Collection, Sequence
from typing import Any

from benchmarks.peers.drivers.few_shot import (
    EXAMPLES,
    LONGEST,
    PROMPTS,
    documents_of,
    load_code,
    noise_scale,
    smallest_multiplier,
)
from benchmarks.peers.drivers.few_shot_model import Choice
from benchmarks.peers.drivers.job import read_arguments, write_result

CHOSEN, OTHER, TOKENS = 1, 2, 128


class MadeUp:
    """A model that writes `CHOSEN` after a prompt with a chosen document, and `OTHER` after others."""

    n_vocab = TOKENS

    def __init__(self) -> None:
        self.encoding = self

    def encode(self, text: str) -> list[int]:
        """Return one token: whether the prompt has a chosen document."""
        return [CHOSEN if "chosen" in text else OTHER]

    async def completions(self, prompt: Sequence[int], settings: Any) -> Any:
        """Return a token, which is almost sure, and its log-probabilities."""
        logs = [0.0 if token == prompt[0] else -200.0 for token in range(settings.logprobs)]
        choices = tuple(Choice(token, log) for token, log in enumerate(logs))
        return [[importlib.import_module("lmapi.lm").SampledToken(choices[0], choices)]]


def default_seed(example: int = 1, synth_seed: int = 0) -> int:
    """Return the seed of the subsamples for an example, as the peer derives it from its option."""
    import numpy as np

    return int(np.random.RandomState(synth_seed + example).randint(100_000))


def mean_of(code: Any, documents: Sequence[str], seed: int) -> Any:
    """Return the mean of the prompts' probabilities for the first token, without noise."""
    found = []
    merge = code.merge_logprobs_topk_mean

    def kept(*given: Any) -> Any:
        found.append(merge(*given))
        return found[-1].copy()

    code.merge_logprobs_topk_mean = kept
    try:
        np = importlib.import_module("numpy")
        asyncio.run(
            code.generate_with_private_prompts(
                documents_of(documents, "any").shuffle(seed=0, keep_in_memory=True),
                PROMPTS,
                PROMPTS,
                "",
                "",
                set(),
                "any",
                MadeUp(),
                np.random.RandomState(),
                0.0,
                "Topic",
                1,
                False,
                True,
                seed,
                max_tokens=1,
            )
        )
    finally:
        code.merge_logprobs_topk_mean = merge
    return found[0]


def in_prompts(count: int, seed: int) -> set[int]:
    """Return which documents, of `count`, are in the prompts of the first token."""
    documents = documents_of([str(place) for place in range(count)], "any").shuffle(seed=0, keep_in_memory=True)
    return {int(text) for text in documents.shuffle(seed, keep_in_memory=True).select(range(PROMPTS))["content"]}


def texts_of(count: int, chosen: Collection[int]) -> list[str]:
    """Return documents of which some are chosen."""
    return ["chosen" if place in chosen else "another" for place in range(count)]


def absent(count: int, seed: int) -> int:
    """Return a document that is in no prompt, and without which the fewest documents stay in the prompts."""
    drawn, less = in_prompts(count, seed), in_prompts(count - 1, seed)

    def stay(place: int) -> int:
        return len({one + (one >= place) for one in less} & drawn)

    return min((place for place in range(count) if place not in drawn), key=stay)


def uncovered(whole: Any, less: Any, scale: float, epsilon: float) -> float:
    """Return a lower bound of the delta at `epsilon` between two means, to which noise is added.

    The event is `CHOSEN`. It is written from the first unless noise lifts one of the others above it, and from the
    second only if noise lifts it above `OTHER`.
    """
    stats: Any = importlib.import_module("scipy.stats")
    above, below = (float(mean[CHOSEN] - mean[OTHER]) / (scale * math.sqrt(2)) for mean in (whole, less))
    missed, reached = (TOKENS - 1) * stats.norm.sf(above), stats.norm.cdf(below)
    return float(1 - missed - math.exp(epsilon) * reached)


def main() -> None:
    """Measure, and write."""
    job, result_file = read_arguments(__doc__)
    code = load_code(job.few_shot_path)
    linear: Any = importlib.import_module("numpy.linalg")
    count, seed = len(job.documents), default_seed()
    drawn = in_prompts(count, seed)
    one = min(drawn)
    whole = mean_of(code, texts_of(count, drawn), seed)
    replaced = float(linear.norm(whole - mean_of(code, texts_of(count, drawn - {one}), seed)))
    texts = texts_of(count, drawn)
    gone = absent(count, seed)
    less = mean_of(code, texts[:gone] + texts[gone + 1 :], seed)
    removed, bound = float(linear.norm(whole - less)), math.sqrt(2) / PROMPTS
    scale = noise_scale(smallest_multiplier(PROMPTS / count, EXAMPLES * LONGEST, job))
    delta = uncovered(whole, less, scale, job.epsilon)
    name = "DP few-shot generation"
    rows = [
        {
            "peer": name,
            "change": f"one document of the {PROMPTS} prompts is replaced: one token, made-up model",
            "claimed": f"the mean moves by {bound:.4f} at most",
            "measured": f"by {replaced:.4f}",
        },
        {
            "peer": name,
            "change": "the removal of a document that is in no prompt, with the default seed: one token, made-up model",
            "claimed": f"the mean moves by {bound:.4f} at most",
            "measured": f"by {removed:.4f}",
        },
        {
            "peer": name,
            "change": f"the same, with its noise of {scale:.4f} for epsilon {job.epsilon:g}",
            "claimed": f"epsilon {job.epsilon:g}, delta {job.delta:g} for {EXAMPLES * LONGEST} tokens",
            "measured": f"delta {delta:.4f} for one token at that epsilon",
        },
    ]
    write_result(result_file, {"pairs": rows})


if __name__ == "__main__":
    main()
