"""A cluster that cannot be joined, in words that a person understands."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.engines.ray import HERE, connect_ray
from discreet.errors import MissingPart, UsageError
from discreet.vault import Vault


@pytest.mark.parametrize("address", ["nonsense", "host:", ":80", "host:port"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UsageError, match="has an address such as"):
        connect_ray(address, 0)


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match=r"\.\[ray\]"):
        connect_ray(HERE, 0)


def test_joining_prints_no_line_of_rays_log() -> None:
    program = f"from discreet.engines.ray import *; connect_ray('{HERE}', 1).get([]); leave_ray('{HERE}')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "logging.cc" not in done.stderr  # the machine may deserve a warning, such as that of a small /dev/shm


def test_absent_cluster_is_named_and_nothing_is_added(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=10, delta=1e-6, embedder="hashing")
    file = tmp_path / "notes.csv"
    file.write_text("unit,text\na,fever\n")
    said = CliRunner().invoke(app, ["add", str(vault.path), str(file), "--yes", "--ray", "127.0.0.1:9"])
    assert said.exit_code == 1
    assert "No Ray cluster answers at 127.0.0.1:9" in " ".join(said.output.split())
    assert vault.store.count_documents() == 0
