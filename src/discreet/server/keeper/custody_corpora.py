"""Synthetic corpora for the desk: what they would cost, their making, and what was made."""

import re
from collections.abc import Callable

from discreet.errors import UnknownName, UsageError
from discreet.operations.releases import corpora
from discreet.server.config import ServeConfig
from discreet.server.custody_messages import (
    CorporaListed,
    CorpusWanted,
    Made,
    Make,
    PaidCorpus,
    Planned,
)
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.runner import METHODS
from discreet.vault import Vault
from discreet.vault.components import SYNTHESIS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def plan_corpus(vault: Vault, wanted: CorpusWanted) -> Planned:
    """Return what a corpus would cost. Nothing is paid, and no document is read.

    Raises:
        UsageError, BudgetExhausted: as `SynthesisRunner.plan`.
    """
    plan = vault.workshop().plan(_method(wanted))
    if plan.ceiling is None:
        raise UsageError("The corpus has no price in this vault. Choose another method.")
    return Planned(
        float(plan.ceiling.epsilon), float(plan.ceiling.delta), tuple(plan.lines(vault.model.vocabulary_size))
    )


def make_synthetic(vault: Vault, message: Make, config: ServeConfig, told: Callable[[str, int, int], None]) -> Made:
    """Make a corpus, pay for it, and keep its file for the desk.

    Raises:
        DiscreetError: as `Vault.synthesize`.
    """
    if not _NAME.fullmatch(message.name):
        raise UsageError(f"The corpus's name is {message.name!r}. Use 1 to 64 letters, digits, hyphens, underscores.")
    folder = config.corpora / message.vault
    for one in (config.corpora.parent, config.corpora, folder):
        one.mkdir(mode=0o700, exist_ok=True)
    made = vault.synthesize(
        folder / f"{message.name}.jsonl", _method(message.wanted), only_new=message.wanted.only_new, told=told
    )
    receipt = made.receipt
    return Made(message.name, len(made.texts), len(made.kept), float(receipt.epsilon), float(receipt.delta))


def list_corpora(vault: Vault) -> CorporaListed:
    """Return the corpora that the ledger of a vault has payments of."""
    return CorporaListed(
        methods=tuple(METHODS),
        paid=tuple(PaidCorpus(one.id, float(one.epsilon), one.time) for one in corpora(vault.path, vault.settings)),
        unfinished=(vault.path / SYNTHESIS / "run.jsonl").exists(),
    )


def _method(wanted: CorpusWanted) -> SynthesisAlgorithm:  # type: ignore[type-arg]
    if wanted.method not in METHODS:
        raise UnknownName("method", wanted.method, METHODS)
    return METHODS[wanted.method](epsilon=wanted.epsilon, task=wanted.task.strip())
