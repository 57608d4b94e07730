"""A model behind a server of OpenAI's protocol, against a stand-in with the habits of real ones."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import BudgetExhausted, DiscreetError, UnknownName, UsageError
from discreet.models.capabilities import Capability, capabilities, find_assumptions
from discreet.models.endpoint import KEY, ServerGone
from discreet.models.loading import is_plugin_model, open_model
from discreet.models.openai import OpenAIModel, open_openai
from discreet.models.prompts import layout
from discreet.models.protocol import Completer
from discreet.operations.checks import language_model
from discreet.planning.checks import check_parts
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.testing import ModelSuite
from discreet.vault import Vault
from tests.models.remote.stand_in import StandIn, running

VOTE = MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=200)
DIES = "Fever diesnow say: winter hand ."


@pytest.fixture
def server() -> Iterator[StandIn]:
    with running(StandIn()) as found:
        yield found


def opened(server: StandIn, options: str = "") -> OpenAIModel:
    return open_openai(f"{server.url}{options}#llama")


def filled(
    tmp_path: Path, server: StandIn, text: str = "Fever say: winter hand .", options: str = "", payment: str = "unit"
) -> Vault:
    model = f"openai:{server.url}{options}#llama"
    vault = Vault.create(tmp_path / "v", epsilon=1e4, delta=1e-6, embedder="hashing", model=model, payment=payment)
    vault.add_documents(Document(f"d{n}", f"p{n}", text) for n in range(60))
    return Vault.open(vault.path)


class TestOpenAIModel(ModelSuite):
    @pytest.fixture(params=["?rows=3", "?endpoint=chat"])
    def model(self, request: pytest.FixtureRequest, server: StandIn) -> Completer:
        return opened(server, request.param)


@pytest.mark.parametrize("options", ["", "?rows=together", "?rows=16&endpoint=chat"])
def test_vault_answers_and_receipt_names_the_assumption(tmp_path: Path, server: StandIn, options: str) -> None:
    answer = filled(tmp_path, server, options=options).ask("fever?", VOTE)
    assert answer.answer is not None
    assert "winter hand" in answer.answer.lower()
    assert answer.receipt is not None
    assert answer.receipt.assumed == ("the server of the model 'llama' computes each row by itself",)
    described = json.dumps(answer.describe())
    assert "127.0.0.1" not in described  # analysts need no address of the custodian


def test_request_is_greedy_short_and_without_a_stream(server: StandIn) -> None:
    model = opened(server)
    laid_out = layout(model, "What is it?", document_tokens=9, max_tokens=4)
    server.bodies.clear()
    model.answers(laid_out.shared, [laid_out.prompt(model.encode("Ada is ill."))], 4)
    (body,) = server.bodies
    assert body["prompt"].endswith("Record: Ada is ill.\n\nQuestion: What is it?\nAnswer:")
    assert (body["model"], body["max_tokens"], body["temperature"], body["stream"]) == ("llama", 4, 0, False)
    assert body["cache_prompt"] is False


def test_model_without_a_systems_role_gets_the_instructions_in_its_first_message() -> None:
    """Otherwise it refuses each row, and each question is paid for nothing."""
    with running(StandIn(chat_only=True, no_system=True)) as server:
        model = opened(server)
        laid_out = layout(model, "What is it?", document_tokens=9, max_tokens=4)
        model.answers(laid_out.shared, [laid_out.prompt(model.encode("Ada"))], 4)
        messages = server.bodies[-1]["messages"]
        assert [message["role"] for message in messages] == [*["user", "assistant"] * 4, "user"]
        system = layout(opened_plain(server), "What is it?", document_tokens=9, max_tokens=4)
        assert messages[0]["content"].startswith(model.row(system.shared).turns[0][1])


def opened_plain(server: StandIn) -> OpenAIModel:
    server.no_system = False
    return opened(server)


@pytest.mark.parametrize(
    ("thinks", "answer"),
    [
        ("<think>say secret</think>\n\n", "a b"),
        ("secret</think>", "a b"),
        ("[THINK]secret[/THINK]", "a b"),
        ("<|channel|>analysis secret<|channel|>final<|message|>", "a b"),
        ("", "a b"),
    ],
)
@pytest.mark.parametrize("chat", [False, True])
def test_what_a_model_thinks_is_no_answer(thinks: str, answer: str, chat: bool) -> None:
    with running(StandIn(chat_only=chat, thinks=thinks)) as server:
        assert opened(server).complete(["say: a b ."], 2)[0].strip() == answer


@pytest.mark.parametrize("chat", [False, True])
def test_model_that_thinks_for_too_long_is_refused_unpaid(chat: bool) -> None:
    with running(StandIn(chat_only=chat, thinks="<think>secret ")) as server:
        with pytest.raises(DiscreetError, match="thinks for longer than an answer may be") as refused:
            opened(server)
        assert "secret" not in str(refused.value)


def test_server_with_chat_alone_is_asked_by_chat() -> None:
    with running(StandIn(chat_only=True)) as server:
        assert opened(server).complete(["say: a b c ."], 2) == [" a b"]
        with pytest.raises(UsageError, match="only a chat endpoint"):
            opened(server, "?rows=together")


def test_server_that_refuses_unknown_fields_gets_none() -> None:
    with running(StandIn(strict=True)) as server:
        assert opened(server).complete(["say: a ."], 2) == [" a "]
        assert "cache_prompt" not in server.bodies[-1]


def test_server_without_lists_is_asked_row_by_row() -> None:
    with running(StandIn(takes_lists=False)) as server:
        assert opened(server, "?rows=together").complete(["say: a .", "say: b ."], 2) == [" a ", " b "]


@pytest.mark.parametrize(("options", "requests"), [("", 1), ("?rows=8", 8)])
def test_rows_go_side_by_side_in_groups_of_public_size(server: StandIn, options: str, requests: int) -> None:
    model = opened(server, options)
    server.bodies.clear()
    # So long that all of a group are there before the first is answered, on a busy machine, too.
    server.seconds, server.together = (0.02 if requests == 1 else 0.5), 0
    began = time.monotonic()
    found = model.complete([f"say: {row} ." for row in range(24)], 2)
    taken = time.monotonic() - began
    assert found == [f" {row} " for row in range(24)]
    assert server.together == requests
    groups = [server.bodies[at : at + requests] for at in range(0, 24, requests)]
    for at, group in enumerate(groups):  # a group is sent when the one before was answered
        assert {body["prompt"] for body in group} == {f"say: {at * requests + row} ." for row in range(requests)}
    assert taken >= server.seconds * 24 / requests
    if requests > 1:
        assert taken < server.seconds * 24 / 2


def test_server_that_minds_requests_at_once_is_refused() -> None:
    with running(StandIn(minds=True, seconds=0.05)) as server:
        assert opened(server).complete(["say: a .", "say: b ."], 2) == [" a ", " b "]
        with pytest.raises(DiscreetError, match="another answer to a public row"):
            opened(server, "?rows=4")


@pytest.mark.parametrize("options", ["", "?rows=together", "?rows=2"])
def test_row_that_the_server_refuses_is_empty(server: StandIn, options: str) -> None:
    found = opened(server, options).complete(["say: a .", "toolong say: b .", "say: c ."], 2)
    assert found == [" a ", "", " c "]


def test_model_is_found_by_name() -> None:
    with running(StandIn(models=("llama", "qwen:latest"))) as server:
        assert open_openai(f"{server.url}#qwen").name == "qwen"
        with pytest.raises(UsageError, match="Name a model"):
            open_openai(server.url)
        with pytest.raises(UnknownName, match="Did you mean llama"):
            open_openai(f"{server.url}#lama")
    with running(StandIn()) as server:
        assert open_openai(server.url).name == "llama"


def test_server_with_a_memory_is_refused_at_the_start() -> None:
    with running(StandIn(remembers=True)) as server, pytest.raises(DiscreetError, match="another answer to a public"):
        opened(server)


def test_server_that_changes_is_refused_before_a_question(tmp_path: Path, server: StandIn) -> None:
    vault = filled(tmp_path, server)
    vault.ask("fever?", VOTE)
    before = vault.ledger.unit_balances(), len(vault.ledger.questions())
    server.remembers = True
    with pytest.raises(DiscreetError, match="Nothing was charged"):
        vault.ask("another fever?", VOTE, anew=True)
    assert (vault.ledger.unit_balances(), len(vault.ledger.questions())) == before


@pytest.mark.parametrize("options", ["", "?rows=2"])
def test_death_in_mid_question_is_charged_and_releases_nothing(tmp_path: Path, server: StandIn, options: str) -> None:
    server.dies_at = "diesnow"
    vault = filled(tmp_path, server, DIES, options)
    with pytest.raises(ServerGone, match=r"\(RemoteDisconnected\).*could have cost is charged") as caught:
        vault.ask("fever?", VOTE)
    assert "diesnow" not in str(caught.value)
    (question,) = vault.ledger.questions()
    assert question.stopped is None
    paid = vault.ledger.spent_at_most([question.id])
    assert paid == VOTE.plan(vault.ledger.budget, 1000).max_cost
    server.dies_at = ""
    assert "winter hand" in (vault.ask("fever?", VOTE).answer or "").lower()


def test_death_is_charged_where_all_units_pay_as_often_as_it_comes(tmp_path: Path, server: StandIn) -> None:
    """Otherwise an analyst asks for nothing, without end, whether a document that stops the server is there."""
    server.dies_at = "diesnow"
    vault, asked = filled(tmp_path, server, DIES, payment="corpus"), Consensus(voters=10, max_tokens=4, epsilon=4)
    for times in (1, 2, 3):
        with pytest.raises(ServerGone, match="could have cost is charged"):
            vault.ask("fever?", asked, anew=True)
        assert vault.budget().spent == pytest.approx(4 * times, rel=0.2)
    assert len(vault.ledger.questions()) == 3
    with pytest.raises(BudgetExhausted):
        vault.ask("fever?", Consensus(voters=10, max_tokens=4, epsilon=9990), anew=True)


@pytest.mark.parametrize(
    ("habits", "error"),
    [
        (StandIn(room=300), "refuses a public row of"),
        (StandIn(room=5), "completes nothing"),
        (StandIn(textless=True), "without a text"),
    ],
)
def test_server_that_would_refuse_all_rows_is_refused_first(habits: StandIn, error: str) -> None:
    """A refused row is an empty answer, so each question would be paid for nothing."""
    with running(habits) as server, pytest.raises(DiscreetError, match=error):
        opened(server)


@pytest.mark.parametrize("key", ["one\nHost: other", "schl\u00fcssel"])
def test_key_that_is_none_is_refused_and_not_shown(server: StandIn, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv(KEY, key)
    with pytest.raises(UsageError, match="has characters that no key has") as caught:
        opened(server)
    assert key not in str(caught.value)


def test_key_of_a_file_may_end_with_a_line_break(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret-key\n")
    opened(server)
    assert set(server.keys) == {"Bearer secret-key"}


def test_key_is_sent_and_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret-key")
    with running(StandIn(key="secret-key")) as server:
        vault = filled(tmp_path, server)
        vault.ask("fever?", VOTE)
        assert set(server.keys) == {"Bearer secret-key"}
        for file in vault.path.rglob("*"):
            assert not file.is_file() or b"secret-key" not in file.read_bytes()
        server.key = "other"
        with pytest.raises(UsageError, match="refuses the key") as caught:
            vault.ask("another fever?", VOTE, anew=True)
        assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("openai:http://10.0.0.5:8000/v1#llama", "would go to 10.0.0.5 unencrypted"),
        ("openai:http://localhost.example.org/v1", "unencrypted"),
        ("openai:ftp://127.0.0.1/v1", "no address"),
        ("openai:", "no address"),
        ("openai:http://me:hunter2@127.0.0.1/v1", "no password"),
        ("openai:http://127.0.0.1:99999/v1", "invalid"),
        ("openai:http://127.0.0.1/v1?rows=apart", "no such option 'rows'"),
        ("openai:http://127.0.0.1/v1?rows=1", "no such option 'rows'"),
        ("openai:http://127.0.0.1/v1?rows=129", "rows=2 to rows=128"),
        ("openai:http://127.0.0.1/v1?rows=together&endpoint=chat", "one row"),
        ("openai:unix:", "path of the socket"),
    ],
)
def test_address_is_checked_before_a_vault_is_made(name: str, error: str) -> None:
    for check in (lambda: check_parts(name, "hashing"), lambda: open_model(name)):
        with pytest.raises(UsageError, match=error) as caught:
            check()
        assert "hunter2" not in str(caught.value)


def test_addresses_that_keep_documents_private_are_accepted() -> None:
    for place in ("http://[::1]:8000/v1", "https://models.example.org/v1", "http://10.0.0.5/v1?unencrypted=yes"):
        check_parts(f"openai:{place}", "hashing")
    assert language_model("openai:http://127.0.0.1:1/v1#x").missing == ""
    assert is_plugin_model("openai:http://127.0.0.1:1/v1#x")
    assert not is_plugin_model("openai")


def test_absent_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # a proxy would see documents
    with running(StandIn()) as server:
        model = opened(server)
        assert capabilities(model) == {Capability.COMPLETIONS}
        assert find_assumptions(model)
        url = server.url
    with pytest.raises(ServerGone, match=f"{url} does not answer.*ConnectionRefusedError"):
        open_openai(url)
