"""All tables of all papers, by name."""

from discreet.errors import UnknownName
from discreet_lab.bench.papers import dp_ksa, dp_synrag, dp_vote_rag, murag, random_projection
from discreet_lab.bench.table import BenchTable

TABLES: dict[str, BenchTable] = {
    table.name: table for paper in (dp_vote_rag, dp_ksa, murag, random_projection, dp_synrag) for table in paper.TABLES
}
"""The tables by the names that `discreet bench` takes, paper by paper."""


def find_table(name: str) -> BenchTable:
    """Return the table called `name`.

    Raises:
        UnknownName: if there is no such table.
    """
    if name not in TABLES:
        raise UnknownName("table", name, TABLES)
    return TABLES[name]
