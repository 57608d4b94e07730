"""Results as tables of pandas, which is optional (the extra `notebook`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from discreet.errors import MissingPart


class Described(Protocol):
    """A result with a form as plain data."""

    def describe(self) -> dict[str, Any]:
        """Return the result as plain data."""


D = TypeVar("D", bound=Described)


class Records(list[D]):
    """A list of results that can become a table."""

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each result, and the keys of `describe()` as columns.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame(one.describe() for one in self)


def frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> Any:
    """Return a `pandas.DataFrame` with a row for each mapping. A mapping inside a row becomes columns: "outer.inner".

    Args:
        rows: the rows.
        columns: the columns of a table without rows.

    Raises:
        MissingPart: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingPart("Tables of results need pandas", "notebook") from error
    listed = [dict(row) for row in rows]
    return pandas.json_normalize(listed) if listed else pandas.DataFrame(columns=list(columns))
