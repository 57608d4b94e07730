"""Statistics beside three others: a table with the truth, OpenDP's own counts on that table, and plain RAG.

    .venv/bin/python -m benchmarks.analyst_beside NAME [DOCUMENTS] [--questions 100] [--rag 10]

NAME is demo, medical, movielens or movielens-love; the last one asks for those who love a film.
A question goes the way of `discreet ask`, from its text on. One unit is a patient, or a viewer with all its films. The
truth is the generator's (demo), the doctor's sentence (medical), or the list of films (movielens).

discreet       the question in words: its rules, the phrases of the texts, the noise
truth          a table that holds the truth, under the mechanism of discreet: the difference is what reading loses
OpenDP         the same table under OpenDP's own measurements: counts of boolean columns, which share the price
plain RAG      the language model with the nearest five texts in its prompt; the first number that it writes

released       the part of the questions that got a number
median error   of a count in parts of the true one; of shares and differences in absolute terms
90 %           the error that 90 % of the released numbers do not exceed
covered        the part of the intervals that hold the truth; OpenDP has none for a quotient

`stream` is epsilon 4 for 200 questions of a unit (delta 1e-5). Noise is seeded where it is ours. `--table` writes the
true counts of all questions as JSON, for benchmarks.tumult_counts.
"""

import argparse
import json
import math
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.analyst import ALONE, STREAM, STREAM_USES, WORDINGS, demo_notes, stated_notes, statistic_for
from benchmarks.models import add_model_option, model_name, open_vault
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.answer import Figure
from discreet.algorithms.statistics.cell_statistic import OUTSIDE, CellStatistic
from discreet.algorithms.statistics.compare import Compare
from discreet.algorithms.statistics.count import Count
from discreet.algorithms.statistics.counted import Counted
from discreet.algorithms.statistics.population import Phrase
from discreet.algorithms.statistics.share import Share
from discreet.demo.corpus import documents
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.reading.opening import open_bytes
from discreet.registry import RAG
from discreet.retrieval.unit_records import UnitRecord
from discreet.vault import Vault

LOVED = {
    "count": (
        "How many viewers love {d}?",
        "Count the viewers who love {d}.",
        "What is the number of viewers who love {d}?",
        "In how many notes is {d} mentioned?",
    ),
    "share": (
        "What share of viewers who love {d} love {s}?",
        "What percentage of viewers who love {d} also love {s}?",
        "What fraction of viewers who love {d} mention {s}?",
    ),
    "compare": (
        "Is {s} more common among viewers who love {d} than among viewers who love {e}?",
        "How does the share of {s} differ between viewers who love {d} and viewers who love {e}?",
    ),
}
"""With a verb, which the texts do not say beside each film."""
NAMED = {
    "count": (
        "How many viewers mention {d}?",
        "Count the viewers with {d}.",
        "What is the number of viewers with {d}?",
        "In how many notes is {d} mentioned?",
    ),
    "share": (
        "What share of viewers with {d} have {s}?",
        "What percentage of viewers with {d} also mention {s}?",
        "How common is {s} among viewers with {d}?",
    ),
    "compare": (
        "Is {s} more common among viewers with {d} than among viewers with {e}?",
        "How does the share of {s} differ between viewers with {d} and viewers with {e}?",
    ),
}
"""With the names alone."""
FILMS = {"movielens": NAMED, "movielens-love": LOVED}
KINDS = ("count", "share", "compare")
Unit = frozenset[str]
"""What is true of one unit."""


@dataclass(frozen=True)
class Data:
    """Units with their truth, and how questions about them are worded.

    Attributes:
        units: what is true of each unit.
        wordings: the wordings of each kind.
        groups: what a question is about: diseases, or films.
        unit: the word for one unit.
    """

    units: tuple[Unit, ...]
    wordings: dict[str, tuple[str, ...]]
    groups: tuple[str, ...]
    unit: str


@dataclass(frozen=True)
class Asked:
    """A question with the true cell of each unit, as the statistic of its kind numbers them."""

    text: str
    names: tuple[str, str, str]
    true: tuple[float, ...]


def data_of(name: str, path: Path | None) -> Data:
    """The units of a data set."""
    if name in FILMS:
        assert path is not None
        with open_bytes(path) as lines:
            texts = [json.loads(line)["text"] for line in lines]
        units = [frozenset(text.split(": ", 1)[1].rstrip(".").split("; ")) for text in texts]
        return Data(tuple(units), FILMS[name], _frequent(units, (), 40), "viewer")
    notes = demo_notes() if name == "demo" else stated_notes(path or Path())
    units = [note.symptoms | ({note.diagnosis} if note.diagnosis else set()) for note in notes]
    diseases = {note.diagnosis for note in notes if note.diagnosis}
    return Data(tuple(units), WORDINGS, _frequent(units, diseases, 20), "patient")


def _frequent(units: Iterable[Unit], among: Iterable[str], least: int) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for unit in units:
        for one in unit:
            counts[one] = counts.get(one, 0) + 1
    wanted = set(among) or set(counts)
    return tuple(sorted(one for one, count in counts.items() if count >= least and one in wanted))


def questions(data: Data, kind: str, number: int, seed: int = 0) -> Iterator[Asked]:
    """Questions of one kind with their truth, in turn in all wordings."""
    draw = random.Random(seed)
    for place in range(number):
        one, other = draw.sample(data.groups, 2)
        inside = [unit for unit in data.units if one in unit]
        held = draw.choice(sorted({thing for unit in inside for thing in unit} - {one, other}))
        wordings = data.wordings[kind]
        text = wordings[place % len(wordings)].format(d=one, e=other, s=held)
        shares = [_share([unit for unit in data.units if group in unit], held) for group in (one, other)]
        true: dict[str, tuple[float, ...]] = {"count": (len(inside),), "share": (shares[0],), "compare": tuple(shares)}
        yield Asked(text, (one, other, held), true[kind])


def _share(units: Sequence[Unit], held: str) -> float:
    return sum(held in unit for unit in units) / max(1, len(units))


def true_cell(kind: str, unit: Unit, names: tuple[str, str, str]) -> int:
    """The cell of a unit, by the truth."""
    one, other, held = names
    if kind == "compare":
        inside = (one in unit) + 2 * (other in unit)
        return 2 * (inside - 1) + (held not in unit) if inside else OUTSIDE
    if one not in unit:
        return OUTSIDE
    return 0 if kind == "count" else int(held not in unit)


def statistic_of(kind: str, asked: Asked, given: dict[str, Any]) -> CellStatistic:
    """The statistic whose noise a table of the truth gets."""
    one, _, held = asked.names
    if kind == "count":
        return Count(condition=one, **given)
    if kind == "share":
        return Share(population=one, condition=held, **given)
    return Compare(groups=("first", "second"), condition=held, **given)


Numbers = tuple[list[float], list[tuple[float, float]]]
"""The released numbers in the order of the truth, and their intervals, if there are any."""


def by_discreet(vault: Vault, kind: str, given: dict[str, Any], seed: int, asked: Asked) -> Numbers:
    """The numbers of `discreet ask`."""
    statistic = statistic_for(vault, _Text(asked.text), kind, given)  # type: ignore[arg-type]
    if statistic is None:
        return [], []
    ledger = MemoryLedger(STREAM if "uses" in given else ALONE, simulation=True)
    found = vault.simulate(asked.text, statistic, noise=InsecureSeededNoise(seed), ledger=ledger)
    return _numbers(found.table, len(asked.true))


@dataclass(frozen=True)
class _Text:
    text: str


def by_table(data: Data, kind: str, given: dict[str, Any], seed: int, asked: Asked) -> Numbers:
    """The numbers of the truth under the same mechanism."""
    statistic = statistic_of(kind, asked, given)
    histogram = statistic.histogram(STREAM if "uses" in given else ALONE)
    cells = [true_cell(kind, unit, asked.names) for unit in data.units]
    _, table = statistic.conclude(Counted.by(histogram, histogram.draw(cells, InsecureSeededNoise(seed))))
    return _numbers(table, len(asked.true))


def _numbers(table: Sequence[Figure], wanted: int) -> Numbers:
    kept = table[:wanted]
    return [figure.value for figure in kept], [(figure.low, figure.high) for figure in kept]


def by_opendp(data: Data, kind: str, given: dict[str, Any], _: int, asked: Asked) -> Numbers:
    """The numbers of OpenDP: noisy counts of boolean columns, and their quotients. Its noise is not seeded."""
    one, other, held = asked.names
    groups = {"count": [one], "share": [one], "compare": [one, other]}[kind]
    columns = [[group in unit for unit in data.units] for group in groups]
    if kind != "count":
        columns += [[group in unit and held in unit for unit in data.units] for group in groups]
    counts = [_opendp_count(column, len(columns), given) for column in columns]
    if kind == "count":
        return [float(max(0, counts[0]))], []
    if min(counts[: len(groups)]) < 1:
        return [], []
    pairs = zip(counts[len(groups) :], counts, strict=False)
    return [min(1.0, max(0.0, part / whole)) for part, whole in pairs], []


def _opendp_count(column: list[bool], counts: int, given: dict[str, Any]) -> int:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    table = dp.t.make_sum(dp.vector_domain(dp.atom_domain(bounds=(0, 1))), dp.symmetric_distance())
    measure = table >> _opendp_noise(counts, given.get("epsilon"))
    return int(measure([int(one) for one in column]))


@cache
def _opendp_noise(counts: int, epsilon: float | None) -> Any:
    """The noise whose scale OpenDP finds itself: of one of some counts at a price, or in a stream."""
    import opendp.prelude as dp

    make = dp.m.make_gaussian if epsilon is None else dp.m.make_laplace
    most = _rho(4.0, 1e-5) / STREAM_USES if epsilon is None else epsilon
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    return dp.binary_search_chain(lambda scale: make(*space, scale), d_in=1, d_out=most / counts)


def _rho(epsilon: float, delta: float) -> float:
    """The zero-concentrated privacy that gives (epsilon, delta), by the usual conversion."""
    root = math.sqrt(math.log(1 / delta))
    return (math.sqrt(root * root + epsilon) - root) ** 2


def by_rag(vault: Vault, model: Any, _: int, asked: Asked) -> Numbers:
    """The first numbers that the model writes with the nearest five texts in its prompt."""
    found = vault.simulate(asked.text, RAG(units=5), model=model)
    said = [float(number.replace(",", "")) for number in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", found.text)]
    if isinstance(asked.true[0], float):
        said = [number / 100 if number > 1 else number for number in said]
    return said[: len(asked.true)] if len(said) >= len(asked.true) else [], []


Ask = Callable[[int, Asked], Numbers]


def ways(vault: Vault, data: Data, kind: str, given: dict[str, Any]) -> dict[str, Ask]:
    """The ways that answer privately, by name."""
    return {
        "discreet": partial(by_discreet, vault, kind, given),
        "truth": partial(by_table, data, kind, given),
        "OpenDP": partial(by_opendp, data, kind, given),
    }


def row(kind: str, price: str, name: str, asked: Sequence[Asked], ask: Ask) -> list[str]:
    """One row of the table."""
    errors, held, intervals, released = list[float](), 0, 0, 0
    started = time.perf_counter()
    for place, one in enumerate(asked):
        numbers, ranges = ask(place, one)
        released += bool(numbers)
        scale = one.true[0] if kind == "count" else 1.0
        errors += [abs(number - true) / scale for number, true in zip(numbers, one.true, strict=False)]
        held += sum(low - 1e-9 <= true <= high + 1e-9 for (low, high), true in zip(ranges, one.true, strict=False))
        intervals += len(ranges)
    errors.sort()
    return [
        *(kind, price, name, f"{released / len(asked):.2f}"),
        f"{errors[len(errors) // 2]:.3f}" if errors else "-",
        f"{errors[min(len(errors) - 1, int(0.9 * len(errors)))]:.3f}" if errors else "-",
        f"{held / intervals:.2f}" if intervals else "-",
        f"{1000 * (time.perf_counter() - started) / len(asked):.0f}",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("demo", "medical", *FILMS))
    parser.add_argument("documents", type=Path, nargs="?")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.5, 1.0])
    parser.add_argument("--rag", type=int, default=0, help="so many questions of each kind for plain RAG")
    parser.add_argument(
        "--vault", type=Path, help="a vault of the documents; else one is made, with the embedder hashing"
    )
    parser.add_argument("--table", type=Path, help="write the true counts")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    data = data_of(given.data, given.documents)
    with tempfile.TemporaryDirectory() as folder:
        vault = (
            open_vault(given.vault, given.model)
            if given.vault
            else _made(Path(folder) / "v", given.documents, data.unit, given.model)
        )
        table = TableWriter("kind,epsilon,by,released,median error,90 %,covered,ms".split(","), given.csv)
        for kind in KINDS:
            asked = list(questions(data, kind, given.questions))
            for price in (*given.epsilon, None):
                how: dict[str, Any] = {"uses": STREAM_USES} if price is None else {"epsilon": price}
                said = "stream" if price is None else f"{price:g}"
                for name, ask in ways(vault, data, kind, how).items():
                    table.write(row(kind, said, name, asked, ask))
            if given.rag:
                few = asked[: given.rag]
                table.write(row(kind, "none", "plain RAG", few, partial(by_rag, vault, vault.model)))
    print(f"\n{given.questions} questions of each kind; {len(data.units):,} {data.unit}s.")
    if given.data in FILMS:
        print(
            f"{other_counts(data, given.documents)} of {len(data.groups)} names are found in another number of units."
        )
    if given.table:
        counts = [one.true[0] for one in questions(data, "count", given.questions)]
        given.table.write_text(json.dumps({"units": len(data.units), "counts": counts}), encoding="utf-8")


def other_counts(data: Data, path: Path) -> int:
    """How many names the phrase rule finds in another number of units than the truth."""
    with open_bytes(path) as lines:
        records = [UnitRecord((json.loads(line)["text"],)) for line in lines]
    return sum(
        sum(name in unit for unit in data.units) != sum(map(Phrase(name).holds, records)) for name in data.groups
    )


def _made(path: Path, given: Path | None, unit: str, model: str | None) -> Vault:
    vault = Vault.create(path, epsilon=20.0, delta=1e-6, embedder="hashing", unit_field=unit, model=model_name(model))
    if given is None:
        vault.add_documents(documents())
    else:
        vault.add(given, unit_field="unit")
    return vault


if __name__ == "__main__":
    main()
