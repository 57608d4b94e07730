"""A synthetic corpus of a vault, end to end: what it costs, what is refused, and going on after an interruption."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExhausted, LedgerError, StoreError, UsageError
from discreet.ledger.ledger import SqliteLedger
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import MemoryLedger, PrivacyFilter, UnitLedger
from discreet.privacy.mechanisms.counting import NoisySum
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.store.documents import Document
from discreet.synthesis.base import CorpusPlan, SynthesisAlgorithm
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.synthesis.runner import METHODS, RunCheckpoint, SynthesisRunner, make_corpus, receipt_path
from discreet.vault import Vault
from tests.cli.running import json_of, run

# Price enough for forty units to be heard, however few tokens; the corpora here are tiny.
PLENTY = DPSynRAG(epsilon=300.0, overlap=2, tokens=12, keywords=3, text_tokens=16, wanted=30)
QUIET = lambda *_: None  # noqa: E731


def notes(count: int, words: str, start: int = 0) -> list[Document]:
    return [Document(f"{words}-{n}", f"unit {n}", f"say: {words} .") for n in range(start, start + count)]


def workshop(vault: Vault, ledger: UnitLedger | None = None) -> SynthesisRunner:
    found = vault.workshop(InsecureSeededNoise(1), ledger or MemoryLedger(Budget(1000.0, 1e-5, 5e-6)))
    # As many words as a probe of the machine says, which must not be learned in between.
    found.model = ToyModel(["winterhand", "wants", "sand", "glassknee", "steam", "cold"], size=60)
    return found


@pytest.fixture
def filled(vault: Vault) -> Vault:
    vault.add_documents([*notes(40, "winterhand wants sand"), *notes(40, "glassknee wants steam", 40)])
    return vault


def test_a_corpus_says_what_many_units_say(filled: Vault, tmp_path: Path) -> None:
    shop = workshop(filled)
    made = make_corpus(shop, tmp_path / "c.jsonl", PLENTY, only_new=False, force=False, told=QUIET)
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert {"winterhand wants sand", "glassknee wants steam"} <= {line["text"] for line in lines}
    assert all(line["keyword"] in line["text"].split() for line in lines)
    about = json.loads(receipt_path(tmp_path / "c.jsonl").read_text())
    assert about["kept"] == len(lines) <= about["written"]
    assert about["receipt"]["epsilon"] == pytest.approx(made.receipt.epsilon)
    assert 50 <= made.receipt.epsilon <= 300  # less than asked, since an opinion on a token has a largest weight
    assert not (shop.folder / "run.jsonl").exists()


def test_what_few_have_is_not_released(filled: Vault, tmp_path: Path) -> None:
    filled.add_documents([Document("rare", "somebody", "say: zebrapox ."), Document("more", "somebody", "zebrapox")])
    made = workshop(filled).make(PLENTY)
    assert "zebrapox" not in json.dumps([(text.text, text.keyword) for text in made.texts])


def test_question_meanwhile_may_leave_too_little_for_the_rest(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", payment="corpus")
    vault.add_documents([*notes(40, "winterhand wants sand"), *notes(40, "glassknee wants steam", 40)])
    ledger = MemoryLedger(Budget(310.0, 1e-5, 5e-6), simulation=True)
    shop = workshop(vault, ledger)

    def asked(_: CorpusPlan) -> None:
        other = PrivacyFilter(ledger, ledger.budget, "another", noise=InsecureSeededNoise(2))
        other.pay(NoisySum.calibrated(180.0, 1, 1, ADD_REMOVE_ONE), ADD_REMOVE_ONE)

    shop.planned = asked
    with pytest.raises(BudgetExhausted, match=r"of this corpus is paid.*give it up: remove .*run\.jsonl"):
        shop.make(PLENTY)
    shop.planned = lambda _: None
    with pytest.raises(BudgetExhausted, match="of this corpus is paid"):
        shop.make(PLENTY)
    (shop.folder / "run.jsonl").unlink()
    with pytest.raises(BudgetExhausted, match="Nothing was paid"):
        shop.make(PLENTY)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_price_that_makes_no_sense_is_refused_for_what_it_is(
    method: type[SynthesisAlgorithm[Any]], filled: Vault
) -> None:
    shop = workshop(filled)
    with pytest.raises(UsageError, match="is above the vault"):
        shop.plan(method(epsilon=2.0, delta=0.5))
    with pytest.raises(UsageError, match="too little for any corpus"):
        shop.plan(method(epsilon=1e-6))


def test_unit_erased_in_between_leaves_others_in_their_clusters(filled: Vault) -> None:
    ledger = MemoryLedger(Budget(1000.0, 1e-5, 5e-6))

    def broken(step: str, done: int, _: int) -> None:
        if step == "clusters" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workshop(filled, ledger).make(PLENTY, told=broken)
    path = filled.path / "synthesis-simulated" / "run.jsonl"
    before = RunCheckpoint(path).once("places", dict[str, list[int]])
    assert max(len(places) for places in before.values()) <= PLENTY.overlap
    filled.remove_unit("unit 3")
    workshop(filled, ledger).make(PLENTY)
    assert RunCheckpoint(path).once("places", dict[str, list[int]]) == before


@pytest.mark.parametrize("by_unit", [True, False])
def test_run_that_is_put_back_draws_no_second_corpus(tmp_path: Path, by_unit: bool) -> None:
    """A copy of run.jsonl from the middle of the run has draws and payments, and lacks the later draws."""
    payment = "unit" if by_unit else "corpus"
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", payment=payment)
    vault.add_documents([*notes(40, "winterhand wants sand"), *notes(40, "glassknee wants steam", 40)])
    ledger = SqliteLedger.create(tmp_path / "l.sqlite", Budget(1000.0, 1e-5, 5e-6), simulation=True)
    path, copy = vault.path / "synthesis-simulated" / "run.jsonl", tmp_path / "run.copy"

    def copied(*_: object) -> None:
        if path.exists() and not copy.exists() and path.read_text().count('"name"') > 1:
            shutil.copy(path, copy)

    make_corpus(workshop(vault, ledger), tmp_path / "a.jsonl", PLENTY, only_new=False, force=False, told=copied)
    before = ledger.spent(), ledger.unit_balances()
    assert before != (Spending.nothing(), [])
    shutil.copy(copy, path)
    with pytest.raises(LedgerError, match=r"was written.*remove VAULT/synthesis/run\.jsonl"):
        make_corpus(workshop(vault, ledger), tmp_path / "b.jsonl", PLENTY, only_new=False, force=False, told=QUIET)
    assert not (tmp_path / "b.jsonl").exists()
    assert (ledger.spent(), ledger.unit_balances()) == before
    path.unlink()
    make_corpus(workshop(vault, ledger), tmp_path / "b.jsonl", PLENTY, only_new=False, force=False, told=QUIET)
    assert (ledger.spent(), ledger.unit_balances()) != before
    assert ledger.count_corpora() == 2


def test_two_at_once_are_refused(filled: Vault, tmp_path: Path) -> None:
    first, second = workshop(filled), workshop(filled)
    with first.alone():
        first.make(PLENTY)  # the one that holds it may
        with pytest.raises(UsageError, match="Another process"):
            second.make(PLENTY)
        with pytest.raises(UsageError, match="Another process"):
            make_corpus(second, tmp_path / "c.jsonl", PLENTY, only_new=False, force=False, told=QUIET)
    second.make(PLENTY)


def test_a_simulation_leaves_nothing_for_a_real_run(filled: Vault) -> None:
    workshop(filled).make(PLENTY)
    assert not (filled.path / "synthesis").exists()
    assert filled.ledger.unit_balances() == []
    real = filled.workshop()
    real.folder.mkdir()
    (filled.path / "synthesis-simulated" / "run.jsonl").rename(real.folder / "run.jsonl")
    with pytest.raises(UsageError, match="other parameters"):
        real.make(PLENTY)


def test_units_that_cannot_pay_are_left_out(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing")
    vault.add_documents(notes(40, "winterhand wants sand"))
    ledger = MemoryLedger(Budget(150.0, 1e-5, 5e-6))
    shop = workshop(vault, ledger)
    for name in ("one", "two"):
        made = make_corpus(shop, tmp_path / f"{name}.jsonl", PLENTY, only_new=False, force=False, told=QUIET)
    assert made.texts == ()
    assert sum(count for _, count in ledger.unit_balances()) == 40


def test_corpus_is_written_later_if_there_was_no_room(filled: Vault, tmp_path: Path) -> None:
    out, ledger = tmp_path / "c.jsonl", MemoryLedger(Budget(1000.0, 1e-5, 5e-6))
    in_the_way = tmp_path / "c.jsonl.part"
    in_the_way.mkdir()
    with pytest.raises(StoreError, match="make room"):
        make_corpus(workshop(filled, ledger), out, PLENTY, only_new=False, force=False, told=QUIET)
    assert not (filled.path / "synthesis-simulated" / "done.json").exists()  # its documents are in no corpus yet
    assert list(tmp_path.glob("c.*")) == [in_the_way]  # no receipt without its corpus
    paid = ledger.unit_balances()
    in_the_way.rmdir()
    make_corpus(workshop(filled, ledger), out, PLENTY, only_new=False, force=False, told=QUIET)
    assert ledger.unit_balances() == paid
    assert {path.name for path in tmp_path.glob("c.*")} == {"c.jsonl", "c.receipt.json"}


def test_a_corpus_is_asked_for_nothing(packaged_vault: Vault, tmp_path: Path) -> None:
    vault, corpus = packaged_vault, tmp_path / "c.jsonl"
    corpus.write_text('{"text": "A patient with numb thumbs has Winterhand; the treatment is warm sand."}\n')
    answer = json_of("ask", vault.path, "What is the treatment for Winterhand?", "--corpus", corpus)
    assert "sand" in answer["answer"]
    assert answer["receipt"]["epsilon"] == 0
    assert vault.ledger.questions() == []
    for content in ("", "no json\n", '{"words": 1}\n'):
        corpus.write_text(content)
        assert run("ask", vault.path, "Why?", "--corpus", corpus).exit_code == 4
