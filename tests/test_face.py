"""The public face of the library."""

import subprocess
import sys
from pathlib import Path

import pytest

import discreet


def test_the_face_is_sorted_and_complete() -> None:
    assert sorted(discreet.__all__, key=lambda name: (name != name.upper(), name)) == discreet.__all__
    assert all(hasattr(discreet, name) for name in discreet.__all__)


def test_importing_it_loads_no_model_library() -> None:
    code = (
        "import sys, discreet; "
        "sys.exit(bool({'torch', 'transformers', 'pyarrow', 'ray', 'sklearn', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.long
def test_the_python_face_in_a_few_lines(tmp_path: Path) -> None:
    vault = discreet.Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    vault.add_documents(discreet.Document(f"d{n}", f"p{n}", "The disease is Winter Hand.") for n in range(30))
    algorithm = discreet.DPSparseVoteRAG(voters=20, epsilon=18, max_tokens=8, prefix="The disease is")
    answer = vault.ask("What is the disease?", algorithm=algorithm)
    assert answer.text.startswith("The disease is")
    assert answer.receipt is not None
    assert answer.receipt.epsilon <= 18
    assert vault.budget().left == pytest.approx(20 - vault.budget().spent)
    again = discreet.Vault.open(tmp_path / "v")
    assert again.budget().spent == vault.budget().spent
    with pytest.raises(discreet.BudgetExhausted):
        again.ask("Which disease was it?", algorithm=discreet.DPVoteRAG(epsilon=19))
    assert again.ask("Please, what is the disease").text == answer.text  # released before: free
    assert vault.remove_unit("p3") == 1


def test_every_name_of_the_face_has_a_home() -> None:
    for name in discreet.__all__:
        assert getattr(discreet, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Vlaut'"):
        _ = discreet.Vlaut
