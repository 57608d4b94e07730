"""What a vault knows of the individuals and documents of an addition, before anything is written."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

from discreet.reading.identity import Read
from discreet.reading.records import BadRecord, Erased
from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.indexer import Admission, Fate
from discreet.retrieval.store import Store
from discreet.system.words import quoted

_REASONS = {
    Fate.NAMELESS: "has no unit, but the stored document with its id has one. The stored document was kept. Set the "
    "unit field, or remove the stored document first",
    Fate.TAKEN: "the stored document with its id is about another individual. The stored document was kept. Give this "
    "document an id of its own; if both are one document, remove the stored document first",
    Fate.CONFLICT: "the same id as a record before it, with another text or unit; the first was kept. If the field "
    "names no single record: --id-field ''",
}
_AT_ONCE = 256


class Known:
    """The documents of a vault, as an addition finds them.

    Args:
        store: the store; None if nothing was ever added.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = store

    @cached_property
    def units(self) -> set[str]:
        """The names of the units that are in the vault."""
        catalog = self.store.catalog if self.store else None
        return {entry.unit for entry in catalog.list_units()} if catalog else set()

    def judge(self) -> "Judge":
        """Return a judge of one addition."""
        return Judge(self)

    def doubts(self, names: Iterable[str]) -> Iterator[str]:
        """Yield likely mistakes: a name that looks like another one, like a stored one, or like that of an erased unit.

        Args:
            names: the names of the units that are about to be added.
        """
        own = list(dict.fromkeys(map(canonical_unit, names)))
        new = [name for name in own if name not in self.units]
        pairs = [(name, other, "") for name, other in _alike(own, own)]
        pairs += [(name, other, ", which is in the vault") for name, other in _alike(new, sorted(self.units))]
        if self.store is not None:
            erased = _erased(islice(new, _TRIED), self.store)
            pairs += [(name, other, ", which was erased") for name, other in erased]
        if not pairs:
            return
        shown = [f"'{name}' looks like '{other}'{where}" for name, other, where in pairs[:_SHOWN]]
        more = f"; and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
        name, other, _ = pairs[0]
        yield (
            f"{'; '.join(shown)}{more}. Two spellings of one individual count as two individuals, with two budgets, "
            "and the erasure of one leaves the other. Give both the same name in the unit field, the pattern or the "
            f"manifest; if both are in the vault: discreet units join VAULT {quoted(name)} {quoted(other)}"
        )


class Judge:
    """What becomes of each document of one addition.

    Attributes:
        fates: the number of documents by what becomes of them.
        conflicts: the ids that came twice with different content.
        beside: the number of new documents without an id of individuals who are in the vault: perhaps corrected.
    """

    def __init__(self, known: Known) -> None:
        self._known, self._admission = known, Admission(known.store)
        self.fates, self.conflicts, self.beside = Counter[Fate](), list[str](), 0

    def sort(self, found: Iterable[Read | BadRecord]) -> Iterator[Read | BadRecord]:
        """Yield what was found, with the reason in the place of each document that the vault refuses."""
        rest, buried = iter(found), Counter[str]()
        while group := list(islice(rest, _AT_ONCE)):
            fates = iter(self._admission.fates([one.document for one in group if isinstance(one, Read)]))
            for one in group:
                if isinstance(one, BadRecord):
                    yield one
                    continue
                fate, document = next(fates), one.document
                self.fates[fate] += 1
                if fate is Fate.BURIED:
                    buried[document.unit] += 1
                elif fate in _REASONS:
                    self.conflicts += [document.id] * (fate is Fate.CONFLICT)
                    yield BadRecord(one.where, _REASONS[fate])
                else:
                    self.beside += fate is Fate.ADDED and one.nameless and document.unit in self._known.units
                    yield one
        for name, number in buried.items():
            yield Erased(
                f"the individual '{name}'",
                f"was erased on {self._admission.buried[name][:10]} (or joined to another name), and {number} of its "
                "documents came again. They were refused. To accept an erased individual again: discreet readmit VAULT "
                f"--unit {quoted(name)}",
            )


_SHOWN = 3
_TRIED = 10_000
"""So many names are looked up among erased ones: that takes some tenths of a second."""
_BETWEEN = (" ", "_", "-", ".")
_MARKS = re.compile(r"(?!^-\d)[\W_]+")  # but the sign of a number
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_CODE = re.compile(r"[(\[]([^()\[\]]*\d[^()\[\]]*)[)\]]")


def _alike(names: Iterable[str], others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names that share a skeleton with one of `others`, each with the first such one."""
    first: dict[str, str] = {}
    for other in others:
        for bones in _skeletons(other):
            first.setdefault(bones, other)
    for name in names:
        alike = [first[bones] for bones in _skeletons(name) if first.get(bones, name) != name]
        if alike:
            yield name, alike[0]


def _skeletons(name: str) -> list[str]:
    """Return what a name keeps in other spellings: words without marks, leading zeros and dots of i, also in order.

    A number in brackets behind a name may be the name elsewhere. Accents stay: among many people, they tell two apart.
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).replace("i\u0307", "i")).replace("ı", "i")
    found = [plain, *(_CODE.findall(plain)[:1])]
    if plain.count(",") == 1:
        found.append(" ".join(reversed(plain.split(","))))
    return [bones for one in found if (bones := _ZEROS.sub("", _MARKS.sub(" ", one)).strip())]


def _erased(names: Iterable[str], store: Store) -> Iterator[tuple[str, str]]:
    """Yield the names of which another spelling was erased. Some are tried, since only digests of them are kept."""
    tried = {other: name for name in names for other in _spellings(name) if other != name}
    for other in sorted(store.buried(tried)):
        yield tried[other], other


def _spellings(name: str) -> Iterator[str]:
    if _MARKS.search(name) and not _MARKS.sub(" ", name).strip().isdigit():
        yield from (canonical_unit(_MARKS.sub(mark, name)) for mark in _BETWEEN)
    yield from (bones for bones in _skeletons(name) if bones != name)
