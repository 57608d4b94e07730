"""What makes two questions the same: all of their words and marks, but for case, politeness and the last mark."""

import re

_OPENING = re.compile(
    r"(?:(?:please|kindly|hello|hi)\b[\s,.!]*|(?:can|could|would|will) you (?:please )?tell (?:me|us)\b[\s,:]*"
    r"|tell (?:me|us)\b[\s,:]*)+"
)
_CLOSING = (" please", " thank you", " thanks")
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def essence(question: str) -> tuple[str, ...]:
    """Return the words and marks of a question in order, without case, polite words around it and its last mark.

    Nothing else is left out: "a" is a letter in "hepatitis A", and "on dialysis" is not "dialysis".
    """
    text = " ".join(question.replace("\u2019", "'").casefold().split()).rstrip(" .?!\u2026")
    while text.endswith(_CLOSING):
        text = next(text.removesuffix(one) for one in _CLOSING if text.endswith(one)).rstrip(" ,.?!\u2026")
    opening = _OPENING.match(text)
    return tuple(_TOKEN.findall(text[opening.end() :] if opening else text))
