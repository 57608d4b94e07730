"""The packaged model on a GPU: whether its answers are those of the processor, by both forward passes, and the time.

    .venv/bin/python -m benchmarks.gpu_answers [--model NAME] [--voters 40] [--csv FILE]

Each voter reads a record of the demo corpus, and the last row reads none; all answer one question with 32 tokens.
Rounding differs between devices, so an answer may differ where two tokens are almost equally likely. "equal answers"
counts the rows that say the same as on the processor; "first logits" is the relative difference of the logits before
the first token. Ends with 2 without a GPU.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.writing import TableWriter, add_csv_option

from discreet.demo.corpus import documents
from discreet.generation.loading import PACKAGED, load_model
from discreet.generation.model import Logits, Prompt, ScoredDecoding
from discreet.generation.prompts import layout
from discreet.generation.torch_backend.decoding import LockstepDecoding
from discreet.generation.torch_backend.greedy import decode_rows
from discreet.generation.torch_backend.transformers_model import TransformersModel

QUESTION = "I have white hands, numb thumbs and a weak grip. What is the disease?"
COLUMNS = ("forward pass", "device", "question, ms", "equal answers", "first logits")
STEPS = 32


@dataclass(frozen=True)
class Answers:
    """The answers of all rows as tokens, the logits before the first token, and the milliseconds of a question."""

    tokens: list[list[int]]
    first: Logits
    milliseconds: float


def prompts_of(model: TransformersModel, voters: int) -> tuple[Sequence[int], list[Prompt]]:
    """Return the shared tokens and the prompts of a question."""
    laid = layout(model, QUESTION, max_tokens=STEPS)
    texts = [document.text for document in documents(voters)]
    return laid.shared, [*(laid.prompt(model.encode(text)) for text in texts), laid.prompt()]


def answer(start: Callable[[], ScoredDecoding], ends: frozenset[int], times: int) -> Answers:
    """Return the answers, and the median time of a question, after one that warms up if there are several."""
    taken: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        decoding = start()
        first = decoding.logits()
        rows = decode_rows(decoding, decoding.best(), STEPS, ends, all_steps=True)
        taken.append(1000 * (time.perf_counter() - begun))
        del decoding  # its memory serves the next question
    return Answers([tokens for tokens, _ in rows], first, statistics.median(taken[1:] or taken))


def compare(name: str, device: str, found: Answers, expected: Answers) -> tuple[str, ...]:
    """Return the row of a forward pass."""
    equal = sum(one == other for one, other in zip(found.tokens, expected.tokens, strict=True))
    apart = np.linalg.norm(found.first - expected.first) / np.linalg.norm(expected.first)
    return name, device, f"{found.milliseconds:.0f}", f"{equal} of {len(expected.tokens)}", f"{apart:.4f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=PACKAGED)
    parser.add_argument("--voters", type=int, default=40)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    import torch

    if not torch.cuda.is_available():
        print("No GPU is here, so nothing was compared.", file=sys.stderr)
        return 2
    plain, fast = load_model(given.model, "cpu"), load_model(given.model, "cuda")
    shared, prompts = prompts_of(plain, given.voters)
    ends = plain.end_tokens

    def by_library() -> Any:
        return LockstepDecoding(fast._model, shared, prompts, STEPS)

    table = TableWriter(COLUMNS, given.csv)
    expected = answer(lambda: plain.start(shared, prompts, STEPS), ends, 1)
    table.write(compare("library", "processor", expected, expected))
    shown = torch.cuda.get_device_name()
    table.write(compare("library", shown, answer(by_library, ends, 4), expected))
    if fast.has_decoder:
        table.write(compare("own", shown, answer(lambda: fast.start(shared, prompts, STEPS), ends, 4), expected))
    return 0


if __name__ == "__main__":
    sys.exit(main())
