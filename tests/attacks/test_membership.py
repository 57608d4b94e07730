"""What a person's questions are, and how like an answer is to what it should be."""

import math
from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.retrieval.embedding import open_embedder
from discreet_lab.attacks.membership import GO_ON, MEASURES, MOST, Suspect, likeness, measure_membership, read_suspects
from discreet_lab.attacks.rates import Auc
from discreet_lab.evaluation.metrics import bleu, ngram_precision

TEXT = "one two three four five six seven eight"


def test_halves() -> None:
    assert Suspect("a", True, TEXT).parts(1) == [("one two three four", "five six seven eight")]
    assert Suspect("a", True, TEXT, asked=2).parts(1)[0] == ("one two", "three four five six seven eight")
    parts = Suspect("a", True, TEXT).parts(MOST)
    assert parts[1] == (GO_ON.format("one two three four"), "five six seven eight")
    assert parts[2] == (GO_ON.format("one two"), "three four five six seven eight")
    assert (
        len(Suspect("a", True, f"{TEXT} {TEXT}").parts(MOST))
        == len(set(Suspect("a", True, TEXT * 3).parts(MOST)))
        == MOST
    )
    assert all(question and rest for question, rest in parts)


def test_bleu() -> None:
    assert bleu(TEXT, TEXT.upper()) == pytest.approx(1)
    assert bleu("", TEXT) == bleu("nine ten", TEXT) == 0
    # 3 of 4 words; of pairs, (1 + 1) of (3 + 1); of longer runs none, and one each is added.
    by_hand = (3 / 4 * 2 / 4 * 1 / 3 * 1 / 2) ** 0.25
    assert bleu("a b x c", "a b c d") == pytest.approx(by_hand)
    assert bleu("a b x c", "a b c d e f g h") == pytest.approx(by_hand * math.exp(-1))
    assert bleu("a a a a", "a b c d") < bleu("a b a a", "a b c d")  # a word counts as often as it is there
    assert ngram_precision("a b x c", "a b c d e f g h") == pytest.approx(by_hand)  # short answers are not punished
    assert ngram_precision("", TEXT) == 0
    assert ngram_precision(TEXT, TEXT) == pytest.approx(1)


def test_likeness_by_each_measure() -> None:
    found = likeness([TEXT, "", "nine ten"], [TEXT, TEXT, TEXT], open_embedder("hashing"))
    assert found.shape == (3, len(MEASURES))
    assert found[0] == pytest.approx([1, 1, 1, 1], abs=1e-6)
    assert found[1][:3].tolist() == found[2][:3].tolist() == [0, 0, 0]
    assert (found[1:, 3] < 0.5).all()


def test_told_apart() -> None:
    found = measure_membership([[0.9], [0.8], [0.1], [0.2]], [[True], [True], [False], [False]])
    assert (found.auc.value, found.scores) == (1, 4)
    assert {rate: each.count for rate, each in found.found.items()} == {0.01: 2, 0.001: 2}


def test_told_apart_from_oneself() -> None:
    """Of two copies each person is in one: their two scores are a pair, whichever copy that is."""
    inside = [[True, False], [False, True], [True, False]]
    found = measure_membership([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]], inside)
    assert (found.auc, found.scores) == (Auc.of_pairs([0.9, 0.8, 0.7], [0.1, 0.2, 0.3]), 6)
    assert found.auc.value == 1
    alike = measure_membership([[0.9, 0.9], [0.2, 0.2], [0.7, 0.7]], inside)
    assert (alike.auc.value, alike.found[0.01].count) == (0.5, 0)


def test_suspects_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "others.jsonl"
    file.write_text(f'{{"id": "x", "text": "{TEXT}"}}\n\n{{"query": "a b", "reference": "{TEXT}", "member": true}}\n')
    one, two = read_suspects(file)
    assert (one.id, one.member, one.asked) == ("x", False, 0)
    assert (two.member, two.parts(1)) == (True, [("a b", TEXT)])
    for wrong in (
        "nonsense",
        "[1]",
        "{}",
        '{"text": "too short"}',
        '{"text": 3}',
        f'{{"text": "{TEXT}", "member": true}}',
    ):
        file.write_text(wrong)
        with pytest.raises(BadData):
            read_suspects(file)
    with pytest.raises(BadData, match="a line"):
        read_suspects(tmp_path / "nowhere")
