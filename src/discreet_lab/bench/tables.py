"""All tables of all papers, by name: `papers/*.yaml`, with the attributes of `Paper`, `BenchTable` and `Reported`.

The values of a `Reported` are rows there: the values of its keys, and then the figure.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from discreet.errors import UnknownName
from discreet_lab.bench.papers.dp_vote_rag_tables import printed
from discreet_lab.bench.table import BenchTable, Data, Paper, Reported

PAPERS = ("dp_vote_rag", "dp_ksa", "murag", "random_projection", "dp_synrag")


def read_paper(name: str) -> Iterator[BenchTable]:
    """Yield the tables of a paper, in the order of its file."""
    file = Path(__file__).parent / "papers" / f"{name}.yaml"
    told = _freeze(yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    paper = Paper(**told["paper"])
    for one in told["tables"]:
        reported, data = one.pop("reported", ()), Data[one.pop("data", Data.FACTS.name)]
        figures = printed(reported) if isinstance(reported, str) else tuple(map(_read_figures, reported))
        yield BenchTable(paper=paper, reported=figures, data=data, **one)


def _read_figures(told: dict[str, Any]) -> Reported:
    values = {tuple(keys): figure for *keys, figure in told["values"]}
    return Reported(told["source"], told["column"], told["keys"], values, Data[told["data"]])


def _freeze(told: Any) -> Any:
    """Return what was read with tuples in place of lists."""
    if isinstance(told, dict):
        return {key: _freeze(value) for key, value in told.items()}
    return tuple(map(_freeze, told)) if isinstance(told, list) else told


TABLES: dict[str, BenchTable] = {table.name: table for paper in PAPERS for table in read_paper(paper)}
"""The tables by the names that `discreet bench` takes, paper by paper."""


def find_table(name: str) -> BenchTable:
    """Return the table called `name`.

    Raises:
        UnknownName: if there is no such table.
    """
    if name not in TABLES:
        raise UnknownName("table", name, TABLES)
    return TABLES[name]
