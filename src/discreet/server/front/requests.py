"""From the body of a chat completion request to a question, or to a refusal. Pure: any bytes give one of the two."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.server.front.choices import AnswerShape, check_choices, of_response_format
from discreet.server.front.errors import FrontError, invalid
from discreet.server.front.messages import read_messages, read_turns
from discreet.server.wire import Turn
from discreet.system.words import is_unicode

LARGEST_BODY = 64 * 1024
"""Bytes."""
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e9
MOST_TOKENS = 4096
_LONGEST_MODEL = 400
_MOST_STOPS = 4

IGNORED = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "user",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "metadata",
    "store",
    "service_tier",
    "reasoning_effort",
    "parallel_tool_calls",
    "tools",
    "functions",
    "function_call",
    "prediction",
    "verbosity",
    "safety_identifier",
    "prompt_cache_key",
)
"""Known fields that change nothing. They are listed in the reply; a field of another name is not repeated."""

FOLLOW_UPS = ("as-is", "condense")
"""How the last message of a chat is asked: alone, or rewritten with the messages before it."""

_TEMPLATE = re.compile(r"\A### Task:|<(?:context|source)[ >]")
"""The templates of open-webui: its own tasks, and a question beside the text of a file or of a web search."""
_TASK = re.compile(
    r"### Task:\s+(?:(?:Generate|Create|Suggest)\b.* (?:title|tags|follow-up)|Analyze the chat history)\b"
)
_TASK_END = "</chat_history>"
"""A task of its own: a title, tags, follow-up questions or search queries. The chat ends it: no question follows."""


@dataclass(frozen=True)
class ChatRequest:
    """A chat completion request that was found valid.

    Attributes:
        model: the name that the client sent: "VAULT" or "VAULT:PRESET".
        question: the last message of the user.
        choices: public answers among which to choose.
        epsilon: the most that it may cost; None for the preset's.
        max_tokens: the longest answer; None for the preset's.
        anew: whether to pay again for a question that was asked before.
        turns: the earlier messages with which the question is rewritten; none to ask it as it stands.
        task: whether a client made the request by itself, so that the free model answers it.
        shape: the JSON that the client expects; None for plain text.
        stops: texts before which the released text is cut.
        stream: whether the reply is a stream of events.
        stream_usage: whether the last event of a stream has the usage.
        ignored: the fields that changed nothing.
    """

    model: str
    question: str
    choices: tuple[str, ...] = ()
    epsilon: float | None = None
    max_tokens: int | None = None
    anew: bool = False
    turns: tuple[Turn, ...] = ()
    task: bool = False
    shape: AnswerShape | None = None
    stops: tuple[str, ...] = ()
    stream: bool = False
    stream_usage: bool = False
    ignored: tuple[str, ...] = ()

    @property
    def vault(self) -> str:
        """The name of the vault."""
        return self.model.partition(":")[0]

    @property
    def preset(self) -> str:
        """The name of the preset; "" for the vault's default. A task goes to the free model."""
        return "free" if self.task else self.model.partition(":")[2]

    @property
    def served(self) -> str:
        """The name of the model that answers."""
        return f"{self.vault}:free" if self.task else self.model

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of what decides the answer and its cost. How the answer is shown is no part of it."""
        fields: list[Any] = [self.vault, self.preset, self.question, self.choices, self.epsilon, self.max_tokens]
        fields.append(self.anew)
        if self.turns:
            fields.append([[turn.role, turn.text] for turn in self.turns])
        return hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest()


def parse_chat(body: bytes) -> ChatRequest:
    """Return the request that a body holds.

    Raises:
        FrontError: if it is too large, is no JSON, or asks for something that is refused.
    """
    fields = parse_object(body)
    _refuse(fields)
    question, ignored_messages = read_messages(fields.get("messages"))
    choices, shape = _choices(fields)
    options = _options(fields)
    if "choices" in options:
        choices = _same(choices, check_choices(options["choices"], "discreet.choices"))
    stream, stream_usage = _stream(fields)
    turns = read_turns(fields["messages"]) if _condenses(options.get("follow_up")) else ()
    if turns:
        ignored_messages = tuple(one for one in ignored_messages if one != "earlier messages")
    request = ChatRequest(
        model=_model(fields.get("model")),
        question=question,
        choices=choices,
        epsilon=_epsilon(options.get("epsilon")),
        max_tokens=_max_tokens(fields),
        anew=_truth(options.get("anew"), "discreet.anew"),
        turns=turns,
        shape=shape,
        stops=_stops(fields.get("stop")),
        stream=stream,
        stream_usage=stream_usage,
        ignored=(*ignored_messages, *(name for name in IGNORED if fields.get(name) is not None)),
    )
    if _TASK.match(question) and question.endswith(_TASK_END):
        return as_task(request)
    if _TEMPLATE.search(question):
        raise invalid(
            "messages",
            "It is a client's template with other text than your question. Turn off files, knowledge, web search and "
            "autocompletion in the client, and send the question alone.",
        )
    return request


def as_task(request: ChatRequest) -> ChatRequest:
    """Return the request as the free model answers it: it has no choices and pays nothing."""
    return replace(request, task=True, choices=(), shape=None, epsilon=None, anew=False, turns=())


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds.

    Raises:
        FrontError: if it is larger than 64 KiB, or holds no such object.
    """
    if len(body) > LARGEST_BODY:
        raise FrontError("too_large")
    try:
        found = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise invalid(None, "The body must be JSON in UTF-8.") from None
    if not isinstance(found, dict):
        raise invalid(None, "The body must be a JSON object.")
    if not _is_text(found):
        raise invalid(None, "The body must be valid Unicode.")
    return found


def _no_constant(_: str) -> Any:
    raise ValueError


def _is_text(value: object) -> bool:
    """Whether every text in a JSON value is valid Unicode. The parser bounds its depth."""
    waiting: list[object] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and not is_unicode(one):
            return False
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one
    return True


def _refuse(fields: Mapping[str, Any]) -> None:
    """Refuse what no answer of a vault can have."""
    if fields.get("n") not in (None, 1):
        raise invalid("n", "It must be 1: a question is paid once and has one answer.")
    if fields.get("logprobs") or fields.get("top_logprobs"):
        raise invalid("logprobs", "It must be false: probabilities are not released.")
    if fields.get("audio") is not None or fields.get("modalities") not in (None, ["text"]):
        raise invalid("modalities", "It must be ['text'].")
    if fields.get("tool_choice") not in (None, "auto", "none"):
        raise invalid("tool_choice", "It must be 'auto' or 'none': a vault calls no tools.")
    if fields.get("web_search_options") is not None:
        raise invalid("web_search_options", "A vault searches its documents alone.")


def _model(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_MODEL:
        raise invalid("model", "It must be the name of a model.")
    return value


def _choices(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], AnswerShape | None]:
    """Return the choices of the standard parameters, and the shape of the answer."""
    choices, shape = of_response_format(fields.get("response_format"))
    if (structured := fields.get("structured_outputs")) is not None:
        if not isinstance(structured, dict) or set(structured) != {"choice"}:
            raise invalid("structured_outputs", "It must be an object with 'choice' alone.")
        choices = _same(choices, check_choices(structured["choice"], "structured_outputs.choice"))
    if (guided := fields.get("guided_choice")) is not None:
        choices = _same(choices, check_choices(guided, "guided_choice"))
    for name in ("guided_json", "guided_regex", "guided_grammar"):
        if fields.get(name) is not None:
            raise invalid(name, "Name choices instead: guided_choice.")
    return choices, shape


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    if one and one != other:
        raise invalid("choices", "Choices stand in two parameters and differ. Send them once.")
    return other


def _options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `discreet`, those that are not null."""
    value = fields.get("discreet")
    if value is None:
        return {}
    if not isinstance(value, dict) or not value.keys() <= {"epsilon", "choices", "anew", "follow_up"}:
        # A misspelt ceiling must not be ignored: the question would cost more.
        raise invalid("discreet", "It must be an object with 'epsilon', 'choices', 'anew' or 'follow_up'.")
    return {name: one for name, one in value.items() if one is not None}


def _condenses(value: object) -> bool:
    """Return whether the last message is rewritten with the earlier ones."""
    if value not in (None, *FOLLOW_UPS):
        raise invalid("discreet.follow_up", "It must be 'as-is' or 'condense'.")
    return value == "condense"


def _epsilon(value: object) -> float | None:
    if value is None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        raise invalid("discreet.epsilon", "It must be a number above 0.")
    return float(number)


def _max_tokens(fields: Mapping[str, Any]) -> int | None:
    """Return the smaller of the two limits on tokens; None if neither stands there."""
    found = []
    for name in ("max_tokens", "max_completion_tokens"):
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise invalid(name, "It must be a whole number of at least 1.")
        found.append(min(value, MOST_TOKENS))
    return min(found, default=None)


def _stops(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS:
        raise invalid("stop", f"It must be a text or a list of at most {_MOST_STOPS} texts.")
    if not all(isinstance(one, str) and one for one in stops):
        raise invalid("stop", "Each of its texts must have a character.")
    return tuple(stops)


def _stream(fields: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether the reply is a stream, and whether its last event has the usage."""
    options = fields.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise invalid("stream_options", "It must be an object.")
    usage = (options or {}).get("include_usage")
    return _truth(fields.get("stream"), "stream"), _truth(usage, "stream_options.include_usage")


def _truth(value: object, param: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise invalid(param, "It must be true or false.")
    return bool(value)
