"""What stands in the content of a reply: what was released, or a sentence that nothing was."""

import re

from discreet.server.front.outcomes import Outcome
from discreet.server.front.requests import ChatRequest

NOTHING_RELEASED = "No answer: too few of the {unit}s' notes agree (or could pay)."
SAYS_NOTHING = "No useful answer: what was released says nothing. It was: {text}"
EMPTY = "No answer: the model wrote nothing."
UNDERSTOOD = "Understood as: {understood}"
FOOTER = "Receipt: epsilon {epsilon:.4g}. The key has epsilon {left:.4g} left."


def unit_word(field: str) -> str:
    """Return the word for one individual, from the name of its field: "patient" for "patient_id"."""
    # The front may not import `query.words`, which says the same.
    stem = re.sub(r"(?i)[\W_]+(id|ids|no|nr|number|key|name)$", "", field)
    return re.sub(r"[\W_]+", " ", stem).strip() or "unit"


def no_answer(outcome: Outcome) -> str:
    """Return the sentence for an answer that is none; "" if it is one. The model's own words are never in it."""
    answer, text = outcome.answer, str(outcome.answer["text"]).strip()
    if outcome.free:
        return "" if text else EMPTY
    if answer["stopped"] == "public":
        return NOTHING_RELEASED.format(unit=unit_word(outcome.unit))
    if answer["useless"]:
        return SAYS_NOTHING.format(text=text)
    return "" if text else EMPTY


def content_and_refusal(outcome: Outcome, request: ChatRequest, left: float | None) -> tuple[str | None, str | None]:
    """Return the content of the message, and the refusal: a sentence has no place in the JSON that a client parses.

    Args:
        outcome: what became of the question.
        request: the request that is replied to.
        left: the epsilon that the key has left, if the key asks for a footer; else None.
    """
    sentence = no_answer(outcome)
    if request.shape is not None:
        return (None, sentence) if sentence else (request.shape.wrap(str(outcome.answer["text"])), None)
    text = sentence or cut(str(outcome.answer["text"]).strip(), request.stops)
    if left is not None and not outcome.task:
        understood = outcome.answer.get("understood")
        lines = [UNDERSTOOD.format(understood=understood)] if understood else []
        lines.append(FOOTER.format(epsilon=outcome.epsilon, left=left))
        text = "\n\n".join([text, *lines])
    return text, None


def cut(text: str, stops: tuple[str, ...]) -> str:
    """Return a released text up to the first of `stops`. It costs nothing: the text was released as a whole."""
    ends = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(ends, default=len(text))]
