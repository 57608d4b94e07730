"""How long the longest answer takes, measured on public dummies: the quantum of replies follows from public values."""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from discreet.algorithms.statistics.count import Count
from discreet.algorithms.statistics.list_values import ListValues
from discreet.config import DEFAULT_STORE, FORMAT, VaultConfig
from discreet.errors import DiscreetError
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import Embedder, Told, Vectors
from discreet.server.keeper.presets import PUBLIC
from discreet.server.keeper.served import Served
from discreet.server.wire import Question
from discreet.vault import Vault

UNITS = 100
"""More than any algorithm has voters by default."""
MOST_UNITS = 10_000
"""The most units on which a statistic is measured: minutes of work, once. It reads the units of the whole vault."""
_FILE = "longest.json"
_ASKED = Question("0" * 32, "dummy", "", "Which remedy helps against the dummy ailment of the placeholder?")
_FIELD = "dummy"
_STATISTICS = (ListValues(attribute=_FIELD, population="placeholder"), Count(population="placeholder"))
"""A list counts, too, and draws the most noise. The first one reads the texts."""
_TEXT = "Against the dummy ailment of the placeholder helps the dummy remedy, twice a day after a placeholder meal. "


_REPEATED = 8
"""So long a text fills what a prompt holds of one document."""


class _EachTextOnce:
    """An embedder that embeds equal texts once: all dummies have one text."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension, self._embedder = embedder.name, embedder.dimension, embedder

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return the vectors of texts."""
        different = list(dict.fromkeys(texts))
        vectors = self._embedder.embed(different)
        return vectors[[different.index(text) for text in texts]]


def measure_longest(served: Served, folder: Path, say: Callable[[str], None]) -> float:
    """Return the seconds that the longest answer of a vault's models takes; measured once, then read from a file.

    Args:
        served: the vault. Its model answers; its documents are not read.
        folder: where the file lies.
        say: told before each answer that is measured, in fixed words.
    """
    known, key = _read(folder), _key(served)
    if key not in known:
        known[key] = _measure(served, say)
        _write(folder, known)
    return known[key]


def _measure(served: Served, say: Callable[[str], None]) -> float:
    settings = served.vault.settings
    with tempfile.TemporaryDirectory() as made:
        Vault.create(
            Path(made) / "dummy",
            epsilon=1e4,
            delta=settings.delta,
            unit_field=settings.unit_field,
            model=settings.model,
            embedder=settings.embedder,
            payment=settings.payment,
            fields={_FIELD: "category"},
        )
        embedder = _EachTextOnce(served.vault.embedder)
        dummy = Vault.open(Path(made) / "dummy", model=served.vault.model, embedder=embedder)
        dummy.add_documents(_document(number) for number in range(UNITS))
        presets, longest = [preset for preset in served.presets if preset.algorithm != PUBLIC], 0.0
        for number, preset in enumerate(presets, 1):
            say(f"measures the longest answer: {number} of {len(presets)}")
            algorithm = preset.build(_ASKED)
            longest = max(longest, _seconds(partial(dummy.simulate, _ASKED.question, algorithm)))
        if (people := settings.people) and settings.payment == "unit":
            say("measures a statistic")
            dummy.add_documents(_document(number) for number in range(UNITS, min(people, MOST_UNITS)))
            longest = max(longest, *(_seconds(partial(dummy.ask, _ASKED.question, one)) for one in _STATISTICS))
        return longest


def what_is_not_covered(settings: VaultConfig) -> str:
    """Return why the measured quantum may be too short for a statistic of a vault, from public values; empty if not."""
    if settings.payment != "unit":
        return ""  # it has no statistics
    if settings.ledger or settings.store != DEFAULT_STORE:
        return "the measured vault is in files, and this one in a database"
    if not settings.people:
        return "the vault declares no number of people"
    return f"it was measured on {MOST_UNITS:,} units" if settings.people > MOST_UNITS else ""


def _document(number: int) -> Document:
    return Document(f"d{number}", f"u{number}", _TEXT * _REPEATED, fields={_FIELD: "dummy"})


def _seconds(ask: Callable[[], object]) -> float:
    begun = time.monotonic()
    try:
        ask()
    except DiscreetError:  # such as a model that lacks what the algorithm requires: it is refused in time
        return 0.0
    return time.monotonic() - begun


def _key(served: Served) -> str:
    settings = served.vault.settings
    asked = [repr(preset.build(_ASKED)) for preset in served.presets if preset.algorithm != PUBLIC]
    vault = [settings.model, settings.embedder, settings.payment, settings.people]
    content = [FORMAT, *vault, os.cpu_count(), sorted(asked)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _read(folder: Path) -> dict[str, float]:
    try:
        found = json.loads((folder / _FILE).read_text())
    except (OSError, ValueError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {str(key): float(value) for key, value in entries if isinstance(value, int | float) and 0 <= value < 1e6}


def _write(folder: Path, known: dict[str, float]) -> None:
    new = folder / f"{_FILE}.new"
    try:
        new.write_text(json.dumps(known))
        os.replace(new, folder / _FILE)
    except OSError:  # it is measured again at the next start
        return
