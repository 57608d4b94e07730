"""A vault whose vectors are in Qdrant: asked, erased and reported, on a stand-in for a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from discreet_qdrant.check import check_qdrant_store
from qdrant_server import StandIn, qdrant_server

from discreet.config import read_config
from discreet.models.toy import ToyModel
from discreet.operations.checks import problems
from discreet.operations.report import as_page, erasures, gather
from discreet.registry import Consensus, MuRAG
from discreet.store.documents import Document
from discreet.vault import Vault

CHEAP = MuRAG(inner=Consensus(voters=25, max_tokens=4, epsilon=1.5), epsilon=2.5, similarity=-1)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, StandIn]]:
    with qdrant_server(tmp_path_factory.mktemp("qdrant")) as own:
        yield own


@pytest.fixture(params=["", "?chunks=2"])
def vault(running: tuple[str, StandIn], tmp_path: Path, request: pytest.FixtureRequest) -> Vault:
    made = Vault.create(
        tmp_path / "vault", epsilon=200, delta=1e-6, embedder="hashing", store=running[0] + request.param
    )
    made.add_documents(Document(f"doc{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    return Vault.open(made.path, model=ToyModel(["winterhand", "thumbs", "numb"]))


def test_questions_are_answered_and_units_erased(vault: Vault, running: tuple[str, StandIn]) -> None:
    assert vault.ask("numb thumbs?", CHEAP).text  # a threshold
    assert vault.ask("winterhand?", CHEAP.inner).text  # the nearest units
    assert vault.ask("How many units have numb thumbs?").text
    limits = [body["limit"] for _, path, body in running[1].requests if path.split("?")[0].endswith("/query")]
    if "chunks" in vault.settings.store:
        assert CHEAP.inner.units_read * 2 in limits
    assert all(body["params"]["exact"] for _, path, body in running[1].requests if "/query" in path)
    other = Vault.open(vault.path)
    assert other.inventory.bury("P1") == 1
    assert {entry.unit for entry in vault.inventory.units()} == {f"p{n}" for n in range(30) if n != 1}
    assert [erasure.documents for erasure in erasures(vault.path) or []] == [1]
    assert not problems(check_qdrant_store(vault.path / "store", read_config(vault.path)))
    assert "in the store &#x27;qdrant&#x27; of a plug-in" in str(as_page(gather(vault.path)))


def test_no_request_has_a_name_or_a_text(vault: Vault, running: tuple[str, StandIn]) -> None:
    """Qdrant gets vectors with random numbers, and questions' vectors. All names and texts stay in the folder."""
    # Names of collections are random hexadecimal digits: no word here consists of these alone.
    vault.ask("numb thumbs?", CHEAP)
    sent = repr(running[1].requests)
    assert [word for word in ("thumbs", "winterhand", "'p1'", "p29", "doc29", "'payload':") if word in sent] == []
