"""How near shares of public values are to the truth, by price and by number of people: `themes` on coded records.

    python -m discreet_lab.experiments accuracy themes CHATDOCTOR --csv themes.csv

CHATDOCTOR is the folder of the data set. Each dialogue is coded once by the embedder, under the medical book. For each
number of people, some dialogues are drawn, and the table of their complaints is released again and again by the
mechanism that the product chooses. Errors are those of the noise and of the coder together: the truth is that of the
rule (`coded_texts.code_dialogues`). "No privacy" has the coder's alone.

Plain RAG is asked for the share of each value, one by one, of the first sample: the packaged model reads the dialogues
that are nearest to the question, and the first number that it writes counts. An answer without a number is 0.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.statistics.noisy_cells import Price, choose_tables
from discreet.algorithms.statistics.value_counts import sample
from discreet.baselines.rag import RAG
from discreet.generation.loading import open_model
from discreet.planning.prices import vault_budget
from discreet.privacy.noise import SystemNoise
from discreet.retrieval.codebook import find_book
from discreet.retrieval.embedding import open_embedder
from discreet.retrieval.public import PublicTexts
from discreet.synthesis.embedder_coder import EmbedderCoder
from discreet_lab.experiments.coded_texts import code_dialogues
from discreet_lab.experiments.common import TableWriter, add_csv_option

PEOPLE, EPSILONS = (200, 1_500, 5_000, 20_000), (0.5, 1.0, 2.0)
COLUMNS = ("people", "epsilon of the table", "mean error of a share, points", "top three found", "half width, points")
BOOK, CODE, TOP = "medical-visit", "complaint", 3
GRANT, DELTA = 10.0, 1e-6
_HALF = 1.96
ASKED_OF = (200, 1_500)
"""The numbers of people of whom plain RAG is asked."""
READ = 8
"""The dialogues that it reads for each question: as many as the packaged model has room for."""

Table = NDArray[np.int64]


def measure_themes(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print the errors of shares for each number of people and each price."""
    parser.add_argument("dialogues", type=Path, metavar="CHATDOCTOR", help="the folder of the data set")
    parser.add_argument("--draws", type=int, default=200, help="samples of people, each with noise of its own")
    parser.add_argument("--seed", type=int, default=0, help="draws the people; the noise is real")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    attribute = next(one for one in find_book(BOOK).coded if one.name == CODE)
    texts = code_dialogues(given.dialogues / "documents.jsonl.gz")
    values = [name for name in attribute.names if any(name in one.codes[CODE] for one in texts)]
    coder = EmbedderCoder(open_embedder("minilm"))
    coded = dict(coder.code([one.text for one in texts], find_book(BOOK)))
    truth = np.array([[name in one.codes[CODE] for name in values] for one in texts], dtype=np.int64)
    found = np.array(
        [[name in {value for code, value, *_ in coded[place] if code == CODE} for name in values] for place in coded],
        dtype=np.int64,
    )
    drawn = np.random.default_rng(given.seed)
    writer = TableWriter(COLUMNS, given.csv)
    for people in PEOPLE:
        samples = [drawn.choice(len(texts), people, replace=people > len(texts)) for _ in range(given.draws)]
        for epsilon in (*EPSILONS, None):
            scores, half = [], 0.0
            for some in samples:
                shares, half = _release(found[some], attribute.each, epsilon)
                true = truth[some].mean(axis=0)
                scores.append((float(np.abs(shares - true).mean()), len(_top(shares) & _top(true)) / TOP))
            error, top = np.mean(np.array(scores), axis=0)
            cost = "no privacy" if epsilon is None else f"{epsilon:g}"
            width = "-" if epsilon is None else f"{100 * half / people:.1f}"
            writer.write((f"{people:,}", cost, f"{100 * error:.1f}", f"{top:.2f}", width))
        if people in ASKED_OF:
            true = truth[samples[0]].mean(axis=0)
            shares = _ask_rag([texts[place].text for place in samples[0]], values)
            error, top = np.abs(shares - true).mean(), len(_top(shares) & _top(true)) / TOP
            writer.write((f"{people:,}", "plain RAG", f"{100 * error:.1f}", f"{top:.2f}", "-"))


def _ask_rag(texts: Sequence[str], values: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of each value that plain RAG writes."""
    rag, model = RAG(units=READ, max_tokens=16, prefix="About"), open_model("smollm2-135m")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        corpus = PublicTexts.read(path, open_embedder("minilm"))
    questions = [f"What percentage of the patients have {value} problems?" for value in values]
    written = rag.read_all([(one, corpus.unsealed_passages(one, READ)) for one in questions], model)
    numbers = [re.search(r"\d+(?:\.\d+)?", one.text) for one in written]
    return np.array([min(1.0, float(one.group()) / 100) if one else 0.0 for one in numbers])


def _release(own: Table, each: int, epsilon: float | None) -> tuple[NDArray[np.float64], float]:
    """Return the shares of values that are released of some people, and the half width of a count's interval."""
    if epsilon is None:
        return own.mean(axis=0), 0.0
    budget = vault_budget(GRANT, DELTA)
    size, cells = choose_tables(Price(budget, epsilon=epsilon), (1, 1), (own.shape[1], each))
    noise = SystemNoise()
    brought = [sample([str(value) for value in np.flatnonzero(row)], each, b"%16d" % n) for n, row in enumerate(own)]
    counts = np.array(cells.draw([tuple(map(int, one)) for one in brought], noise), dtype=np.float64)
    of = max(1, size.draw([0] * len(own), noise)[0])
    return np.clip(counts / of, 0.0, 1.0), _HALF * cells.deviation


def _top(shares: NDArray[np.float64]) -> set[int]:
    return set(np.argsort(-shares, kind="stable")[:TOP].tolist())
