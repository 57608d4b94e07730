"""The model parser: a language model that the custodian named makes a request of a question that the rules doubt.

It is optional. The variable DISCREET_PARSER names a model behind any server of OpenAI's protocol: it is asked at
/chat/completions, and its key stands in DISCREET_PARSER_KEY. It reads the question, the declared fields and the
attributes of the schema, which are public. It never reads a document, and never what was found in one.

Its reply is a `Request` in JSON, with text around it or without. A reply that states no sound request, or two, states
none. A request that it makes is one like any other: it is checked, echoed, priced and paid as if it had been written.

For a text there is one decision: the first sound one, so that an estimate, the answer and a repeat are of one request.

The same model may write a codebook (`discreet codebook new --about`), from a description alone.

VAULT/understood.jsonl   questions with the requests that were made of them, if the vault keeps the texts of questions
                         (`init --log-questions`); otherwise they are kept as long as the vault is open
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from discreet.errors import BadData, StoreError, UsageError
from discreet.models.endpoint import PARSER_KEY, KeyRefused, ServerGone
from discreet.models.openai import EXAMPLE, OpenAIAddress
from discreet.questions.request import Request, parse_request
from discreet.questions.sentences import look
from discreet.store.codebook import Codebook
from discreet.system.databases import TurnLock

VARIABLE = "DISCREET_PARSER"
"""The environment variable with the model's name."""
FILE = "understood.jsonl"
PATIENCE = 30.0
"""Seconds to wait for a reply."""
REST = 60.0
"""Seconds in which a server that did not reply in time is not asked again: else each question would wait for it."""
NONE = "none"
"""The text form of no request."""
_MOST_KEPT, _MOST_TOKENS, _LONGEST_REPLY = 1000, 1000, 20_000
_REFUSED = (400, 422)
"""Statuses of a server that does not know a part of what is sent."""
_INSTRUCTIONS, _BOOK = str(look("model_parser.instructions")), str(look("model_parser.book"))
"""What the model reads before a question, and before a description of a collection."""


def instruct(fields: Mapping[str, str], attributes: Sequence[str], plural: str, language: str) -> str:
    """Return what the model reads before a question: public values of a vault.

    Args:
        fields: the declared fields, with their types and values.
        attributes: the names of the schema's attributes.
        plural: the word for several units.
        language: the code of the language in which a fact is asked; "" for that of the question.
    """
    asked = {"": "the language of the question", "en": "English"}.get(language, language)
    known = "; ".join(f"{name}: {declared}" for name, declared in fields.items())
    return _INSTRUCTIONS.format(
        plural=plural, language=asked, fields=known or "none", attributes=", ".join(attributes) or "none"
    )


class ModelParser:
    """Makes requests of questions to one vault.

    Attributes:
        address: where the model is.
    """

    def __init__(self, address: OpenAIAddress, file: Path | None = None) -> None:
        """For one vault.

        Args:
            address: where the model is.
            file: keeps the requests; None to keep them in memory alone.

        Raises:
            UsageError: if the address names no model.
        """
        if not address.model:
            raise UsageError(f"{VARIABLE} names a server without a model. Write it as {EXAMPLE}")
        self.address, self._endpoint = address, replace(address.endpoint, key=PARSER_KEY)
        self._file, self._turn = file, TurnLock()
        self._made: dict[str, str] = {}
        self._known, self._rests_until = 0, 0.0

    @classmethod
    def from_environment(cls, file: Path | None) -> Self | None:
        """Return the parser that the environment names; None if it names none.

        Raises:
            UsageError: if it names no address of a model.
        """
        name = os.environ.get(VARIABLE, "").strip()
        return cls(OpenAIAddress.parse(name.removeprefix("openai:")), file) if name else None

    def request(self, question: str, instructions: str) -> Request | None:
        """Return the request that the model makes of a question; None if it makes no sound one.

        Raises:
            ServerGone: if the server does not answer in time, or fails.
            KeyRefused: if it refuses the key.
            StoreError: if the request cannot be kept.
        """
        asked = " ".join(question.split())
        with self._turn:
            made = self._made.get(asked) or self._read_file(asked)
        if made is None:
            made = self._keep(asked, text_form_in(self._reply_in_time(asked, instructions)))
        return parse_request(made) if made != NONE else None

    def _reply_in_time(self, question: str, instructions: str) -> str:
        begun = time.monotonic()
        if begun < self._rests_until:
            raise ServerGone(f"The model's server at {self._endpoint} did not reply in time a moment ago.")
        try:
            return self._reply(question, instructions)
        except ServerGone:
            if time.monotonic() >= begun + PATIENCE:
                self._rests_until = time.monotonic() + REST
            raise

    def propose_book(self, about: str) -> Codebook:
        """Return the codebook that the model writes for records of some kind. It reads this description alone.

        Raises:
            BadData: if its reply holds no codebook.
            ServerGone, KeyRefused: as `request`.
        """
        schema = {"type": "json_schema", "json_schema": {"name": "codebook", "schema": Codebook.model_json_schema()}}
        reply = self._reply(about, _BOOK, schema).rpartition("</think>")[2]
        why = "it holds no JSON object with `attributes`"
        for found in (one for one in _objects(reply, "attributes", json.JSONDecoder()) if "attributes" in one):
            try:
                return Codebook.parse(found)
            except ValueError as error:
                why = str(error)
        raise BadData(
            f"The model's reply is no codebook: {why}. Ask again, or begin with a packaged one: discreet codebook new "
            "BOOK.yaml --like NAME."
        )

    def _reply(self, question: str, instructions: str, schema: dict[str, Any] | None = None) -> str:
        said = [{"role": "system", "content": instructions}, {"role": "user", "content": question}]
        body: dict[str, Any] = {"model": self.address.model, "messages": said, "stream": False}
        plain = {"temperature": 0, "seed": 0, "max_tokens": _MOST_TOKENS * (4 if schema else 1)}
        form = {"response_format": schema or _response_format()}
        settings: tuple[dict[str, Any], ...] = (form | plain, plain, {})
        for known in range(self._known, len(settings)):  # a server may know no schema, or none of the settings
            reply = self._endpoint.request("POST", "/chat/completions", body | settings[known], timeout=PATIENCE)
            if reply.status not in _REFUSED:
                self._known = known
                break
        if reply.status in (401, 403):
            raise KeyRefused(f"The model's server at {self._endpoint} refuses the key. Set {PARSER_KEY}.")
        match reply.content.get("choices"):
            case [{"message": {"content": str(text)}}, *_] if reply.status == 200:
                return text
        raise ServerGone(f"The model's server at {self._endpoint} sent no reply (status {reply.status}).")

    def _keep(self, question: str, made: str) -> str:
        """Keep what was made of a question, if nothing was yet; return what is kept."""
        with self._turn:
            if self._file is not None and made != NONE:
                try:
                    with self._file.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"question": question, "request": made}) + "\n")
                except OSError as error:
                    raise StoreError(f"{self._file} cannot be written: {error.strerror}.") from None
                made = self._read_file(question) or made  # that of another process, if it was first
            if len(self._made) >= _MOST_KEPT:
                del self._made[next(iter(self._made))]
            return self._made.setdefault(question, made)

    def _read_file(self, question: str) -> str | None:
        if self._file is None or not self._file.exists():
            return None
        lines = self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        kept = (next(_objects(line), {}) for line in lines)  # the first is the line: a question may hold another one
        return next((str(one.get("request", NONE)) for one in kept if one.get("question") == question), None)


def text_form_in(reply: str) -> str:
    """Return the text form of the request that a reply states; "none" if it states none, or several.

    A model may write prose, a fence or its thoughts around it. So each JSON object with a `kind` is looked at.
    """
    spoken = reply[:_LONGEST_REPLY].rpartition("</think>")[2]
    made = {_text_form(one) for one in _objects(spoken) if "kind" in one}
    return made.pop() if len(made) == 1 else NONE


_NUMBERS_AS_TEXT = json.JSONDecoder(parse_int=str, parse_float=str)
"""A value may be written without quotes."""


def _objects(text: str, part: str = "kind", decoder: json.JSONDecoder = _NUMBERS_AS_TEXT) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text; of one with a part of this name, none that stands inside it."""
    at = -1
    while (at := text.find("{", at + 1)) >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        at = end - 1 if part in found else at
        yield found


def _text_form(content: Mapping[str, Any]) -> str:
    try:
        text = str(Request.model_validate({name: one for name, one in content.items() if one is not None}))
        return text if str(parse_request(text)) == text else NONE
    except (ValueError, UsageError, RecursionError):
        return NONE


@cache
def _response_format() -> dict[str, Any]:
    """Return the JSON schema of a request, or of none."""
    schema = Request.model_json_schema()
    schema["properties"]["kind"]["enum"] = [*schema["properties"]["kind"]["enum"], NONE]
    return {"type": "json_schema", "json_schema": {"name": "request", "schema": schema}}
