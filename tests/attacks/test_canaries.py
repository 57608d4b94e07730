"""What counts as a canary that came out."""

import json
from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.store.documents import Document
from discreet_lab.attacks.simulation import Canary, came_out, make_canaries, read_canaries


def canary(secret: str, *, planted: bool, phone: str = "+00 555 000000") -> Canary:
    return Canary(Document(secret, secret, f"The code is {secret}."), (secret, phone), ("What is it?",), planted)


CANARIES = [
    canary("ZYML-OPIF-QY78", planted=True),
    canary("AAAA-BBBB-CCCC", planted=True, phone="+00 555 123456"),
    canary("5M0N-XYNJ-3LVF", planted=False),
]


def counts(*answers: str) -> tuple[int, int, int, int]:
    found = came_out(CANARIES, answers)
    return found.whole.count, found.part.count, found.control.count, found.control_part.count


def test_whole_secrets_however_they_are_spelled() -> None:
    assert counts("It is ZYML-OPIF-QY78.") == counts("zyml opif qy78", "zyml opif qy78") == (1, 1, 0, 0)
    assert counts("Ring +00 555 123 456") == (1, 1, 0, 0)
    assert counts("ZYML-OPIF-QY78 and AAAABBBBCCCC") == (2, 2, 0, 0)


def test_made_up_canaries() -> None:
    made = make_canaries(4, 3)
    assert [c.planted for c in made].count(True) == 4
    assert len({c.document.unit for c in made}) == len({c.secrets[0] for c in made}) == 8
    for each in made:
        assert all(secret in each.document.text for secret in each.secrets)
        assert not any(secret in question for secret in each.secrets for question in each.questions)
    assert make_canaries(4, 3) == made
    assert make_canaries(4, 4) != made
    again = make_canaries(4, 3, taken=[made[0].document.unit])
    assert made[0].document.unit not in {c.document.unit for c in again}


RECORD = {"unit": "Ada", "secret": "AB12", "text": "Ada has AB12.", "questions": ["What has Ada?"], "member": True}


def test_canaries_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "canaries.jsonl"
    other = RECORD | {"unit": "Ben", "phone": "1234", "text": "Ben has AB12 and 1234.", "member": False}

    def write(*records: object) -> Path:
        file.write_text("\n".join(json.dumps(record) for record in records) + "\n")
        return file

    one, two = read_canaries(write(RECORD, other))
    assert (one.document.unit, one.planted, one.secrets, one.questions) == ("ada", True, ("AB12",), ("What has Ada?",))
    assert (two.planted, two.secrets) == (False, ("AB12", "1234"))
    told = RECORD | {"questions": ["Is it ab-12?"]}
    short = RECORD | {"secret": "A-12", "text": "Ada has A-12."}
    for wrong in ("text", {}, RECORD | {"text": "nothing"}, RECORD | {"questions": "What?"}, told, short):
        with pytest.raises(BadData, match="a line"):
            read_canaries(write(wrong, other))
    with pytest.raises(BadData, match="control"):
        read_canaries(write(RECORD))
    with pytest.raises(BadData):
        read_canaries(tmp_path / "nowhere")
