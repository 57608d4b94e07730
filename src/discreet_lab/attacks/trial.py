"""The people that are tried: each is in one copy of the vault and out of the other, as a coin decides.

So answers with a person's documents are compared with answers to the same questions without them. The text of a
question alone reveals no membership, and the noise of mechanisms has the same seeds in both copies. For each person,
coins choose the others in the copy with them and in the copy without them from the same law. So the guarantee for one
unit bounds the rates of true and false positives (`rates.most_true_positives`). People of a file are in or out of a
single copy, as the file states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from discreet.errors import BadData
from discreet.privacy.noise import InsecureSeededNoise, Noise, sample
from discreet.retrieval.documents import Document, canonical_name, chunk
from discreet.vault import Vault
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.canaries import Canary, make_canaries
from discreet_lab.attacks.membership import SHORTEST, Suspect
from discreet_lab.attacks.simulation import Stored

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
