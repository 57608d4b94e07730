"""The fields of a form, and the question in them as the request that a client of /v1 would have sent."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from discreet.server.front.errors import invalid
from discreet.server.front.requests import ChatRequest, parse_chat

_MOST_FIELDS = 16
_TYPE = "application/x-www-form-urlencoded"


def read_form(content_type: str, body: bytes) -> dict[str, str]:
    """Return the fields of a form.

    Raises:
        FrontError: if the body is no form.
    """
    if content_type.split(";")[0].strip().lower() != _TYPE:
        raise invalid(None, "The body must be a form.")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise invalid(None, "The body must be a form in UTF-8.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def question_of(form: Mapping[str, str]) -> ChatRequest:
    """Return the request in the form of a question.

    Raises:
        FrontError: if it would be refused at /v1/chat/completions.
    """
    options: dict[str, Any] = {}
    choices = [line.strip() for line in form.get("choices", "").splitlines() if line.strip()]
    if choices:
        options["choices"] = choices
    if form.get("epsilon", "").strip():
        options["epsilon"] = number_of(form["epsilon"], "epsilon")
    message = {"role": "user", "content": form.get("question", "")}
    body = {"model": form.get("model", ""), "messages": [message], "discreet": options}
    return parse_chat(json.dumps(body).encode())


def number_of(text: str, param: str) -> float:
    """Return a number of a form.

    Raises:
        FrontError: if it is none above 0.
    """
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise invalid(param, "It must be a number above 0.")
    return value


def name_of(form: Mapping[str, str]) -> str | None:
    """Return the name of a question's page, in place of an Idempotency-Key; None if it has none.

    Raises:
        FrontError: if no page of this server sent it.
    """
    name = form.get("name") or None
    if name is not None and not (len(name) <= 64 and name.isascii() and name.isalnum()):
        raise invalid(None, "The form is damaged. Open the page again.")
    return name
