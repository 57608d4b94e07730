"""Both ledgers side by side, for one commit: with COMPARED_LEDGERS=1 each test has them, and they must agree.

After every operation on the old ledger, the log does the same: results and refusals, sums, balances and questions are
compared. A lock makes one operation of both of them one, for all threads and processes.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.ledger import log_postgres, log_sqlite, postgres, sqlite

WRITES = ("charge", "reserve", "reserve_all", "settle", "merge", "begin", "finish")
READS = "spent affords payers balance unit_balances began questions spent_at_most questions_of count_corpora".split()
_PLAIN_SQLITE, _PLAIN_POSTGRES = sqlite.SqliteLedger, postgres.PostgresLedger
done = 0


@contextmanager
def _one_at_a_time(path: Path) -> Any:
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _outcome(act: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return act(), None
    except DiscreetError as error:
        return None, error


def _plain(value: Any) -> Any:
    """Return a result without what may differ: the order of balances, and moments a second apart."""
    if isinstance(value, list) and value and hasattr(value[0], "time"):
        return [replace(record, time="") for record in value]
    if isinstance(value, list):
        return Counter(dict(value))
    if hasattr(value, "payments"):
        return value.questions, value.payments
    return value


class Compared:
    """A ledger with its log beside it."""

    _log: Any = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        log = super().__getattribute__("_log")
        if name not in (*WRITES, *READS) or log is None or super().__getattribute__("_inside"):
            return found
        return lambda *values, **named: self._both(name, found, values, named)

    def _both(self, name: str, old: Callable[..., Any], values: Any, named: Any) -> Any:
        global done
        with _one_at_a_time(self._beside.with_name(f"{self._beside.name}.lock")):
            self._inside = True
            try:
                before, error = _outcome(lambda: old(*values, **named))
                after, other = _outcome(lambda: getattr(self._log, name)(*values, **named))
                assert (type(error), str(error)) == (type(other), str(other)), (name, values, error, other)
                assert _plain(before) == _plain(after), (name, values, before, after)
                if name in WRITES:
                    done += 1
                    for read in ("spent", "unit_balances", "questions", "spent_at_most", "count_corpora", "reached"):
                        one, another = getattr(self, read)(), getattr(self._log, read)()
                        assert _plain(one) == _plain(another), (name, values, read, one, another)
            finally:
                self._inside = False
        if error is not None:
            raise error
        return before

    _inside = False

    @property
    def _beside(self) -> Path:
        raise NotImplementedError


class ComparedSqlite(Compared, _PLAIN_SQLITE):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self._beside.exists():
            self._log = log_sqlite.SqliteLedger.open(self._beside)

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.log")

    @classmethod
    def create(cls, path: Path, budget: Any, **how: bool) -> Any:
        made = super().create(path, budget, **how)
        if cls is ComparedSqlite:
            made._log = log_sqlite.SqliteLedger.create(made._beside, budget, **how)
        return made

    def copy(self, path: Path) -> Any:
        if self._log is not None:
            self._log.copy(path.with_name(f"{path.name}.log"))
        return super().copy(path)


class ComparedPostgres(Compared, _PLAIN_POSTGRES):
    def __init__(self, url: Any, name: str) -> None:
        super().__init__(url, name)
        self._url = url.render_as_string(False).replace("+psycopg", "") if not isinstance(url, str) else url
        if self._beside.exists():
            self._log = log_postgres.PostgresLedger.open(self._url, self._other(name))

    @staticmethod
    def _other(name: str) -> str:
        return f"{name}00"

    @property
    def _beside(self) -> Path:
        return Path(os.environ.get("TMPDIR", "/tmp")) / f"compared-{self.name}"

    @classmethod
    def create(cls, url: str, name: str, budget: Any, **how: bool) -> Any:
        made = super().create(url, name, budget, **how)
        if cls is ComparedPostgres:
            made._log = log_postgres.PostgresLedger.create(url, cls._other(name), budget, **how)
            made._beside.touch()
        return made


def install() -> None:
    """Make every test use both ledgers. It must run before tests import them."""
    sqlite.SqliteLedger = ComparedSqlite  # type: ignore[misc]
    postgres.PostgresLedger = ComparedPostgres  # type: ignore[misc]
