"""Statements that go directly to the driver, because SQLAlchemy would take longer than the database."""

import re
import sqlite3
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import MultipleResultsFound, NoResultFound

_VALUE = re.compile(r":(\w+)")


class Statement:
    """A statement with `:named` values for all databases. Its rows are plain tuples."""

    def __init__(self, sql: str) -> None:
        self._sqlite = sql
        self._postgres = _VALUE.sub(r"%(\1)s", sql.replace("%", "%%"))

    def run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Run the statement in the connection's transaction. Return the driver's cursor. Unused values are ignored."""
        driver: Any = connection.connection.dbapi_connection
        return driver.execute(self._sqlite if isinstance(driver, sqlite3.Connection) else self._postgres, values)

    def found(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the row of the result; None if there is none.

        Raises:
            MultipleResultsFound: if there are several rows.
        """
        rows: list[tuple[Any, ...]] = self.run(connection, values).fetchall()
        if len(rows) > 1:
            raise MultipleResultsFound
        return rows[0] if rows else None

    def one(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the row of the result.

        Raises:
            NoResultFound, MultipleResultsFound: if there is no row, or several.
        """
        row = self.found(connection, values)
        if row is None:
            raise NoResultFound
        return row
