"""How long the longest answer takes, measured on public dummies: the quantum of replies follows from public values."""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from discreet.algorithms.base import Algorithm
from discreet.algorithms.retrieval import vote_by_readings
from discreet.config import DEFAULT_STORE, FORMAT, VaultConfig
from discreet.errors import DiscreetError
from discreet.statistics.counts import Count
from discreet.statistics.values import ListValues
from discreet.store.documents import Document
from discreet.store.embedding import Embedder, Told, Vectors
from discreet.system.files import replace_file
from discreet.vault import Vault
from discreet_server.config import MEASURED
from discreet_server.keeper.served import PUBLIC, Preset, Served, least_list
from discreet_server.wire import LANES, Lane, Question

UNITS = 100
"""More than any algorithm has voters by default."""
MOST_UNITS = 10_000
"""The most units on which a statistic is measured: minutes of work, once. It reads the units of the whole vault."""
_ASKED = Question("0" * 32, "dummy", "", "Which remedy helps against the dummy ailment of the placeholder?")
_FIELD = "dummy"
_FIRST = Count(population="ailment")
"""It reads the units. Those that are measured look for a new phrase in all texts."""
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


def measure_longest(served: Served, folder: Path, say: Callable[[str], None]) -> dict[Lane, float]:
    """Return the seconds that the longest answer of each lane takes; measured once, then read from a file.

    They are measured again after a measurement on a busy machine, or with other settings.

    Args:
        served: the vault. Its model answers; its documents are not read.
        folder: where the file lies.
        say: told before each answer that is measured, in fixed words.
    """
    kept_times, key = _read(folder), _key(served)
    if longest := kept_times.get(key):
        warm_up(served)
        return longest
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)  # before it makes a load of its own
    longest = _measure(served, say)
    if busy:
        say("The machine is busy, so that what was measured is kept for this start alone.")
    else:
        with suppress(OSError):  # it is measured again at the next start
            replace_file(folder / MEASURED, _MEASURED.dump_json(kept_times | {key: longest}).decode())
    return longest


def warm_up(served: Served) -> None:
    """Have a process load what its first statistic needs: else that one would take longer than what was measured."""
    with _dummies(served) as dummy:
        _measure_statistics(served, dummy, 0)


def _measure(served: Served, say: Callable[[str], None]) -> dict[Lane, float]:
    settings, longest = served.vault.settings, dict[Lane, float].fromkeys(LANES, 0.0)
    with _dummies(served) as dummy:
        presets = [preset for preset in served.presets if preset.algorithm != PUBLIC]
        for number, preset in enumerate(presets, 1):
            say(f"measures the longest answer: {number} of {len(presets)}")
            taken = _seconds(partial(dummy.simulate, _ASKED.question, preset.build(_ASKED)))
            longest["voters"] = max(longest["voters"], taken)
        if settings.people and settings.payment == "unit":
            say("measures a statistic")
            times = max(1.0, settings.people / MOST_UNITS)  # the work is the same for each unit
            longest["records"] = times * _measure_statistics(served, dummy, min(settings.people, MOST_UNITS))
            longest["voters"] = max(longest["voters"], times * _seconds(partial(_list, dummy, _cheapest(dummy))))
        else:  # nothing public says how many units a statistic would read
            longest["records"] = longest["voters"]
    return longest


@contextmanager
def _dummies(served: Served) -> Iterator[Vault]:
    """Give a vault of public dummies, with the model and the embedder of a served one."""
    settings = served.vault.settings
    with tempfile.TemporaryDirectory() as folder:
        Vault.create(
            Path(folder) / "dummy",
            epsilon=1e4,
            delta=settings.delta,
            unit_field=settings.unit_field,
            model=settings.model,
            embedder=settings.embedder,
            payment=settings.payment,
            fields={_FIELD: "category"},
        )
        embedder = _EachTextOnce(served.vault.embedder)
        dummy = Vault.open(Path(folder) / "dummy", model=served.vault.model, embedder=embedder)
        dummy.add_documents(_document(number) for number in range(UNITS))
        yield dummy


def _measure_statistics(served: Served, dummy: Vault, units: int) -> float:
    """Return the seconds of the longest answer without the model, in a vault that has read its units before."""
    if served.vault.settings.payment != "unit":
        return 0.0
    dummy.add_documents(_document(number) for number in range(UNITS, units))
    _seconds(partial(dummy.ask, _ASKED.question, _FIRST))
    read = [one for preset in served.presets if preset.algorithm != PUBLIC for one in _by_what_was_read(preset)]
    phrase = Count(condition="dummy remedy", population="placeholder meal")
    questions: list[Callable[[], object]] = [
        partial(_list, dummy, least_list(served.vault.ledger.budget)),
        partial(dummy.ask, _ASKED.question, phrase),
        *(partial(dummy.simulate, _ASKED.question, one) for one in read),
    ]
    return max(map(_seconds, questions))


def _list(dummy: Vault, epsilon: float) -> None:
    """Ask for a list, which draws the more noise the less it costs."""
    dummy.ask(_ASKED.question, ListValues(attribute=_FIELD, population="placeholder", epsilon=epsilon), anew=True)


def _cheapest(dummy: Vault) -> float:
    """Return an epsilon of a list of which no half would be admitted."""
    grant, epsilon = dummy.ledger.budget, 1.0
    with suppress(DiscreetError):
        while True:
            ListValues(attribute=_FIELD, epsilon=epsilon / 2).plan(grant, 0)
            epsilon /= 2
    return epsilon


def _by_what_was_read(preset: Preset) -> list[Algorithm]:
    """Return the algorithm of a preset that votes by what was read before; none if it has no such."""
    algorithm = vote_by_readings(preset.build(_ASKED))
    return [] if algorithm.spec.needs_model else [algorithm]


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
    algorithms = [repr(preset.build(_ASKED)) for preset in served.presets if preset.algorithm != PUBLIC]
    vault = [settings.model, settings.embedder, settings.payment, settings.people, settings.epsilon, settings.delta]
    threads = os.environ.get("OMP_NUM_THREADS", "")
    content = [FORMAT, *vault, os.cpu_count(), threads, sorted(algorithms)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


_MEASURED = TypeAdapter(dict[str, dict[Lane, Annotated[float, Field(ge=0, lt=1e6)]]])


def _read(folder: Path) -> dict[str, dict[Lane, float]]:
    try:
        return _MEASURED.validate_json((folder / MEASURED).read_bytes())
    except (OSError, ValueError):
        return {}
