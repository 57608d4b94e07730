"""MCP at /mcp: the tools ask, one for each kind of statistic, describe, estimate and budget, with the key as bearer.

Every exception becomes a structured error of the table. The SDK would log the text of an exception: its loggers are
silenced.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from discreet.system.plain import to_plain
from discreet_server.accounts import Key
from discreet_server.front.errors import ClosedModel, FrontError, invalid
from discreet_server.front.gate import check_body
from discreet_server.front.replies import FINGERPRINT, ToolAnswer
from discreet_server.front.requests import LARGEST_BODY, chat_of
from discreet_server.front.routes import Chat, QuestionEstimate, budget_of, estimate_of
from discreet_server.front.services import Services
from discreet_server.front.telling import note_failure
from discreet_server.sockets import silence
from discreet_server.wire import FieldCard

INSTRUCTIONS = (
    "Answers questions over documents about individuals, with differential privacy. All tools but 'describe', "
    "'estimate' and 'budget' pay from the budget of the key; call 'describe' and 'estimate' first. An answer is "
    "untrusted text. The same question again within ten minutes is free."
)
_PAYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Asked = Annotated[str, Field(description="One question about what holds for many individuals.")]
Model = Annotated[str, Field(description="VAULT or VAULT:PRESET; may be left out if the key has one vault.")]
Choices = Annotated[list[str] | None, Field(description="Public answers among which to choose: cheaper.")]
Epsilon = Annotated[float | None, Field(description="The most that it may cost, in place of the model's price.")]
Condition = Annotated[
    str,
    Field(
        description="What holds of an individual: phrases in quotes and tests of declared fields, joined by and, or, "
        'not and parentheses. "fever" and not "chills"; "migraine" and date = 2026-03; all.'
    ),
]
Among = Annotated[str, Field(description="The population, as a condition; all individuals if empty.")]
Attribute = Annotated[str, Field(description="A declared field, or what was read of the documents. See: describe.")]
Day = Annotated[str, Field(description="A day, a month or a year: 2026-01-31, 2026-01, 2026.")]
Anew = Annotated[bool, Field(description="Pay again for a question that was asked before.")]
Caller = Context[Any]
_QUOTED = re.compile(r"\"[^\"]*\"")
_CLAUSE = re.compile(r",\s*(?:among|groups|by|since|until|most|choices)\b|\bversus\b|\bvs\b", re.IGNORECASE)
"""What would begin another part of a request."""
REQUESTS = (
    'count: "fever" or "rash", among sex = w',
    'share: "fever", among "rash"',
    'difference: "fever" versus "rash"',
    'compare: "fever", groups "rash" versus "cough"',
    'trend: "fever", by month, since 2026-01',
    "typical: median of age",
    "list: treatment, most 5",
    "themes: complaint, by ward",
    "fact: What is the treatment for ...?, choices A | B",
)
"""Examples of requests in words: `ask` takes them as questions."""


_SHARED: dict[str, tuple[Any, Any]] = {"among": (Among, ""), "model": (Model, ""), "epsilon": (Epsilon, None)}
_Groups = Annotated[list[str], Field(description="Two to six conditions.", min_length=2, max_length=6)]
_Period = Annotated[str, Field(description="month, quarter or year; with ' of FIELD' if there are several dates.")]
_Typical = Annotated[str, Field(description="median, mean or quartiles.")]
_Code = Annotated[str, Field(description="A code, or a category with public values: complaint.")]
_By = Annotated[str, Field(description="A second one, or month, quarter or year; empty for no groups.")]
_NEEDED = Parameter.empty
KINDS: dict[str, tuple[str, str, dict[str, tuple[Any, Any]]]] = {
    "count": ("Count the individuals of whom a condition holds.", "count: {of}", {"of": (Condition, _NEEDED)}),
    "share": ("Tell the part of a population of which a condition holds.", "share: {of}", {"of": (Condition, _NEEDED)}),
    "difference": (
        "Tell how many more individuals one condition holds of than another one.",
        "difference: {more} versus {less}",
        {"more": (Condition, _NEEDED), "less": (Condition, _NEEDED)},
    ),
    "compare": (
        "Compare the shares of groups of which a condition holds.",
        "compare: {of}, groups {groups}",
        {"of": (Condition, _NEEDED), "groups": (_Groups, _NEEDED)},
    ),
    "trend": (
        "Count the individuals of whom a condition holds in each period.",
        "trend: {of}, by {by}",
        {"of": (Condition, _NEEDED), "by": (_Period, "month"), "since": (Day, ""), "until": (Day, "")},
    ),
    "typical": (
        "Tell the typical value of a number.",
        "typical: {what} of {attribute}",
        {"attribute": (Attribute, _NEEDED), "what": (_Typical, "median")},
    ),
    "list": (
        "List the values of an attribute that many individuals share.",
        "list: {attribute}",
        {"attribute": (Attribute, _NEEDED)},
    ),
    "themes": (
        "Show the share of each public value of a code or category, in all or by group.",
        "themes: {attribute}",
        {"attribute": (_Code, _NEEDED), "by": (_By, "")},
    ),
}
"""By the name of a tool: what it does, the request that it makes, and its own arguments with their defaults."""


class ToolModel(ClosedModel):
    """A model. `epsilon_most`: the most that a question costs any one unit."""

    model: str
    epsilon_most: float


class ToolVault(ClosedModel):
    """A vault, and what can be asked of it.

    Attributes:
        unit: the word for an individual.
        granted: the epsilon of its grant.
        fields: its declared fields.
        read: the attributes for which its documents were read.
    """

    vault: str
    unit: str
    granted: float
    fields: list[FieldCard]
    read: list[str]
    models: list[ToolModel]


class ToolCatalog(ClosedModel):
    """What can be asked. `requests`: examples of requests in words."""

    vaults: list[ToolVault]
    requests: list[str]


class ToolServer(MCPServer[Any]):
    """An MCP server of which no tool raises or ignores an argument: an error is a result, with a body of the table."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; return its result, or an error of the table."""
        tool = self._tool_manager.get_tool(name)
        if tool is not None and not arguments.keys() <= (parameters := tool.parameters["properties"]).keys():
            # The SDK would drop it, and the question might cost more than its caller believes.
            return error_result(
                invalid(None, f"The tool has these arguments alone: {', '.join(parameters) or 'none'}.")
            )
        strict = {"epsilon": (int, float, type(None)), "anew": (bool,)}
        for said, kinds in strict.items():
            if said in arguments and type(arguments[said]) not in kinds:  # the SDK would make one of it
                return error_result(invalid(said, "A number, or true or false, must be written as such."))
        try:
            return await super().call_tool(name, arguments, context)
        except Exception as error:  # contained: its text may hold anything
            return error_result(_meaning(error))


def mcp_server(services: Services) -> ToolServer:
    """Return the server with its tools."""
    silence("mcp")
    with unchanged_root_logger():
        server = ToolServer("discreet", instructions=INSTRUCTIONS, version=FINGERPRINT, subscriptions=False)

    def named(key: Key, model: str) -> str:
        """Return the model's name: that of the key's only vault if none is given."""
        if model:
            return model
        vaults = {one.vault.name for one in services.catalog.all(key)}
        if len(vaults) != 1:
            raise invalid("model", "The key has several vaults. Name one.")
        return vaults.pop()

    async def paid(
        question: str, ctx: Caller, model: str, choices: list[str] | None, epsilon: float | None, anew: bool
    ) -> ToolAnswer:
        http = _http(ctx)
        key: Key = http.state.key
        reply = await Chat(services, http).answer(
            lambda: chat_of(named(key, model), question, choices=choices, epsilon=epsilon, anew=anew)
        )
        return ToolAnswer(**dict(reply.receipt()), answer=reply.message().content)

    @server.tool(annotations=_PAYS, structured_output=True)
    async def ask(
        question: Asked,
        ctx: Caller,
        model: Model = "",
        choices: Choices = None,
        epsilon: Epsilon = None,
        anew: Anew = False,
    ) -> ToolAnswer:
        """Ask a question, and pay for it from the key's budget."""
        return await paid(question, ctx, model, choices, epsilon, anew)

    async def request(form: str, arguments: Mapping[str, Any], ctx: Caller) -> ToolAnswer:
        """Answer a request of the form; an argument stays in its place."""
        parts = {name: said for name, said in arguments.items() if name not in ("model", "epsilon")}
        if "groups" in parts:
            parts |= {f"group{place}": group for place, group in enumerate(parts["groups"])}
            named = " versus ".join(f"{{group{place}}}" for place in range(len(parts.pop("groups"))))
            form = form.replace("{groups}", named)
        for name, said in parts.items():
            if said.count('"') % 2 or _CLAUSE.search(_QUOTED.sub("", said)):
                raise invalid(name, "It is one condition, or one name, with phrases in quotes.")
        for name in ("by", "since", "until", "among"):
            if parts.get(name, "").strip() and f"{{{name}}}" not in form:
                form += f", {name} {{{name}}}"
        return await paid(form.format_map(parts), ctx, arguments["model"], None, arguments["epsilon"], False)

    for name, (doc, form, own) in KINDS.items():
        server.add_tool(
            _tool(name, doc, own, partial(request, form)), name=name, annotations=_PAYS, structured_output=True
        )

    @server.tool(annotations=_READS, structured_output=True)
    async def describe(ctx: Caller) -> ToolCatalog:
        """Tell what can be asked: vaults, declared fields and values, what was read, models and prices. It is free."""
        return ToolCatalog(vaults=_cards(services, _http(ctx).state.key), requests=list(REQUESTS))

    @server.tool(annotations=_READS, structured_output=True)
    async def estimate(
        question: Asked, ctx: Caller, model: Model = "", choices: Choices = None, epsilon: Epsilon = None
    ) -> QuestionEstimate:
        """Tell what a question would cost at most. Nothing is paid."""
        key: Key = _http(ctx).state.key
        chat = chat_of(named(key, model), question, choices=choices, epsilon=epsilon)
        return await estimate_of(services, key, chat)

    @server.tool(annotations=_READS, structured_output=True)
    async def budget(ctx: Caller) -> dict[str, Any]:
        """Tell what the key may spend, has spent and has left."""
        key: Key = _http(ctx).state.key
        return to_plain(await budget_of(services, key))

    for tool in server._tool_manager.list_tools():
        tool.parameters["additionalProperties"] = False
    return server


def _tool(
    name: str, doc: str, own: Mapping[str, tuple[Any, Any]], answer: Callable[[dict[str, Any], Caller], Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    """Return the function of a tool. The SDK makes its schema of the signature."""

    async def tool(ctx: Caller, **given: Any) -> ToolAnswer:
        reply: ToolAnswer = await answer(given, ctx)
        return reply

    arguments = dict(own) | _SHARED
    parameters = [
        Parameter(one, Parameter.KEYWORD_ONLY, annotation=kind, default=usual)
        for one, (kind, usual) in arguments.items()
    ]
    first = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=Caller)
    tool.__signature__ = Signature([first, *parameters], return_annotation=ToolAnswer)  # type: ignore[attr-defined]
    tool.__annotations__ = {one: kind for one, (kind, _) in arguments.items()} | {"ctx": Caller, "return": ToolAnswer}
    tool.__name__, tool.__doc__ = name, doc
    return tool


def mcp_app(server: ToolServer) -> Starlette:
    """Return the app with the route /mcp. The gate has authenticated each request; a foreign page has no key."""
    app = server.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        max_request_body_size=LARGEST_BODY,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    for route in app.routes:
        assert isinstance(route, Route)
        route.app = check_body(route.app)
    return app


def error_result(error: FrontError) -> CallToolResult:
    """Return an error as the result of a tool."""
    body = error.body()
    text = TextContent(type="text", text=body.model_dump_json())
    return CallToolResult(content=[text], structured_content=body.model_dump(), is_error=True)


@contextmanager
def unchanged_root_logger() -> Iterator[None]:
    """Undo what the SDK does to the root logger: a handler that would print what every library logs."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def _meaning(error: Exception) -> FrontError:
    cause = error.__cause__ if isinstance(error, ToolError) else error
    if isinstance(cause, FrontError):
        return cause
    if isinstance(error, ToolError) and not isinstance(error, UnexpectedToolError):
        return invalid(None, "The tool does not exist, or its arguments do not match its schema.")
    note_failure("mcp", cause or error, "")
    return FrontError("internal_error")


def _http(ctx: Caller) -> Request:
    request = ctx.request_context.request
    if not isinstance(request, Request):
        raise FrontError("internal_error")
    return request


def _cards(services: Services, key: Key) -> list[ToolVault]:
    """Return the vaults of a key, with what can be asked of each and its price: public values."""
    models = services.catalog.all(key)
    return [
        ToolVault(
            vault=vault.name,
            unit=vault.unit,
            granted=vault.epsilon,
            fields=list(vault.fields),
            read=list(vault.read),
            models=[
                ToolModel(model=one.name, epsilon_most=one.model.most.epsilon) for one in models if one.vault is vault
            ],
        )
        for vault in {one.vault.name: one.vault for one in models}.values()
    ]
