"""A follow-up question and the messages before it, rewritten as one question by the public model without documents.

It reads what the analyst sent, and nothing else. So the words that it writes are public, and cost nothing.
"""

import re
from collections.abc import Sequence

from discreet.algorithms.text.writing import write
from discreet.models.protocol import Prompt, VotingModel
from discreet.system.words import LONGEST_CONDENSED

Message = tuple[str, str]
"""The role of who wrote a message, \"user\" or \"assistant\", and its text."""

MOST_PROMPT = 384
"""Tokens of messages that the model reads at most; the oldest messages are left out first."""
MOST_WRITTEN = 64
"""Tokens of the rewritten question at most."""

_SYSTEM = "Rewrite the last question so that it can be understood without the conversation. Do not answer it."
_LAST = "Last question: {text}"
_EXAMPLES = (
    (
        "User: What is the treatment for Mumpelflex?\nAssistant: Zibber Drops\nLast question: And how is it found?",
        "How is Mumpelflex found?",
    ),
    (
        "User: Which disease causes itchy ears?\nAssistant: Brindle Ear\nLast question: What helps against it?",
        "What helps against Brindle Ear?",
    ),
    (
        "User: When is the review of the Orly bridge?\nAssistant: On 4 May\nLast question: And of the Orly tunnel?",
        "When is the review of the Orly tunnel?",
    ),
)
_FILLERS = frozenset(
    """
    a an the this that these those it its they them their he him his she her there then and or but so also what
    which who whom whose when where why how is are was were be been do does did has have had can could will would
    should may might of for in on at to from with by about as than not no any same one ones other others
    """.split()
)
"""Words of a question that may be missing in the rewritten one: they refer to messages before it, or say little."""
_LEAST_ALIKE = 5
"""So many letters of a word must come back, so that "symptoms" may become "symptom"."""
_LABEL = re.compile(r"(?i)^(last |rewritten |standalone )?(question|answer|user)\s*:\s*")


def condense(model: VotingModel, messages: Sequence[Message]) -> str:
    """Return the last message as a question that stands alone; "" if the model writes none that can be asked.

    Args:
        model: the model, used by the calling thread alone. It decodes greedily.
        messages: the messages, oldest first.
    """
    opening, closing = model.chat(_SYSTEM, _EXAMPLES)
    room = min(MOST_PROMPT, model.context_length - len(opening) - len(closing) - MOST_WRITTEN)
    shown = _fitting(model, messages, room)
    if not shown:
        return ""
    written = write(model, opening, Prompt((*shown, *closing), 0), "", MOST_WRITTEN)
    question = parse_question(written.text, complete=written.stopped == "end")
    return question if keeps(question, messages) else ""


def parse_question(written: str, *, complete: bool) -> str:
    """Return the question in what the model wrote: its first line, without a label; "" if it cannot be asked.

    Args:
        written: the text of the model.
        complete: whether the model ended it; if not, the last line may lack its end.
    """
    lines = written.strip().splitlines()
    if not lines or (len(lines) == 1 and not complete):
        return ""
    found = " ".join(_LABEL.sub("", lines[0].strip()).split()).strip("\"'\u201c\u201d ")
    if len(found) > LONGEST_CONDENSED or not re.search(r"[^\W\d_].*[?.!]$", found):
        return ""
    return found


def keeps(question: str, messages: Sequence[Message]) -> bool:
    """Return whether a rewritten question is new, and has the words of the last message: else another one is paid.

    Args:
        question: the rewritten question.
        messages: the messages that were rewritten; small models repeat one of them, or drop what the last one adds.
    """
    found = _words(question)
    if any(role == "user" and _words(text) == found for role, text in messages[:-1]):
        return False
    needed = [word[:_LEAST_ALIKE] for word in _words(messages[-1][1]) if word not in _FILLERS]
    return all(any(word.startswith(start) for word in found) for start in needed)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _fitting(model: VotingModel, messages: Sequence[Message], room: int) -> list[int]:
    """Return the tokens of as many of the last messages as fit; none if fewer than two do."""
    for first in range(len(messages) - 1):
        tokens = model.encode(_show(messages[first:]))
        if len(tokens) <= room:
            return tokens
    return []


def _show(messages: Sequence[Message]) -> str:
    """Return messages in the words of the prompt, a line for each."""
    earlier = [f"{role.capitalize()}: {' '.join(text.split())}" for role, text in messages[:-1]]
    return "\n".join([*earlier, _LAST.format(text=" ".join(messages[-1][1].split()))])
