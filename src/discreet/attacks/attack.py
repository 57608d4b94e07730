"""What an attack tries: which targets, about whom, with what secrets and prompts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.algorithms.common.ensemble import check_number
from discreet.attacks.canaries import Canary
from discreet.attacks.extraction import AttackPrompt
from discreet.attacks.membership import Suspect
from discreet.attacks.targets import CORPUS, check_names
from discreet.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What is tried.

    Attributes:
        targets: what is attacked, by name.
        epsilons: of one question, for each private target.
        members: how many people are tried that are in, and how many that are not: without `suspects` the same people.
        questions: how many questions are asked about each.
        suspects: texts to try, from a file; if empty, people of the vault, each in one copy of it and out of another.
        canaries: to plant, and their control; made up if empty.
        planted: how many canaries are planted at most.
        prompts: of extraction; those of `extraction.PROMPTS` if None.
        corpus: a synthetic corpus that was made from the whole vault.
        options: parameters of algorithms.
        seed: of every choice.
    """

    targets: tuple[str, ...]
    epsilons: tuple[float, ...] = (10.0,)
    members: int = 20
    questions: int = 2
    suspects: tuple[Suspect, ...] = field(default=(), repr=False)
    canaries: tuple[Canary, ...] = field(default=(), repr=False)
    planted: int = 10
    prompts: tuple[AttackPrompt, ...] | None = field(default=None, repr=False)
    corpus: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        check_names(self.targets)
        for epsilon in self.epsilons:
            check_number("epsilon", epsilon)
        if self.suspects and all(suspect.member for suspect in self.suspects):
            raise UsageError("Texts to try need some that are outside the vault, to compare members with.")
        if self.corpus is not None and not self.suspects:
            raise UsageError(
                "A corpus that is there was made from everybody in the vault, so nobody can be left out of it: name "
                "documents of others, --non-members FILE. Or have one made: --target dp-facts."
            )
        if (CORPUS in self.targets) != (self.corpus is not None):
            raise UsageError("The target 'corpus' is a file of `discreet synthesize`: name both, --corpus FILE.")
