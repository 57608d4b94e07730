"""The parameters of an attack: its targets, the people that are tried, the secrets and the prompts.

Each person that is tried is in one copy of the vault and out of the other, as a coin decides. So answers with a
person's documents are compared with answers to the same questions without them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.ensemble import check_number
from discreet.errors import BadData, UsageError
from discreet.privacy.noise import InsecureSeededNoise, Noise, sample
from discreet.store.documents import Document, canonical_name, chunk
from discreet.vault import Vault
from discreet_lab.attacks.extraction import AttackPrompt
from discreet_lab.attacks.membership import SHORTEST, Suspect
from discreet_lab.attacks.simulation import Canary, Stored, make_canaries
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


# --- trial ------------------------------------------------------------------------------------------------------------


FEWEST = 2
"""The least number of people to try."""


@dataclass(frozen=True)
class Trial:
    """The people that are tried, and the copies of the vault that have them.

    Attributes:
        suspects: the people.
        without: for each copy, the units that it leaves out.
    """

    suspects: list[Suspect] = field(repr=False)
    without: tuple[frozenset[str], ...] = field(repr=False)

    @property
    def inside(self) -> list[list[bool]]:
        """For each person, whether each copy has them."""
        return [[suspect.member and suspect.id not in out for out in self.without] for suspect in self.suspects]


def choose_people(vault: Vault, attack: Attack, documents: Sequence[Stored], canaries: Sequence[Canary]) -> Trial:
    """Return the people to try: people of the vault, or those of a file.

    Raises:
        BadData: if there are too few, or a file does not fit the vault.
    """
    noise, taken = InsecureSeededNoise(attack.seed), {canary.document.unit for canary in canaries}
    people = {
        unit: max((text for document in group for text in document.texts), key=lambda text: len(text.split()))
        for unit, group in _by_unit(documents)
        if unit not in taken
    }
    fit = [Suspect(unit, True, text) for unit, text in people.items() if len(text.split()) >= SHORTEST]
    others = [suspect for suspect in attack.suspects if not suspect.member]
    if others:
        members = [suspect for suspect in attack.suspects if suspect.member]
        _check(vault, members, others, documents)
        inside = _some(members or fit, "in the vault", attack.members, noise)
        return Trial([*inside, *_some(others, "outside it, in the file", attack.members, noise)], (frozenset(),))
    drawn = _some(fit, "in the vault", attack.members, noise)
    # A coin for each person, not exact halves: then only a person's presence differs between in and out. With halves,
    # another person would be out in their place. All coins may fall alike.
    first = frozenset(suspect.id for suspect in drawn if noise.below(2) == 0)
    return Trial(drawn, (frozenset(suspect.id for suspect in drawn) - first, first))


def _some(suspects: Sequence[Suspect], where: str, most: int, noise: Noise) -> list[Suspect]:
    if len(suspects) < FEWEST:
        raise BadData(
            f"There are {len(suspects)} people to try {where}; at least {FEWEST} are needed, each with a text of "
            f"{SHORTEST} words. Add documents there."
        )
    return sample(suspects, min(most, len(suspects)), noise)


def _check(vault: Vault, members: list[Suspect], others: list[Suspect], documents: Sequence[Stored]) -> None:
    """Check that members are in the vault, and others are not.

    Raises:
        BadData: if a member is missing, or another document is in the vault.
    """
    stored = vault.store.digests([canonical_name(suspect.id) for suspect in members])
    missing = sum(canonical_name(suspect.id) not in stored for suspect in members)
    if missing:
        raise BadData(f"{missing} documents that are marked as members are not in the vault. Correct their ids.")
    inside = {text for document in documents for text in document.texts}
    wrong = sum(any(piece in inside for piece in chunk(suspect.text)) for suspect in others)
    if wrong:
        raise BadData(f"{wrong} documents that should be outside the vault are in it. Leave them out of the file.")


def choose_canaries(attack: Attack, documents: Sequence[Stored]) -> list[Canary]:
    """Return the canaries: at most `attack.planted` to plant, and at most as many control canaries.

    Raises:
        BadData: if a control canary is in the vault.
    """
    units = {document.unit for document in documents}
    if not attack.canaries:
        return make_canaries(attack.planted, attack.seed, units)
    if any(not canary.planted for canary in attack.canaries if canary.document.unit in units):
        raise BadData("A control canary has the name of a unit of the vault. Mark it as a member, or leave it out.")
    kinds = ([c for c in attack.canaries if c.planted is planted] for planted in (True, False))
    return [canary for kind in kinds for canary in kind[: attack.planted]]


def to_plant(canaries: Sequence[Canary], documents: Sequence[Stored]) -> list[Document]:
    """Return the documents of the canaries to plant that are not in the vault already.

    Raises:
        BadData: if a canary has the name of a unit whose documents do not contain its secret.
    """
    texts = {unit: "\n".join(text for d in group for text in d.texts) for unit, group in _by_unit(documents)}
    missing = []
    for canary in (canary for canary in canaries if canary.planted):
        held = texts.get(canary.document.unit)
        if held is None:
            missing.append(canary.document)
        elif not all(secret in held for secret in canary.secrets):
            raise BadData(
                "A canary has the name of a unit of the vault whose documents do not contain its secret. Give it "
                "another name."
            )
    return missing


def _by_unit(documents: Sequence[Stored]) -> Iterator[tuple[str, Iterator[Stored]]]:
    return groupby(sorted(documents, key=lambda document: document.unit), key=lambda document: document.unit)
