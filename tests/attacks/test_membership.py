"""What a person's questions are, and how like an answer is to what it should be."""

from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet_lab.attacks.membership import measure_membership, read_suspects

TEXT = "one two three four five six seven eight"


def test_told_apart() -> None:
    found = measure_membership([[0.9], [0.8], [0.1], [0.2]], [[True], [True], [False], [False]])
    assert (found.auc.value, found.scores) == (1, 4)
    assert {rate: each.count for rate, each in found.found.items()} == {0.01: 2, 0.001: 2}


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
