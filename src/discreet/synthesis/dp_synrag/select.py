"""Step 2 (e) of DP-SynRAG: the model drops the texts that are of no use. The texts are public, so this is free.

The paper asks the model whether a text is of use, Yes or No. A small one says No to all (docs/results/synthesis.md).
Here a text is kept if the model finds the task likelier after it than after a text that says nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.algorithms.logit_sum import log_softmax
from discreet.algorithms.text.normalize import keywords
from discreet.errors import UsageError
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import judge_layout
from discreet.synthesis.base import SyntheticText

NOTHING = "I am not sure what you mean by that."
LEAST, MOST = 128, 512
"""The number of tokens of a text for which there must be room, and the maximum that is read."""
_BLOCK = 16


def mentions(text: str, keyword: str) -> bool:
    """Return whether a text has the keyword of its cluster."""
    return keyword in keywords(text)


def check_task(model: ScoringModel, task: str) -> None:
    """Check that the model has room for a task and a text beside it.

    Raises:
        UsageError: if the task is blank, or too long.
    """
    if task and not task.strip():
        raise UsageError("The task is blank. Say what the corpus is for, or leave --task out: no text is dropped then.")
    if task and _room(model, task) < LEAST:
        raise UsageError(
            f"The task is so long that the model has no room for a text of {LEAST} tokens beside it. Say it in a "
            "sentence or two."
        )


def useful(model: ScoringModel, task: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether the task is likelier after it than after a text without content."""
    without, *found = likelihoods(model, task, [NOTHING, *texts])
    return [each > without for each in found]


def likelihoods(model: ScoringModel, task: str, texts: Sequence[str]) -> list[float]:
    """Return for each text the log-probability of the task as the topic of the text."""
    words, room = _words(model, task), min(MOST, _room(model, task))
    own = [model.encode(text)[:room] for text in texts]
    found = list[float]()
    for start in range(0, len(own), _BLOCK):
        block = own[start : start + _BLOCK]
        laid_out = judge_layout(model, max(map(len, block)))
        decoding = model.start(laid_out.shared, [laid_out.prompt(tokens) for tokens in block], len(words))
        total = np.zeros(len(block))
        for token in words:
            total += log_softmax(decoding.logits())[:, token]
            decoding.append(token)
        found += total.tolist()
    return found


def _words(model: ScoringModel, task: str) -> list[int]:
    return model.encode(f" {task.strip()}")


def _room(model: ScoringModel, task: str) -> int:
    """Return the number of tokens that a text may have beside the task."""
    laid_out = judge_layout(model, 0)
    return model.context_length - len(laid_out.shared) - len(laid_out.tail) - len(_words(model, task))


def of_use(task: str, model: ScoringModel, texts: Sequence[SyntheticText]) -> list[SyntheticText]:
    """Mark the texts that are useless for a task as not kept; without a task, return the texts unchanged."""
    if not task:
        return list(texts)
    judged = useful(model, task, [text.text for text in texts])
    return [replace(text, kept=text.kept and use) for text, use in zip(texts, judged, strict=True)]
