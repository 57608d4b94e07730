"""A conversation: the price before it is paid, the cost after."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.algorithms.base import GeneratedAnswer, Query
from discreet.cli.ask import Chooser
from discreet.cli.chat import Conversation
from discreet.errors import BudgetExhausted, Interrupted
from discreet.models.protocol import VotingModel
from discreet.models.toy import ToyModel
from discreet.privacy.account import Account
from discreet.query.answer_cache import Released
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.store.sealed_corpus import SealedCorpus
from discreet.vault import Vault
from tests.cli.running import run

ASKED = "What do numb thumbs say?"
FEW = MuRAGAda(inner=Consensus(voters=25, max_tokens=4))


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    made.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    return Vault.open(made.path, model=ToyModel(["winterhand", "thumbs", "numb"]))


def talk(vault: Vault, *replies: str, agreed: bool = False) -> Conversation:
    """A conversation in which these replies are typed when it asks."""
    left: Iterator[str] = iter(replies)
    chooser = Chooser(vault, FEW.name, ("voters=25", "max_tokens=4"), {})
    return Conversation(vault, chooser, agreed, typed=lambda _: next(left, None))


def test_price_is_what_an_answer_may_cost_at_most(vault: Vault) -> None:
    price = vault.price(ASKED, FEW)
    answer = vault.ask(ASKED, FEW)
    assert answer.receipt is not None
    assert 0 < answer.receipt.epsilon <= price <= 20
    assert vault.price(ASKED, MuRAGAda(inner=Consensus(voters=25, max_tokens=4, choices=("a", "b")))) > 0
    with pytest.raises(BudgetExhausted):
        vault.price("What else?", MuRAGAda(epsilon=50))


def test_nothing_is_asked_before_the_price_is_agreed_to(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = talk(vault, "n", "", "y")
    for _ in range(2):
        assert conversation.hear(ASKED)
        assert not vault.ledger.questions()
        assert "at most epsilon" in capsys.readouterr().err
    conversation.hear(ASKED)
    assert len(vault.ledger.questions()) == 1
    assert 0 < conversation.spent <= vault.price("What else do they say?", FEW)
    assert "These questions have cost any one patient at most epsilon" in capsys.readouterr().out


def test_repeat_is_free_and_not_asked_about(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = talk(vault)
    vault.history.add(Released(ASKED, "winterhand", "end", FEW.name, 1))
    conversation.hear(ASKED)
    shown = capsys.readouterr()
    assert "This is free" in shown.err
    assert "winterhand" in shown.out
    assert conversation.spent == 0


def test_what_cannot_be_answered_is_asked_anyway_on_request(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = talk(vault, "n", agreed=False)
    conversation.hear("How many patients have numb thumbs?")
    told = capsys.readouterr().err
    assert ":anyway" in told
    assert "at most epsilon" not in told
    conversation.hear(":anyway How many patients have numb thumbs?")
    assert "at most epsilon" in capsys.readouterr().err


class Broken(MuRAGAda):
    """Ctrl-C after something was paid."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        super().run(query, corpus, model, account)
        raise KeyboardInterrupt


def test_ctrl_c_in_an_answer_says_what_was_paid(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = talk(vault, agreed=True)
    monkeypatch.setattr(Chooser, "choose", lambda *_: Broken(inner=Consensus(voters=25, max_tokens=4)))
    with pytest.raises(Interrupted, match="charge stays: epsilon") as ended:
        conversation.hear(ASKED)
    assert 0 < ended.value.epsilon <= vault.price(ASKED, FEW)


def test_statistic_is_asked_for_its_own_price(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = Conversation(vault, Chooser(vault, "", (), {}), True)
    conversation.hear("How many patients have numb thumbs?")
    assert "About" in capsys.readouterr().out
    assert 0 < conversation.spent < 1


def test_it_is_a_command(vault: Vault) -> None:
    typed = f"{ASKED}\nn\n:budget\n:help\n:nonsense\n:quit\n{ASKED}\ny\n"
    result = run("chat", vault.path, typed=typed)
    assert result.exit_code == 0
    assert "Grant: epsilon 20" in result.output
    assert ":anyway QUESTION" in result.output
    assert "There is no command :nonsense" in result.output
    assert not Vault.open(vault.path).ledger.questions()
    assert "numb" not in "".join(path.name for path in vault.path.iterdir())


def test_analyst_sees_nothing_private_of_the_budget(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for _ in range(2):
        talk(vault).hear(":budget")
        shown.append(capsys.readouterr().out)
        vault.add_documents([Document("new", "eve", "numb thumbs")])
    assert shown[0] == shown[1]


@pytest.mark.usefixtures("signals_heard")
def test_ctrl_c_at_the_prompt_ends_with_130(vault: Vault) -> None:
    program = [sys.executable, "-m", "discreet", "chat", str(vault.path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        assert "Ask a question" in started.stderr.readline()
        started.send_signal(signal.SIGINT)
        assert "Nothing was charged" in started.stderr.read()
        assert started.wait() == 130


def test_follow_up_is_asked_as_one_question(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    chooser = Chooser(vault, "", (), {"epsilon": 1.0})
    replies = iter(["y", "n"])
    conversation = Conversation(vault, chooser, typed=lambda _: next(replies, None))
    conversation.hear("How many patients have numb thumbs?")
    conversation.hear("And cold feet?")
    told = capsys.readouterr().err
    assert 'The question that is asked: count: "cold feet"' in told
    assert [text for role, text in conversation.turns if role == "user"][-1] == 'count: "cold feet"'
    assert len(vault.ledger.questions()) == 1


def test_follow_up_without_a_question_before_is_refused(vault: Vault, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = talk(vault)
    conversation.hear("And with Glass Knee?")
    assert "earlier question" in capsys.readouterr().err
    assert not conversation.turns
