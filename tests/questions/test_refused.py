"""Questions of which a part would not be tested: refused unpaid in every face, with a way to ask."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.adapters import open_source
from discreet.cli.app import app
from discreet.cli.ask import Chooser
from discreet.cli.chat import Conversation
from discreet.errors import CannotAnswer, UsageError
from discreet.models.toy import ToyModel
from discreet.registry import Compare, Count, Difference, ListValues, Trend
from discreet.statistics.statistic import Statistic
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cases import read_cases

CASES = read_cases(__file__)


TWO, LOST, WHO, NO_FACT = "is two things", "would not be searched for|in these words", "--where sex=w", "Ask for a list"
REFUSED = [
    ("How many patients have fever/chills?", TWO),
    ("How many patients have fever, chills?", TWO),
    ("How many patients have fever except chills?", TWO),
    ("How many patients have CD4 < 200?", LOST),
    ("How many patients have CD4 > 200?", LOST),
    ("How many patients have CD4 = 200?", LOST),
    ("How many patients have CD4 \u2265 200?", LOST),
    ("How many patients have an ejection fraction of 40 %?", LOST),
    ("How many patients have asthma and what do they take for it?", "two questions|two things"),
    ("How many patients have had fever since May?", LOST),
    ("How many patients had fever in March?", LOST),
    ("How many patients were seen in May?", LOST),
    ("How many patients cannot sleep?", LOST),
    ("How many patients still have fever?", LOST),
    ("How many patients no longer smoke?", LOST),
    ("How many women have migraine?", WHO),
    ("How many men have migraine?", WHO),
    ("How many female patients have migraine?", WHO),
    ("Is migraine more common in women than in men?", WHO),
    ("How many patients have fever? And how many have chills?", "Ask each by itself"),
    ("I mean those of ward 3. How many patients have fever?", "Ask each by itself"),
    ("What is the main problem?", NO_FACT),
    ("What is the worst complaint?", NO_FACT),
    ("What helps best against fever?", "several ways|Ask for a list"),
]
KEPT = CASES["kept"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tested") / "v"
    fields = {"sex": "category", "day": "date", "age": "number"}
    vault = Vault.create(place, epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient", fields=fields)
    own: dict[str, str | float] = {"sex": "w", "day": "2026-01-05", "age": 30.0}
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever.", fields=own) for n in range(40))
    return place


@pytest.fixture
def vault(path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault in which nothing may be paid."""
    opened = Vault.open(path, model=ToyModel())

    def pay(*_: object, **__: object) -> None:
        raise AssertionError("a question was begun")

    monkeypatch.setattr(type(opened.ledger), "begin", pay)
    return opened


@pytest.mark.parametrize(("question", "way"), REFUSED)
def test_question_is_refused_unpaid_in_python(vault: Vault, question: str, way: str) -> None:
    with pytest.raises(UsageError, match=way):
        vault.ask(question)
    with pytest.raises(UsageError, match=way):
        vault.price(question)


@pytest.mark.parametrize(("question", "way"), REFUSED[:: len(REFUSED) // 8])
def test_question_is_refused_unpaid_in_every_face(
    vault: Vault, question: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--plan"], ["--json"]):
        found = CliRunner().invoke(app, ["ask", str(vault.path), question, *more])
        assert found.exit_code == 2, found.output
        assert "Nothing was charged" in found.output
    Conversation(vault, Chooser(vault, "", (), {}), agreed=True).ask(question)
    assert ":anyway" in capsys.readouterr().err
    reply = open_source(vault.path).ask(question)  # by the keeper's code, as a server and all adapters
    assert (reply.status, reply.code, reply.metadata["epsilon"]) == ("refused", "cannot_answer", 0.0)
    assert "Ask" in reply.text or "Leave it out" in reply.text


@pytest.mark.parametrize(
    "statistic",
    [
        Count(condition="Winter Hand or Glass Knee"),
        Count(condition="fever in March"),
        Count(population="women"),
        Compare(condition="fever", groups=("women", "men")),
        Difference(groups=("fever and chills", "rash")),
        Trend(condition="fever/chills", date_field="day", until="2026-03"),
        ListValues(attribute="symptoms and signs"),
    ],
)
def test_statistic_of_a_program_is_refused_unpaid(vault: Vault, statistic: Statistic) -> None:
    with pytest.raises(CannotAnswer):
        vault.ask("A number, please.", statistic)


@pytest.mark.parametrize(("question", "request_"), KEPT)
def test_question_whose_words_are_tested_is_kept(vault: Vault, question: str, request_: str) -> None:
    assert str(vault.decide(question).request) == request_
    assert vault.price(question) > 0


@pytest.mark.parametrize(
    ("test", "way"),
    [
        ("day>=2026-13-01", "2026-03-01"),
        ("day>=20260101", "2026-03-01"),
        ("day>=March", "2026-03-01"),
        ("sex>m", "without an order"),
        ("age>=old", "is a number"),
    ],
)
def test_value_of_another_form_is_refused_unpaid(vault: Vault, test: str, way: str) -> None:
    with pytest.raises(UsageError, match=way):
        vault.ask("How many?", Count(where=(test,)))
    assert (
        CliRunner().invoke(app, ["ask", str(vault.path), "How many patients are there?", "--where", test]).exit_code
        == 2
    )


def test_named_algorithm_is_asked_nevertheless(path: Path) -> None:
    opened = Vault.open(path, model=ToyModel(default="tea"))
    answer = opened.ask("What is the main problem?", opened.default_algorithm())
    assert answer.receipt is not None
