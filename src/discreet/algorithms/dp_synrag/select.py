"""Step 2 (e) of DP-SynRAG: the model drops the texts that are of no use. The texts are public, so this is free."""

from collections.abc import Sequence
from dataclasses import replace

from discreet.algorithms.synthetic import SyntheticText
from discreet.algorithms.words import keywords
from discreet.errors import UsageError
from discreet.generation.model import Prompt, ScoringModel

SYSTEM = "Say whether a text is of use for a task. Answer Yes or No."
ASKED = "Task: {task}\n\nText: {text}\n\nIs the text of use for the task?"
LEAST, MOST = 128, 512
"""So many tokens of a text there must be room for, and so many are read."""
_EXAMPLES = (
    ("answer questions about bridges", "The review of the Orly bridge was moved to Friday.", "Yes"),
    ("answer questions about bridges", "I am not sure what you mean by that.", "No"),
)


def mentions(text: str, keyword: str) -> bool:
    """Whether a text has the keyword that its cluster was made by: one that has not went astray."""
    return keyword in keywords(text)


def check_task(model: ScoringModel, task: str) -> None:
    """Nothing, if the model can be asked about such a task; texts are read as far as there is room.

    Raises:
        UsageError: the task is blank, or too long.
    """
    if task and not task.strip():
        raise UsageError("The task is blank. Say what the corpus is for, or leave --task out: no text is dropped then.")
    if task and _room(model, task) < LEAST:
        raise UsageError(
            f"The task is so long that the model has no room for a text of {LEAST} tokens beside it. Say it in a "
            "sentence or two."
        )


def _room(model: ScoringModel, task: str) -> int:
    """How many tokens a text may have beside the task."""
    opening, closing = _around(model)
    return model.context - 1 - len(opening) - len(closing) - len(model.encode(ASKED.format(task=task, text="")))


def _around(model: ScoringModel) -> tuple[list[int], list[int]]:
    examples = [(ASKED.format(task=of, text=text), answer) for of, text, answer in _EXAMPLES]
    return model.chat(SYSTEM, examples)


def useful(model: ScoringModel, task: str, texts: Sequence[str]) -> list[bool]:
    """Of each text, whether the model thinks Yes likelier than No."""
    (opening, closing), room = _around(model), min(MOST, _room(model, task))
    yes, no = (model.encode(word)[0] for word in ("Yes", "No"))
    found = []
    for text in texts:
        tokens = model.encode(text)
        read = model.decode(tokens[:room]) if len(tokens) > room else text
        prompt = Prompt((*opening, *model.encode(ASKED.format(task=task, text=read)), *closing), 0)
        logits = model.start((), [prompt], 1).logits()[0]
        found.append(bool(logits[yes] > logits[no]))
    return found


def of_use(task: str, model: ScoringModel, texts: Sequence[SyntheticText]) -> list[SyntheticText]:
    """The texts, of which those are not kept that are of no use for a task; without a task, as they are."""
    if not task:
        return list(texts)
    judged = useful(model, task, [text.text for text in texts])
    return [replace(text, kept=text.kept and use) for text, use in zip(texts, judged, strict=True)]
