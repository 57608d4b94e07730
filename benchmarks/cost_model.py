"""What a large vault costs on processors, by arithmetic from tables that were measured: an estimate.

    .venv/bin/python -m benchmarks.cost_model [--questions 1000] [--csv FILE]

The numbers of records are the columns of `scale.csv` from a million on. What takes a time for each record is the rate
that was measured on a small vault, times the number of records. A question is the answer of voters that read, a search,
and the payment of 1 % of the units. The tables are of different machines, which their pages name; all times are of one
thread or one process of two cores, and no GPU is in any of them.
"""

import argparse
from collections.abc import Iterator, Sequence

from benchmarks.tables import read_rows
from benchmarks.writing import add_csv_option, write_table

FIRST = 1_000_000
READ = {"1,200 short notes": (1_200, 270), "1,000 notes": (1_000, 308), "2,500 notes, busy": (2_500, 1_200)}
"""Notes and seconds of `discreet read`, by one thread: docs/statistics.md, results/statistics.md, performance.md."""
DAY = 86_400


def value(table: str, column: str, **where: str) -> float:
    """Return a number of a table, by the values of other columns of its row.

    Raises:
        ValueError: if not one row has these values.
    """
    wanted = {name.replace("_", " "): cell for name, cell in where.items()}
    found = [row for row in read_rows(table) if wanted.items() <= row.items()]
    if len(found) != 1:
        raise ValueError(f"{table}.csv has {len(found)} rows with {wanted}, and not one.")
    return number(found[0][column])


def number(cell: str) -> float:
    """Return the number in a cell."""
    return float(cell.replace(",", ""))


def sizes() -> list[str]:
    """Return the numbers of records, as `scale.csv` writes them."""
    names = [name for name in read_rows("scale")[0] if name.replace(",", "").isdigit()]
    return [name for name in names if number(name) >= FIRST]


def scaled(step: str) -> list[float]:
    """Return the seconds of a step, for each number of records."""
    (row,) = (row for row in read_rows("scale") if row["measured"] == f"{step}, ms")
    return [number(row[size]) / 1000 for size in sizes()]


def embedding() -> Iterator[list[str]]:
    """Yield the rows of embedding: hours, by rate."""
    for row in read_rows("ray-embedding"):
        rate = number(row["records/s after that"])
        if row["embedded by"] != "a cluster, 1 worker":
            yield by_rate(f"embed the documents, {row['embedded by']}", f"{rate:.0f}/s", rate, "ray-embedding")


def reading() -> Iterator[list[str]]:
    """Yield the rows of `discreet read`: hours of one thread, by rate."""
    for what, (notes, taken) in READ.items():
        rate = notes / taken
        yield by_rate(f"read the documents, as {what}", f"{60 * rate:.0f}/min", rate, "discreet read")


def by_rate(part: str, told: str, rate: float, source: str) -> list[str]:
    """Return a row of what takes a time for each record."""
    return [part, told, source, *(f"{number(size) / rate / 3600:,.1f} h" for size in sizes())]


def by_readings() -> list[str]:
    """Return the time of a question by what was read, with its search and payment, where a vault was so large."""
    (row,) = (row for row in read_rows("scale-asks") if row["measured"] == "ask: votes by readings, the next one, ms")
    return [f"{number(row[size]) / 1000:.2f} s" if size in row else "not measured" for size in sizes()]


def questions(many: int) -> Iterator[list[str]]:
    """Yield the rows of a question, and of many questions a day."""
    answer = value("answer-speed-seconds", "seconds", setting="default")
    read = value("read-votes", "median seconds", votes_by="readings")
    search = scaled("store: search, 80 units")
    parts = scaled("ledger: reserve, 1 % of the units"), scaled("ledger: settle, 1 % of the units")
    paying = [sum(each) for each in zip(*parts, strict=True)]
    whole = [answer + one + other for one, other in zip(search, paying, strict=True)]
    same = len(search)
    yield ["answer, voters that read", f"{answer:.1f} s", "answer-speed-seconds", *[f"{answer:.1f} s"] * same]
    yield ["answer, votes by what was read", f"{read:.2f} s", "read-votes, scale-asks", *by_readings()]
    yield ["search", "", "scale", *(f"{one:.2f} s" for one in search)]
    yield ["payment of 1 % of the units", "", "scale", *(f"{one:.2f} s" for one in paying)]
    hours = (f"{many * one / 3600:.1f} h" for one in whole)
    yield [f"{many:,} questions a day, voters that read", "", "the rows above", *hours]
    yield ["the most questions a day, voters that read", "", "the rows above", *(f"{DAY / one:,.0f}" for one in whole)]


def main(words: Sequence[str] | None = None) -> None:
    """Print the estimate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000, help="questions a day")
    add_csv_option(parser)
    given = parser.parse_args(words)
    columns = ["part", "measured", "from", *sizes()]
    write_table(columns, [*embedding(), *reading(), *questions(given.questions)], given.csv)


if __name__ == "__main__":
    main()
