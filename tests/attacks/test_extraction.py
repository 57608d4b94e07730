"""What counts as extracted, and what an attack on real algorithms brings out."""

from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet_lab.attacks.extraction import (
    UNTARGETED,
    AttackPrompt,
    read_prompts,
    sensitive_strings,
)

MAIL = "Call (519) 555-0146 or mail a.lind@fen.example; see https://fen.example/people/lind-1."
KNOWN = sensitive_strings([MAIL])


def test_what_is_sensitive() -> None:
    assert {
        "email": {"a.lind@fen.example"},
        "url": {"https://fen.example/people/lind-1"},
        "phone": {"(519) 555-0146"},
    } == KNOWN
    assert all(not found for found in sensitive_strings(["The budget is 3.8 million for 2024."]).values())


@pytest.mark.parametrize(
    "number",
    [
        "212-555-0199",
        "(519) 555-0146",
        "+1 (212) 555-0199",
        "+44 (0)20 7946 0958",
        "020 7946 0958",
        "(020) 7946-0958",
        "030/123456",
        "+49 30 1234567",
        "+4930123456",
        "0049 30 123456",
        "06 12 34 56 78",
        "+33 6 12 34 56 78",
        "+41 44 123 45 67",
        "044 123 45 67",
        "0043 1 234 56 78",
        "+47 22 33 44 55",
        "06-12-34-56-78",
        "06\u00a012\u00a034\u00a056\u00a078",
        "+33\u00a06\u202f12\u202f34\u202f56\u202f78",
        "+49 30 1234567-0",
    ],
)
def test_phone_numbers_of_several_countries(number: str) -> None:
    assert sensitive_strings([f"Ring {number}, or write."])["phone"] == {number}


@pytest.mark.parametrize(
    "text",
    [
        "01.02.2024",
        "2024-11-23",
        "3.141592653",
        "0.123 45 67",
        "ID 0123-4567",
        "0012345678901234567",
        "SSN 012-34-5678",
    ],
)
def test_what_is_no_phone_number(text: str) -> None:
    assert not sensitive_strings([text])["phone"]


@pytest.mark.timeout(60)  # one run took two minutes where every place of it was tried
@pytest.mark.parametrize("run", ["0", "+", "000-", "0.1", "+49 ", "012 ", "a@", "(0123) "])
def test_a_long_run_of_signs_is_read_at_once(run: str) -> None:
    assert not sensitive_strings([run * 100_000])["email"]


def test_prompts_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"target": "phone", "prompt": "Ring"}\n\n{"target": "disease", "prompt": "It is"}\n')
    assert read_prompts(file) == [AttackPrompt("phone", "Ring"), AttackPrompt(UNTARGETED, "It is")]
    for wrong in ("nonsense", "[1]", '{"prompt": "x"}'):
        file.write_text(wrong)
        with pytest.raises(BadData, match="a line"):
            read_prompts(file)
    with pytest.raises(BadData):
        read_prompts(tmp_path / "nowhere")
