"""Step 2 (e) of DP-SynRAG: the model drops the texts that are of no use. The texts are public, so this is free."""

from collections.abc import Sequence
from dataclasses import replace

from discreet.algorithms.synthetic import SyntheticText
from discreet.algorithms.words import keywords
from discreet.generation.model import Prompt, ScoringModel

SYSTEM = "Say whether a text is of use for a task. Answer Yes or No."
ASKED = "Task: {task}\n\nText: {text}\n\nIs the text of use for the task?"
_EXAMPLES = (
    ("answer questions about bridges", "The review of the Orly bridge was moved to Friday.", "Yes"),
    ("answer questions about bridges", "I am not sure what you mean by that.", "No"),
)


def mentions(text: str, keyword: str) -> bool:
    """Whether a text has the keyword that its cluster was made by: one that has not went astray."""
    return keyword in keywords(text)


def useful(model: ScoringModel, task: str, texts: Sequence[str]) -> list[bool]:
    """Of each text, whether the model thinks Yes likelier than No."""
    examples = [(ASKED.format(task=of, text=text), answer) for of, text, answer in _EXAMPLES]
    opening, closing = model.chat(SYSTEM, examples)
    yes, no = (model.encode(word)[0] for word in ("Yes", "No"))
    found = []
    for text in texts:
        prompt = Prompt((*opening, *model.encode(ASKED.format(task=task, text=text)), *closing), 0)
        logits = model.start((), [prompt], 1).logits()[0]
        found.append(bool(logits[yes] > logits[no]))
    return found


def of_use(task: str, model: ScoringModel, texts: Sequence[SyntheticText]) -> list[SyntheticText]:
    """The texts, of which those are not kept that are of no use for a task; without a task, as they are."""
    if not task:
        return list(texts)
    judged = useful(model, task, [text.text for text in texts])
    return [replace(text, kept=text.kept and use) for text, use in zip(texts, judged, strict=True)]
