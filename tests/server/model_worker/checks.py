"""What holds of several askers with one model: the sum of receipts, the answers, and the memory of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.generation.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.vault import Vault
from tests.server.model_worker.asker import SIMULATED


def check_as_one(path: Path, found: Sequence[dict[str, Any]], questions: int) -> None:
    """Check what askers printed (`asker.ask`): they paid what the ledger has, and answer as one process does."""
    ledger = Vault.open(path, model=ToyModel()).ledger
    assert len(ledger.questions()) == len(found) * questions
    assert sum(one["epsilon"] for one in found) == pytest.approx(float(ledger.spent().curve[-1]), rel=1e-9)
    alone = Vault.open(path, model=ToyModel(size=100_000))
    expected = [
        alone.simulate(f"fever {turn}", SIMULATED, noise=InsecureSeededNoise(turn)).text for turn in range(questions)
    ]
    assert [one["answers"] for one in found] == [expected] * len(found)
    assert any(expected)
    assert [one["loaded"] for one in found] == [[]] * len(found)
    assert max(one["mebibytes"] for one in found) < 250
