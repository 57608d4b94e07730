"""Corpora by the other methods, end to end: what they say, what they cost, and going on after an interruption."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BadData, PrivateValueError, UsageError
from discreet.models.loading import load_model
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise, Whole
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.store.documents import Document
from discreet.synthesis.aug_pe import AugPE, AugPEPlan, vote, whole
from discreet.synthesis.base import SynthesisAlgorithm, SynthesisInputs, SyntheticText
from discreet.synthesis.dp_facts import DPFacts
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.synthesis.dp_synth import DPSynth
from discreet.synthesis.runner import METHODS, RunCheckpoint, SynthesisRunner, Synthetic, make_corpus, receipt_path
from discreet.vault import Vault
from tests.cli.running import json_of, run, said

QUIET = lambda *_: None  # noqa: E731
DEALT = DPSynth(epsilon=300.0, subsets=2, tokens=8, text_tokens=16)
EVOLVED = AugPE(epsilon=100.0, texts=4, variations=3, generations=3, tokens=3, temperature=4.0)
STATED = DPFacts(epsilon=10.0, keywords=3, tokens=8, text_tokens=16)
CLUSTERED = DPSynRAG(epsilon=300.0, tokens=8, keywords=3, overlap=2, wanted=20, text_tokens=16)
ALL: list[SynthesisAlgorithm[Any]] = [CLUSTERED, STATED, DEALT, EVOLVED]
STEP = {"dp-synrag": "clusters", "dp-facts": "counts", "dp-synth": "subsets", "aug-pe": "votes"}


def notes(count: int, words: str, start: int = 0) -> list[Document]:
    return [Document(f"{words}-{n}", f"unit {n}", f"say: {words} .") for n in range(start, start + count)]


def plenty() -> MemoryLedger:
    return MemoryLedger(Budget(1000.0, 1e-5, 5e-6))


def workshop(vault: Vault, ledger: MemoryLedger | None = None) -> SynthesisRunner:
    found = vault.workshop(InsecureSeededNoise(1), ledger or plenty())
    # Of seven tokens, so that at a high temperature a text is any of its words.
    # The sixth word is one that a probe of the machine says, and must not be learned in between.
    words = ["winterhand", "wants", "sand", "glassknee", "steam", "cold"]
    found.model = ToyModel(words, default="winterhand wants sand", size=7)
    return found


def make(vault: Vault, method: SynthesisAlgorithm[Any], ledger: MemoryLedger | None = None) -> Synthetic:
    return workshop(vault, ledger).make(method)


@pytest.fixture
def filled(vault: Vault) -> Vault:
    vault.add_documents([*notes(40, "glassknee wants steam"), *notes(5, "glassknee steam")])  # five with two documents
    return vault


def test_random_subsets_say_what_their_units_have_in_common(filled: Vault, tmp_path: Path) -> None:
    made = make_corpus(workshop(filled), tmp_path / "c.jsonl", DEALT, only_new=False, force=False, told=QUIET)
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines].count("glassknee wants steam") >= 2
    assert all(line.keys() == {"text"} for line in lines)
    about = json.loads(receipt_path(tmp_path / "c.jsonl").read_text())
    assert about["plan"]["method"] == "dp-synth"
    assert [charge["mechanism"] for charge in about["receipt"]["charges"]] == [
        "texts of random subsets, a unit in at most 1 cluster"
    ]
    assert 0 < made.receipt.epsilon <= 300


def test_public_texts_grow_like_what_units_vote_for(filled: Vault) -> None:
    made = make(filled, EVOLVED)
    at_first = EVOLVED.population(0, [], workshop(filled).model, QUIET)
    texts = [text.text for text in made.kept]
    assert len(texts) == 4
    assert "glassknee wants steam" not in at_first
    assert texts[0] == "glassknee wants steam"
    assert made.plan["texts_voted_on"] == 16
    assert [str(charge.mechanism) for charge in made.receipt.charges] == [str(EVOLVED_VOTES)]
    assert made.receipt.epsilon <= 100


def test_facts_that_many_units_state_are_released_word_for_word(filled: Vault, tmp_path: Path) -> None:
    filled.add_documents(
        [*notes(30, "the treatment is warm sand, cold steam", 100), *notes(3, "the treatment is hay", 200)]
    )
    made = make_corpus(workshop(filled), tmp_path / "c.jsonl", STATED, only_new=False, force=False, told=QUIET)
    lines = [json.loads(line)["text"] for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert "Glassknee wants steam." in lines
    # As many units state the one as the other, so the noise decides which comes first.
    assert {"The treatment is cold steam, warm sand.", "The treatment is warm sand, cold steam."} & set(lines)
    assert "hay" not in json.dumps([(text.text, text.keyword) for text in made.texts])
    assert [str(charge.mechanism).split(",")[0] for charge in made.receipt.charges] == [
        "counts of keywords",
        "counts of facts",
    ]
    assert 9 < made.receipt.epsilon <= 10
    reading = filled.path / "synthesis-simulated" / "facts.jsonl"
    assert "warm sand" in reading.read_text()
    filled.remove_unit("unit 100")
    assert not reading.exists()


def test_fact_that_the_text_does_not_state_is_not_released(filled: Vault) -> None:
    # Told nothing, the toy model says "winterhand wants sand", for each of forty units.
    filled.add_documents([Document(f"quiet-{n}", f"quiet {n}", "stonestone was here.") for n in range(40)])
    made = make(filled, STATED)
    assert {text.keyword for text in made.texts} >= {"glassknee"}
    assert "winterhand" not in json.dumps([text.text for text in made.texts])
    assert "winterhand" in (filled.path / "synthesis-simulated" / "facts.jsonl").read_text()  # it did say so


@pytest.mark.parametrize("step", ["keywords", "facts"])
def test_who_is_erased_while_texts_are_read_leaves_no_words(step: str, filled: Vault) -> None:
    def erasing(now: str, done: int, total: int) -> None:
        if now == step and done < total:
            filled.remove_unit("unit 3")

    workshop(filled).make(STATED, told=erasing)
    assert not list((filled.path / "synthesis-simulated").glob("[kf]*.jsonl"))


def test_what_is_read_while_somebody_is_erased_is_forgotten(filled: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    erase = filled.store.remove_unit

    def slowly(unit: str) -> int:
        make(filled, STATED)
        return erase(unit)

    monkeypatch.setattr(filled.store, "remove_unit", slowly)
    filled.remove_unit("unit 3")
    assert not list((filled.path / "synthesis-simulated").glob("[kf]*.jsonl"))


def test_words_of_replaced_documents_go_if_adding_was_cut_off(filled: Vault) -> None:
    def interrupted(_: str, count: int) -> None:
        if count:
            raise KeyboardInterrupt

    make(filled, STATED)
    with pytest.raises(UsageError, match="no file"):
        filled.add("nothing.jsonl")  # replaces nothing
    assert "glassknee" in (filled.path / "synthesis-simulated" / "keywords.jsonl").read_text()
    with pytest.raises(KeyboardInterrupt):
        filled.add_documents([Document("glassknee steam-0", "unit 0", "say: nothing .")], interrupted)
    assert not list((filled.path / "synthesis-simulated").glob("[kf]*.jsonl"))


EVOLVED_VOTES = EVOLVED.plan(plenty().budget, Spending.nothing(), 1024, 4096).votes


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_an_interrupted_run_goes_on_and_is_paid_once(
    payment: str, method: SynthesisAlgorithm[Any], tmp_path: Path
) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", payment=payment)
    vault.add_documents(notes(40, "glassknee wants steam"))
    ledger = plenty()
    interrupted(vault, method, ledger)
    paid, readings = ledger.spent(), ledger.unit_balances()
    path = vault.path / "synthesis-simulated" / "run.jsonl"
    first = path.read_text()
    vault.remove_unit("unit 3")
    vault.add_documents(notes(40, "sand wants winterhand", 80))  # come too late for this run
    made = make(vault, method, ledger)
    assert "sand wants winterhand" not in [text.text for text in made.texts] or method is EVOLVED
    assert path.read_text().startswith(first)  # nothing that was drawn is drawn again
    names = [json.loads(line)["name"] for line in path.read_text().splitlines() if line]
    assert len(names) == len(set(names))
    assert ledger.spent() == paid
    assert len(ledger.unit_balances()) == len(readings)
    again = make(vault, method, ledger)
    assert [text.text for text in again.texts] == [text.text for text in made.texts]
    assert ledger.spent() == paid
    with pytest.raises(UsageError, match="other parameters"):
        make(vault, DPSynRAG(epsilon=5.0), ledger)


class Silence(InsecureSeededNoise):
    """Draws nothing."""

    def gaussian(self, scale: float) -> int:
        raise AssertionError("drawn again")

    def gaussians(self, scale: float, count: int) -> Whole:
        raise AssertionError("drawn again")

    def select(self, scores: Sequence[float], scale: float) -> int:
        raise AssertionError("drawn again")

    def beside(self) -> "Silence":
        return self


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
def test_what_was_drawn_is_never_drawn_again(method: SynthesisAlgorithm[Any], filled: Vault) -> None:
    made, shop = make(filled, method), workshop(filled)
    shop.noise = Silence(1)
    assert shop.make(method).texts == made.texts
    shop.finish(made)
    with pytest.raises(PrivateValueError, match="AssertionError"):  # the broken twin: nothing was kept
        shop.make(method)


def interrupted(vault: Vault, method: SynthesisAlgorithm[Any], ledger: MemoryLedger) -> None:
    def broken(step: str, done: int, _: int) -> None:
        if step == STEP[method.name] and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workshop(vault, ledger).make(method, told=broken)


class PaysAsItGoes(AugPE):
    """The broken twin: each generation is charged when it is drawn. One that is kept is then not counted among them."""

    def make(self, inputs: SynthesisInputs[AugPEPlan]) -> list[SyntheticText]:
        each, public = inputs.plan.votes.each, inputs.public
        texts = self.population(0, [], public.model, QUIET)
        for generation in range(self.generations):
            inputs.on_progress("votes", generation, self.generations)
            cast = inputs.units.map(lambda unit: vote(unit, whole(public, texts), each.dimension))
            inputs.checkpoint.once(
                f"votes {generation}",
                lambda cast=cast: inputs.privacy.release(each, cast).tolist(),  # type: ignore[misc]
            )
        return []


@pytest.mark.parametrize(("kind", "parts_paid"), [(AugPE, 3), (PaysAsItGoes, 2)])
def test_a_run_that_went_on_has_paid_for_every_generation(kind: type[AugPE], parts_paid: int, tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", payment="corpus")
    vault.add_documents(notes(40, "glassknee wants steam"))
    ledger, method = plenty(), kind(epsilon=100.0, texts=4, variations=3, generations=3, tokens=3)
    each = method.plan(ledger.budget, ledger.spent(), 1024, 4096).votes.each
    interrupted(vault, method, ledger)
    make(vault, method, ledger)
    kept = RunCheckpoint(vault.path / "synthesis-simulated" / "run.jsonl")
    drawn = [kept.once(f"votes {generation}", list[int]) for generation in range(3)]
    assert all(drawn)
    expected = Spending.of(each.cost(ADD_REMOVE_ONE)).times(parts_paid)
    assert ledger.spent().curve[0] == pytest.approx(expected.curve[0])


def test_run_is_not_resumed_on_another_kind_of_machine(filled: Vault) -> None:
    ledger = plenty()
    make(filled, STATED, ledger)
    folder, paid = filled.path / "synthesis-simulated", ledger.spent()
    begun: dict[str, dict[str, str]] = RunCheckpoint(folder / "run.jsonl").once("begun", dict)
    here = begun["asked"]["machine"]
    for name in ("run.jsonl", "keywords.jsonl", "facts.jsonl"):
        content = (folder / name).read_text()
        assert here in content
        (folder / name).write_text(content.replace(here, "another"))
    with pytest.raises(UsageError, match="another kind of machine"):
        make(filled, STATED, ledger)
    assert ledger.spent() == paid
    (folder / "run.jsonl").unlink()
    told: list[tuple[str, int]] = []
    workshop(filled).make(STATED, told=lambda step, done, _: told.append((step, done)))
    first = dict(reversed(told))
    assert first["keywords"] == first["facts"] == 43  # both texts, which another machine read, are read again


@pytest.mark.parametrize(
    "method",
    [
        DPSynRAG(epsilon=300.0, tokens=9000),
        DPFacts(tokens=9000),
        DPSynth(tokens=9000),
        AugPE(tokens=5000),
        DPSynRAG(alike=0.8),
    ],
    ids=lambda method: f"{method.name} {method.tokens}",
)
def test_what_cannot_be_done_is_refused_before_anything_is_paid(method: SynthesisAlgorithm[Any], filled: Vault) -> None:
    ledger = plenty()
    shop = filled.workshop(InsecureSeededNoise(1), ledger)
    shop.model = load_model()
    for ask in (shop.plan, shop.make):
        with pytest.raises(UsageError, match=r"do not fit|has room|embedder"):
            ask(method)
    assert ledger.spent() == plenty().spent()
    assert not ledger.unit_balances()


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
def test_only_new_documents_pay_for_a_later_corpus(method: SynthesisAlgorithm[Any], tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing")
    vault.add_documents(notes(40, "glassknee wants steam"))
    ledger = MemoryLedger(Budget(400.0, 1e-5, 5e-6))
    shop = workshop(vault, ledger)
    make_corpus(shop, tmp_path / "one.jsonl", method, only_new=False, force=False, told=QUIET)
    vault.add_documents(notes(30, "winterhand wants sand", 40))
    make_corpus(shop, tmp_path / "two.jsonl", method, only_new=True, force=False, told=QUIET)
    assert sum(count for _, count in ledger.unit_balances()) == 70
    assert len({state for state, _ in ledger.unit_balances()}) == 1  # everybody paid once
    if method is not EVOLVED:
        assert "glassknee" not in (tmp_path / "two.jsonl").read_text()
    with pytest.raises(BadData, match="0 units"):
        shop.make(method, only_new=True)


@pytest.mark.parametrize("method", [DPSynRAG(), DPFacts(), DPSynth(), AugPE()], ids=lambda method: method.name)
def test_too_few_documents_are_refused_before_anything_is_paid(method: SynthesisAlgorithm[Any], vault: Vault) -> None:
    ledger = plenty()
    for documents in ([], notes(1, "winterhand")):
        vault.add_documents(documents)
        with pytest.raises(BadData, match="Nothing was paid"):
            make(vault, method, ledger)
    assert ledger.unit_balances() == []
    assert ledger.spent() == Spending.nothing()


# -- the command ---------------------------------------------------------------------------------------------------


def test_every_method_shows_its_plan_for_nothing(vault: Vault) -> None:
    shown = {
        "dp-synrag": "48 x token",
        "dp-facts": "in these words",
        "dp-synth": "subsets: 20",
        "aug-pe": "noisy sum of 400",
    }
    assert shown.keys() == METHODS.keys()
    for name, part in shown.items():
        told = run("synthesize", vault.path, "--plan", "--epsilon", 8, "--method", name).output
        assert "epsilon 8" in told
        assert part in told
        plan = json_of("synthesize", vault.path, "--plan", "--method", name)
        assert plan["method"] == name
        assert plan["epsilon"] == 10
    assert vault.ledger.spent() == Spending.nothing()


def test_what_a_user_may_get_wrong(vault: Vault, tmp_path: Path) -> None:
    there, new = tmp_path / "there.jsonl", tmp_path / "c.jsonl"
    there.write_text("mine\n")
    (tmp_path / "r.receipt.json").write_text("of another corpus\n")
    for words, expected, code in (
        (("--method", "dp-sinth", "--out", str(new)), "Did you mean dp-synth", 2),
        (("--method", "dp-synth", "--keywords", "3", "--plan"), "'dp-synth' has no parameter 'keywords'", 2),
        (("--method", "aug-pe", "--no-rerank", "--text-tokens", "9", "--plan"), "'aug-pe' has no parameter ", 2),
        (("--subsets", "3", "--plan"), "'dp-synrag' has no parameter 'subsets'", 2),
        (("--param", "subsets=3", "--plan"), "with subsets: dp-synth", 2),
        (("--epsilon", "3", "--param", "epsilon=3", "--plan"), "epsilon is given twice", 2),
        (("--method", "aug-pe", "--texts", "0", "--plan"), "at least 1", 2),
        (("--method", "aug-pe", "--out", str(there)), "--force", 2),
        (("--method", "dp-synth", "--out", str(new)), "Take fewer subsets", 4),
        (("--method", "aug-pe", "--out", str(new)), "Nothing was paid", 4),
        (("--method", "aug-pe", "--out", str(new), "--epsilon", "99"), "not left", 3),
        ((), "--out", 2),
        (("--out", str(tmp_path / "no" / "c.jsonl")), "folder", 2),
        (("--out", str(new)), "Nothing was paid", 4),
        (("--out", str(new), "--shape", "round"), "logit_transform expects: one of votes", 2),
        (("--out", str(new), "--tokens", "0"), "at least 1", 2),
        *((("--out", str(new), "--task", task), "task is blank", 2) for task in ("", " ")),
        (("--out", str(new), "--task", "so " * 9000), "a sentence or two", 2),
        (("--out", str(tmp_path / "r.jsonl")), "r.receipt.json", 2),
    ):
        result = run("synthesize", vault.path, *words)
        assert result.exit_code == code, result.output
        assert expected in said(result)
    assert there.read_text() == "mine\n"
    assert not new.exists()


def test_a_corpus_is_made_by_the_command(vault: Vault, tmp_path: Path) -> None:
    vault.add_documents(notes(12, "the patient wants warm sand"))
    corpus = tmp_path / "c.jsonl"
    tiny = ("--texts", "2", "--variations", "1", "--generations", "2", "--tokens", "6", "--about", "a note of a doctor")
    result = run("synthesize", vault.path, "--method", "aug-pe", "--out", corpus, *tiny)
    assert result.exit_code == 0, result.output
    assert "2 texts kept of 2 written:" in said(result)
    assert len(corpus.read_text().splitlines()) == 2
    charges = json.loads(receipt_path(corpus).read_text())["receipt"]["charges"]
    assert charges[0]["mechanism"].startswith("votes for 4 texts, sigma ")
