"""What a person reads of an experiment."""

from dataclasses import replace

from discreet.registry import NonRAG
from discreet_lab.evaluation.experiment import ScoredAnswer, summary
from discreet_lab.evaluation.report import HEADINGS, cells, table, tabulate


def answered(correct: bool) -> list[ScoredAnswer]:
    """A question that was answered once, by the model alone."""
    return [ScoredAnswer("What helps?", 0, "steam", "end", correct, 3, 0, False, None, 1.0)]


def test_one_question_has_no_margin() -> None:
    accuracy = HEADINGS.index("accuracy")
    assert cells(summary(NonRAG(), [answered(True)]))[accuracy] == "1.00"
    assert cells(summary(NonRAG(), [answered(True), answered(True)]))[accuracy] == "1.00 ± 0.00"
    assert cells(summary(NonRAG(), [answered(True), answered(False)]))[accuracy] == "0.50 ± 0.98"


def test_bert_score_is_a_column_where_it_was_measured() -> None:
    without = summary(NonRAG(), [answered(True)])
    assert tabulate([without])[0] == HEADINGS
    scored = summary(NonRAG(), [[replace(one, bert_score=score) for one in answered(True)] for score in (0.5, 0.75)])
    assert scored.describe()["bert_score"] == 0.625
    headings, (first, second) = tabulate([without, scored])
    assert headings == (*HEADINGS, "BERTScore")
    assert (first[-1], second[-1]) == ("-", "0.625")


def test_no_heading_and_no_name_is_cut() -> None:
    """At 80 columns, headings were "algo…", "epsi…" and "boug…"."""
    first, second = table([summary(NonRAG(), [answered(True)])]).split("\n")
    assert all(heading in first for heading in HEADINGS)
    assert second.startswith("non-rag ")
    assert first.index("accuracy") == second.index("1.00")
