"""Torch is imported only by what computes with it: other commands start without it."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys
from pathlib import Path

def run_command(*words):
    from discreet.cli.app import app
    try:
        app(list(words))
    except SystemExit as end:
        assert not end.code, end.code

vault = Path(sys.argv[1]) / "vault"
{step}
loaded = sorted({{"torch", "transformers", "sentence_transformers", "ray"}} & set(sys.modules))
assert not loaded, loaded
"""
CREATE = """
import discreet
discreet.Vault.create(vault, epsilon=20, delta=1e-6, unit_field="patient")
"""
STEPS = {
    "import": "import discreet; discreet.Vault, discreet.Consensus, discreet.MuRAGAda",
    "help": "run_command('--help')",
    "create and open": CREATE + "discreet.Vault.open(vault).budget()",
    "budget": CREATE + "run_command('budget', str(vault))",
    "plan": "run_command('plan', '--people', '400', '--epsilon', '20')",
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_torch_is_not_imported(tmp_path: Path, step: str) -> None:
    command = [sys.executable, "-c", RUN.format(step=step), str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stderr
