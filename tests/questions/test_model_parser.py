"""The model parser, with replies of two styles of models: JSON alone, or with prose, a fence or thoughts around it.

The replies in `clean.json` and `prose.json` are written by hand, in forms in which large models write. Those in the
files of JSON lines are what small models really wrote to the same prompt, about wordings of another hand.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.ask import Chooser
from discreet.errors import CannotAnswer, DiscreetError, UsageError
from discreet.models.endpoint import PARSER_KEY
from discreet.models.toy import ToyModel
from discreet.questions import model_parser
from discreet.questions.model_parser import FILE, VARIABLE
from discreet.questions.request import parse_request
from discreet.store.codebook import Codebook
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.keeper.served import Served
from discreet_server.wire import Question
from tests.cases import read_cases

CASES = read_cases(__file__)
REPLIES = Path(__file__).parent / "model_replies"
STYLES = ("clean", "prose")
UNDERSTOOD = {
    "Is Winter Hand something the patients have more often than they have Glass Knee?": 'difference: "Winter Hand" '
    'versus "Glass Knee"',
    "Of everybody with Winter Hand, are the fever folks the majority?": 'share: "fever", among "Winter Hand"',
    "Quante donne hanno la febbre?": 'count: "febbre", among sex = w',
    "Quanti pazienti di oltre 60 anni hanno febbre o brividi?": 'count: "febbre" or "brividi", among age > 60',
    "Wie wird Winter Hand behandelt?": "fact: What is the treatment for Winter Hand?",
}
REFUSED = CASES["refused"]
FEVER = "Quante donne hanno la febbre?"
FIELDS = {"sex": "category(w=women, m=men)", "day": "date", "age": "number"}


@dataclass
class Recorded:
    """A server that sends the recorded replies of one style.

    Attributes:
        replies: the reply to each question.
        status: of every reply.
        lacks: whether it refuses a schema of the reply, as some servers do.
        changes: whether it sends another reply the second time.
        bodies, keys: what it received.
    """

    replies: dict[str, Any]
    status: int = 200
    lacks: bool = False
    changes: bool = False
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def reply(self, body: dict[str, Any], key: str | None) -> tuple[int, dict[str, Any]]:
        self.bodies.append(body)
        self.keys.append(key)
        if self.lacks and "response_format" in body:
            return 400, {"error": {"message": "Unrecognized request argument"}}
        if self.changes and len(self.bodies) > 1:
            content = json.dumps({"kind": "count", "of": {"says": f"other {len(self.bodies)}"}})
            return self.status, {"choices": [{"message": {"content": content}}]}
        return self.status, self.replies[body["messages"][-1]["content"]]


@contextmanager
def serving(recorded: Recorded) -> Iterator[str]:
    """Run the server on a port of this machine; yield the name of its model."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, reply = recorded.reply(body, self.headers.get("Authorization"))
            except ConnectionAbortedError:
                self.connection.close()
                return
            content = json.dumps(reply).encode()
            self.send_response(status if self.path == "/v1/chat/completions" else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"openai:http://127.0.0.1:{server.server_address[1]}/v1#reader"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(params=STYLES)
def recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    file = REPLIES / f"{request.param}.json"
    found = Recorded(json.loads(file.read_text(encoding="utf-8")))
    with serving(found) as name:
        monkeypatch.setenv(VARIABLE, name)
        yield found


def make_vault(path: Path, people: int = 60, **settings: Any) -> Vault:
    vault = Vault.create(
        path, epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient", fields=FIELDS, **settings
    )
    own: dict[str, str | float] = {"sex": "w", "day": "2026-01-05", "age": 70.0}
    texts = ("Fever. Winter Hand is treated with cold tea.", "A rash.")
    vault.add_documents(Document(f"d{n}", f"p{n}", texts[n % 2], fields=own) for n in range(people))
    return opened(path)


def opened(path: Path) -> Vault:
    return Vault.open(path, model=ToyModel(default="cold tea"))


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return make_vault(tmp_path / "v")


@pytest.mark.parametrize(("question", "request_"), UNDERSTOOD.items())
def test_question_in_doubt_is_the_request_that_the_model_makes(
    vault: Vault, recorded: Recorded, question: str, request_: str
) -> None:
    found = vault.decide(question)
    assert str(found.request) == request_
    assert found.question == (found.request.question or question)
    assert found.algorithm == vault.decide(found.request).algorithm
    assert vault.price(question) == vault.price(found.request)
    assert len(recorded.bodies) == 1


@pytest.mark.parametrize(("question", "why"), REFUSED.items())
def test_reply_that_is_no_sound_request_is_refused_unpaid(
    vault: Vault, recorded: Recorded, question: str, why: str
) -> None:
    for _ in range(2):
        with pytest.raises(CannotAnswer, match="model") as refused:
            vault.ask(question)
        assert why in refused.value.advice
    assert len(recorded.bodies) == 1
    assert not vault.ledger.questions()


@pytest.mark.parametrize("file", sorted(REPLIES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_real_replies_are_sound_requests_or_refused_unpaid(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    said = {one["text"]: {"choices": [{"message": {"content": one["reply"]}}]} for one in lines}
    with serving(Recorded(said)) as name:
        monkeypatch.setenv(VARIABLE, name)
        asked = opened(vault.path)
        for question in said:
            with suppress(UsageError):  # a refusal in words, and never another error
                assert parse_request(str(asked.decide(question).request))
    assert len(lines) >= 30
    assert not vault.ledger.questions()


def test_readings_of_the_rules_stay_in_a_refusal(vault: Vault, recorded: Recorded) -> None:
    question = "Of everybody with Winter Hand, are the fever folks the majority?"
    recorded.replies[question] = {"choices": []}
    with pytest.raises(CannotAnswer) as refused:
        vault.decide(question)
    assert refused.value.kind == "unsure"
    assert f"fact: {question}" in refused.value.advice
    assert "sent no reply (status 200)" in refused.value.advice


@pytest.mark.parametrize(
    "question",
    [
        "How many patients have Winter Hand?",
        "What share of women have a rash?",
        "What is the treatment for Winter Hand?",
        'count: "fever"',
        "fact: Fever: a lot?",
    ],
)
def test_certain_reading_asks_no_model(vault: Vault, recorded: Recorded, question: str) -> None:
    vault.decide(question)
    assert not recorded.bodies


@pytest.mark.parametrize(
    "question",
    [
        "Which patient has Winter Hand?",
        "Who is the oldest patient?",
        "Which of my patients have been treated by Dr Keller?",
    ],
)
def test_question_about_one_individual_is_refused_before_the_model(
    vault: Vault, recorded: Recorded, question: str
) -> None:
    with pytest.raises(CannotAnswer):
        vault.decide(question)
    assert not recorded.bodies


def test_model_is_told_nothing_of_documents(tmp_path: Path, recorded: Recorded) -> None:
    """Two vaults that differ in all their documents send the same bytes."""
    for people in (60, 2):
        assert str(make_vault(tmp_path / str(people), people).decide(FEVER).request).startswith("count")
    first, second = recorded.bodies
    assert first == second
    told = first["messages"][0]["content"]
    assert "sex: category(w=women, m=men)" in told
    assert "cold tea" not in told
    assert first["messages"][1] == {"role": "user", "content": FEVER}
    kinds = first["response_format"]["json_schema"]["schema"]["properties"]["kind"]["enum"]
    assert {"count", "fact", "none"} < set(kinds)


def test_one_decision_is_kept_for_a_text(vault: Vault, recorded: Recorded) -> None:
    recorded.changes = True
    price = vault.estimate(FEVER)
    answer = vault.ask(FEVER)
    assert answer.understood.startswith('count: "febbre", among sex = w')
    assert answer.receipt is not None
    assert answer.receipt.epsilon <= price.epsilon + 1e-9
    again = vault.ask(f"  {FEVER} ")
    assert again.text == answer.text
    assert len(vault.ledger.questions()) == 1
    assert len(recorded.bodies) == 1


def test_every_face_asks_the_same_request(vault: Vault, recorded: Recorded) -> None:
    recorded.changes = True
    named = ServedVault("v", str(vault.path))
    served = Served(named, ServeConfig(vaults=(named,), state=str(vault.path.parent)), lambda _: vault)
    chooser = Chooser(vault, "", (), {})
    chooser.check(FEVER)
    on_the_command_line = chooser.decide(FEVER)
    asked = Question("0" * 32, "v", "v", FEVER)
    assert served.estimate(asked, None).understood == on_the_command_line.echo == vault.decide(FEVER).echo
    assert served.answer(asked).answer["understood"] == str(on_the_command_line.request)
    assert len(recorded.bodies) == 1


@pytest.mark.parametrize("log_questions", [True, False])
def test_request_is_kept_on_disk_if_questions_are(tmp_path: Path, recorded: Recorded, log_questions: bool) -> None:
    recorded.changes = True
    vault = make_vault(tmp_path / "v", log_questions=log_questions)
    first = vault.decide(FEVER)
    assert (vault.path / FILE).exists() is log_questions
    again = opened(vault.path).decide(FEVER)
    assert (again == first) is log_questions
    assert len(recorded.bodies) == 2 - log_questions
    if log_questions:
        (vault.path / FILE).write_text('{"question": 3}\n[]\n{', encoding="utf-8")  # what is damaged is asked anew
        assert opened(vault.path).decide(FEVER) != first
        assert vault.decide(FEVER) == first


def test_question_that_holds_a_line_of_the_file_decides_about_no_other(tmp_path: Path, recorded: Recorded) -> None:
    vault = make_vault(tmp_path / "v", log_questions=True)
    line = json.dumps({"question": FEVER, "request": "count: all"})
    odd = f"Quanti pazienti hanno la cosa {line}?"
    recorded.replies[odd] = recorded.replies["Wie wird Winter Hand behandelt?"]
    assert vault.decide(odd).request.kind == "fact"
    assert str(opened(vault.path).decide(FEVER).request) == UNDERSTOOD[FEVER]


@pytest.mark.parametrize("status", [401, 404, 500])
def test_server_that_fails_is_a_refusal_unpaid(vault: Vault, recorded: Recorded, status: int) -> None:
    recorded.status = status
    with pytest.raises(CannotAnswer, match="The model's server at") as refused:
        vault.ask(FEVER)
    assert (PARSER_KEY if status == 401 else f"(status {status})") in refused.value.advice
    assert "Nothing was charged" in str(refused.value)
    recorded.status = 200
    assert vault.decide(FEVER).request.kind == "count"  # a failure is not kept


def test_server_out_of_reach_or_slow_is_a_refusal_unpaid(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "openai:http://127.0.0.1:9/v1#reader")
    with pytest.raises(CannotAnswer, match=r"does not answer \(ConnectionRefusedError\)"):
        vault.ask(FEVER)
    monkeypatch.setattr(model_parser, "PATIENCE", 0.1)
    asleep, came = threading.Event(), list[int]()

    class Slow(Recorded):
        def reply(self, body: dict[str, Any], key: str | None) -> tuple[int, dict[str, Any]]:
            came.append(1)
            asleep.wait(5)
            raise ConnectionAbortedError

    with serving(Slow({})) as name:
        monkeypatch.setenv(VARIABLE, name)
        slow = opened(vault.path)
        with pytest.raises(CannotAnswer, match=r"does not answer \(TimeoutError\)"):
            slow.ask(FEVER)
        asked = len(came)
        with pytest.raises(CannotAnswer, match="did not reply in time a moment ago"):
            slow.ask(FEVER)  # a further question does not wait
        assert len(came) == asked
        monkeypatch.setattr(model_parser, "REST", 0.0)
        with pytest.raises(CannotAnswer, match=r"does not answer \(TimeoutError\)"):
            opened(vault.path).ask(FEVER)
        asleep.set()
    assert not vault.ledger.questions()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai:http://127.0.0.1:8000/v1", "without a model"),
        ("openai:http://10.0.0.5/v1#reader", "unencrypted"),
        ("reader", "no address"),
    ],
)
def test_wrong_name_is_refused_at_the_first_question(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(UsageError, match=said):
        vault.decide("How many patients have fever?")


def test_question_that_was_refused_can_be_asked_of_voters(vault: Vault, recorded: Recorded) -> None:
    question = "Quanti pazienti hanno la tosse?"
    chooser = Chooser(vault, "", (), {})
    with pytest.raises(DiscreetError):
        chooser.check(question)
    assert chooser.decide(question).request.kind == "fact"  # --anyway


# -- a codebook from a description -------------------------------------------------------------------------------------


BOOK = {
    "name": "complaints of tenants",
    "attributes": [
        {"name": "defect", "type": "any of", "values": [{"name": "heating", "words": ["radiator"]}, {"name": "water"}]},
        {"name": "rent", "type": "number", "low": 0, "high": 5000},
    ],
}


@pytest.mark.parametrize("style", ["{}", "Here it is:\n```json\n{}\n```", '<think>{{"attributes": []}}</think> {}'])
@pytest.mark.parametrize("lacks", [False, True])
def test_codebook_from_a_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, lacks: bool) -> None:
    about, path = "What tenants wrote to a landlord", tmp_path / "book.yaml"
    content = style.format(json.dumps(BOOK))
    recorded = Recorded({about: {"choices": [{"message": {"content": content}}]}}, lacks=lacks)
    with serving(recorded) as name:
        monkeypatch.setenv(VARIABLE, name)
        done = CliRunner().invoke(app, ["codebook", "new", str(path), "--about", about])
    assert done.exit_code == 0, done.output
    assert Codebook.read(path) == Codebook.parse(BOOK)
    assert [one["content"] for one in recorded.bodies[-1]["messages"]][1:] == [about]  # it reads nothing else


@pytest.mark.parametrize(
    ("content", "said"),
    [("No.", "no JSON object"), ('{"attributes": [{"name": "a", "type": "one of"}]}', "has no values")],
)
def test_reply_that_is_no_codebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, said: str) -> None:
    path = tmp_path / "book.yaml"
    with serving(Recorded({"tickets": {"choices": [{"message": {"content": content}}]}})) as name:
        monkeypatch.setenv(VARIABLE, name)
        done = CliRunner().invoke(app, ["codebook", "new", str(path), "--about", "tickets"])
        assert CliRunner().invoke(app, ["codebook", "new", str(path)]).exit_code == 2
    assert done.exit_code == 4
    assert said in " ".join(done.output.split())
    assert not path.exists()
    monkeypatch.delenv(VARIABLE)
    asked = CliRunner().invoke(app, ["codebook", "new", str(path), "--about", "tickets"])
    assert (asked.exit_code, VARIABLE in asked.output) == (2, True)
