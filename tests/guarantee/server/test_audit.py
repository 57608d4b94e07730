"""What the audit of a server sees of neighbouring vaults: nothing, unless the server is broken."""

import pytest

from discreet.privacy.noise import SystemNoise
from discreet_lab.audit.server import CASES, TWINS, ServerCase
from discreet_lab.cli.audit import SERVERS


def test_the_command_knows_all_cases() -> None:
    assert tuple(CASES) == SERVERS


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_transcripts_of_neighbours_are_alike(case: ServerCase) -> None:
    one, other = case.sample(2, SystemNoise(), lambda _: None)
    assert one == other


@pytest.mark.parametrize("case", TWINS, ids=lambda case: case.name)
def test_transcripts_of_a_broken_server_are_not(case: ServerCase) -> None:
    one, other = case.sample(2, SystemNoise(), lambda _: None)
    assert not set(one) & set(other)


def test_the_clock_of_the_audit_knows_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for those of the event loop. One of the framework would work while it moves, and so show its time."""
    monkeypatch.setattr("anyio.to_thread.run_sync", lambda *_, **__: pytest.fail("a thread of the framework"))
    assert len(CASES["slow"].sample(1, SystemNoise(), lambda _: None)[0]) == 1
