"""How near shares of public values are to the truth, by price and by number of people: `themes` on coded records.

    python -m discreet_lab.experiments accuracy themes CHATDOCTOR --csv themes.csv

CHATDOCTOR is the folder of the data set. The other texts are made up (`coded_texts`). Each text is coded once by the
embedder, under a packaged book, and stands for one person. For each number of people, some texts are drawn, and the
table of their complaints, themes or topics is released again and again by the mechanism that the product chooses.
Errors are those of the noise and of the coder together. "No privacy" has the coder's alone.

Plain RAG is asked for the share of each value, one by one, of the first sample: the packaged model reads the dialogues
that are nearest to the question, and the first number that it writes counts. An answer without a number is 0.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.baselines import RAG
from discreet.models.loading import open_model
from discreet.planning.prices import vault_budget
from discreet.privacy.noise import SystemNoise
from discreet.statistics.cells import StatisticPrice, choose_tables
from discreet.statistics.values import sample
from discreet.store.codebook import Codebook, find_book
from discreet.store.embedding import open_embedder
from discreet.store.public import PublicTexts
from discreet.synthesis.embedder_coder import EmbedderCoder
from discreet_lab.experiments.clinic import make_clinic
from discreet_lab.experiments.coded_texts import CodedText, code_clinic, code_dialogues, make_survey, make_tickets
from discreet_lab.experiments.common import TableWriter, add_csv_option

PEOPLE, EPSILONS = (200, 1_500, 5_000, 20_000), (0.5, 1.0, 2.0)
COLUMNS = (
    "texts",
    "people",
    "epsilon of the table",
    "mean error of a share, points",
    "top three found",
    "half width, points",
)
BOOK, CODE, TOP = "medical-visit", "complaint", 3
GRANT, DELTA = 10.0, 1e-6
_HALF = 1.96
ASKED_OF = (200, 1_500)
"""The numbers of people of whom plain RAG is asked."""
EACH = 10
"""Every tenth ticket is coded."""
READ = 8
"""The dialogues that it reads for each question: as many as the packaged model has room for."""

Table = NDArray[np.int64]


def measure_themes(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print the errors of shares for each number of people and each price."""
    parser.add_argument("dialogues", type=Path, metavar="CHATDOCTOR", help="the folder of the data set")
    parser.add_argument("--draws", type=int, default=200, help="samples of people, each with noise of its own")
    parser.add_argument("--seed", type=int, default=0, help="draws the people; the noise is real")
    parser.add_argument("--only", nargs="+", choices=["chatdoctor", "survey", "tickets", "clinic"], default=[])
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    sets: dict[str, tuple[str, str, Callable[[], Sequence[CodedText]]]] = {
        "chatdoctor": (BOOK, CODE, lambda: code_dialogues(given.dialogues / "documents.jsonl.gz")),
        "survey": ("employee-survey", "theme", make_survey),
        "tickets": ("support-ticket", "topic", lambda: make_tickets()[::EACH]),
        "clinic": (BOOK, CODE, lambda: code_clinic(make_clinic())),
    }
    writer = TableWriter(COLUMNS, given.csv)
    for name, (book, code, make) in sets.items():
        if not given.only or name in given.only:
            for row in _measure(find_book(book), code, make(), given.draws, given.seed):
                writer.write((name, *row))


def _measure(
    book: Codebook, code: str, texts: Sequence[CodedText], draws: int, seed: int
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the rows of one set of texts, each of which stands for a person."""
    attribute = next(one for one in book.coded if one.name == code)
    values = [name for name in attribute.names if any(name in one.codes[code] for one in texts)]
    coder = EmbedderCoder(open_embedder("minilm"))
    coded = dict(coder.code([one.text for one in texts], book))
    truth = np.array([[name in one.codes[code] for name in values] for one in texts], dtype=np.int64)
    found = np.array(
        [[name in {value for own, value, *_ in coded[place] if own == code} for name in values] for place in coded],
        dtype=np.int64,
    )
    drawn = np.random.default_rng(seed)
    for people in PEOPLE:
        samples = [drawn.choice(len(texts), people, replace=people > len(texts)) for _ in range(draws)]
        for epsilon in (*EPSILONS, None):
            scores, half = [], 0.0
            for some in samples:
                shares, half = _release(found[some], attribute.each, epsilon)
                scores.append(_scores(shares, truth[some].mean(axis=0)))
            error, top = np.mean(np.array(scores), axis=0)
            cost = "no privacy" if epsilon is None else f"{epsilon:g}"
            width = "-" if epsilon is None else f"{100 * half / people:.1f}"
            yield f"{people:,}", cost, f"{100 * error:.1f}", f"{top:.2f}", width
        if people in ASKED_OF:
            shares = _ask_rag([texts[place].text for place in samples[0]], values)
            error, top = _scores(shares, truth[samples[0]].mean(axis=0))
            yield f"{people:,}", "plain RAG", f"{100 * error:.1f}", f"{top:.2f}", "-"


def _scores(shares: NDArray[np.float64], true: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean error of a share, and the part of the top three that is found."""
    return float(np.abs(shares - true).mean()), len(_top(shares) & _top(true)) / TOP


def _ask_rag(texts: Sequence[str], values: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of each value that plain RAG writes."""
    rag, model = RAG(units=READ, max_tokens=16, prefix="About"), open_model("smollm2-135m")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        corpus = PublicTexts.read(path, open_embedder("minilm"))
    questions = [f"What percentage of the records are about {value}?" for value in values]
    written = rag.read_all([(one, corpus.unsealed_passages(one, READ)) for one in questions], model)
    numbers = [re.search(r"\d+(?:\.\d+)?", one.text) for one in written]
    return np.array([min(1.0, float(one.group()) / 100) if one else 0.0 for one in numbers])


def _release(own: Table, each: int, epsilon: float | None) -> tuple[NDArray[np.float64], float]:
    """Return the shares of values that are released of some people, and the half width of a count's interval."""
    if epsilon is None:
        return own.mean(axis=0), 0.0
    budget = vault_budget(GRANT, DELTA)
    size, cells = choose_tables(StatisticPrice(budget, epsilon=epsilon), (1, 1), (own.shape[1], each))
    noise = SystemNoise()
    brought = [sample([str(value) for value in np.flatnonzero(row)], each, b"%16d" % n) for n, row in enumerate(own)]
    counts = np.array(cells.draw([tuple(map(int, one)) for one in brought], noise), dtype=np.float64)
    of = max(1, size.draw([0] * len(own), noise)[0])
    return np.clip(counts / of, 0.0, 1.0), _HALF * cells.deviation


def _top(shares: NDArray[np.float64]) -> set[int]:
    return set(np.argsort(-shares, kind="stable")[:TOP].tolist())
