"""The parameters of an attack: its targets, the people that are tried, the secrets and the prompts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.ensemble import check_number
from discreet.errors import UsageError
from discreet_lab.attacks.canaries import Canary
from discreet_lab.attacks.extraction import AttackPrompt
from discreet_lab.attacks.membership import Suspect
from discreet_lab.attacks.targets import CORPUS, check_names

S2MIA = "s2mia"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """The parameters of an attack.

    Attributes:
        targets: the names of the targets.
        epsilons: the epsilons of one question, for each private target.
        members: the number of people in the vault, and of people outside, that are tried. Without `suspects` both are
            the same people.
        questions: the number of questions about each person.
        suspects: the texts to try, from a file. If empty, people of the vault are tried, each in one copy of it and out
            of another.
        canaries: the canaries to plant, and their control; invented if empty.
        planted: the largest number of planted canaries.
        form: the form of the first question about a person, with {} for the words that are known of it.
        prompts: the prompts of extraction; `extraction.PROMPTS` if None.
        corpus: a synthetic corpus that was made from the whole vault.
        options: the parameters of algorithms.
        as_asked: whether a question that names a known attribute is answered by what was read, and other questions by
            the model, as `discreet ask` does; the option `readings` is for all questions.
        seed: the seed of all choices.
        way: how people are asked about: `S2MIA`, "interrogation" or "masks" (`attacks/interrogation.py`).
        twins: further algorithms by their names in the tables: broken ones, which show what the attack finds.
    """

    targets: tuple[str, ...]
    epsilons: tuple[float, ...] = (10.0,)
    members: int = 20
    questions: int = 2
    suspects: tuple[Suspect, ...] = field(default=(), repr=False)
    canaries: tuple[Canary, ...] = field(default=(), repr=False)
    planted: int = 10
    form: str = "{}"
    prompts: tuple[AttackPrompt, ...] | None = field(default=None, repr=False)
    corpus: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    as_asked: bool = False
    seed: int = 0
    way: str = S2MIA
    twins: Mapping[str, Algorithm] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_names(self.targets)
        for epsilon in self.epsilons:
            check_number("epsilon", epsilon)
        if self.form.count("{}") != 1 or {"{", "}"} & set(self.form.replace("{}", "")):
            raise UsageError(
                f"The form of a question has one {{}} for the known words, and no other brace: {self.form}."
            )
        if self.suspects and all(suspect.member for suspect in self.suspects):
            raise UsageError("All texts to try are members. Add texts from outside the vault, to compare members with.")
        if self.corpus is not None and not self.suspects:
            raise UsageError(
                "An existing corpus was made from all units of the vault, so none can be left out of it. Give "
                "documents of others with --non-members FILE, or let the attack make a corpus with --target dp-facts."
            )
        if (CORPUS in self.targets) != (self.corpus is not None):
            raise UsageError(
                "The target 'corpus' and --corpus FILE (of `discreet synthesize`) need each other. Give both or none."
            )
