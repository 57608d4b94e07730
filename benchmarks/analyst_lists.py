"""Lists of films against exact truth: which ones and how often, beside a table with the truth, and OpenDP.

    .venv/bin/python -m benchmarks.analyst_lists DATA/movielens/documents.jsonl [--questions 50] [--each 6 30]

The films are a declared field, with a record for each film of a viewer: the packaged model cannot read a list of thirty
titles. The questions are about all viewers, or about those with one film. A question goes the way of `discreet ask`,
from its text on. Nothing is paid, and noise is seeded where it is ours.

set          all viewers, or those with one film that 40 or more name
each         the number of a viewer's films that count: a sample of each
discreet     the question in words: its rules, the set by a phrase, the noise, the threshold
truth        a table of the truth under the mechanism of discreet: the difference is what phrases lose
OpenDP       noisy counts of all titles, which are taken to be public: one vector of the same distance, no threshold
released     the part of the questions with a list
recall       the part of the ten films that most viewers name, listed
precision    the part of the listed films that are among these ten; in lists that are released
within 20 %  the part of the listed counts that are off by a fifth of the true one at most

`stream` is epsilon 4 for 200 questions of a unit (delta 1e-5).
"""

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.analyst import ALONE, STREAM, STREAM_USES, statistic_for
from benchmarks.analyst_beside import Data, Unit, _rho, data_of
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.statistics.list_values import ListValues
from discreet.algorithms.statistics.noisy_cells import choose_counts
from discreet.algorithms.statistics.value_counts import sample
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.retrieval.documents import Document
from discreet.vault import Vault

MOST = 10
WORDINGS: dict[str, tuple[str, ...]] = {
    "all viewers": (
        "What are the most common films?",
        "Top 10 films",
        "Which films are mentioned most often?",
        "List the ten most common films.",
        "What are the 10 most frequent films among viewers?",
    ),
    "one film": (
        "What are the most common films of viewers with {d}?",
        "Top 10 films among viewers with {d}",
        "Which films are mentioned most often by viewers with {d}?",
        "List the films of viewers with {d}.",
        "What are the ten most frequent films for viewers with {d}?",
    ),
}
HEADINGS = "set,each,epsilon,by,released,recall,precision,within 20 %,ms".split(",")
Listed = dict[str, float]
"""The listed films, each with its count."""


@dataclass(frozen=True)
class Asked:
    """A question, the film that all of its viewers name ("" for all viewers), and the true count of each film."""

    text: str
    film: str
    true: Counter[str]


def questions(data: Data, about: str, number: int, seed: int = 0) -> Iterator[Asked]:
    """Questions with their truth, in turn in all wordings."""
    draw = random.Random(seed)
    for place in range(number):
        film = draw.choice(data.groups) if about == "one film" else ""
        text = WORDINGS[about][place % len(WORDINGS[about])].format(d=film)
        yield Asked(text, film, Counter(one for unit in _inside(data, film) for one in unit))


def _inside(data: Data, film: str) -> list[Unit]:
    return [unit for unit in data.units if not film or film in unit]


def _sampled(data: Data, film: str, each: int) -> list[Unit]:
    return [frozenset(sample(tuple(unit), each, b"%016d" % n)) for n, unit in enumerate(_inside(data, film))]


def by_discreet(vault: Vault, given: dict[str, Any], seed: int, asked: Asked) -> Listed:
    """The list of `discreet ask`."""
    statistic = statistic_for(vault, asked, "list", given)  # type: ignore[arg-type]
    if statistic is None:
        return {}
    ledger = MemoryLedger(STREAM if "uses" in given else ALONE, simulation=True)
    found = vault.simulate(asked.text, statistic, noise=InsecureSeededNoise(seed), ledger=ledger)
    return {figure.name: figure.value for figure in found.table if figure.kind == "count" and figure.name != "of"}


def by_table(data: Data, given: dict[str, Any], seed: int, asked: Asked) -> Listed:
    """The list of the truth under the same mechanism."""
    price = ListValues(attribute="films", **given).price(STREAM if "uses" in given else ALONE)
    _, values = choose_counts(price, given["each"])
    return _top(values.draw(_sampled(data, asked.film, given["each"]), InsecureSeededNoise(seed)))


def by_opendp(titles: Sequence[str], data: Data, given: dict[str, Any], _: int, asked: Asked) -> Listed:
    """The films of the largest noisy counts of OpenDP, of all titles. Its noise is not seeded."""
    counts = Counter(one for unit in _sampled(data, asked.film, given["each"]) for one in unit)
    noisy = _opendp_noise(given["each"], given.get("epsilon"))([counts[title] for title in titles])
    return _top(dict(zip(titles, noisy, strict=True)))


@cache
def _opendp_noise(each: int, epsilon: float | None) -> Any:
    """The noise of a vector of counts, of which a unit changes so many by one; OpenDP finds its scale."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if epsilon is None:
        make, metric, distance, most = (
            dp.m.make_gaussian,
            dp.l2_distance(T=float),
            each**0.5,
            _rho(4, 1e-5) / STREAM_USES,
        )
    else:
        make, metric, distance, most = dp.m.make_laplace, dp.l1_distance(T=int), each, epsilon
    return dp.binary_search_chain(lambda scale: make(domain, metric, scale), d_in=distance, d_out=most)


def _top(counts: dict[str, int]) -> Listed:
    return {film: counts[film] for film in sorted(counts, key=lambda film: (-counts[film], film))[:MOST]}


Ask = Callable[[int, Asked], Listed]


def row(about: str, each: int, price: str, name: str, asked: Sequence[Asked], ask: Ask) -> list[str]:
    """One row of the table."""
    recall, precision, near, started = list[float](), list[float](), list[bool](), time.perf_counter()
    for place, one in enumerate(asked):
        listed = ask(place, one)
        least = sorted(one.true.values(), reverse=True)[:MOST][-1]
        right = sum(one.true[film] >= least for film in listed)  # of films with as many viewers, any is right
        recall.append(right / MOST)
        if listed:
            precision.append(right / len(listed))
        near += [abs(count - one.true[film]) <= 0.2 * one.true[film] for film, count in listed.items()]
    return [
        *(about, str(each), price, name, f"{len(precision) / len(asked):.2f}", f"{sum(recall) / len(asked):.2f}"),
        f"{sum(precision) / len(precision):.2f}" if precision else "-",
        f"{sum(near) / len(near):.2f}" if near else "-",
        f"{1000 * (time.perf_counter() - started) / len(asked):.0f}",
    ]


def vault_of(folder: Path, data: Data) -> Vault:
    """A vault with a record for each film of a viewer."""
    vault = Vault.create(
        folder, epsilon=20.0, delta=1e-6, embedder="hashing", unit_field="viewer", fields={"film": "category"}
    )
    vault.add_documents(
        Document(f"{number}-{place}", f"viewer {number}", f"{film}.", fields={"film": film})
        for number, unit in enumerate(data.units)
        for place, film in enumerate(sorted(unit))
    )
    return vault


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.5, 1.0, 4.0])
    parser.add_argument("--each", type=int, nargs="+", default=[6, 30])
    add_csv_option(parser)
    given = parser.parse_args()
    data = data_of("movielens", given.documents)
    titles = sorted({film for unit in data.units for film in unit})
    table = TableWriter(HEADINGS, given.csv)
    with tempfile.TemporaryDirectory() as folder:
        vault = vault_of(Path(folder) / "v", data)
        for about in WORDINGS:
            asked = list(questions(data, about, given.questions))
            for each in given.each:
                for price in (*given.epsilon, None):
                    how: dict[str, Any] = {"each": each, **({"epsilon": price} if price else {"uses": STREAM_USES})}
                    ways: dict[str, Ask] = {
                        "discreet": partial(by_discreet, vault, how),
                        "truth": partial(by_table, data, how),
                        "OpenDP": partial(by_opendp, titles, data, how),
                    }
                    for name, ask in ways.items():
                        table.write(row(about, each, f"{price:g}" if price else "stream", name, asked, ask))
    print(f"\n{given.questions} questions of each set; {len(data.units)} viewers, {len(titles):,} titles.")


if __name__ == "__main__":
    main()
