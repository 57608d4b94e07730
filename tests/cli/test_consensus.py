"""Consensus and choices, from the command line."""

from pathlib import Path

from tests.cli.running import json_of, run
from tests.cli.test_units import ASKED, hospital, notes

__all__ = ["notes"]

SHORT = ("--param", "document_tokens=72", "--max-tokens", 16)
"""No note has more tokens."""
VOTE = ("--algorithm", "consensus", "--voters", 6, *SHORT, "--epsilon", 30)


def test_answer_of_all_voters_then_choices_then_nothing(tmp_path: Path, notes: Path) -> None:
    vault = hospital(tmp_path / "v", notes, "--payment", "corpus", "--epsilon", 300, "--force")
    answer = json_of("ask", vault, ASKED, *VOTE)
    assert "copper bracelets" in str(answer["answer"]).casefold()
    assert answer["released"] == ["copper bracelets"]
    assert len(answer["receipt"]["charges"]) == 1
    assert answer["receipt"]["epsilon"] <= 30
    shown = run("ask", vault, ASKED, *VOTE, "--no-reuse", "--verbose").output
    assert "released: copper bracelets" in shown
    assert "1 payment for the whole answer" in shown

    among = ("--choice", "Copper bracelets", "--choice", "Copper", "--choice", "Cold tea")
    chosen = json_of("ask", vault, ASKED, *VOTE, *among)
    assert chosen["answer"] == "Copper bracelets"  # another question than the one without choices
    assert json_of("ask", vault, ASKED, *VOTE, *among)["receipt"]["payment"] == "nobody"
    voted = json_of("ask", vault, ASKED, *VOTE, *among, "--vote-shares")
    assert set(voted["shares"]) == {"Copper bracelets", "Copper", "Cold tea"}
    assert len(voted["receipt"]["charges"]) == 2

    strange = "How tall is the director of the harbour museum in feet?"
    unknown = json_of("ask", vault, strange, *VOTE, "--voters", 12, "--epsilon", 4)
    assert unknown["receipt"]["payment"] == "every unit"
    if unknown["stopped"] == "public":  # that nothing was released is kept, until it is asked anew
        assert unknown["answer"] is None
        for more, payment in (((), "nobody"), (("--anew",), "every unit")):
            again = json_of("ask", vault, strange, *VOTE, "--voters", 12, "--epsilon", 4, *more)
            assert again["receipt"]["payment"] == payment

    hopeless = run("ask", vault, "Why?", *VOTE, "--epsilon", 0.1)
    assert hopeless.exit_code == 2
    assert "It takes epsilon" in hopeless.output
    assert run("ask", vault, "Why?", *VOTE, "--choice", "one").exit_code == 2


def test_units_pay_for_a_consensus(tmp_path: Path, notes: Path) -> None:
    vault = hospital(tmp_path / "v", notes)
    voters = ("--voters", 12, *SHORT)
    answer = json_of("ask", vault, ASKED, "--algorithm", "murag", "--similarity", 0.3, "--uses", 2, *voters)
    assert answer["released"] == ["copper bracelets"]
    assert answer["receipt"]["epsilon"] <= 10
