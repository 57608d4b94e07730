"""Schemathesis sends what the front's own description allows, and what it does not, with three kinds of keys.

Every reply is one that the description has.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from discreet.vault import Vault
from discreet_server.config import PresetConfig
from discreet_server.front.gate import ROUTES
from tests.server.front.serving import QUESTION, Server, check_reply, read_description, serving

UNDESCRIBED = {"/mcp", "/openapi.json"}
"""Routes of programs that the description leaves out."""
CHEAP = PresetConfig("cheap", "consensus", {"choices": ("winterhand", "flu"), "epsilon": 0.01})
EXAMPLES = {"valid": 20, "wrong": 4, "none": 4}
"""For each route, by the kind of key that is sent."""
QUESTIONS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["v", "v:cheap", "v:free", "nowhere"]),
        "messages": st.sampled_from([QUESTION, "Which disease is it?", "How many?"]).map(
            lambda text: [{"role": "user", "content": text}]
        ),
    },
    optional={"stream": st.booleans(), "max_tokens": st.integers(1, 8), "stop": st.text(min_size=1, max_size=2)},
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), presets=(CHEAP,)) as found:
        yield found


def cases_of(operation: Any) -> st.SearchStrategy[Any]:
    """Return requests that fit the description of a route, requests that do not, and questions that are paid."""
    modes = schemathesis.GenerationMode
    fitting = operation.as_strategy(modes.POSITIVE)
    strategies = [fitting, operation.as_strategy(modes.NEGATIVE)]
    if operation.path in ("/v1/chat/completions", "/v1/estimate"):
        strategies += [st.builds(with_body, fitting, QUESTIONS)] * 2
    return st.one_of(*strategies)


def with_body(case: Any, body: dict[str, Any]) -> Any:
    case.body = body
    return case


def send_cases(operation: Any, root: str, headers: dict[str, str], examples: int) -> set[int]:
    """Send requests to a route, check the replies against its description, and return the statuses."""
    statuses, described = set[int](), operation.definition.raw["responses"]

    @settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases_of(operation))
    def send(case: Any) -> None:
        reply = case.call(base_url=root, headers=headers)
        statuses.add(reply.status_code)
        assert reply.status_code < 500, (case.as_curl_command(), reply.text)
        assert str(reply.status_code) in described, (case.as_curl_command(), reply.text)
        if reply.status_code >= 400:
            assert reply.json()["error"]["code"], case.as_curl_command()
        check_reply(operation.schema.raw_schema, operation.method, operation.path, reply)

    send()
    return statuses


@pytest.mark.parametrize("kind", EXAMPLES)
def test_described_routes_never_fail(server: Server, kind: str) -> None:
    secret = server.key(f"key {kind}", epsilon=15.0)
    key = server.accounts.find(secret)
    assert key is not None
    secrets = {"valid": secret, "wrong": "dsc_no"}
    sent = {"authorization": f"Bearer {secrets[kind]}"} if kind in secrets else {}
    schema = schemathesis.openapi.from_dict(read_description(server, secret))
    operations: list[Any] = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == 11
    for operation in operations:
        statuses = send_cases(operation, server.root, sent, EXAMPLES[kind])
        if kind != "valid":
            assert statuses == ({200} if operation.path.startswith("/health/") else {401})
    paid = {one["question_id"] for one in server.accounts.receipts(key.id, limit=1000) if one["epsilon"] > 0}
    charged = {one.id for one in Vault.open(Path(server.config.vaults[0].path)).ledger.questions() if one.charges}
    if kind == "valid":
        assert paid == charged != set()
        assert server.accounts.odometer(key.id).questions == len(charged)
    else:
        assert paid == set()


def test_description_has_every_route_of_programs(server: Server) -> None:
    paths = read_description(server, server.key("reader"))["paths"]
    wanted = {route.path for route in ROUTES if route.who != "page"} - UNDESCRIBED
    assert set(paths) == wanted
