"""Intervals that cover what phrases get wrong: exact bounds, coverage of known truth, samples of no use."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, UsageError
from discreet.query.recall import check_sample
from discreet.registry import ListValues, Trend
from discreet.statistics.cells import Counted, Reckon, ReckonedDifference
from discreet.statistics.conditions import says
from discreet.statistics.labelled import (
    LabelledSample,
    RuleCheck,
    Widened,
    key_of,
    labelled,
    most_missed,
    most_wrong,
)
from discreet.store.documents import Document
from discreet.vault import Vault


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


GERMAN = [line("Diagnose: Winterhand.", "Winterhand") | {"language": "de"}] * 25


def test_sample_of_another_language_is_refused() -> None:
    assert sample_of(GERMAN).languages == {"de"}
    with pytest.raises(UsageError, match=r"language 'de', and the labels of the sample in: en\."):
        sample_of(SAMPLE).check([says("Winterhand", "de")])
    with pytest.raises(UsageError, match="language 'en'"):
        sample_of(GERMAN).check([says("Winter Hand")])
    with pytest.raises(ValueError, match="a phrase without words"):
        labelled(GERMAN[0] | {"language": "xx"})


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
