"""What the custodian does with the vaults, for the desk: over a socket of the keeper's own user.

All of it runs in the thread of the answers, since a vault's store is for one thread. So it waits for the question that
is being answered, and questions wait for it. While long work runs (an addition, a corpus), other requests are refused
as "busy" instead of waiting, and `Progress` says how far it is.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, UnknownName, UsageError
from discreet.files.intake import Intake
from discreet.files.units import UnitRules
from discreet.operations.erasure import erasure_report
from discreet.operations.report import as_page, corpora, gather
from discreet.planning.prices import usual_charge
from discreet.privacy.accounting import Budget
from discreet.questions.request import check_population
from discreet.store.documents import canonical_unit
from discreet.store.registry import stored_dimension
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.runner import METHODS
from discreet.system.plain import show_as
from discreet.vault import Vault
from discreet.vault.components import SYNTHESIS
from discreet.vault.documents import How
from discreet_server import custody_messages as messages
from discreet_server.config import ServeConfig
from discreet_server.keeper.answering import Answering
from discreet_server.keeper.served import Served
from discreet_server.wire import Call, UnitCharge

Told = Callable[[str, int, int], None]
"""Told (the step, how much of it is done, of how much; 0 if that is not known)."""

# --- the state of the vaults, their lists, and erasures --------------------------------------------------------------


_TAG = 16
"""Bytes of the keyed hash of a unit's name in the audit log."""


def list_entries(vault: Vault, listing: messages.Listing) -> messages.Listed:
    """Return a page of a list."""
    if not is_filled(vault):
        return messages.Listed((), more=False)
    wanted, skip = messages.PAGE + 1, max(0, listing.skip)  # one more, to know whether there are more
    lists: dict[str, Callable[[int, int], Sequence[Any]]] = {
        "documents": partial(vault.inventory.documents, None),
        "units": vault.inventory.units,
        "batches": vault.inventory.batches,
    }
    entries = lists[listing.what](wanted, skip)
    return messages.Listed(tuple(entry.describe() for entry in entries[: messages.PAGE]), len(entries) > messages.PAGE)


def undo(vault: Vault, message: messages.Undo) -> int:
    """Erase what a batch brought; return how many documents.

    Raises:
        UsageError: if there is no such batch, or earlier texts would be gone with it and `anyway` is not given.
    """
    _check_filled(vault)
    entry = vault.inventory.batch(message.batch)
    if not entry.documents:
        raise UsageError(f"Nothing is left of batch {message.batch} in the vault. There is nothing to do.")
    if entry.replaced and not message.anyway:
        raise UsageError(
            f"{entry.replaced} of the {entry.documents} documents of batch {message.batch} took the place of earlier "
            "texts, which are not kept. Nothing was erased. Tick the box to erase them. Add the earlier texts then."
        )
    return vault.inventory.remove_batch(message.batch)


def erase(vault: Vault, message: messages.Erase) -> messages.Remained:
    """Erase a unit, and return what is left of it.

    Raises:
        UsageError: if it is not in the vault, and `anyway` is not given.
    """
    _check_filled(vault)
    before = vault.inventory.erased(message.unit)
    count = vault.inventory.bury(message.unit, anyway=message.anyway)
    if not count and not message.anyway:
        if before is not None:
            raise UsageError(f"The individual '{message.unit}' was erased on {before[0][:10]} already.")
        raise UsageError(
            f"There is no individual '{message.unit}' in the vault. Check the spelling in the list of units. To keep "
            "out an individual that has no document here, tick the box."
        )
    return remains(vault, message.unit, count)


def readmit(vault: Vault, message: messages.Readmit) -> messages.Remained:
    """Let an erased unit come back, with the balance that it had.

    Raises:
        UsageError: if it is not kept out.
    """
    _check_filled(vault)
    if not vault.inventory.readmit(message.unit):
        raise UsageError(f"The individual '{message.unit}' is not kept out of this vault. Check the spelling.")
    return remains(vault, message.unit)


def remains(vault: Vault, unit: str, erased: int = 0) -> messages.Remained:
    """Return what is left of a unit."""
    _check_filled(vault)
    name = canonical_unit(unit)
    if not name:
        raise UsageError("The name of the individual is empty. Name it.")
    tag = vault.store.tag(b"audit-log\0" + name.encode(), _TAG)
    return messages.Remained(erased, tag, erasure_report(vault, name).describe())


def is_filled(vault: Vault) -> bool:
    """Return whether anything was ever added: else making a store would wait for the embedder."""
    return stored_dimension(vault.settings, vault.path / "store") is not None


def _check_filled(vault: Vault) -> None:
    if not is_filled(vault):
        raise UsageError("Nothing was ever added to this vault, so there is nothing to look for. Upload documents.")


def _state(served: Served) -> messages.VaultState:
    vault = served.vault
    report, filled = vault.budget(), is_filled(vault)
    plan = served.presets.plan(served.presets.find(""))
    budget: Budget = vault.ledger.budget
    usual = usual_charge(vault.settings.payment, budget)
    return show_as(
        messages.VaultState,
        report,
        name=served.name,
        unit=vault.settings.unit_field,
        payment=vault.settings.payment,
        grant=budget,
        usual=None if usual is None else UnitCharge.of(usual, budget),
        price=plan.price(budget) if plan else 0.0,
        levels=tuple(messages.BalanceLevel(one.low, one.high, one.units) for one in report.levels),
        documents=vault.store.count_documents() if filled else 0,
        units=vault.store.count_units() if filled else 0,
        questions=len(report.questions),
    )


# --- uploads, which the desk wrote into a folder of their own: looked through, then added ----------------------------


def add_upload(vault: Vault, message: messages.Add, config: ServeConfig, told: Told) -> messages.UploadAdded:
    """Add an upload.

    Raises:
        UsageError, BadData, StoreError: as `Vault.take_in`.
    """
    intake = _intake(vault, message.upload, message.how, config)
    done, records = 0, intake.preview.records

    def advance(_: str, count: int) -> None:
        nonlocal done
        done += count
        told("documents", done, records)

    added = vault.take_in(intake, advance)
    bad, in_part = (*added.bad, *added.erased), (*added.in_part, *added.empty)
    return show_as(messages.UploadAdded, added, bad=_left_out(bad), in_part=_left_out(in_part))


def _left_out(records: Sequence[Any]) -> tuple[messages.LeftOut, ...]:
    return tuple(messages.LeftOut(one.where, one.reason) for one in records)


def _intake(vault: Vault, upload: str, how: messages.HowRead, config: ServeConfig) -> Intake:
    folder = config.uploads / upload
    if not (folder / messages.FILES).is_dir():
        raise UsageError("The upload is not there any more. Upload the files again.")
    manifest = _manifest(folder) if how.manifest else None
    rules = UnitRules(manifest, pattern=how.unit_from, each_file=how.each_file, each_record=how.each_record)
    fields = How(text_field=how.text_field, unit_field=how.unit_field or None, id_field=how.id_field, units=rules)
    return vault.intake(folder / messages.FILES, **fields)


def _manifest(folder: Path) -> Path:
    files = sorted((folder / messages.MANIFEST).iterdir()) if (folder / messages.MANIFEST).is_dir() else []
    if not files:
        raise UsageError("The upload has no manifest. Upload it again, with the manifest.")
    return files[0]


# --- synthetic corpora: what they would cost, their making, and what was made ----------------------------------------


def plan_corpus(vault: Vault, wanted: messages.CorpusWanted) -> messages.Planned:
    """Return what a corpus would cost. Nothing is paid, and no document is read.

    Raises:
        UsageError, BudgetExhausted: as `SynthesisRunner.plan`.
    """
    plan = vault.workshop().plan(_method(wanted))
    if plan.ceiling is None:
        raise UsageError("The corpus has no price in this vault. Choose another method.")
    return messages.Planned(
        float(plan.ceiling.epsilon), float(plan.ceiling.delta), tuple(plan.lines(vault.model.vocabulary_size))
    )


def make_synthetic(vault: Vault, message: messages.Make, config: ServeConfig, told: Told) -> messages.Made:
    """Make a corpus, pay for it, and keep its file for the desk.

    Raises:
        DiscreetError: as `Vault.synthesize`.
    """
    folder = config.corpora / message.vault
    for one in (config.corpora.parent, config.corpora, folder):
        one.mkdir(mode=0o700, exist_ok=True)
    corpus = vault.synthesize(
        folder / f"{message.name}.jsonl", _method(message.wanted), only_new=message.wanted.only_new, told=told
    )
    receipt = corpus.receipt
    return messages.Made(
        message.name, len(corpus.texts), len(corpus.kept), float(receipt.epsilon), float(receipt.delta)
    )


def list_corpora(vault: Vault) -> messages.CorporaListed:
    """Return the corpora that the ledger of a vault has payments of."""
    paid = corpora(vault.path, vault.settings)
    return messages.CorporaListed(
        methods=tuple(METHODS),
        paid=tuple(messages.PaidCorpus(one.id, float(one.epsilon), one.time) for one in paid),
        unfinished=(vault.path / SYNTHESIS / "run.jsonl").exists(),
    )


def _method(wanted: messages.CorpusWanted) -> SynthesisAlgorithm:  # type: ignore[type-arg]
    if wanted.method not in METHODS:
        raise UnknownName("method", wanted.method, METHODS)
    return METHODS[wanted.method](epsilon=wanted.epsilon, task=wanted.task.strip())


# --- messages --------------------------------------------------------------------------------------------------------


LONG = {messages.Add: "add", messages.Make: "make"}
BUSY = "The keeper is at long work. This page will be there when it is done: see Progress."


class Custody:
    """Replies to the desk.

    Args:
        config: the server's.
        answering: whose thread holds the vaults.
    """

    def __init__(self, config: ServeConfig, answering: Answering) -> None:
        self._config, self._answering = config, answering
        self._lock = threading.Lock()
        self._progress = messages.Progressed(running=False)

    def reply(self, message: Call[Any]) -> Any:
        """Return the reply; no error leaves but as a message for the custodian."""
        if isinstance(message, messages.Progress):
            return self._progress
        long = LONG.get(type(message))
        with self._lock:
            if self._progress.running:
                return messages.NotDone("busy", BUSY)
            if long is not None:
                self._progress = messages.Progressed(running=True, what=long, step="waiting")
        try:
            return self._answering.work(lambda served: self._do(message, served))
        except DiscreetError as error:
            return messages.NotDone("refused", str(error))
        except BaseException as error:
            return messages.NotDone(
                "internal", f"The keeper failed ({type(error).__name__}). Look at the vault: discreet doctor"
            )
        finally:
            if long is not None:
                self._progress = messages.Progressed(running=False)

    def _told(self, step: str, done: int, of: int) -> None:
        if self._answering.stopping:
            raise UsageError("The server stops. What was done before stays; start the same again to go on.")
        self._progress = messages.Progressed(True, self._progress.what, step, done, of)

    def _do(self, message: Call[Any], served: Mapping[str, Served]) -> Any:
        if isinstance(message, messages.Overview):
            return messages.Overviewed(tuple(_state(one) for one in served.values()))
        assert isinstance(message, messages.OfVault)
        vault = _find(served, message.vault).vault
        if isinstance(message, messages.Inspect):
            seen = _intake(vault, message.upload, message.how, self._config).preview
            return messages.Previewed(seen.summary, seen.describe())
        if isinstance(message, messages.Add):
            return add_upload(vault, message, self._config, self._told)
        if isinstance(message, messages.Make):
            return make_synthetic(vault, message, self._config, self._told)
        return _ACTS[type(message)](vault, message)


_ACTS: dict[type[Any], Callable[[Any, Any], Any]] = {
    messages.Listing: list_entries,
    messages.Bind: lambda vault, message: check_population(message.where, vault.settings),
    messages.Undo: undo,
    messages.Erase: erase,
    messages.Readmit: readmit,
    messages.Remains: lambda vault, message: remains(vault, message.unit),
    messages.ReportPage: lambda vault, _: as_page(gather(vault.path)),
    messages.PlanCorpus: lambda vault, message: plan_corpus(vault, message.wanted),
    messages.Corpora: lambda vault, _: list_corpora(vault),
}


def _find(served: Mapping[str, Served], name: str) -> Served:
    if name not in served:
        raise UsageError(f"There is no vault '{name}' here. Served: {', '.join(sorted(served))}.")
    return served[name]
