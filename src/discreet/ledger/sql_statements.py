"""The statements of every question, sent to the driver as they are: SQLAlchemy would take longer than the database."""

import re
import sqlite3
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import MultipleResultsFound, NoResultFound

_VALUE = re.compile(r":(\w+)")


class Statement:
    """A statement with `:named` values, for every kind of database. Its rows are plain tuples."""

    def __init__(self, sql: str) -> None:
        self._sqlite = sql
        self._postgres = _VALUE.sub(r"%(\1)s", sql.replace("%", "%%"))

    def run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Send it within the connection's transaction; returns the driver's cursor. Values may be left over."""
        driver: Any = connection.connection.dbapi_connection
        return driver.execute(self._sqlite if isinstance(driver, sqlite3.Connection) else self._postgres, values)

    def found(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Its one row, if there is one.

        Raises:
            MultipleResultsFound: there are several.
        """
        rows: list[tuple[Any, ...]] = self.run(connection, values).fetchall()
        if len(rows) > 1:
            raise MultipleResultsFound
        return rows[0] if rows else None

    def one(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Its one row.

        Raises:
            NoResultFound, MultipleResultsFound: there is none, or there are several.
        """
        row = self.found(connection, values)
        if row is None:
            raise NoResultFound
        return row
