"""A vault whose documents are in PostgreSQL: asked, erased, looked over, backed up, moved and reported."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.errors import DiscreetError, StoreError, UsageError
from discreet.operations.checks import problems
from discreet.operations.doctor import examine
from discreet.operations.erasure import erasure_report
from discreet.operations.report import as_page, erasures, gather
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.guarantee.ledger.conftest import Server, sql
from tests.operations.conftest import CHEAP, with_toy
from tests.vector_server import vector_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with vector_server() as own:
        yield own


@pytest.fixture
def vault(server: Server, tmp_path: Path) -> Vault:
    return with_toy(filled(create(tmp_path / "vault", server.url)))


def create(path: Path, url: str, ledger: str = "") -> Vault:
    return Vault.create(
        path, epsilon=200, delta=1e-6, embedder="hashing", store=url, ledger=ledger, fields={"age": "number"}
    )


def filled(vault: Vault) -> Vault:
    vault.add_documents(
        Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .", fields={"age": n}, source=f"{n % 2}.csv")
        for n in range(30)
    )
    return vault


def schemas(server: Server) -> set[str]:
    engine = create_engine(server.url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        found = {str(name) for (name,) in connection.execute(text("select nspname from pg_namespace"))}
    engine.dispose()
    return found


def test_ledger_and_documents_share_a_database(server: Server, tmp_path: Path) -> None:
    vault = with_toy(filled(create(tmp_path / "vault", server.url, server.url)))
    vault.ask("numb thumbs?", CHEAP)
    assert {vault.settings.ledger_name, vault.settings.store_name} <= schemas(server)
    assert not problems(examine(vault.path))


def test_vault_that_cannot_be_made_leaves_no_schema(server: Server, tmp_path: Path) -> None:
    before = schemas(server)
    with pytest.raises(DiscreetError):
        create(tmp_path / "vault", server.url, "postgresql://someone@127.0.0.1:1/nowhere")
    assert schemas(server) == before
    assert not (tmp_path / "vault").exists()
    for wrong in ("postgres://u:hunter2@h/x", "postgresql://u:hunter2@h/x", "mysql://hunter2"):
        with pytest.raises(UsageError) as error:
            create(tmp_path / "vault", wrong)
        assert "hunter2" not in str(error.value)


def test_doctor_names_what_is_wrong(vault: Vault, server: Server) -> None:
    schema = vault.settings.store_name
    assert not problems(examine(vault.path))
    sql(server.url, f'delete from "{schema}".vector where id = (select min(id) from "{schema}".vector)')
    assert [one.check for one in problems(examine(vault.path))] == ["vectors"]
    sql(server.url, f'alter table "{schema}".vector alter column v type halfvec({vault.embedder.dimension})')
    sql(server.url, f'create index on "{schema}".vector using hnsw (v halfvec_ip_ops)')
    (found,) = problems(examine(vault.path))
    assert "approximate" in found.what
    sql(server.url, f'drop schema "{schema}" cascade')
    (found,) = problems(examine(vault.path))
    assert found.check == "store"
    assert server.url not in found.what
    with pytest.raises(StoreError, match="pg_restore"):
        Vault.open(vault.path).store  # noqa: B018 - the property opens it


def test_server_that_logs_values_is_a_warning(vault: Vault, server: Server) -> None:
    sql(server.url, "alter role postgres set log_statement = 'all'")
    try:
        (found,) = (one for one in examine(vault.path) if one.check == "server's log")
    finally:
        sql(server.url, "alter role postgres reset log_statement")
    assert (found.level, "log_statement = none" in found.remedy) == ("warning", True)


def test_reports_name_the_database_and_no_address(vault: Vault, server: Server) -> None:
    vault.remove_unit("p1")
    assert [one.documents for one in erasures(vault.path) or ()] == [1]
    remains = " ".join(f"{one.what} {one.why}" for one in erasure_report(vault, "p1").remains)
    assert "write-ahead log" in remains
    assert "VAULT/store" not in remains
    page = as_page(gather(vault.path))
    assert "in a PostgreSQL database" in page
    assert server.url not in page
