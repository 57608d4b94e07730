"""What an experiment is given: the vault, the questions, the values of the sweep, and the settings of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.query.known_answers import KnownQuestion
from discreet.vault import Vault
from discreet_lab.bench.table import BenchTable, Data
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.metrics import PACKAGED
from discreet_lab.steps import Count, OnProgress, count_step

QUICK_TOKENS = 12
"""The longest answer of a quick run, in tokens."""


@dataclass
class BenchRun:
    """One run of a table.

    Attributes:
        table: the table.
        values: the values of each parameter that is varied.
        data: the kind of data at hand.
        limit: the number of questions, people or mails.
        seed: the first seed of the noise.
        seeds: the number of runs with different noise.
        plugins: the names of algorithms that are further rows.
        questions: the questions.
        on_progress: receives the progress.
        notes: remarks for the reader of the rows, which experiments add.
        opened: the vault; None for arithmetic.
        quick: whether the run is quick.
        encoder: the name of the model of BERTScore.
        given: parameters in place of the table's settings.
        delta: of a unit's budget in a stream, of a corpus, and of an answer; the usual one if None.
        preset: one of `presets.PRESETS`, or "".
        deltas: those that were used, which experiments add.
        rows: the file that keeps what the model said; None to keep nothing.
        prompts: the file of the prompts of a table that asks no questions; None for its own.
    """

    table: BenchTable
    values: dict[str, tuple[Any, ...]]
    data: Data
    limit: int
    seed: int = 0
    seeds: int = 1
    plugins: Sequence[str] = ()
    questions: list[KnownQuestion] = field(default_factory=list)
    on_progress: OnProgress = lambda *_: None
    notes: list[str] = field(default_factory=list)
    opened: Vault | None = None
    quick: bool = False
    encoder: str = PACKAGED
    given: Mapping[str, Any] = field(default_factory=dict)
    delta: float | None = None
    preset: str = ""
    deltas: set[float] = field(default_factory=set)
    rows: Path | None = None
    prompts: Path | None = None

    @cached_property
    def model(self) -> CachingModel:
        """The vault's model, with what it said before."""
        return CachingModel(self.vault.model, kept=self.rows)

    @property
    def vault(self) -> Vault:
        """The vault.

        Raises:
            UsageError: if the table runs without one.
        """
        if self.opened is None:
            raise UsageError(f"The table '{self.table.name}' runs without a vault.")
        return self.opened

    def one(self, name: str, otherwise: Any = None) -> Any:
        """Return a setting that is the same in all rows."""
        return self.given.get(name, self.table.settings.get(name, otherwise))

    @property
    def only_epsilon(self) -> float:
        """The epsilon of a table that has one.

        Raises:
            UsageError: if several are given.
        """
        values = self.values["epsilon"]
        if len(values) > 1:
            raise UsageError(
                f"The table '{self.table.name}' takes one epsilon, not {len(values)}. Give --epsilon once."
            )
        return float(values[0])

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that all algorithms have that know them; a quick run has short answers."""
        return {
            **self.one("parameters", {}),
            **({"max_tokens": QUICK_TOKENS} if self.quick else {}),
            **{name: value for name, value in self.given.items() if name not in self.table.settings},
        }

    def count(self, step: str, total: int) -> Count:
        """Return a function that counts the items of a step."""
        return count_step(step, total, self.on_progress)
