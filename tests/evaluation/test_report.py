"""What a person reads of an experiment."""

from discreet.evaluation.experiment import Outcome, summary
from discreet.evaluation.report import HEADINGS, cells
from discreet.registry import NonRAG


def answered(correct: bool) -> list[Outcome]:
    """A question that was answered once, by the model alone."""
    return [Outcome("What helps?", 0, "steam", "end", correct, 3, 0, False, None, 1.0)]


def test_one_question_has_no_margin() -> None:
    accuracy = HEADINGS.index("accuracy")
    assert cells(summary(NonRAG(), [answered(True)]))[accuracy] == "1.00"
    assert cells(summary(NonRAG(), [answered(True), answered(True)]))[accuracy] == "1.00 ± 0.00"
    assert cells(summary(NonRAG(), [answered(True), answered(False)]))[accuracy] == "0.50 ± 0.98"
