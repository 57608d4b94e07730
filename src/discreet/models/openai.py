"""A model behind a server that speaks OpenAI's protocol, such as vLLM, llama.cpp or Ollama: whole answers only.

    openai:http://127.0.0.1:8000/v1#name      the address of a model
    openai:unix:/run/model.sock#name          on a socket, which has no path

The server reads documents, so it must be the custodian's own. It has its own tokenizer, so texts are sent: a plain
text, or the messages of a chat. The tokens here are the blocks of bytes of `completer`, and three control tokens
between messages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

from discreet.errors import EngineFailed, UnknownName, UsageError
from discreet.models.answers import WholeAnswers, Written
from discreet.models.completer import CONTEXT, TextTokens
from discreet.models.endpoint import FAILED, KEY, Endpoint, EndpointReply, KeyRefused, ServerGone
from discreet.models.prompts import DOCUMENT_TOKENS, layout, render_plain_chat
from discreet.models.protocol import Prompt

# --- addresses --------------------------------------------------------------------------------------------------------

# A socket has no path: openai:unix:/run/model.sock#name.


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


# --- rows as a server reads them --------------------------------------------------------------------------------------

# A server has its own tokenizer, so texts are sent. The tokens here are the blocks of bytes of `completer_adapter`, and
# three control tokens for the roles of a chat. No text becomes a control token.


_ROLES = {2: "system", 3: "user", 4: "assistant"}
_SYSTEM, _USER, _ASSISTANT = _ROLES
STOPS = ("\n\n", "\nQuestion:", "\nRecord:")
"""What ends a plain completion: a model that writes on begins the next example of its prompt."""


@dataclass(frozen=True)
class ChatRow:
    """What one row asks: the turns of a chat, or one turn without a role."""

    turns: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages of a chat; the beginning of the answer, if there is one, is the last of them."""
        kept = [*self.turns[:-1], *(turn for turn in self.turns[-1:] if turn[1] or turn[0] != "assistant")]
        return [{"role": role or "user", "content": text} for role, text in kept]

    @property
    def folded(self) -> list[dict[str, str]]:
        """The messages of a chat for a model without a system's role: its text begins the first message."""
        first, *others = self.messages
        if first["role"] != "system" or not others:
            return self.messages
        return [{**others[0], "content": f"{first['content']}\n\n{others[0]['content']}"}, *others[1:]]

    @property
    def text(self) -> str:
        """The row as plain text."""
        if len(self.turns) == 1 and not self.turns[0][0]:
            return self.turns[0][1]
        system = "".join(text for role, text in self.turns if role == "system")
        said = [(role, text) for role, text in self.turns if role != "system"]
        *examples, (_, question), (_, begun) = said
        pairs = list(zip((text for _, text in examples[::2]), (text for _, text in examples[1::2]), strict=True))
        before, after = render_plain_chat(system, pairs)
        return f"{before}{question}{after}{begun}"


class ChatTokens(TextTokens):
    """The tokenizer of a server's model: blocks of bytes, and control tokens for the roles of a chat."""

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template: the roles as control tokens."""
        before = [_SYSTEM, *self.encode(system)]
        for question, answered in examples:
            before += [_USER, *self.encode(question), _ASSISTANT, *self.encode(answered)]
        return [*before, _USER], [_ASSISTANT]

    def row(self, tokens: Sequence[int]) -> ChatRow:
        """Return the row that tokens stand for."""
        turns: list[tuple[str, list[int]]] = []
        for token in tokens:
            if token in _ROLES:
                turns.append((_ROLES[token], []))
            elif turns:
                turns[-1][1].append(token)
            else:
                turns.append(("", [token]))
        return ChatRow(tuple((role, self.decode(own)) for role, own in turns) or (("", ""),))


# --- the model --------------------------------------------------------------------------------------------------------

# - The server computes each row by itself. Most servers batch the requests of all their clients, and keep what they
#   computed of earlier prompts. Both can change a row. Public rows are compared at the start and before each question
#   (`check_ready`); a difference refuses the question. Rows that agree prove nothing about others.
# - Nothing in a document stops the server. If the server is gone in the middle of a question, the question fails as a
#   whole: what it could have cost is charged, and nothing is released.

# By default each row is a request of its own, one after the other, so that the rows of a question never meet in a
# batch. A custodian who declares that rows do not depend on each other sends them in one request (`rows=together`), or
# side by side: the first N at once, the next N when all of these have been answered (`rows=N`). So the order of the
# rows, their number, and which of them are sent at once are public, and depend on no answer.

# A row that the server refuses (status 400, 413 or 422), for instance as too long, has an empty answer. So a public
# row is asked at the start as those of a question are, with instructions and examples; a chat model without a role of a
# system gets the instructions in its first message. What a model thinks before its answer is cut off.


_REFUSED = (400, 413, 422)
"""Statuses that refuse one row."""
_LACKS = (404, 405, 501)
"""Statuses of a server without such an endpoint."""
_EXTRAS: dict[str, Any] = {"cache_prompt": False}
"""llama.cpp otherwise keeps what it computed of earlier prompts. Other servers ignore the field, or refuse it."""
_PUBLIC = (
    "The sky is",
    "One, two, three, four,",
    "The capital of France is",
    "Question: Which colour has snow?\nAnswer:",
)
_STEPS, _PROBED = 8, 32
_LONG = "The sky is blue over the old town. " * (DOCUMENT_TOKENS // 8)
"""A public record: about `DOCUMENT_TOKENS` tokens."""
_REASONING = re.compile(
    r"\s*(<think(ing)?>|<reasoning>|\[THINK\]|<\|channel\|>analysis).*?(</think(ing)?>|</reasoning>|\[/THINK\]"
    r"|<\|channel\|>final<\|message\|>|\Z)\s*",
    re.DOTALL,
)
"""What a model thinks before its answer; without an end, it is the whole text."""


class OpenAIModel(ChatTokens, WholeAnswers):
    """A model behind a server. It promises no independent rows: each receipt names the assumption.

    Attributes:
        name: the name of the model at its server.
        address: where the model is.
        assumptions: what a guarantee takes for granted; for the receipt.
    """

    row_independent = False

    def __init__(self, address: OpenAIAddress) -> None:
        """Ask the server for its models and endpoints, and compare public rows.

        Raises:
            UnknownName: if the server has no such model.
            UsageError: if the server has several models and none is named, or if it refuses the key.
            ServerGone: if the server does not answer.
            EngineFailed: if a public row changed with the rows beside it, or if the server refuses one.
        """
        self.address = address
        self._endpoint: Endpoint = address.endpoint
        self.name, self.context_length = self._find_model()
        self.assumptions = (f"the server of the model '{self.name}' computes each row by itself",)
        self._extras = dict(_EXTRAS)
        self._folded = False
        self._chat = self._find_endpoint()
        if self._chat and address.together:
            raise UsageError(f"The server at {self._endpoint} has only a chat endpoint. Leave out rows=together.")
        self._check_taken()
        self._public: list[str] = self._complete_public(_PUBLIC)
        self.check_ready()

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt greedily. A private prompt that the server refuses yields an empty text."""
        rows = [ChatRow((("", prompt.encode(errors="replace").decode()),)) for prompt in prompts]
        return [answer.text for answer in self._ask(rows, max_tokens)]

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Return the answer of each row. How long the server takes depends on the answers.

        Raises:
            ServerGone: if the server does not answer, or sends something else.
        """
        rows = [self.row([*shared, *prompt.tokens[prompt.padding :]]) for prompt in prompts]
        try:
            return self._ask(rows, max_tokens)
        except ServerGone as error:
            gone = str(error)
        # Raised outside of the handler: the frames of the error hold rows.
        raise ServerGone(f"{gone} {FAILED}")

    def check_ready(self) -> None:
        """Compare public rows alone and among others, twice, with each other and with those of the start.

        Raises:
            EngineFailed: if one differs.
        """
        for _ in range(2):
            alone = self._complete_public(_PUBLIC[:1])
            among = self._complete_public(_PUBLIC)
            turned = self._complete_public(_PUBLIC[::-1])[::-1]
            if alone != self._public[:1] or among != self._public or turned != self._public:
                raise EngineFailed(
                    f"The server of the model '{self.name}' gave another answer to a public row when other rows were "
                    "asked, or at another time. A document could change what is said of others. Nothing was charged. "
                    "Turn off its prefix cache and speculative decoding, and let no other client use it "
                    "(docs/models.md)."
                )

    def _ask(self, rows: Sequence[ChatRow], max_tokens: int) -> list[Written]:
        if self.address.together and (answers := self._ask_together(rows, max_tokens)) is not None:
            return answers
        at_once, answers = self.address.at_once, list[Written]()
        for start in range(0, len(rows), at_once):
            for reply in self._send_each(rows[start : start + at_once], max_tokens):
                answers.append(self._read_one(reply, max_tokens))
        return answers

    def _ask_together(self, rows: Sequence[ChatRow], max_tokens: int) -> list[Written] | None:
        """Return the answers by one request; None if the server refuses it, since it may mean one row alone."""
        reply = self._send([row.text for row in rows], max_tokens)
        if reply.status in _REFUSED:
            return None
        choices = self._choices(reply)
        by_index = {choice.get("index", at): choice for at, choice in enumerate(choices)}
        if set(by_index) != set(range(len(rows))):
            raise ServerGone(f"The model's server at {self._endpoint} returned another number of answers than of rows.")
        return [self._written(by_index[row], max_tokens) for row in range(len(rows))]

    def _send_each(self, rows: Sequence[ChatRow], max_tokens: int) -> list[EndpointReply]:
        """Return the reply to each row, when all have come. Ctrl-C does not wait for them."""
        forms = [self._form(row) for row in rows]
        if len(forms) == 1:
            return [self._send(forms[0], max_tokens)]
        replies, failures = dict[int, EndpointReply](), dict[int, Exception]()

        def send(place: int) -> None:
            try:
                replies[place] = self._send(forms[place], max_tokens)
            except Exception as error:
                failures[place] = error

        threads = [Thread(target=send, args=(place,), daemon=True) for place in range(len(forms))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[min(failures)]
        return [replies[place] for place in range(len(forms))]

    def _form(self, row: ChatRow) -> object:
        if not self._chat:
            return row.text
        return row.folded if self._folded else row.messages

    def _read_one(self, reply: EndpointReply, max_tokens: int) -> Written:
        if reply.status in _REFUSED:
            return self.written("", max_tokens)
        choices = self._choices(reply)
        return self._written(choices[0] if choices else {}, max_tokens)

    def _send(self, asked: object, max_tokens: int) -> EndpointReply:
        body = {"model": self.name, "max_tokens": max_tokens, "temperature": 0, "seed": 0, "stream": False}
        if self._chat:
            return self._endpoint.request("POST", "/chat/completions", {**body, **self._extras, "messages": asked})
        return self._endpoint.request(
            "POST", "/completions", {**body, **self._extras, "stop": list(STOPS), "prompt": asked}
        )

    def _choices(self, reply: EndpointReply) -> list[dict[str, Any]]:
        """Return the choices of a reply.

        Raises:
            KeyRefused: if the server refuses the key.
            ServerGone: if the server failed.
        """
        if reply.status in (401, 403):
            raise KeyRefused(f"The model's server at {self._endpoint} refuses the key. Set {KEY}, and ask again.")
        choices = reply.content.get("choices")
        if reply.status != 200 or not isinstance(choices, list):
            raise ServerGone(f"The model's server at {self._endpoint} failed (status {reply.status}).")
        return [choice if isinstance(choice, dict) else {} for choice in choices]

    def _written(self, choice: dict[str, Any], max_tokens: int) -> Written:
        message = choice.get("message")
        text = message.get("content") if isinstance(message, dict) else choice.get("text")
        reason = choice.get("finish_reason")
        ended = reason != "length" if isinstance(reason, str) else None
        return self.written(without_reasoning(text) if isinstance(text, str) else "", max_tokens, ended=ended)

    def _complete_public(self, texts: Sequence[str]) -> list[str]:
        return [answer.text for answer in self._ask([ChatRow((("", text),)) for text in texts], _STEPS)]

    def _check_taken(self) -> None:
        """Check that the server answers a public row as those of a question are asked, with a long record.

        A private row that it refuses is an empty answer. If it refused all, each question would be paid for nothing.

        Raises:
            EngineFailed: if it refuses the row, sends no text, or thinks for longer than an answer.
        """
        laid_out = layout(self, "Which colour has snow?", document_tokens=DOCUMENT_TOKENS, max_tokens=_PROBED)
        prompt = laid_out.prompt(self.encode(_LONG))
        row = self.row([*laid_out.shared, *prompt.tokens[prompt.padding :]])
        reply = self._send(self._form(row), _PROBED)
        if self._chat and reply.status in (*_REFUSED, 500):  # some servers fail where a template refuses a role
            self._folded = True
            reply = self._send(self._form(row), _PROBED)
        if reply.status in _REFUSED:
            raise EngineFailed(
                f"The server of the model '{self.name}' refuses a public row of {len(row.text):,} characters, asked "
                f"with instructions and examples (status {reply.status}). It needs a context of about 4,096 tokens "
                "(docs/models.md)."
            )
        choice = next(iter(self._choices(reply)), {})
        message = choice.get("message")
        text = message.get("content") if isinstance(message, dict) else choice.get("text")
        thought = isinstance(message, dict) and bool(message.get("reasoning_content") or message.get("reasoning"))
        if (thought and not text) or (isinstance(text, str) and text.strip() and not without_reasoning(text)):
            raise EngineFailed(
                f"The model '{self.name}' thinks for longer than an answer may be, so its answers would be empty. Turn "
                "off its reasoning at the server (docs/models.md)."
            )
        if not isinstance(text, str):
            raise EngineFailed(f"The server of the model '{self.name}' answers without a text.")

    def _find_model(self) -> tuple[str, int]:
        """Return the model's name at the server, and its context length."""
        reply = self._endpoint.request("GET", "/models")
        if reply.status in (401, 403):
            self._choices(reply)
        listed = reply.content.get("data")
        cards = [card for card in listed if isinstance(card, dict)] if isinstance(listed, list) else []
        names = {str(card.get("id")): card for card in cards}
        name = self.address.model or (next(iter(names)) if len(names) == 1 else "")
        if not name:
            known = ", ".join(names) or "none"
            raise UsageError(f"Name a model of the server at {self._endpoint}: ...#NAME. It has: {known}.")
        card = names.get(name) or names.get(f"{name}:latest")
        if names and card is None:
            raise UnknownName(f"model at {self._endpoint}", name, names)
        length = card.get("max_model_len") if card else None
        return name, length if isinstance(length, int) and length > 0 else CONTEXT

    def _find_endpoint(self) -> bool:
        """Return whether the chat endpoint is asked, by a public row. Leave out what the server does not know."""
        first = self.address.chat or False
        for chat in (first, True) if self.address.chat is None else (first,):
            self._chat = chat
            public: object = [{"role": "user", "content": _PUBLIC[0]}] if chat else _PUBLIC[0]
            for extras in (_EXTRAS, {}):
                self._extras = dict(extras)
                reply = self._send(public, _STEPS)
                if reply.status not in _REFUSED:
                    break
            if reply.status not in (*_REFUSED, *_LACKS):
                self._choices(reply)
                return chat
        raise UsageError(
            f"The server at {self._endpoint} completes nothing (status {reply.status}). Its address ends in /v1 for "
            "most servers, and the model must be loaded."
        )


def without_reasoning(text: str) -> str:
    """Return an answer without what the model thought before it."""
    before, ended, rest = text.rpartition("</think>")
    if ended and "<think>" not in before:  # some templates open it before the answer
        return rest.lstrip()
    return _REASONING.sub("", text, count=1) if _REASONING.match(text) else text


def open_openai(argument: str) -> OpenAIModel:
    """Return the model of a name such as http://127.0.0.1:8000/v1#llama."""
    return OpenAIModel(OpenAIAddress.parse(argument))
