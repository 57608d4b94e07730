"""Names of units that look alike: likely two spellings of one individual. For the custodian, before an addition.

Two spellings are two units. Each has a budget of its own, and the erasure of one leaves the other.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.store import Store

_SHOWN = 3
_COMPARED = 10_000
"""So many names are compared with as many stored ones: that takes some tenths of a second."""
_BETWEEN = (" ", "_", "-", ".")
_MARKS = re.compile(r"[\W_]+")


def find_alike_names(names: Iterable[str], store: Store | None) -> Iterator[str]:
    """Yield likely mistakes: a name that looks like another one, like a stored one, or like that of an erased unit.

    Args:
        names: the names of the units that are about to be added.
        store: the documents; None if nothing was ever added.
    """
    own = list(islice(dict.fromkeys(map(canonical_unit, names)), _COMPARED))
    pairs = [(name, other, "") for name, other in _alike(own, own)]
    if store is not None:
        stored = {entry.unit for entry in store.catalog.list_units(_COMPARED)} if store.catalog else set()
        new = [name for name in own if name not in stored]
        pairs += [(name, other, ", which is in the vault") for name, other in _alike(new, sorted(stored))]
        pairs += [(name, other, ", which was erased") for name, other in _erased(new, store)]
    if not pairs:
        return
    shown = [f"'{name}' looks like '{other}'{where}" for name, other, where in pairs[:_SHOWN]]
    more = f"; and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    yield (
        f"{'; '.join(shown)}{more}. Two spellings of one individual count as two individuals, with two budgets, and "
        "the erasure of one leaves the other. Give both the same name in the unit field, the pattern or the manifest."
    )


def _alike(names: Iterable[str], others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names that equal the first of `others` up to marks between words, each with that one."""
    first: dict[str, str] = {}
    for other in others:
        first.setdefault(_without_marks(other), other)
    for name in names:
        bare = _without_marks(name)
        if bare and first.get(bare, name) != name and not bare.isdigit():
            yield name, first[bare]


def _erased(names: Iterable[str], store: Store) -> Iterator[tuple[str, str]]:
    """Yield the names of which another spelling was erased. Some are tried, since only digests of them are kept."""
    tried = {other: name for name in names for other in _spellings(name) if other != name}
    for other in sorted(store.buried(tried)):
        yield tried[other], other


def _spellings(name: str) -> Iterator[str]:
    if _MARKS.search(name) and not _without_marks(name).isdigit():
        yield from (canonical_unit(_MARKS.sub(mark, name)) for mark in _BETWEEN)


def _without_marks(name: str) -> str:
    """Return a canonical name with a space for each mark. Accents stay: among many people, they tell two apart."""
    return _MARKS.sub(" ", name).strip()
