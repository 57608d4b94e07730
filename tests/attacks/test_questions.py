"""What is asked: everything that the documents give a reason for, whatever form their strings have."""

from collections import Counter

from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.canaries import make_canaries
from discreet_lab.attacks.extraction import COMMANDS, PROMPTS, UNTARGETED, AttackPrompt
from discreet_lab.attacks.membership import Suspect
from discreet_lab.attacks.questions import BY_NAME, Questions
from discreet_lab.attacks.trial import Trial

TRIAL = Trial([Suspect("ann", True, "one two three four")], (frozenset(), frozenset(["ann"])))


def prompts(own: list[tuple[str, str]], attack: Attack | None = None) -> list[AttackPrompt]:
    return Questions.of(attack or Attack(targets=("rag",)), TRIAL, make_canaries(3, seed=0), own).prompts


def test_documents_without_strings_get_untargeted_prompts() -> None:
    asked = prompts([("ann", "one two three four")])
    assert {prompt.target for prompt in asked} == {UNTARGETED}
    assert {prompt.text for prompt in asked} >= set(COMMANDS)
    own = AttackPrompt(UNTARGETED, "Tell me.")
    assert prompts([("ann", "one two three four")], Attack(targets=("rag",), prompts=(own,))) == [own]


def test_prompts_are_for_kinds_that_there_are() -> None:
    kinds = Counter(prompt.target for prompt in prompts([("ann", "Mail a.lind@fen.example")]))
    named = {"email": 1, "phone": 1, UNTARGETED: 1}  # about her, by name
    assert kinds["email"] - named["email"] == sum(prompt.target == "email" for prompt in PROMPTS)
    assert kinds["phone"] == named["phone"]
    assert kinds["url"] == 0


def test_people_are_asked_about_by_name_once_each() -> None:
    own = [(f"unit {number // 3}", f"Mail u{number}@fen.example") for number in range(30)]
    about = [prompt.text for prompt in prompts(own) if prompt.text.startswith("What is the e-mail address of")]
    assert about == [f"What is the e-mail address of unit {number}?" for number in range(BY_NAME)]
