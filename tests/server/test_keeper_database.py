"""A keeper whose ledger is in a PostgreSQL database that goes away: what was not paid is not charged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.vault import Vault
from discreet_server.wire import Answered, Refused, UnitCharge
from tests.guarantee.ledger.conftest import Server, server_of_our_own
from tests.server.keepers import ask, config_of, exchange, keeping, make_vault


@pytest.fixture
def database() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with server_of_our_own(fsync="off", synchronous_commit="off", wal_writer_delay="10s") as own:
        yield own


def test_question_while_the_database_is_away_costs_nothing(tmp_path: Path, database: Server) -> None:
    config = config_of(make_vault(tmp_path / "v", ledger=database.url).path)
    with keeping(config):
        first, second = ask("Which disease makes thumbs numb?"), ask("Which disease makes toes numb?")
        answered = exchange(config, first)
        assert isinstance(answered, Answered)
        database.cut()
        assert exchange(config, second) == Refused("ledger_unavailable", paid=UnitCharge.nothing())
        assert exchange(config, first) == Refused("ledger_unavailable", paid=UnitCharge.nothing())  # the front asks on
        database.start()
        again = exchange(config, first)
        assert again == Refused("interrupted", paid=again.paid)
        assert again.paid.spending == answered.spent.spending
        assert isinstance(exchange(config, second), Answered)
    ledger = Vault.open(tmp_path / "v").ledger
    assert {record.id for record in ledger.questions()} == {first.id, second.id}
