"""One decision for each question: the same request, price and refusal from every face."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.cli.ask import Chooser
from discreet.errors import CannotAnswer, DiscreetError, UsageError
from discreet.models.toy import ToyModel
from discreet.questions.request import is_request, parse_request, request_of_statistic
from discreet.registry import Count
from discreet.statistics.conditions import says
from discreet.store.codebook import Codebook
from discreet.store.documents import Document
from discreet.store.unit_records import UnitRecord
from discreet.vault import Vault
from discreet_lab.audit.algorithms import WordCoder
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.front.asking import LONGEST_ASKED, error_of
from discreet_server.front.errors import ERRORS
from discreet_server.keeper.answering import refusal
from discreet_server.keeper.served import Served
from discreet_server.wire import Question
from tests.cases import read_cases
from tests.questions.server_faces import Said, ask_adapter, ask_server
from tests.questions.test_refused import KEPT, REFUSED
from tests.questions.test_wordings import wordings

CASES = read_cases(__file__)
REQUESTS = CASES["requests"]
WRONG = [
    "count: ",
    "count: fever or chills",
    'cuont: "fever"',
    'Comapre: "fever", groups "rash" versus "cough"',
    "count: women",
    "trend: fever by month",
    "count: crohn's disease, among alzheimer's disease",
    "count: " + "not " * 3000 + '"fever"',
    "list: sex, most " + "9" * 5000,
    'difference: "fever"' + " " * 60_000 + '"chills"',
    "count: age = 69..60",
    "count: (",
    'count: "fever',
    "count: day = March",
    "count: age = old",
    "count: sex > m",
    "count: ward = 3",
    'count: "fever", among "rash", among "cough"',
    "share: ",
    "share: all, since 2026",
    'difference: "fever"',
    'difference: "fever" versus "fever"',
    'compare: "fever"',
    'compare: "fever", groups "rash"',
    'trend: "fever", by week',
    "trend: all, since soon",
    "count: " + " or ".join(['"fever"'] * 70),
    "typical: ",
    "list: ",
    "list: sex, most many",
    "themes: ",
    "themes: sex",
    "themes: complaint, by sex",
    "themes: complaint, since 2026",
    "count: complaint = gout",
    "fact: ",
    "fact: Who is the oldest patient?",
]


BOOK = Codebook.parse(
    {"attributes": [{"name": "complaint", "type": "one of", "values": [{"name": "fever"}, {"name": "rash"}]}]}
)
THEMES = ["What are the main complaints?", "What are the main topics by clinic?", "What do patients complain about?"]


def vault_at(place: Path) -> Vault:
    fields = {"sex": "category", "day": "date", "age": "number", "clinic": "category(north, south)"}
    vault = Vault.create(place, epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient", fields=fields)
    own: dict[str, str | float] = {"sex": "w", "day": "2026-01-05", "age": 30.0}
    texts = ("Fever. Winter Hand.", "A rash.")
    vault.add_documents(Document(f"d{n}", f"p{n}", texts[n % 2], fields=own) for n in range(60))
    return vault


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault whose records are coded."""
    vault = vault_at(tmp_path_factory.mktemp("router") / "v")
    vault.use_book(BOOK)
    vault.code(lambda *_: None, coder=WordCoder())
    return vault.path


def faced(decide: Callable[[], tuple[str, float]]) -> tuple[Said, str]:
    """Return what a face says of a question, and its whole refusal: a server has the code and the kind's advice."""
    try:
        return (*decide(), ""), ""
    except DiscreetError as error:
        told = error_of(refusal(error)).body().error
        return ("", 0.0, f"{told.code} {told.message}"), f"{type(error).__name__} {error}"


@pytest.fixture(scope="module")
def faces(path: Path) -> dict[str, Callable[[str], tuple[Said, str]]]:
    vault = Vault.open(path, model=ToyModel())
    chooser = Chooser(vault, "", (), {})
    named = ServedVault("v", str(path))
    served = Served(named, ServeConfig(vaults=(named,), state=str(path.parent)), lambda _: vault)

    def in_python(asked: str) -> tuple[str, float]:
        found = vault.decide(asked)
        return found.echo, vault.estimate(asked).epsilon

    def on_the_command_line(asked: str) -> tuple[str, float]:
        chooser.check(asked)
        found = chooser.decide(asked)
        return found.echo, vault.estimate(found.question, found.algorithm).epsilon

    def in_the_keeper(asked: str) -> tuple[str, float]:
        question = Question("0" * 32, "v", "v", asked)
        preset = served.presets.find("")
        return served._decide(preset, question).echo, served.estimate(question, None).most.epsilon

    ways = {"python": in_python, "command line": on_the_command_line, "keeper": in_the_keeper}
    return {name: lambda asked, way=way: faced(lambda: way(asked)) for name, way in ways.items()}  # type: ignore[misc]


QUESTIONS = [*(one for one, _ in (*REFUSED, *KEPT)), *(one["text"] for one in wordings("tune")[::3])]
ASKED = list(dict.fromkeys((*QUESTIONS, *THEMES, *REQUESTS, *WRONG)))


@pytest.fixture(scope="module")
def far_faces(path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Said, ...]]:
    """What HTTP, MCP and the source of the adapters say of each question."""
    at_server = ask_server(path, tmp_path_factory.mktemp("server"), ASKED)
    return {asked: (*at_server[asked], said) for asked, said in ask_adapter(path, ASKED).items()}


@pytest.mark.parametrize("asked", ASKED)
def test_every_face_decides_the_same(
    faces: dict[str, Callable[[str], tuple[Said, str]]], far_faces: dict[str, tuple[Said, ...]], asked: str
) -> None:
    python, line, keeper = (face(asked) for face in faces.values())
    assert python == line == keeper
    request, price, refused = python[0]
    *at_server, adapter = far_faces[asked]
    assert adapter[:2] == (request, price)
    code = refused.partition(" ")[0]  # the adapter has words of its own for the other codes
    assert adapter[2].startswith(refused if code == "cannot_answer" else code)
    assert bool(adapter[2]) == bool(refused)
    if len(asked) > LONGEST_ASKED:  # its time would show: a server alone refuses it
        refused = f"question_too_long {ERRORS['question_too_long'].message}"
    assert at_server == [(request, price, refused)] * 2


def test_model_that_is_named_answers_no_statistic(path: Path) -> None:
    """A key for one model, or a preset with its own price, is not left by the form of the text."""
    vault = Vault.open(path, model=ToyModel())
    named = ServedVault("v", str(path))
    served = Served(named, ServeConfig(vaults=(named,), state=str(path.parent)), lambda _: vault)
    for model, choices in (("free", ()), ("consensus", ()), ("v", ("a", "b"))):
        question = Question("0" * 32, "v", model, 'count: "fever"', choices)
        with pytest.raises(UsageError, match="own model"):
            served.estimate(question, None)
    twice = Question("0" * 32, "v", "v", "fact: What helps?, choices tea | oil", ("x", "y"))
    with pytest.raises(UsageError, match="two places"):
        served.estimate(twice, None)
    with pytest.raises(UsageError, match="at most 64"):
        vault.decide("fact: What helps?, choices " + " | ".join(f"c{n}" for n in range(90)))


@pytest.mark.parametrize("asked", WRONG)
def test_wrong_request_is_refused_unpaid(path: Path, asked: str) -> None:
    vault = Vault.open(path, model=ToyModel())
    with pytest.raises(DiscreetError) as refused:
        vault.ask(asked)
    assert refused.value.exit_code == 2
    assert not vault.ledger.questions()


def test_voters_are_asked_the_question_of_a_fact_alone(path: Path) -> None:
    vault = Vault.open(path, model=ToyModel(default="tea"))
    text = "fact: What is the treatment for Winter Hand?, choices tea | oil"
    assert vault._decided(text, vault.default_algorithm())[0] == "What is the treatment for Winter Hand?"
    assert vault._decided("Fast: what helps?", vault.default_algorithm())[0] == "Fast: what helps?"
    answer = vault.ask('count:"winter hand"')
    assert (answer.asked, answer.understood) == ("", 'count: "winter hand"')


def test_constructors_of_python_make_requests(path: Path) -> None:
    vault = Vault.open(path, model=ToyModel())
    request = discreet.count(says("winter hand") | says("glass knee"), among=discreet.where("sex", "=", "w"))
    assert str(request) == 'count: "winter hand" or "glass knee", among sex = w'
    answer = vault.ask(request)
    assert answer.understood == str(request)
    assert 0 < answer.table[0].value < 60  # 30, within six deviations of the noise
    assert str(discreet.share("fever", among="rash")) == 'share: "fever", among "rash"'
    assert str(discreet.difference("fever", "rash")) == 'difference: "fever" versus "rash"'
    with pytest.raises(UsageError):
        discreet.count("of the")


def test_table_of_what_was_wrong(path: Path, tmp_path: Path) -> None:
    """Part 1 of the design: right, or refused unpaid. The last one is right in a vault whose records are coded."""
    assert str(Vault.open(path).decide("What is the main problem?").request) == "themes: complaint"
    vault = Vault.open(vault_at(tmp_path / "v").path, model=ToyModel())
    right = {
        "How many patients have Winter Hand or Glass Knee?": 'count: "Winter Hand" or "Glass Knee"',
        "How many patients have numb thumbs and a weak grip?": 'count: "numb thumbs" and "weak grip"',
        "How many patients have HIV+?": 'count: "HIV+"',
    }
    for question, request in right.items():
        assert str(vault.decide(question).request) == request
    refused = (
        "How many patients have asthma and what do they take for it?",
        "How many women have migraine?",
        "What is the average satisfaction?",
        "What is the main problem?",
    )
    for question in refused:
        with pytest.raises(DiscreetError):
            vault.decide(question)
    for test, held in (("day<=2026", True), ("day=2026-01", True), ("day=2026-02", False), ("day=2026", True)):
        record = UnitRecord(("x",), ({"day": "2026-01-05"},))
        assert Count(where=(test,)).members.holds(record) is held


DECLARED = {"sex": "category(w=women/female patients, m=men)", "day": "date"}


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("How many women have migraine?", 'count: "migraine", among sex = w'),
        ("How many men with fever have a rash?", 'count: "rash", among sex = m and "fever"'),
        ("Is migraine more common in women than in men?", 'compare: "migraine", groups sex = w versus sex = m'),
        ("What share of women have migraine or gout?", 'share: "migraine" or "gout", among sex = w'),
    ],
)
def test_words_for_declared_values_are_tests_of_fields(tmp_path: Path, question: str, request_: str) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", fields=DECLARED)
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever.", fields={"sex": "w"}) for n in range(40))
    assert str(vault.decide(question).request) == request_
    for wrong, said in (("women", "Write sex=w"), ("x", "has the values w (women/female patients), m (men)")):
        with pytest.raises(UsageError, match=re.escape(said)):
            vault.price(f'count: "fever", among sex = {wrong}')
    with pytest.raises(CannotAnswer, match="children"):
        vault.decide("How many children have fever?")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_request_or_refused(text: str) -> None:
    for kind in ("count", "compare", "trend", "fact"):
        assert is_request(f"{kind}: {text}")
        try:
            found = parse_request(f"{kind}: {text}")
            assert parse_request(str(found)) == found
            if kind != "fact":
                assert request_of_statistic(found.statistic())
        except UsageError:
            pass
