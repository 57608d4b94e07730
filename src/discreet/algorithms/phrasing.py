"""A sentence around a released answer: written by the public model, and free, since all that it reads is public."""

from discreet.algorithms.greedy import write
from discreet.generation.model import LanguageModel
from discreet.generation.prompts import layout

_RECORD = "The answer is {answer}."


def phrase(model: LanguageModel, question: str, answer: str, max_tokens: int) -> str:
    """A sentence that answers `question` with `answer`; the answer alone if the model does not write it in."""
    record = model.encode(_RECORD.format(answer=answer))
    laid_out = layout(model, question, document_tokens=len(record), max_tokens=max_tokens)
    written = write(model, laid_out.shared, laid_out.prompt(record), "", max_tokens)
    if written.stopped == "end" and answer.casefold() in written.text.casefold():
        return written.text
    return answer[:1].upper() + answer[1:]
