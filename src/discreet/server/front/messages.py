"""The messages of a chat: the last one of the user is the question."""

from typing import Any

from discreet.server.front.errors import invalid
from discreet.server.wire import Turn

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def read_messages(value: object) -> tuple[str, tuple[str, ...]]:
    """Return the question, and what of the chat is ignored: "system", "earlier messages".

    Raises:
        FrontError: if there is no such list, or its last message is none of the user in text.
    """
    if not isinstance(value, list) or not value:
        raise invalid("messages", "It must be a list with the user's message last.")
    roles = [one.get("role") if isinstance(one, dict) else None for one in value]
    if not all(role in _ROLES for role in roles):
        raise invalid("messages", "Each message must be an object with a role.")
    if roles[-1] != "user":
        raise invalid("messages", "The last message must be the user's.")
    question = text_of(value[-1].get("content")).strip()
    if not question:
        raise invalid("messages", "The last message must have text.")
    earlier = roles[:-1]
    system = any(role in ("system", "developer") for role in earlier)
    turns = any(role not in ("system", "developer") for role in earlier)
    return question, tuple(["system"] * system + ["earlier messages"] * turns)


def read_turns(messages: list[dict[str, Any]]) -> tuple[Turn, ...]:
    """Return the texts of the user and the assistant before the last message; `read_messages` found the list valid.

    Raises:
        FrontError: if one of these messages holds something else than text.
    """
    spoken = [one for one in messages[:-1] if one["role"] in ("user", "assistant") and one.get("content") is not None]
    turns = [Turn(one["role"], text_of(one["content"]).strip()) for one in spoken]
    return tuple(turn for turn in turns if turn.text)


def text_of(content: object) -> str:
    """Return the text of a message: a text, or a list of parts of text.

    Raises:
        FrontError: if a part is no text.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise invalid("messages", "The content must be a text or a list of parts.")
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(text, str):
            raise invalid("messages", "A part must be text: images, audio and files are refused.")
        texts.append(text)
    return "\n".join(texts)
