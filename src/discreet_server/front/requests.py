"""What clients may send, as models, and the question in a chat completion request. Pure: bytes give it or a refusal.

The framework reads requests with these models, and makes /openapi.json of them. The description of a field says what it
must be, there and in the refusal of another value. A refusal repeats nothing that the client sent.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from discreet.config import LARGEST_EPSILON, SMALLEST_EPSILON
from discreet_server.front.errors import ClosedModel, FrontError, invalid
from discreet_server.wire import MOST_TOKENS, AskedEpsilon, Choice, Turn

Body = TypeVar("Body", bound=BaseModel)
LARGEST_BODY = 64 * 1024
"""Bytes."""
_DEEPEST = 9
"""So many objects and references of a JSON schema are looked into for its enum."""

_CLIENTS: dict[str, Any] = tomllib.loads(
    files("discreet_server.front").joinpath("clients.toml").read_text(encoding="utf-8")
)
IGNORED = tuple(_CLIENTS["ignored"])
"""Known fields that change nothing. They are listed in the reply; a field of another name is not repeated."""

_MEANT = re.compile(
    r"(?<!st)eps|[εδ]|delta|^dp|budget|priva|discr|anew|price|cost|ceiling|noise|choice|structured.?output|condense"
    r"|spend|spent|(?:^|[^a-z])(?:pay|cap|rho)(?:$|[^a-z])|[^\x00-\x7f]"
    r"|follow.?up|max.*token|predict|extra.?body",
    re.IGNORECASE,
)
"""Names with which a client means privacy, the price, or what decides it: an unknown field of one is refused."""
_LONGEST_NAME = 80
_MISPLACED = (
    "A field has the name of a privacy or price setting, but would change nothing where it stands. Such settings are "
    "max_tokens, guided_choice, structured_outputs and response_format beside the messages, and in 'discreet': {}."
)

_TEMPLATE = re.compile(r"\A### Task:|<(?:context|source)[ >]")
"""The templates of open-webui: its own tasks, and a question beside the text of a file or of a web search."""
_CHAT_ENDS = "</chat_history>"
_REPHRASED = re.compile(r"Follow Up Input: (.*), it's standalone query:", re.DOTALL)
_ASKED_BEFORE = re.compile(r"(?im)^(?:USER|Human):[ \t]*(\S.*)$")
_TITLE_WORDS, _TITLE = 6, "Chat"


class OpenModel(ClosedModel):
    """An object that may have other fields, which change nothing, unless their names tell that they are meant to."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _refuse_misplaced(self) -> "OpenModel":
        extra = {name: value for name, value in (self.model_extra or {}).items() if name not in IGNORED}
        own = {_letters(name) for name in type(self).model_fields} if extra else ()
        if any(_letters(name) in own for name in extra) or any(map(_MEANT.search, _names_in(extra))):
            raise invalid("discreet", _MISPLACED.format(_OPTIONS))
        return self


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _names_in(value: object) -> Iterable[str]:
    """Yield the names of all objects in a JSON value, cut to a length that is searched fast."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from (name[:_LONGEST_NAME] for name in one)
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _check_choices(choices: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(choices)) < len(choices) or not all(one.strip() for one in choices):
        raise ValueError
    return choices


_CHOICES = "a list of 2 to 64 different texts of 1 to 1000 characters"
Choices = Annotated[
    tuple[Choice, ...], Field(strict=False, min_length=2, max_length=64), AfterValidator(_check_choices)
]
MaybeChoices = Annotated[Choices | None, Field(description=_CHOICES)]
MaybeTokens = Annotated[int | None, Field(ge=1, description="a whole number of at least 1")]
MaybeFlag = Annotated[bool | None, Field(description="true or false")]
Nothing = Annotated[None, Field(description="left out: a vault has nothing of this kind")]
Unguided = Annotated[None, Field(description="left out: name choices instead, in guided_choice")]
Text = Annotated[str, Field(min_length=1)]


class Part(OpenModel):
    """A part of a message. The last message has parts of text alone."""

    type: str
    text: str | None = None


class ChatMessage(OpenModel):
    """A message of a chat."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[tuple[Part, ...], Field(strict=False)] | None = None

    @property
    def text(self) -> str:
        """The text of the message.

        Raises:
            FrontError: if it holds something else.
        """
        if isinstance(self.content, str):
            return self.content.strip()
        texts = [part.text if part.type == "text" else None for part in self.content or ()]
        if not texts or not all(isinstance(one, str) for one in texts):
            raise invalid("messages", "Its content must be text: images, audio and files are refused.")
        return "\n".join(one for one in texts if one is not None).strip()


class StreamOptions(OpenModel):
    """How a stream ends."""

    include_usage: MaybeFlag = None


class StructuredOutputs(ClosedModel):
    """vLLM's way to name choices."""

    choice: Annotated[Choices, Field(description=_CHOICES)]


class JsonSchema(OpenModel):
    """A JSON schema, with its name."""

    schema_: Annotated[dict[str, Any], Field(alias="schema")]


class ResponseFormat(OpenModel):
    """OpenAI's way to name choices. JSON without a schema is for tasks of clients alone."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class OwnFields(ClosedModel):
    """What OpenAI's parameters have no name for."""

    epsilon: Annotated[
        AskedEpsilon | None, Field(description=f"a number from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}")
    ] = None
    choices: MaybeChoices = None
    anew: MaybeFlag = None
    follow_up: Annotated[
        Literal["as-is", "condense"] | None,
        Field(description="'as-is', or 'condense': then the public model rewrites the last message, for free"),
    ] = None


_OPTIONS = ", ".join(OwnFields.model_fields)


class ChatBody(OpenModel):
    """The body of a question, and of its estimate."""

    model: Annotated[str, Field(min_length=1, max_length=400, description="the name of a model: VAULT or VAULT:PRESET")]
    messages: Annotated[
        tuple[ChatMessage, ...],
        Field(strict=False, min_length=1, description="a list of messages with roles and text, with the user's last"),
    ]
    discreet: Annotated[OwnFields | None, Field(description=f"an object of these fields alone: {_OPTIONS}")] = None
    max_tokens: MaybeTokens = None
    max_completion_tokens: MaybeTokens = None
    stop: Annotated[
        Text | Annotated[tuple[Text, ...], Field(strict=False, max_length=4)] | None,
        Field(description="a text or a list of at most 4 texts, each with a character"),
    ] = None
    stream: MaybeFlag = None
    stream_options: Annotated[StreamOptions | None, Field(description="an object")] = None
    response_format: Annotated[
        ResponseFormat | None,
        Field(description="an object of the type 'text', or 'json_schema' with a schema of one enum of 2 to 64 texts"),
    ] = None
    structured_outputs: Annotated[StructuredOutputs | None, Field(description="an object of one field: choice")] = None
    guided_choice: MaybeChoices = None
    n: Annotated[Literal[1] | None, Field(description="1: a question is paid once and has one answer")] = None
    logprobs: Annotated[Literal[False] | None, Field(description="false: probabilities are not released")] = None
    top_logprobs: Annotated[Literal[0] | None, Field(description="0: probabilities are not released")] = None
    modalities: Annotated[tuple[Literal["text"]] | None, Field(strict=False, description="['text']")] = None
    tool_choice: Annotated[
        Literal["auto", "none"] | None, Field(description="'auto' or 'none': a vault calls no tools")
    ] = None
    audio: Nothing = None
    web_search_options: Nothing = None
    guided_json: Unguided = None
    guided_regex: Unguided = None
    guided_grammar: Unguided = None


def expected_of(model: type[BaseModel], before: str = "") -> dict[str, str]:
    """Return what the fields of a model must be, by their names: those in an object too, as "discreet.epsilon"."""
    descriptions: dict[str, str] = {}
    for name, field in model.model_fields.items():
        descriptions |= {before + name: field.description} if field.description else {}
        inner = [one for one in (field.annotation, *getattr(field.annotation, "__args__", ())) if isinstance(one, type)]
        for one in inner:
            descriptions |= expected_of(one, f"{before}{name}.") if issubclass(one, BaseModel) else {}
    return descriptions


def refusal(places: Iterable[str | int], expected: Mapping[str, str]) -> FrontError:
    """Return the error for a wrong value: it names the innermost field at its place that is known.

    Args:
        places: where the value stands, from the outermost name.
        expected: what each field must be.
    """
    parameter = ""
    for place in places:
        longer = f"{parameter}.{place}" if parameter else str(place)
        parameter = longer if longer in expected else parameter
    fields = ", ".join(name for name in expected if "." not in name)
    return invalid(
        parameter or None, f"It must be {expected[parameter]}." if parameter else f"Its fields are these: {fields}."
    )


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
        task: the reply to a request that a client made by itself; "" if its user asks.
        shape: names of the JSON objects around the chosen answer, from the outermost; None for plain text.
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
    task: str = ""
    shape: tuple[str, ...] | None = None
    stops: tuple[str, ...] = ()
    stream: bool = False
    stream_usage: bool = False
    ignored: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of what decides the answer and its cost. How the answer is shown is no part of it."""
        model, _, preset = self.model.partition(":")  # apart, as in version 1: a retry is known after an update
        fields: list[Any] = [model, preset, self.question, self.choices, self.epsilon, self.max_tokens, self.anew]
        if self.turns:
            fields.append([[turn.role, turn.text] for turn in self.turns])
        if self.task:  # its words may be a question, too, beside another system message
            fields.append(["task", self.task])
        return hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest()


def parse_chat(body: bytes) -> ChatRequest:
    """Return the request that a body holds.

    Raises:
        FrontError: if it is too large, is no JSON, or asks for something that is refused.
    """
    return request_of(parse(ChatBody, body))


def chat_of(model: str, question: str, **options: Any) -> ChatRequest:
    """Return the request that a client with a question and the fields of `OwnFields` would have sent.

    Raises:
        FrontError: as `parse_chat`.
    """
    body = {"model": model, "messages": [{"role": "user", "content": question}], "discreet": options}
    return parse_chat(json.dumps(body).encode())


def parse(kind: type[Body], body: bytes) -> Body:
    """Return the model of a kind that a body holds.

    Raises:
        FrontError: if it holds none.
    """
    try:
        return kind.model_validate(parse_object(body))
    except ValidationError as error:
        places = error.errors(include_input=False, include_url=False, include_context=False)[0]["loc"]
    raise refusal(places, expected_of(kind))


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds.

    Raises:
        FrontError: if it is larger than 64 KiB, holds no such object, or an object in which a name stands twice.
    """
    if len(body) > LARGEST_BODY:
        raise FrontError("too_large")
    try:
        value = json.loads(body.decode(), object_pairs_hook=_object)
        # fails if a text is no valid Unicode, or a number is not finite
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise invalid(None, "The body must be JSON in UTF-8, and its texts valid Unicode.") from None
    if not isinstance(value, dict):
        raise invalid(None, "The body must be a JSON object.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):  # readers differ in which of the two counts
        raise invalid(None, "A field stands twice in one object. Send each field once.")
    return members


def request_of(body: ChatBody, *, tasks: Sequence[str] = (), follow_ups: bool = False) -> ChatRequest:
    """Return the request that a body asks for.

    Args:
        body: what the client sent.
        tasks: how messages begin that clients of the key send by themselves, beside the known ones.
        follow_ups: whether the last message is rewritten with the earlier ones if the client does not say.

    Raises:
        FrontError: if its last message is no question to a vault, or if its choices differ or stand in another schema.
    """
    *earlier, last = body.messages
    if last.role != "user":
        raise invalid("messages", "The last message must be the user's.")
    if not (question := last.text):
        raise invalid("messages", "The last message must have text.")
    options, task = body.discreet or OwnFields(), _task(question, earlier, tasks)
    if task:  # its other fields are those of a chat; a schema of its reply, say, names no choices
        options, body = OwnFields(), body.model_copy(update=dict.fromkeys(_CHOOSING))
    elif _TEMPLATE.search(question):
        raise invalid(
            "messages",
            "It is a client's template with other text than your question. Turn off files, knowledge, web search and "
            "autocompletion in the client, and send the question alone.",
        )
    spoken = [one for one in earlier if one.role in ("user", "assistant") and one.content is not None]
    rewritten = not task and (options.follow_up or ("condense" if follow_ups else "")) == "condense"
    turns = tuple(Turn(one.role, text) for one in (spoken if rewritten else ()) if (text := one.text))
    choices, shape = _choices(body, options)
    texts: list[str] = []
    if any(one.role in ("system", "developer") for one in earlier):
        texts.append("system")
    if not turns and any(one.role not in ("system", "developer") for one in earlier):
        texts.append("earlier messages")
    limits = [one for one in (body.max_tokens, body.max_completion_tokens) if one is not None]
    return ChatRequest(
        model=body.model,
        question=question,
        choices=choices,
        epsilon=options.epsilon,
        max_tokens=min(*limits, MOST_TOKENS) if limits else None,
        anew=bool(options.anew),
        turns=turns,
        task=task,
        shape=shape,
        stops=(body.stop,) if isinstance(body.stop, str) else body.stop or (),
        stream=bool(body.stream),
        stream_usage=bool(body.stream_options and body.stream_options.include_usage),
        ignored=(*texts, *(name for name in IGNORED if (body.model_extra or {}).get(name) is not None)),
    )


def _task(question: str, earlier: Sequence[ChatMessage], own: Sequence[str]) -> str:
    """Return the reply to a request that a client made by itself, from its words alone; "" if its user asks."""
    if not earlier and question in _CLIENTS["checks"]:
        return "ok"
    systems = [one.content for one in earlier if one.role == "system" and isinstance(one.content, str)]
    replies: list[str] = [
        reply for form, reply in _CLIENTS["system_tasks"].items() if any(re.match(form, text) for text in systems)
    ]
    for form, reply in _CLIENTS["tasks"].items():
        if re.match(form, question) and (question.endswith(_CHAT_ENDS) or not reply.startswith("{{")):
            replies.append(reply)
    if any(question.startswith(one) for one in own):
        replies.append("{title}")
    if not replies:
        return ""
    before, rephrased = _ASKED_BEFORE.search(question), _REPHRASED.fullmatch(question)
    title = " ".join(before[1].split()[:_TITLE_WORDS]) if before else _TITLE
    shown = json.dumps(title, ensure_ascii=False) if replies[0].startswith("{{") else title
    return replies[0].format(title=shown, text=rephrased[1] if rephrased else question)


def _choices(body: ChatBody, options: OwnFields) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the choices, which stand in one of four fields or are the same in each, and the shape of the answer."""
    named: list[tuple[str, ...] | None] = [body.guided_choice, options.choices]
    shape = None
    if body.structured_outputs is not None:
        named.append(body.structured_outputs.choice)
    if body.response_format is not None and body.response_format.type != "text":
        schema = body.response_format.json_schema
        shape, enum = _find_enum(schema.schema_ if schema else {})
        named.append(enum)
    lists = {one for one in named if one is not None}
    if len(lists) > 1:
        raise invalid("choices", "Choices stand in two parameters and differ. Send them once.")
    return lists.pop() if lists else (), shape


_CHOOSING = ("guided_choice", "structured_outputs", "response_format")
_ENUM: TypeAdapter[tuple[str, ...]] = TypeAdapter(Choices, config=ConfigDict(strict=True, hide_input_in_errors=True))


def _find_enum(root: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the objects around the one enum of a schema, and its values."""
    path, schema = list[str](), root
    for _ in range(_DEEPEST):
        properties = schema.get("properties") if "enum" not in schema else None
        if isinstance(reference := schema.get("$ref"), str):
            inner = _resolve(reference, root)
        elif "enum" in schema and schema.get("type", "string") == "string":
            try:
                return tuple(path), _ENUM.validate_python(schema["enum"])
            except ValidationError:
                break
        elif schema.get("type", "object") == "object" and isinstance(properties, dict) and len(properties) == 1:
            ((name, inner),) = properties.items()
            path.append(name)
        else:
            break
        schema = inner if isinstance(inner, dict) else {}
    raise invalid("response_format", f"Its schema must be one enum, {_CHOICES}, or an object with one such property.")


def _resolve(reference: str, root: Mapping[str, Any]) -> object:
    """Return the definition that `#/$defs/NAME` names in a schema; None if there is none."""
    hash_sign, place, name = (*reference.split("/", 2), "", "")[:3]
    definitions = root.get(place) if (hash_sign, place) in (("#", "$defs"), ("#", "definitions")) else None
    return definitions.get(name) if isinstance(definitions, dict) else None
