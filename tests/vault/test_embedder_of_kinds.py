"""A kind of statement that only one unit has: its vector is computed, and nothing else of a question shows it.

The embedder is in another process, which can be gone. Whether it gets a request must not depend on a unit, or its
failure would tell whether the unit is there, at no price.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.generation.remote.endpoint import Reply, ServerGone
from discreet.generation.toy import ToyModel
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import HashingEmbedder
from discreet.retrieval.sealed_corpus import unit_key
from discreet.retrieval.served_embedder import ServedEmbedder
from discreet.retrieval.statement_fit import KindVectors, StatementFit
from discreet.retrieval.vectors import Vector
from discreet.vault import Vault
from discreet.vault.worker_embedder import WorkerEmbedder

QUESTION = "What is the treatment for winter hand?"
OTHER = Document("x", "xx", "quartz lamp billing . say: The postcode is quartz .")


class Worker:
    """A worker of this process, which can stop, and remembers what it embedded."""

    def __init__(self) -> None:
        self.served = ServedEmbedder("minilm", lambda _: HashingEmbedder())
        self.runs, self.asked = True, list[tuple[str, ...]]()

    def request(self, _: str, given: dict[str, Any]) -> Reply:
        if not self.runs:
            raise ServerGone("gone")
        self.asked.append(tuple(given["texts"]))
        return Reply(200, self.served.reply(given["embedder"], given["texts"]))

    def mend(self, _: str) -> str:
        return "Start it."


def opened(path: Path, *later: Document) -> tuple[Vault, Worker]:
    """A vault that answered the question once, then got later documents, and was read again."""
    worker = Worker()
    Vault.create(path, epsilon=20.0, delta=1e-6, unit_field="u", model="toy", embedder="hashing", history=False)
    model = ToyModel(default="nothing known", size=4000)
    vault = Vault.open(path, model=model, embedder=WorkerEmbedder(worker, "minilm"))
    said = "The patient has winter hand . say: The treatment is ginger gloves ."
    vault.add_documents(Document(f"d{n}", f"u{n}", said) for n in range(40))
    vault.read()
    assert vault.ask(QUESTION).text == "ginger gloves"
    vault.add_documents([Document("y", "yy", "Winter hand . say: The treatment is cold tea ."), *later])
    vault.read()
    worker.asked.clear()
    return vault, worker


@pytest.mark.parametrize("later", [(), (OTHER,)], ids=["without", "with"])
def test_worker_that_is_gone_fails_the_question_unpaid(later: tuple[Document, ...], tmp_path: Path) -> None:
    vault, worker = opened(tmp_path / "v", *later)
    before = vault.odometer.epsilon
    worker.runs = False
    with pytest.raises(ServerGone, match="Start it"):
        vault.ask(QUESTION, anew=True)
    assert vault.odometer.epsilon == before
    worker.runs = True
    assert vault.ask(QUESTION, anew=True).text == "ginger gloves"
    assert vault.ledger.balance(unit_key("xx", vault.components.secret)).pure == 0


def test_number_of_requests_depends_on_no_unit(tmp_path: Path) -> None:
    asked = []
    for number, later in enumerate([(), (OTHER,)]):
        vault, worker = opened(tmp_path / str(number), *later)
        vault.ask(QUESTION, anew=True)
        vault.ask(QUESTION, anew=True)
        asked.append([len(texts) for texts in worker.asked])
    assert asked == [[0, 0, 0, 0], [0, 1, 0, 0]]


def test_twin_that_asks_for_new_kinds_alone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(kinds: KindVectors, texts: Sequence[str]) -> Iterable[Vector]:
        return kinds._embedder.embed(texts) if texts else ()

    monkeypatch.setattr(KindVectors, "_embed_anew", embed)
    asked = []
    for number, later in enumerate([(), (OTHER,)]):
        vault, worker = opened(tmp_path / str(number), *later)
        vault.ask(QUESTION, anew=True)
        asked.append(len(worker.asked))
    assert asked[0] != asked[1]


def test_similarity_does_not_depend_on_the_place_of_a_vector() -> None:
    kinds = KindVectors(HashingEmbedder())
    names = [f"kind {n} of a thing" for n in range(40)]
    vector = kinds.embed("which kind of a thing is it")
    fits = []
    for count in (1, 7, 40):
        found = KindVectors(HashingEmbedder()).of(names[:count], count)
        fits.append(StatementFit("q", vector, found, str.split)._fit[names[0]])
    assert len(set(fits)) == 1
    assert fits[0] == pytest.approx(float(vector @ HashingEmbedder().embed(names[:1])[0]), abs=1e-6)
