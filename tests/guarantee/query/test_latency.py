"""An answer comes at a multiple of the quantum, whether there is one, or an error."""

import math
import time

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.query.execution import at_a_multiple
from discreet.registry import RAG, NonRAG
from discreet.store.documents import Document
from discreet.vault import Vault


class Watch:
    """A clock that moves when somebody sleeps, or works."""

    def __init__(self, early: float = 0.0) -> None:
        self.now, self.early, self.slept = 100.0, early, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += max(seconds - self.early, 1e-3)


@pytest.mark.parametrize(
    ("quantum", "work", "total"), [(2.0, 0.1, 2.0), (2.0, 1.9, 2.0), (2.0, 2.1, 4.0), (2.0, 0.0, 2.0), (0.5, 7.3, 7.5)]
)
@pytest.mark.parametrize("fails", [False, True])
def test_the_block_is_left_at_a_multiple(quantum: float, work: float, total: float, fails: bool) -> None:
    watch = Watch()
    try:
        with at_a_multiple(quantum, watch, watch.sleep):
            watch.now += work
            if fails:
                raise KeyError
    except KeyError:
        assert fails
    assert watch.now == pytest.approx(100.0 + total)


def test_a_sleep_that_ends_early_goes_on() -> None:
    watch = Watch(early=0.4)
    with at_a_multiple(1.0, watch, watch.sleep):
        watch.now += 0.1
    assert watch.now >= 101.0
    assert len(watch.slept) > 1


def test_no_quantum_waits_for_nothing() -> None:
    watch = Watch()
    with at_a_multiple(0.0, watch, watch.sleep):
        watch.now += 0.1
    assert watch.slept == []


@pytest.mark.parametrize("quantum", [-1.0, math.nan, math.inf, 1e9])
def test_what_is_no_time_is_refused(quantum: float) -> None:
    with pytest.raises(UsageError, match="quantum"), at_a_multiple(quantum):
        pass


def test_a_vault_answers_and_refuses_at_a_multiple(vault: Vault) -> None:
    vault = Vault.open(vault.path, model=ToyModel())
    begun = time.monotonic()
    vault.ask("fever", NonRAG(), quantum=0.4)
    assert time.monotonic() - begun >= 0.4
    begun = time.monotonic()
    with pytest.raises(UsageError, match="no guarantee"):
        vault.ask("fever", RAG(), quantum=0.4)
    assert time.monotonic() - begun >= 0.4


def test_the_command_takes_a_step_of_latency(vault: Vault) -> None:
    begun = time.monotonic()
    result = CliRunner().invoke(
        app, ["ask", str(vault.path), "What is fever?", "--algorithm", "rag", "--latency-step", "0.5"]
    )
    assert result.exit_code == 2  # refused, since it promises nothing
    assert time.monotonic() - begun >= 0.5
    assert CliRunner().invoke(app, ["ask", str(vault.path), "fever", "--latency-step", "-1"]).exit_code == 2


def test_release_has_the_minute_in_which_it_leaves(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_772_359_379.9)  # 2026-03-01 10:02:59.9 UTC
    vault.add_documents(Document(f"d{number}", f"p{number}", "I have a fever.") for number in range(9))
    asked = "How many patients have a fever?"
    assert vault.ask(asked, quantum=0.2).released_at == ()
    assert vault.ask(asked).released_at == ("2026-03-01T10:03+00:00",)
    assert vault.ask(asked, anew=True).released_at == ()
    assert vault.ask(asked).released_at == ("2026-03-01T10:02+00:00",)
