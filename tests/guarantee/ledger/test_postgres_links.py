"""The link to a PostgreSQL ledger is cut in the middle of a payment: it counts at most once, and is never forgotten."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.ledger import PostgresLedger
from discreet.privacy.accounting import Spending
from tests.guarantee.ledger.conftest import sql
from tests.guarantee.ledger.links import AFTER, BEFORE, LATE, Link
from tests.guarantee.ledger.test_unit_faults import LARGE, UNITS, of, parts_of

SOON = 10.0
"""Seconds in which a commit that is late has come."""


@pytest.fixture
def link(url: str) -> Iterator[Link]:
    made = Link(str(Path(url.rpartition("host=")[2]) / ".s.PGSQL.5432"))
    yield made
    made.close()


def by(link: Link) -> str:
    return f"postgresql://postgres@127.0.0.1:{link.port}/postgres"


@pytest.mark.parametrize(("when", "paid"), [(BEFORE, False), (AFTER, True), (LATE, True)])
def test_payment_in_a_cut_link_counts_at_most_once(url: str, name: str, link: Link, when: str, paid: bool) -> None:
    PostgresLedger.create(url, name, LARGE)
    here, other, said = PostgresLedger(by(link), name), PostgresLedger(url, name), list[str]()

    def pay() -> None:
        with pytest.raises(LedgerError, match="may count as spent") as error:
            here.reserve("q", 0, of(0.5), UNITS)
        said.append(str(error.value))

    link.arm("payment", when)
    paying = threading.Thread(target=pay)
    paying.start()
    assert link.cut.wait(SOON)
    assert not said  # nothing is released before the reply
    link.mend()
    paying.join(SOON)
    assert len(said) == 1
    # The writer whose connection broke is waited for: else a late payment would be missed.
    found = here.spent_at_most(["q"], wait=True)
    assert found == (of(0.5) if paid else Spending.nothing())
    assert set(parts_of(other)) == ({("q", 0)} if paid else set())
    if paid:
        with pytest.raises(LedgerError, match="reserved before"):
            here.reserve("q", 0, of(0.5), UNITS)
    else:
        assert here.reserve("q", 0, of(0.5), UNITS) == frozenset(UNITS)
    assert set(parts_of(other)) == {("q", 0)}


def test_client_and_server_miss_each_other_within_half_a_minute(url: str, name: str) -> None:
    PostgresLedger.create(url, name, LARGE)
    sql(url, f"comment on schema {name} is 'there'")
    ledger = PostgresLedger(url, name)
    with ledger.writing() as found:
        driver = found.connection.connection.dbapi_connection
        assert driver is not None
        given = {one.keyword.decode(): one.val for one in driver.pgconn.info}
        assert given["tcp_user_timeout"] == b"30000"
        assert given["keepalives_idle"] == b"10"
        waits = driver.execute("show idle_in_transaction_session_timeout").fetchone()
        assert waits == ("15s",)
