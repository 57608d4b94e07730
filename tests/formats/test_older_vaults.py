"""A vault of each former format is opened, asked, changed, backed up and converted; no charge is lost.

`ledger-N.tar.xz` is a vault that the code of its time made: 30 units, one question of dp-vote-rag, paid once. The
present code made the last one alone.
"""

import tarfile
from pathlib import Path
from typing import Any

import pytest

from discreet.generation.toy import ToyModel
from discreet.ledger.migrations import MIGRATIONS
from discreet.operations.backup import back_up
from discreet.operations.restore import restore
from discreet.retrieval.documents import Document
from discreet.vault import Vault

HERE = Path(__file__).parent
FORMATS = sorted(int(file.name.split(".")[0].removeprefix("ledger-")) for file in HERE.glob("ledger-*.tar.xz"))
PAID = 11.673824024
"""What `discreet budget` of the code of their time printed of each."""


_SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python 3.11 has the filter from 3.11.4 on."""


@pytest.fixture(params=FORMATS)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(HERE / f"ledger-{request.param}.tar.xz") as packed:
        packed.extractall(tmp_path / "vault", **_SAFELY)
    return tmp_path / "vault"


def test_each_format_of_a_ledger_has_a_vault() -> None:
    """A new format needs a packed vault first: docs/maintenance.md has the command."""
    assert list(range(1, len(MIGRATIONS) + 1)) == FORMATS


def test_older_vault_keeps_what_was_paid(older: Path) -> None:
    vault = Vault.open(older)
    report = vault.budget()
    assert (report.granted, report.delta) == (20.0, 1e-6)
    assert report.spent == pytest.approx(PAID, abs=1e-9)
    assert len(report.questions) == 1
    assert vault.store.count_units() == vault.store.count_documents() == 30


def test_older_vault_is_asked_and_changed(older: Path) -> None:
    vault = Vault.open(older, model=ToyModel(["ginger", "gloves"]))
    assert vault.add_documents([Document("new", "new", "Winter hand. The treatment is ginger gloves.")]).added == 1
    assert vault.remove_unit("p0") == 1
    assert vault.store.count_units() == 30
    vault.ask("What is the treatment for Winter Hand?", reuse=False)
    again = Vault.open(older).budget()
    assert len(again.questions) == 2
    assert again.spent >= PAID - 1e-9


def test_older_vault_is_backed_up_and_restored(older: Path, tmp_path: Path) -> None:
    back_up(older, tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "restored")
    assert Vault.open(tmp_path / "restored").budget().spent == pytest.approx(PAID, abs=1e-9)


def test_older_vault_is_converted_with_its_charges(older: Path) -> None:
    vault = Vault.open(older)
    if vault.settings.payment == "corpus":
        vault.convert()
    assert Vault.open(older).settings.payment == "unit"
    assert Vault.open(older).budget().spent == pytest.approx(PAID, abs=1e-9)
