"""Statements that references share: the score of an answer, and a reader of dialogues by rules."""

import pytest
from benchmarks.dialogues import HELD_OUT, read_dialogue, split
from benchmarks.shared_statements import Measure, cut

from discreet.retrieval.unit_records import Statement, UnitRecord

NOTE = "Patient's description: Doctor, I have {}. ### Doctor's answer: {}"


def reference(*symptoms: str) -> UnitRecord:
    stated = tuple(Statement("symptoms", one) for one in symptoms)
    return UnitRecord((NOTE.format(", ".join(symptoms), "You may have a cold."),), statements=stated)


MEASURE = Measure.of([reference("headache", "cough"), reference("headache", "cough", "rash")], "headache", "symptoms")


def test_measure_has_what_two_references_share() -> None:
    assert MEASURE.tenth == MEASURE.twentieth == {("cough",)}
    assert MEASURE.stated == {("cough",), ("rash",)}


def test_measure_leaves_out_other_kinds() -> None:
    assert Measure.of([reference("cough")] * 2, "headache", "treatments").stated == frozenset()


def test_score_is_of_statements_beside_the_subject() -> None:
    score = MEASURE.score("headache", ["headache", "a bad cough", "rash", "lost keys"])
    assert score["statements"] == 3
    assert score["precision"] == pytest.approx(1 / 3)
    assert score["any"] == pytest.approx(2 / 3)
    assert score["recall"] == 1
    assert score["F1"] == pytest.approx(0.5)


@pytest.mark.parametrize("items", [[], ["headache"]])
def test_score_of_nothing_said_is_zero(items: list[str]) -> None:
    assert MEASURE.score("headache", items) == {"recall": 0.0, "F1": 0.0, "F1 twentieth": 0.0}


def test_text_is_cut_at_marks_and_joins() -> None:
    assert cut("They have cough, fever and a rash. It is.") == ["They have cough", "fever", "a rash"]


def test_rules_read_lists_and_the_condition() -> None:
    note = NOTE.format("been experiencing a severe cough, fever, and shortness of breath lately", "You may have croup.")
    said = "The symptoms are cough, fever, shortness of breath. The diagnoses are croup."
    assert read_dialogue(f"Record: {note}", 64) == said


def test_subjects_are_those_of_held_out_dialogues_alone() -> None:
    lines = [
        {"text": NOTE.format(f"a rash, {'cough' if at % HELD_OUT == 0 else 'fever'}, and cramps", "Rest.")}
        for at in range(40 * HELD_OUT)
    ]
    found = split(lines, 5)
    assert found.subjects == ("cough",)
    assert len(found.held_out) == 40
    assert found.others == []
