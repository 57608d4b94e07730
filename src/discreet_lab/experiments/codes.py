"""How well the coder by an embedder codes texts of a known truth, and how fast."""

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from discreet.models.loading import open_model
from discreet.numerics import has_bfloat16_instructions
from discreet.store import embedding
from discreet.store.codebook import Attribute, Codebook, find_book, packaged_books
from discreet.store.embedding import Embedder, MiniLM
from discreet.synthesis.embedder_coder import THRESHOLD, EmbedderCoder, Likeness, coded_by, fit
from discreet.synthesis.readings import by_model
from discreet_lab.experiments.clinic import make_clinic
from discreet_lab.experiments.coded_texts import (
    SYSTEMS,
    TICKETS,
    CodedText,
    code_clinic,
    code_dialogues,
    make_survey,
    make_test_set,
    make_tickets,
    read_test_set,
)
from discreet_lab.experiments.common import TableWriter, add_csv_option, name_part

COLUMNS = ("texts", "attribute", "number", "labels", "F1", "precision", "recall", "error of shares")
SPEED = ("numbers", "notes", "characters", "notes a second", "times embedding whole notes")
LABELS = (300, 1_000)
FOLDS = 5
SHORTEST, LONGEST, NOTES = 380, 500, 300
"""The characters of the notes that are timed, and their number."""

Texts = Sequence[CodedText]
Counts = NDArray[np.int64]


def measure_codes(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Codes of texts by the coder by an embedder, beside their truth; and how many notes it codes a second.

    Thresholds are the coder's own ("none"), or fitted on labels of public texts: of the test set's stock of sentences
    ("300", "1,000"), which has no sentence of the judged texts, or of other texts of the same kind ("1,000 alike"). The
    packaged test sets are judged in folds: thresholds of a fold are fitted on the other four. The truth of chatdoctor
    is that of patterns of words. "The model": the packaged language model codes them (`discreet code --coder model`).

    F1, precision, recall   over all values of an attribute and all texts
    error of shares         the mean difference of a value's share among the texts, in percentage points

    The second table is about whole dialogues of about 440 characters, in one thread, by processor time. A processor
    with instructions for bfloat16 is timed in both kinds of numbers. The last column is a ratio within the run.
    """
    parser.add_argument("chatdoctor", type=Path, help="documents.jsonl.gz of chatdoctor")
    parser.add_argument("--dialogues", type=int, help="how many dialogues are judged; default: all but the labels")
    parser.add_argument("--tickets", type=int, default=2_000, help="how many tickets are judged, of 20,000")
    parser.add_argument("--model", type=int, default=100, help="how many dialogues the language model codes, too")
    parser.add_argument("--speed", action="store_true", help="print the second table alone")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    coder = EmbedderCoder(_Remembering(MiniLM()))
    if not given.speed:
        table = TableWriter(COLUMNS, given.csv)
        for row in _judge_all(coder, given.chatdoctor, given.dialogues, given.tickets):
            table.write(row)
        if given.model:
            table.write(_judge_model(code_dialogues(given.chatdoctor)[max(LABELS) :][: given.model]))
        print()
    notes = [one.text for one in code_dialogues(given.chatdoctor, whole=True)]
    notes = [text for text in notes if SHORTEST <= len(text) <= LONGEST][:NOTES]
    speed = TableWriter(SPEED, given.csv if given.speed else name_part(given.csv, "speed"))
    has = has_bfloat16_instructions(torch.cpu.get_capabilities())
    for kind in (torch.float32, torch.bfloat16) if has else (torch.float32,):
        with mock.patch.object(embedding, "compute_dtype", lambda kind=kind: kind):
            speed.write([str(kind).removeprefix("torch."), *_time(MiniLM(), notes)])


class _Remembering:
    """An embedder that embeds no text twice: the same texts are coded with several thresholds."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension, self._embedder = embedder.name, embedder.dimension, embedder
        self._known: dict[str, embedding.Vectors] = {}

    def embed(self, texts: Sequence[str], progress: embedding.Told | None = None) -> embedding.Vectors:
        fresh = sorted(set(texts) - self._known.keys())
        self._known.update(zip(fresh, self._embedder.embed(fresh), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float32).reshape(-1, self.dimension)


def _judge_all(coder: EmbedderCoder, chatdoctor: Path, number: int | None, tickets: int) -> Iterator[list[str]]:
    most = max(LABELS)
    dialogues = code_dialogues(chatdoctor)
    judged = dialogues[most:][:number]
    sold = make_tickets()[:: TICKETS // tickets]
    body = _with_values(find_book("medical-visit"), SYSTEMS)
    yield from _judge(coder, "survey", find_book("employee-survey"), make_survey(), make_survey(most, seed=1))
    yield from _judge(coder, "tickets", find_book("support-ticket"), sold, make_tickets(most, 400, seed=1))
    for name in packaged_books():
        yield from _judge_folds(coder, name)
    yield from _judge(coder, "chatdoctor", body, judged, dialogues[:most])
    yield from _judge(coder, "clinic", find_book("medical-visit"), code_clinic(make_clinic()), ())


def _with_values(book: Codebook, names: Sequence[str]) -> Codebook:
    """Return the first attribute of a book alone, with some of its values."""
    first = book.attributes[0]
    kept = tuple(one for one in first.values if one.name in names)
    return Codebook(name=book.name, attributes=(first.model_copy(update={"values": kept}),))


def _unfitted(book: Codebook) -> Codebook:
    """Return a book without thresholds."""
    bare = tuple(
        one.model_copy(
            update={
                "threshold": None,
                "values": tuple(value.model_copy(update={"threshold": None}) for value in one.values),
            }
        )
        for one in book.attributes
    )
    return book.model_copy(update={"attributes": bare})


def _judge(coder: EmbedderCoder, texts: str, book: Codebook, judged: Texts, alike: Texts) -> Iterator[list[str]]:
    """Yield the rows of one kind of texts.

    Args:
        coder: the coder.
        texts: what the texts are called.
        book: a packaged book, or a part of one.
        judged: the texts that are coded.
        alike: other texts of the same kind, for labels; none if there are no others.
    """
    book = _unfitted(book)
    likenesses = list(coder.likenesses([one.text for one in judged], book))
    books = {f"none ({THRESHOLD:g})": book}
    for number in LABELS:
        public = make_test_set(book.name.replace(" ", "-"), number, seed=1)
        books[f"{number:,}"] = fit(book, _labelled(public), coder)
    if alike:
        books[f"{len(alike):,} alike"] = fit(book, _labelled(alike), coder)
    for (labels, fitted), place in itertools.product(books.items(), range(len(book.coded))):
        attribute = fitted.coded[place]
        if any(attribute.name in one.codes for one in judged):
            figures = _figures(*_codes(attribute, [own[place] for own in likenesses], judged))
            yield [texts, attribute.name, f"{len(judged):,}", labels, *figures]


def _judge_model(judged: Texts) -> list[str]:
    """Return the row of dialogues that the packaged language model codes."""
    book = _with_values(find_book("medical-visit"), SYSTEMS)
    attribute = book.coded[0]
    codes_of = dict(by_model(open_model("smollm2-135m"), book).read([one.text for one in judged]))
    named = [{value for _, value, negated, *_ in codes_of[place] if not negated} for place in range(len(judged))]
    coded = np.array([[name in own for name in attribute.names] for own in named], dtype=np.int64)
    stated = np.array([[name in one.codes[attribute.name] for name in attribute.names] for one in judged], np.int64)
    return ["chatdoctor", attribute.name, f"{len(judged):,}", "the model", *_figures(coded, stated)]


def _judge_folds(coder: EmbedderCoder, name: str) -> Iterator[list[str]]:
    book, texts = _unfitted(find_book(name)), read_test_set(name)
    folds = [texts[fold::FOLDS] for fold in range(FOLDS)]
    fitted = [
        fit(book, _labelled([one for other in folds if other is not own for one in other]), coder) for own in folds
    ]
    for labels, books in ((f"none ({THRESHOLD:g})", [book] * FOLDS), (f"{FOLDS - 1} of {FOLDS} parts", fitted)):
        for place, attribute in enumerate(book.coded):
            pairs = [
                _codes(one.coded[place], [all_[place] for all_ in coder.likenesses([t.text for t in own], book)], own)
                for one, own in zip(books, folds, strict=True)
            ]
            coded, stated = (np.vstack(part) for part in zip(*pairs, strict=True))
            yield [f"{name}, test set", attribute.name, f"{len(texts)}", labels, *_figures(coded, stated)]


def _labelled(texts: Texts) -> list[tuple[str, dict[str, tuple[str, ...]]]]:
    return [(one.text, dict(one.codes)) for one in texts]


def _codes(attribute: Attribute, likenesses: Sequence[Likeness], texts: Texts) -> tuple[Counts, Counts]:
    """Return which values are coded in each text, and which hold."""
    stated = np.array([[name in one.codes.get(attribute.name, ()) for name in attribute.names] for one in texts])
    return coded_by(attribute, np.array(likenesses)).astype(np.int64), stated.astype(np.int64)


def _figures(coded: Counts, stated: Counts) -> list[str]:
    both, stated_codes, true = int((coded & stated).sum()), int(coded.sum()), int(stated.sum())
    error = 100 * float(np.abs(coded.mean(axis=0) - stated.mean(axis=0)).mean())
    return [
        f"{2 * both / max(1, stated_codes + true):.2f}",
        f"{both / max(1, stated_codes):.2f}",
        f"{both / max(1, true):.2f}",
        f"{error:.1f}",
    ]


def _time(embedder: Embedder, notes: Sequence[str]) -> list[str]:
    coder, book = EmbedderCoder(embedder), find_book("medical-visit")
    coder.about(book)  # what the book says is embedded once for all texts
    embedder.embed(notes[:8])
    start = time.process_time()
    embedder.embed(notes)
    whole = time.process_time() - start
    start = time.process_time()
    coded = sum(1 for _ in coder.code(notes, book))
    took = time.process_time() - start
    length = sum(map(len, notes)) / len(notes)
    return [str(coded), f"{length:.0f}", f"{coded / took:.0f}", f"{took / whole:.2f}"]
