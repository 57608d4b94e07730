"""DP-Facts with the facts of a complete reading: the same facts, so the same corpus, and nothing is read twice."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.models.toy import ToyModel
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.store.codebook import Attribute, Codebook
from discreet.store.documents import Document
from discreet.synthesis import extraction, runner
from discreet.synthesis.dp_facts import DPFacts
from discreet.vault import Vault

TREATED, STEAMED = ("say: treatment is sand .", "say: treatment is steam .")
METHOD = DPFacts(epsilon=8.0, delta=1e-6)


@pytest.fixture
def ward(tmp_path: Path) -> Vault:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing")
    words = f"Record: The is {TREATED} {STEAMED} diagnosis".split()
    vault = Vault.open(vault.path, model=ToyModel(words, default="treatment", size=60))
    vault.add_documents(Document(f"d{n}", f"u{n}", TREATED if n % 3 else STEAMED) for n in range(400))
    return vault


def corpus(vault: Vault) -> list[str]:
    """The corpus of a simulation with seeded noise: the same facts give the same texts, bit for bit."""
    shop = vault.workshop(InsecureSeededNoise(3), MemoryLedger(vault.ledger.budget, simulation=True))
    made = shop.make(METHOD)
    (shop.folder / "run.jsonl").unlink()
    return [one.text for one in made.texts]


def forget(vault: Vault) -> None:
    for path in (vault.path / "synthesis-simulated").glob("*.jsonl"):
        path.unlink()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts whose facts the model reads during a synthesis."""
    read, plain = list[str](), extraction.stated

    def counting(model: Any, texts: Sequence[str], *room: int) -> Iterator[Any]:
        read.extend(texts)
        return plain(model, texts, *room)

    monkeypatch.setattr(runner, "stated", counting)
    return read


def test_corpus_is_the_same_with_the_facts_of_a_reading(ward: Vault, counted: list[str]) -> None:
    before = corpus(ward)
    assert before
    assert sorted(counted) == [TREATED, STEAMED]
    forget(ward)
    counted.clear()
    ward.read()
    assert corpus(ward) == before
    assert counted == []


def test_reading_of_another_way_gives_no_facts(ward: Vault, counted: list[str]) -> None:
    ward.use_book(Codebook(attributes=(Attribute(name="treatment"),)), made_without_records=True)
    ward.read()
    corpus(ward)
    assert sorted(counted) == [TREATED, STEAMED]
    forget(ward)
    counted.clear()

    def broken(done: int, size: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    ward.use_book(None)
    with pytest.raises(KeyboardInterrupt):
        ward.read(broken)
    corpus(ward)
    assert sorted(counted) == [TREATED, STEAMED]


class Served(ToyModel):
    """The same model, of which a server says that it computes each row by itself."""

    row_independent = False
    assumptions = ("the server computes each row by itself",)


def test_receipt_names_what_the_reading_assumed(ward: Vault) -> None:
    """The corpus rests on what the server wrote, also where the model that makes it promises more."""
    words = f"Record: The is {TREATED} {STEAMED} diagnosis".split()
    Vault.open(ward.path, model=Served(words, default="treatment", size=60)).read()
    shop = ward.workshop(InsecureSeededNoise(3), MemoryLedger(ward.ledger.budget, simulation=True))
    assert shop.make(METHOD).receipt.assumed == Served.assumptions
    (shop.folder / "run.jsonl").unlink()
    ward.use_book(Codebook(attributes=(Attribute(name="treatment"),)), made_without_records=True)
    ward.read()  # it gives no facts
    assert shop.make(METHOD).receipt.assumed == ()
