"""Intervals that cover what phrases get wrong: exact bounds, coverage of known truth, samples of no use."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.algorithms.statistics.cells import Counted, Reckon, ReckonedDifference
from discreet.algorithms.statistics.conditions import says
from discreet.algorithms.statistics.labelled import (
    LEAST,
    LabelledSample,
    RuleCheck,
    Widened,
    hypergeometric,
    key_of,
    labelled,
    most_missed,
    most_wrong,
)
from discreet.errors import BadData, UsageError
from discreet.query.recall import check_sample
from discreet.registry import ListValues, Trend
from discreet.retrieval.documents import Document
from discreet.vault import Vault


def test_hypergeometric_is_the_law_of_draws() -> None:
    for whole, marked, drawn in ((10, 4, 3), (6, 6, 2), (7, 0, 3), (9, 5, 9)):
        law = [
            math.comb(marked, k) * math.comb(whole - marked, drawn - k) / math.comb(whole, drawn)
            for k in range(min(marked, drawn) + 1)
        ]
        for most in range(len(law)):
            assert hypergeometric(most, whole, marked, drawn) == pytest.approx(sum(law[: most + 1]))


@pytest.mark.parametrize(("marked", "vault", "checked"), [(0, 50, 30), (10, 50, 30), (40, 50, 30), (80, 200, 20)])
def test_bounds_fail_as_rarely_as_they_say(marked: int, vault: int, checked: int) -> None:
    """Exactly: over all samples of units of which the rule holds, where `marked` of all are wrong."""
    failed, missed, whole = 0.0, 0.0, vault + checked
    for seen in range(max(0, checked - (whole - marked)), min(marked, checked) + 1):
        chance = math.comb(marked, seen) * math.comb(whole - marked, checked - seen) / math.comb(whole, checked)
        failed += chance * (marked - seen > most_wrong(vault, RuleCheck(checked, seen), 0.01))
        there = vault - (marked - seen)  # the true units of the vault that the rule finds
        missed += chance * (marked - seen > most_missed(there, RuleCheck(0, 0, checked, seen), 0.01))
    assert max(failed, missed) <= 0.01


def test_bounds_grow_with_what_is_found() -> None:
    checked = RuleCheck(40, 2, 50, 3)
    least = [found - most_wrong(found, checked, 0.01) for found in range(300)]
    most = [found + most_missed(found, checked, 0.01) for found in range(300)]
    assert least == sorted(least)
    assert most == sorted(most)
    nothing = most_wrong(0, checked, 0.01), most_wrong(100, RuleCheck(), 0.01), most_missed(9, RuleCheck(), 0.01)
    assert nothing == (0, 0, 0)
    right = RuleCheck(100, 0, 100, 0)  # docs/ask.md
    assert (most_wrong(100, right, 0.01), most_wrong(10_000, right, 0.01)) == (6, 452)


@pytest.mark.parametrize(("false", "missed"), [(0.0, 0.0), (0.08, 0.0), (0.0, 0.12), (0.05, 0.1)])
def test_interval_covers_the_true_number(false: float, missed: float) -> None:
    """Of a count, a share and a difference: 2,000 units of a vault and 400 labelled ones of the same law, with noise.

    The intervals of the noise alone cover less where phrases err.
    """
    source, covered = np.random.default_rng(5), dict.fromkeys(("count", "share", "difference", "noise"), 0)
    draws = 60
    for _ in range(draws):
        true = source.random(2400) < 0.4
        found = np.where(true, source.random(2400) >= missed, source.random(2400) < false)
        sampled, vault = slice(0, 400), slice(400, 2400)
        yes = _checked(true[sampled], found[sampled])
        no = _checked(~true[sampled], ~found[sampled])
        noise = np.rint(source.normal(scale=5.0, size=2)).astype(int)
        counts = int(found[vault].sum() + noise[0]), int((~found[vault]).sum() + noise[1])
        known = {key_of([0]): yes, key_of([1]): no, key_of([0, 1]): RuleCheck()}
        wide = Widened(counts, (5.0, 5.0), True, checked=known)
        right = true[vault].sum()
        share = Reckon([0], [0, 1])
        for name, of, value in (
            ("count", Reckon([0]), right),
            ("share", share, right / 2000),
            ("difference", ReckonedDifference(share, Reckon([1], [0, 1])), 2 * right / 2000 - 1),
        ):
            figure = wide.figure("x", "count", of)
            covered[name] += figure.low <= value <= figure.high
        alone = Counted(counts, (5.0, 5.0)).figure("count", "count", Reckon([0]))
        covered["noise"] += alone.low <= right <= alone.high
    assert min(covered[name] for name in ("count", "share", "difference")) >= 0.95 * draws
    assert covered["noise"] < 0.8 * draws or not (false or missed)


def _checked(true: Any, found: Any) -> RuleCheck:
    return RuleCheck(int(found.sum()), int((found & ~true).sum()), int(true.sum()), int((true & ~found).sum()))


def line(text: str, *holds: str) -> dict[str, Any]:
    return {"text": text, "holds": list(holds)}


SAMPLE = [
    *[line("The diagnosis is Winter Hand. A rash.", "Winter Hand", "rash")] * 30,
    *[line("The diagnosis is Winter Hand.", "Winter Hand")] * 30,
    *[line("Asked whether it is Winter Hand.", "Glass Knee")] * 3,
    *[line("The hands are as in winter, and cold; a frost.", "Winter Hand")] * 2,
    line("Nothing."),
]


def sample_of(lines: list[dict[str, Any]]) -> LabelledSample:
    return LabelledSample([labelled(one) for one in lines])


def test_rule_is_run_on_the_sample() -> None:
    sample = sample_of(SAMPLE)
    assert sample.check([says("the winter hand")]) == RuleCheck(65, 3, 62, 0)
    assert sample.check([says("Winter Hand"), ~says("rash")]) == RuleCheck(35, 3, 32, 0)
    assert sample.check([]) == RuleCheck()


def test_condition_of_few_labels_takes_all_conditions() -> None:
    found = sample_of(SAMPLE).check([says("Glass Knee")])
    assert found == RuleCheck(65 + 30, 3, 62 + 30 + 3, 3, pooled=True)
    assert sample_of(SAMPLE).check([says("unheard of")]) == found
    with pytest.raises(UsageError, match=f"{LEAST} or more"):
        sample_of(SAMPLE[:5]).check([says("Winter Hand")])
    with pytest.raises(UsageError, match="too little"):
        sample_of(SAMPLE).check([says("Winter Hand"), says("rash"), says("cough")])


GERMAN = [line("Diagnose: Winterhand.", "Winterhand") | {"language": "de"}] * 25


def test_sample_of_another_language_is_refused() -> None:
    assert sample_of(GERMAN).languages == {"de"}
    with pytest.raises(UsageError, match=r"language 'de', and the labels of the sample in: en\."):
        sample_of(SAMPLE).check([says("Winterhand", "de")])
    with pytest.raises(UsageError, match="language 'en'"):
        sample_of(GERMAN).check([says("Winter Hand")])
    with pytest.raises(ValueError, match="a phrase without words"):
        labelled(GERMAN[0] | {"language": "xx"})


def test_conditions_of_one_language_are_taken_together() -> None:
    both = sample_of([*SAMPLE, *GERMAN])
    assert both.check([says("unheard of")]) == sample_of(SAMPLE).check([says("unheard of")])
    assert both.check([says("Glasknie", "de")]) == RuleCheck(25, 0, 25, 0, pooled=True)


def test_sample_is_read_with_its_statements(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stated = {"texts": ["A rash.", "Winter Hand."], "statements": {"diagnosis": "Winter Hand", "symptoms": ["rash"]}}
    path.write_text("\n".join([json.dumps(stated)] * 25) + "\n\n")
    sample = LabelledSample.read(path)
    assert len(sample) == 25
    assert sample.check([says("Winter Hand"), says("rash")]) == RuleCheck(25, 0, 25, 0)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[1]",
        '{"text": "a"}',
        '{"text": 1, "holds": []}',
        '{"text": "a", "holds": ["the"]}',
        '{"text": "a", "holds": "rash"}',
        '{"text": "a", "statements": ["rash"]}',
        '{"text": "a", "holds": [1]}',
    ],
)
def test_file_that_is_no_sample_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(content)
    with pytest.raises(BadData, match="labelled text"):
        LabelledSample.read(path)
    with pytest.raises(UsageError, match="no file"):
        LabelledSample.read(tmp_path / "none.jsonl")


@pytest.mark.parametrize("statistic", [ListValues(attribute="symptoms"), Trend(since="2026-01", until="2026-03")])
def test_sample_for_another_statistic_is_refused(statistic: Any) -> None:
    with pytest.raises(UsageError, match="labelled"):
        check_sample(statistic, sample_of(SAMPLE))


def test_question_with_a_sample_is_paid_once_and_wider(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient")
    texts = ["Winter Hand. A rash."] * 60 + ["Winter Hand."] * 40
    vault.add_documents(Document(f"d{n}", f"p{n}", text) for n, text in enumerate(texts))
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, SAMPLE)))
    question = "What share of patients with Winter Hand have a rash?"
    wide = vault.ask(question, labelled=path)
    spent = list(vault.ledger.unit_balances())
    narrow = vault.ask(question)
    again = vault.ask(question, labelled=path)
    assert wide.table == again.table
    assert list(vault.ledger.unit_balances()) == spent
    for one, other in zip(wide.table, narrow.table, strict=True):
        assert one.value == other.value
        assert one.low <= other.low
        assert one.high >= other.high
    assert "all its conditions together" not in wide.text
    assert "all its conditions together" in vault.ask("How many patients have Glass Knee?", labelled=path).text
    spent = list(vault.ledger.unit_balances())
    with pytest.raises(UsageError, match="language"):
        vault.ask("Wie viele Patienten haben Winterhand?", labelled=path)
    assert list(vault.ledger.unit_balances()) == spent
    complement = vault.ask("How many patients with Winter Hand have no rash?", labelled=path)
    assert complement.receipt is not None
    assert complement.receipt.payment == "nobody"
    later = vault.ask("How many more patients have Winter Hand than a rash?", anew=True)
    assert later.table[0].value != wide.table[2].value or later.table[1].value != wide.table[1].value
    assert vault.ask(question, labelled=path).table == wide.table  # of the same release, with a later one beside it
    spent = list(vault.ledger.unit_balances())
    path.write_text(json.dumps(SAMPLE[0]))
    with pytest.raises(UsageError, match="too little"):
        vault.ask("How many patients have a rash?", labelled=path)
    assert list(vault.ledger.unit_balances()) == spent
