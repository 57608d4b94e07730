"""The name of a model behind a server of OpenAI's protocol: openai:http://127.0.0.1:8000/v1#name.

A socket has no path: openai:unix:/run/model.sock#name.
"""

from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from discreet.errors import UsageError
from discreet.generation.remote.endpoint import Endpoint

MOST_AT_ONCE = 128
"""The most requests at once."""
_OPTIONS = {
    "rows": ("alone", "together", *map(str, range(2, MOST_AT_ONCE + 1))),
    "endpoint": ("completions", "chat"),
    "unencrypted": ("yes",),
}
EXAMPLE = "openai:http://127.0.0.1:8000/v1#llama-3.1-8b"


@dataclass(frozen=True)
class OpenAIAddress:
    """Where a model is, and how it is asked.

    Attributes:
        endpoint: the server.
        model: the model's name there; empty for the only one.
        together: whether one request has all rows of a question; otherwise each row has a request of its own.
        at_once: the number of these requests that are sent at once: public.
        chat: whether the chat endpoint is asked (True), or that of plain completions (False); None for the first of
            completions and chat that the server has.
    """

    endpoint: Endpoint
    model: str = ""
    together: bool = False
    at_once: int = 1
    chat: bool | None = None

    @staticmethod
    def parse(text: str) -> "OpenAIAddress":
        """Return the address in a model's name, after "openai:".

        Raises:
            UsageError: if it is none, or if texts would leave this machine unencrypted.
        """
        place, _, model = text.partition("#")
        url, _, query = place.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        for name, value in options.items():
            if value not in _OPTIONS.get(name, ()):
                raise UsageError(
                    f"The address of a model has no such option '{name}', or value of it. Options: rows=alone, "
                    f"rows=together, rows=2 to rows={MOST_AT_ONCE}, endpoint=completions, endpoint=chat, "
                    "unencrypted=yes."
                )
        endpoint = Endpoint.parse(url)
        if endpoint.scheme == "unix":
            endpoint = replace(endpoint, base="/v1")
        if endpoint.scheme == "http" and not endpoint.stays_here and "unencrypted" not in options:
            raise UsageError(
                f"Texts would go to {endpoint.host} unencrypted. Use https, or a server on this machine; to send "
                "them nevertheless, write ?unencrypted=yes after the address."
            )
        chat = {"chat": True, "completions": False}.get(options.get("endpoint", ""))
        rows = options.get("rows", "alone")
        together = rows == "together"
        if together and chat:
            raise UsageError("A chat has one row. Leave out rows=together, or use endpoint=completions.")
        return OpenAIAddress(endpoint, model, together, int(rows) if rows.isdigit() else 1, chat)
