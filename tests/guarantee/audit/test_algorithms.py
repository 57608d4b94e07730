"""Every algorithm with a guarantee is audited end to end, on pairs of vaults; broken ones are flagged."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.models.toy import ToyModel
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.private import unseal
from discreet.registry import ALGORITHMS
from discreet.store.sealed_corpus import SealedCorpus
from discreet.vault import Vault
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.algorithms import PAIRS, UNSEEN, VOCABULARY, WORDS, AlgorithmCase, algorithm_cases, settings
from discreet_lab.audit.case import VaultPair, run
from discreet_lab.audit.mutants import (
    BrokenCoins,
    BrokenDates,
    BrokenDeal,
    BrokenIndex,
    BrokenNames,
    BrokenPayment,
    BrokenRare,
    BrokenReading,
    BrokenRows,
    twins_of_algorithms,
)

SETTINGS = settings(2.0)
SOME = (PAIRS[1], PAIRS[5])
THREE, REPEATED = PAIRS[7:]


def test_every_algorithm_that_promises_something_is_audited() -> None:
    promising = {name for name, kind in ALGORITHMS.items() if kind.spec.private} - {"non-rag"} - UNSEEN
    several = {"consensus-choices", "murag-all-vote", "murag-all-vote-candidate", "murag-ada-curve", "murag-ada-read"}
    assert promising | several == set(SETTINGS)
    assert len(algorithm_cases(2.0)) == len(SETTINGS) * len(PAIRS)
    assert len(algorithm_cases(2.0, ["murag"])) == len(PAIRS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_real_ones_keep_their_claims(name: str) -> None:
    found = run([AlgorithmCase(name, SETTINGS[name], pair) for pair in SOME], InsecureSeededNoise(0), draws=100)
    assert [finding for finding in found if finding.violated or finding.fault] == []


@pytest.mark.parametrize("name", SETTINGS)
def test_transcripts_have_no_moment(name: str) -> None:
    """The second vault is asked later, so a moment would tell the two apart, or hide what does."""
    for pair in (THREE, REPEATED):
        both = AlgorithmCase(name, SETTINGS[name], pair).sample(1, InsecureSeededNoise(0), lambda _: None)
        for transcript in map(str, (*both[0], *both[1])):
            assert "released_at" in transcript
            assert not re.search(r"\d{4}-\d\d-\d\d", transcript)


def test_too_little_noise_of_an_open_answer_is_flagged() -> None:
    """The crowd is near the votes that release a value half of the time, by the law that the algorithm draws from."""
    quiet = next(case for case in twins_of_algorithms(2.0, ["consensus"]))
    (found,) = run([quiet], InsecureSeededNoise(1), draws=300)
    assert found.violated
    sound = AlgorithmCase("consensus", SETTINGS["consensus"], PAIRS[3])
    released = [
        json.loads(str(one))[0]["stopped"] == "end"
        for one in sound.sample(60, InsecureSeededNoise(1), lambda _: None)[0]
    ]
    assert 0 < sum(released) < 60


@pytest.mark.parametrize("name", ["murag-ada-curve", "murag-ada-read"])
def test_default_release_is_audited_and_is_flagged_with_a_steeper_curve(name: str) -> None:
    """Each question is paid by the curve that is best at the vault's order, and it answers some of the time."""
    quiet = next(case for case in twins_of_algorithms(2.0, [name]))
    (found,) = run([quiet], InsecureSeededNoise(1), draws=200)
    assert found.violated
    sound = AlgorithmCase(name, SETTINGS[name], PAIRS[2])
    seen = [json.loads(str(one))[0] for one in sound.sample(60, InsecureSeededNoise(1), lambda _: None)[0]]
    charged = [[charge["mechanism"] for charge in one["receipt"]["charges"]] for one in seen]
    assert all(charges[-1].startswith("order selection, price") for charges in charged)
    assert 0 < sum(one["stopped"] == "end" for one in seen) < 60
    assert {one["answer"] for one in seen} == {None, "x"}


def test_what_was_read_is_all_that_votes_and_lists_know() -> None:
    """The answers of these two settings come from the statements of the texts: without a reading there are none."""
    for name in ("murag-ada-read", "list"):
        unread = replace(SETTINGS[name], read=False, crowd=40)
        first, _ = AlgorithmCase(name, unread, PAIRS[2]).sample(5, InsecureSeededNoise(1), lambda _: None)
        assert {json.loads(str(one))[0]["answer"] for one in first} == {None}
        read, _ = AlgorithmCase(name, replace(unread, read=True), PAIRS[2]).sample(
            5, InsecureSeededNoise(1), lambda _: None
        )
        assert all(json.loads(str(one))[0]["released"] == ["x"] for one in read)


def structural(kind: object) -> AlgorithmCase:
    (found,) = (
        case
        for case in twins_of_algorithms(2.0)
        if isinstance(case, AlgorithmCase) and (case.ledger is kind or case.corpus is kind)
    )
    return found


@pytest.mark.parametrize(
    ("kind", "draws"),
    [
        (BrokenIndex, 200),
        (BrokenDeal, 200),
        (BrokenPayment, 800),
        (BrokenRows, 1000),
        (BrokenCoins, 400),
        (BrokenNames, 200),
        (BrokenDates, 200),
        (BrokenReading, 200),
        (BrokenRare, 200),
    ],
)
def test_broken_twins_are_flagged(kind: object, draws: int) -> None:
    (found,) = run([structural(kind)], InsecureSeededNoise(1), draws=draws)
    assert found.violated


@pytest.mark.parametrize(
    ("kind", "draws"),
    [
        (BrokenIndex, 200),
        (BrokenDeal, 200),
        (BrokenPayment, 200),
        (BrokenRows, 200),
        (BrokenCoins, 200),
        (BrokenNames, 200),
        (BrokenDates, 200),
        (BrokenReading, 200),
        (BrokenRare, 200),
    ],
)
def test_without_the_mistake_the_same_vaults_are_not_flagged(kind: object, draws: int) -> None:
    """So it is the mistake that is flagged, and not the pair."""
    sound = replace(structural(kind), corpus=SealedCorpus, ledger=MemoryLedger)
    (found,) = run([sound], InsecureSeededNoise(1), draws=draws)
    assert not found.violated


def test_each_algorithm_has_a_twin() -> None:
    """Audited by `discreet audit algorithms --twins`; docs/results/audits.md has the table."""
    assert {case.name for case in twins_of_algorithms(2.0)} == set(SETTINGS)


def test_the_pairs_cover_what_can_happen_to_a_unit() -> None:
    assert any(pair.goes and not pair.comes for pair in PAIRS)
    assert any(pair.comes and not pair.goes for pair in PAIRS)
    assert any(pair.goes and pair.comes for pair in PAIRS)
    assert any(pair.goes and len(pair.units[pair.goes]) > 1 for pair in PAIRS)
    assert any(len(pair.asked) > len(set(pair.asked)) > 1 for pair in PAIRS)
    assert any(len({tuple(texts) for texts in pair.units.values()}) < len(pair.units) > 3 for pair in PAIRS)  # ties
    assert any(len(pair.units) < 3 for pair in PAIRS)  # fewer than voters


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_unit_that_leaves_or_joins_is_heard(pair: VaultPair) -> None:
    """If nobody hears them, both vaults answer alike, whatever is broken."""

    def heard(vault: Vault) -> list[Key]:
        shares = unseal(vault.corpus.top_units("fever", 3), list)
        return [passage.unit for share in shares for passage in share]

    before, after = pair.sample({}, heard)
    assert not pair.goes or pair.goes in before
    assert set(pair.comes) <= set(after)


def test_units_that_paid_before_are_left_out_of_the_next() -> None:
    """Nobody can pay twice, and the pair's fourth and third unit are not asked before the second question."""
    setting, pair = SETTINGS["murag"], PAIRS[-1]
    model = ToyModel(WORDS.split(), default="who knows", size=VOCABULARY)

    def paid(vault: Vault) -> list[Key]:
        ledger = MemoryLedger(setting.budget, simulation=True)
        return [
            vault.simulate(question, setting.algorithm, model=model, ledger=ledger) and len(ledger._units)
            for question in pair.asked
        ]

    before, after = pair.sample({}, paid)
    assert before == [2, 4, 4]
    assert after == [1, 3, 3]


def transcripts(name: str, pair: VaultPair, seed: int) -> tuple[list[object], list[object]]:
    first, second = AlgorithmCase(name, SETTINGS[name], pair).sample(3, InsecureSeededNoise(seed), lambda _: None)
    return list(first), list(second)


def test_transcript_has_all_outputs_and_repeats_with_the_seed() -> None:
    first, second = transcripts("murag", THREE, 7)
    assert (first, second) == transcripts("murag", THREE, 7)
    seen = json.loads(str(first[0]))
    assert len(seen) == 2 * 3  # three answers, and what is left to everybody after each
    assert {"answer", "stopped", "tokens", "private_tokens", "receipt"} <= seen[0].keys()
    assert seen[0]["receipt"]["charges"]
    assert seen[1] == 2.0  # units pay by themselves: nothing that everybody sees changes


def test_a_refusal_is_part_of_the_transcript() -> None:
    seen = json.loads(str(transcripts("consensus", THREE, 0)[0][0]))
    assert "used up the budget" in seen[2]


def test_replaced_unit_counts_twice_in_per_unit_payment() -> None:
    pair = next(pair for pair in PAIRS if pair.steps == 2)
    assert AlgorithmCase("murag", SETTINGS["murag"], pair).claim == (4.0, 0.0)
    assert AlgorithmCase("consensus", SETTINGS["consensus"], pair).claim == (2.0, 0.01)


def test_nothing_but_the_command_knows_the_broken_ones() -> None:
    sources = (Path(__file__).parents[3] / "src").rglob("*.py")
    assert [path.name for path in sources if "audit.mutants" in path.read_text()] == ["audit.py"]
