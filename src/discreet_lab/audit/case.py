"""The cases and findings of an audit, their pairs of vaults that differ in one unit, and their tables."""

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Protocol, runtime_checkable

from rich.box import SIMPLE_HEAD
from rich.table import Table

from discreet.privacy.accounting import Spending, largest, zcdp_epsilon
from discreet.privacy.costs import Cost
from discreet.privacy.noise import Noise
from discreet.store.documents import Document
from discreet.store.embedded_store import replace_key
from discreet.vault import Vault
from discreet_lab.attacks.rates import Bound, Key, epsilon_at_least

CONFIDENCE = 0.95
"""The probability that no bound of a whole audit is above the true loss."""
DELTA = 1e-3
"""The delta for claims that need a conversion: large enough to matter in some thousand draws."""
FAILURE = 0.01
"""The failure probability for mechanisms that can fail: large enough to be observed."""
ProgressCallback = Callable[[int], None]
"""Receives the number of further draws that were made."""


class Case(Protocol):
    """A pair of neighbouring inputs of one mechanism or algorithm, with the claim."""

    @property
    def name(self) -> str:
        """The name of the mechanism or algorithm."""

    @property
    def inputs(self) -> str:
        """A description of the pair."""

    @property
    def claim(self) -> tuple[float, float]:
        """(epsilon, delta) by the accounting."""

    @property
    def draws(self) -> int:
        """The number of draws of each input that suffices in acceptable time."""

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[Sequence[Key], Sequence[Key]]:
        """Return the outcomes of `draws` independent draws on each of the two inputs."""


@runtime_checkable
class Fallible(Protocol):
    """A case whose draws can fail: what was to be audited may have released nothing."""

    def find_fault(self, first: Sequence[Key], second: Sequence[Key]) -> str:
        """Return why the outcomes of the two inputs show nothing; "" if they show something."""


@dataclass(frozen=True)
class AuditFinding:
    """One row of an audit.

    Attributes:
        name, inputs: the name and inputs of the case.
        claimed: epsilon by the accounting.
        delta: the delta of the claim and of the bound.
        bound: the lower bound from the draws.
        draws: the number of draws of each input. One half chose the event, and the other half was counted.
        confidence: the probability that no bound of the audit is above the true loss.
        fault: why the draws show nothing, such as a refusal of each; "" if they show something.
    """

    name: str
    inputs: str
    claimed: float
    delta: float
    bound: Bound
    draws: int
    confidence: float
    fault: str = ""

    @property
    def violated(self) -> bool:
        """Whether the measured loss is above the claim."""
        return self.bound.epsilon > self.claimed

    @property
    def tight(self) -> float:
        """The ratio of the measured loss to the claim."""
        return self.bound.epsilon / self.claimed


def run(
    cases: Sequence[Case],
    noise: Noise,
    *,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
    on_progress: ProgressCallback = lambda _: None,
) -> list[AuditFinding]:
    """Audit every case; return the findings. All bounds hold together with `confidence`, by a union bound.

    Args:
        cases: the cases to audit.
        noise: the source of randomness of the draws.
        draws: the number of draws of each input; the default of each case if None.
        confidence: the probability that no bound is above the true loss.
        on_progress: receives the number of further draws that were made.
    """
    findings = []
    for case in cases:
        claimed, delta = case.claim
        first, second = case.sample(draws or case.draws, noise, on_progress)
        bound = epsilon_at_least(first, second, delta, (1 - confidence) / len(cases))
        fault = case.find_fault(first, second) if isinstance(case, Fallible) else ""
        findings.append(AuditFinding(case.name, case.inputs, claimed, delta, bound, len(first), confidence, fault))
    return findings


def claim_of(cost: Cost) -> tuple[float, float]:
    """Return the (epsilon, delta) of a cost.

    A cost with a finite epsilon outside its failures is evaluated at its failure probability. Any other cost is
    evaluated at `DELTA` more.
    """
    spent = Spending.of(cost)
    bounded = bool(spent.curve[-1] < float("inf"))
    delta = spent.delta if bounded else spent.delta + DELTA
    return spent.epsilon(delta), delta


def rho_of(epsilon: float) -> float:
    """Return the zCDP that amounts to `epsilon` at `DELTA`."""
    return largest(lambda rho: zcdp_epsilon(rho, DELTA) <= epsilon, 1e-6, 1e3)


# --- pairs ------------------------------------------------------------------------------------------------------------


Units = Mapping[str, Sequence[str]]
"""The texts of each unit."""
DATE, YEAR = "date", 2000
"""The declared field of the documents, and its value for a text without a cough. Each cough is a year more."""


@dataclass(frozen=True)
class VaultPair:
    """Two neighbouring vaults.

    Attributes:
        name: a description of the difference.
        units: the units of the first vault.
        goes: the unit that the second vault lacks; empty for none.
        comes: the units that the second vault has in addition.
        asked: the questions, in order.
    """

    name: str
    units: Units
    goes: str = ""
    comes: Units = field(default_factory=dict)
    asked: tuple[str, ...] = ("fever",)

    @property
    def steps(self) -> int:
        """The number of units that are added or removed."""
        return bool(self.goes) + len(self.comes)

    def claim(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the claim for this pair by the group property.

        The given claim is for one added or removed unit.
        """
        return (epsilon, delta) if self.steps < 2 else (2 * epsilon, (1 + math.exp(epsilon)) * delta)

    def stating(self) -> "VaultPair":
        """Return the same pair with texts that state a treatment, and questions about it: for votes by readings."""
        units, comes = (
            {unit: [text.replace("say:", "say: treatment is") for text in texts] for unit, texts in side.items()}
            for side in (self.units, self.comes)
        )
        return replace(self, units=units, comes=comes, asked=tuple(f"treatment of {one}" for one in self.asked))

    def sample(self, others: Units, draw: Callable[[Vault], list[Key]]) -> tuple[list[Key], list[Key]]:
        """Return the outcomes of `draw` on each of the two vaults, which share `others`.

        The second vault is derived from the first.
        """
        with tempfile.TemporaryDirectory() as folder:
            vault = _vault(Path(folder) / "vault", {**others, **self.units})
            first = draw(vault)
            if self.goes:
                vault.remove_unit(self.goes)
            vault.add_documents(_documents(self.comes))
            return first, draw(vault)


def _vault(path: Path, units: Units) -> Vault:
    vault = Vault.create(path, epsilon=1.0, delta=DELTA, embedder="hashing", model="toy", fields={DATE: "date"})
    vault.store.close()
    # The order of equally near units follows from a key that is drawn when a store is created. Here the key is
    # constant, so that a table can be reproduced.
    replace_key(path / "store", bytes(32))
    opened = Vault.open(path)
    opened.add_documents(_documents(units))
    return opened


def _documents(units: Units) -> list[Document]:
    texts = chain.from_iterable(((unit, n, text) for n, text in enumerate(units[unit])) for unit in units)
    return [Document(f"{unit}-{n}", unit, text, fields={DATE: _date(text)}) for unit, n, text in texts]


def _date(text: str) -> str:
    return f"{YEAR + text.count('cough')}-01-01"


# --- report -----------------------------------------------------------------------------------------------------------


HEADINGS = ("audited", "neighbouring inputs", "draws of each", "delta", "claimed epsilon", "shown at least", "verdict")
UNREMARKABLE = "no violation found"
"""The verdict of a sound case without a violation."""


def verdict(finding: AuditFinding, *, twin: bool = False) -> str:
    """Return the verdict. A mutant is flagged or missed. A sound case without a violation is no proof.

    A case with a fault was not audited: its draws show nothing.
    """
    if twin:
        return "flagged" if finding.violated else "MISSED"
    if finding.violated:
        return "VIOLATION"
    return "FAULT" if finding.fault else UNREMARKABLE


def cells(finding: AuditFinding, *, twin: bool = False) -> tuple[str, ...]:
    """Return a row as text, in the order of `HEADINGS`."""
    return (
        finding.name,
        finding.inputs,
        str(finding.draws),
        f"{finding.delta:.3g}",
        f"{finding.claimed:.3f}",
        f"{finding.bound.epsilon:.3f} ({finding.tight:.0%})",
        verdict(finding, twin=twin),
    )


def table(findings: Sequence[AuditFinding], *, twin: bool = False) -> Table:
    """Return the rows as a table for a terminal."""
    # Without lines between columns, no word of a heading and no verdict is cut in a terminal of 80 characters.
    rich_table = Table(box=SIMPLE_HEAD, padding=0)
    for heading in HEADINGS:
        rich_table.add_column(heading, overflow="fold", min_width=max(map(len, heading.split())))
    for finding in findings:
        rich_table.add_row(*cells(finding, twin=twin))
    return rich_table


def remarkable(findings: Sequence[AuditFinding], *, twin: bool = False) -> list[str]:
    """Return a line for each verdict other than "no violation found": the names, with their numbers of rows."""
    rows = Counter((verdict(finding, twin=twin), finding.name) for finding in findings)
    names: dict[str, list[str]] = {}
    for (found, name), number in rows.items():
        if found != UNREMARKABLE:
            names.setdefault(found, []).append(f"{name} ({number})")
    return [f"Rows with the verdict {found}: {', '.join(own)}" for found, own in names.items()]


def markdown(findings: Sequence[AuditFinding], *, twin: bool = False) -> str:
    """Return the rows as a table in Markdown."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(cells(finding, twin=twin) for finding in findings)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
