"""A sentence around a released answer. The public model writes it for free, since all its input is public."""

from discreet.algorithms.text.greedy_decode import write
from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.generation.prompts import layout

_RECORD = "The answer is {answer}."


def phrase(model: VotingModel, question: str, answer: str, prefix: str, max_tokens: int) -> str:
    """Return a sentence that answers `question` with `answer`, beginning with `prefix`.

    If the model writes no complete sentence with the answer, return the answer alone.
    """
    alone = answer[:1].upper() + answer[1:]
    record = model.encode(_RECORD.format(answer=answer))
    try:
        laid_out = layout(model, question, prefix=prefix, document_tokens=len(record), max_tokens=max_tokens)
    except UsageError:  # no room for a sentence; the answer is paid, so it must not be lost
        return alone
    written = write(model, laid_out.shared, laid_out.prompt(record), prefix, max_tokens)
    if written.stopped == "end" and answer.casefold() in written.text.casefold():
        return written.text
    return alone
