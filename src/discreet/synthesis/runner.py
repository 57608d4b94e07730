"""The run of a method of synthesis on a vault: plan, read, pay, draw, resume, write.

VAULT/synthesis/run.jsonl       an unfinished run: its documents, and its draws
VAULT/synthesis/keywords.jsonl  the keywords of texts, by the model; removed when a document is erased or replaced
VAULT/synthesis/facts.jsonl     their facts, likewise
VAULT/synthesis/done.json       the documents of finished corpora, under a keyed hash
VAULT/synthesis/lock            held while a corpus is made: two runs at once would draw twice for one payment

All of it is private, like the vault. An interrupted run is resumed: it is paid once, and a kept draw is not drawn
again. Two copies of a vault must not both resume one run, and run.jsonl is never put back from a copy. The ledger notes
a run whose corpus was written, and refuses draws of a copy that was put back then.
"""

import fcntl
import json
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TextIO, TypeVar

from discreet.engines.ray import use_ray
from discreet.errors import BudgetExhausted, StoreError, UsageError
from discreet.models.capabilities import find_assumptions, probe
from discreet.models.prompts import REWRITING
from discreet.models.protocol import ScoringModel
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Spending
from discreet.privacy.filter import PrivacyFilter, Receipt, UnitLedger
from discreet.privacy.noise import Noise
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Private
from discreet.store.documents import StoredText
from discreet.store.embedding import Embedder
from discreet.store.protocol import Store
from discreet.store.public import digest_of
from discreet.store.sealed_corpus import unit_key
from discreet.store.vectors import LARGEST
from discreet.synthesis import base
from discreet.synthesis.aug_pe import AugPE
from discreet.synthesis.base import Fact, Ranked, SynthesisAlgorithm, TextPiece, UnitTexts
from discreet.synthesis.dp_facts import DPFacts
from discreet.synthesis.dp_synrag import BEFORE, DPSynRAG, check_task, ranked_keywords
from discreet.synthesis.dp_synth import DPSynth
from discreet.synthesis.extraction import (
    FACTS,
    KEYWORDS,
    PARSED,
    ExtractionCache,
    found_in,
    open_extraction_cache,
    stated,
)
from discreet.synthesis.readings import Readings
from discreet.system.files import check_output_path, replace_file, replace_files

# --- the draws of an unfinished run -----------------------------------------------------------------------------------

# All of it is private, as the vault is (`discreet.synthesis.runner`).


R = TypeVar("R")
VERSION = 5
"""The format of a checkpoint. A run is resumed only by a version of discreet with the same format."""


class RunCheckpoint:
    """The draws of a run, one a line, each durable before it is used. For several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = Lock()
        self._drawing: dict[str, Lock] = {}
        self._lines: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="ascii", errors="replace").split("\n"):
                try:
                    fields = json.loads(line)
                    self._lines[fields["name"]] = fields["value"]
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # cut off by a crash: it was not used

    @property
    def fresh(self) -> bool:
        """Whether no run has begun."""
        return self._lines.get("begun") is None

    def begun(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the beginning of the run.

        Raises:
            UsageError: if the run has other parameters, or began elsewhere.
            StoreError: if its content is damaged.
        """
        started: dict[str, Any] = self._lines["begun"]
        if not (isinstance(started, dict) and isinstance(started.get("asked"), dict)):
            raise StoreError(
                f"{self._path} is damaged: how the run began cannot be read. Restore it from a copy, or give the run "
                "up by removing it: what was paid stays paid."
            )
        then, now, anyhow = started["asked"], json.loads(json.dumps(asked)), {"machine": ""}
        if then.get("version") != now["version"]:
            raise UsageError(
                "A synthesis was begun in this vault by another version of discreet. Finish it with that one, or give "
                f"it up by removing {self._path}: what was paid stays paid."
            )
        if then | anyhow != now | anyhow:
            raise UsageError(
                "A synthesis with other parameters was interrupted in this vault. Run it again with its own "
                f"parameters, to finish what is paid, or give it up by removing {self._path}: what was paid stays paid."
            )
        if then != now:
            raise UsageError(
                "A synthesis was begun in this vault on another kind of machine, or with another version of torch: the "
                "model says something else here, by rounding if nothing else. Finish it there, or give it up by "
                f"removing {self._path}: what was paid stays paid."
            )
        return started

    def begin(
        self, asked: dict[str, Any], question: str, documents: Sequence[str], steps: dict[str, Any]
    ) -> dict[str, Any]:
        """Record the beginning of a run; remove an earlier one."""
        self._path.unlink(missing_ok=True)
        self._lines = {}
        value = {"asked": asked, "question": question, "documents": sorted(set(documents)), "steps": steps}
        self.put("begun", value)
        return value

    def once(self, name: str, draw: Callable[[], R]) -> R:
        """Return the value that was drawn under this name; draw it now, and keep it durably, if there is none.

        A thread that asks for a name during its draw waits, so the name is not drawn twice. Other names do not wait.
        """
        with self._drawing.setdefault(name, Lock()):
            if name not in self._lines:
                self.put(name, draw())
            result: R = self._lines[name]
        return result

    def put(self, name: str, value: object) -> None:
        """Keep a value durably."""
        line = json.dumps({"name": name, "value": value})
        try:
            # One at a time: a long line is written in pieces.
            with self._writing, self._path.open("a", encoding="utf-8") as file:
                # A line that was cut off ends here.
                file.write("\n" + line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(
                f"The run could not be kept in {self._path}: {error.strerror}. Nothing was released. Make room, and "
                "run the command again: it goes on where it stopped, and is paid once."
            ) from error
        self._lines[name] = value


# --- what units bring -------------------------------------------------------------------------------------------------


_Progress = Callable[[str, int, int], None]
UNIT_TAG = 16
"""Bytes of a unit's name in a run: with 8, two of ten million units would share one with a chance above 1e-6."""
READ = 32
"""How many keywords of a text are kept, at least: for another number, the next corpus need not read the texts again."""


@dataclass(frozen=True)
class UnitReader:
    """The model that reads the texts of units, each text by itself.

    Attributes:
        model: the public model.
        machine: the digest of the kind of machine, which is part of the keys of the extraction cache.
        store: the store, which names the units of a run.
        secret: the key of the units' names in the ledger; empty if all units pay.
        readings: what the model read in the texts before (`discreet code`); None if that is not used.
    """

    model: ScoringModel
    machine: str
    store: Store
    secret: bytes = field(repr=False)
    readings: Readings | None = field(default=None, repr=False)

    def read(
        self,
        texts: Sequence[StoredText],
        parameters: SynthesisAlgorithm[Any],
        files: Mapping[str, TextIO],
        on_progress: _Progress,
    ) -> Private[Member[UnitTexts]]:
        """Return the texts of each unit, sealed, with the keywords and facts that the method asks for."""
        plain = [text.text for text in texts]
        most, _ = parameters.keywords_read or (0, 0)
        keywords = self._read_keywords(plain, parameters, files[KEYWORDS], on_progress)
        facts = self._read_facts(plain, parameters, files[FACTS], on_progress)
        pieces: dict[str, list[TextPiece]] = defaultdict(list)
        tags = {unit: self.store.tag(unit.encode(), UNIT_TAG) for unit in {text.unit for text in texts}}
        for text, words, own_facts in zip(texts, keywords, facts, strict=True):
            pieces[text.unit].append(TextPiece(text.text, text.vector, words, own_facts))
        return Private(
            [
                Member(unit_key(unit, self.secret), UnitTexts(tuple(own), most, tags[unit]))
                for unit, own in sorted(pieces.items())
            ],
            ADD_REMOVE_ONE,
        )

    def assumptions(self, parameters: SynthesisAlgorithm[Any]) -> tuple[str, ...]:
        """Return what the guarantee takes for granted about the model, and about the reading whose facts are taken."""
        own = find_assumptions(self.model)
        if parameters.facts_read is None or self.readings is None:
            return own
        return tuple(dict.fromkeys(own + self.readings.facts_assume(self._way(*parameters.facts_read))))

    def _way(self, tokens: int, text_tokens: int) -> tuple[Any, ...]:
        """Return all that facts depend on beside the text."""
        return self.model.name, self.machine, tokens, text_tokens, PARSED, REWRITING

    def _read_keywords(
        self, texts: Sequence[str], parameters: SynthesisAlgorithm[Any], file: TextIO, on_progress: _Progress
    ) -> list[Ranked]:
        if parameters.keywords_read is None:
            return [()] * len(texts)
        most, text_tokens = parameters.keywords_read
        kept, rank = max(most, READ), parameters.list_keywords or ranked_keywords
        cache = ExtractionCache(
            file,
            (self.model.name, self.machine, kept, text_tokens, BEFORE if rank is ranked_keywords else rank.__name__),
            lambda fresh: rank(self.model, fresh, kept, text_tokens),
        )
        keywords = cache.of(texts, lambda done: on_progress("keywords", done, len(texts)))
        return [tuple((word, float(nats)) for word, nats in ranked[:most]) for ranked in keywords]

    def _read_facts(
        self, texts: Sequence[str], parameters: SynthesisAlgorithm[Any], file: TextIO, on_progress: _Progress
    ) -> list[tuple[Fact, ...]]:
        if parameters.facts_read is None:
            return [()] * len(texts)
        tokens, text_tokens = parameters.facts_read
        about = self._way(tokens, text_tokens)
        # A function of the text, the model and the machine alone: the same facts, read before or now.
        others = self.readings.facts(about) if self.readings else {}
        cache = ExtractionCache(file, about, lambda fresh: stated(self.model, fresh, tokens, text_tokens), others)
        found = cache.of(texts, lambda done: on_progress("facts", done, len(texts)))
        return [found_in(text, facts) for text, facts in zip(texts, found, strict=True)]


# --- the run ----------------------------------------------------------------------------------------------------------


Told = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and its size."""
METHODS: dict[str, type[base.SynthesisAlgorithm[Any]]] = {
    method.name: method for method in (DPSynRAG, DPFacts, DPSynth, AugPE)
}
"""The methods by their names; the first is the default."""


@dataclass(frozen=True)
class Synthetic:
    """A synthetic corpus, with what it cost.

    Attributes:
        texts: all texts, kept or not.
        receipt: the receipt.
        plan: the plan, as plain data.
        documents: the documents of all finished corpora, under a keyed hash: private.
        question: the id of its payments in the ledger.
    """

    texts: tuple[base.SyntheticText, ...]
    receipt: Receipt
    plan: dict[str, object] = field(default_factory=dict)
    documents: tuple[str, ...] = field(default=(), repr=False)
    question: str = field(default="", repr=False)

    @property
    def kept(self) -> list[base.SyntheticText]:
        """The texts of the corpus."""
        return [text for text in self.texts if text.kept]

    def write(self, path: Path) -> None:
        """Write the corpus, one JSON object a line, and its receipt beside it."""
        lines = [json.dumps({"text": t.text} | ({"keyword": t.keyword} if t.keyword else {})) for t in self.kept]
        corpus = "".join(line + "\n" for line in lines)
        about = {"receipt": self.receipt.describe(), "plan": self.plan, "written": len(self.texts), "kept": len(lines)}
        about["sha256"] = digest_of(corpus.encode())
        try:
            replace_files({receipt_path(path): json.dumps(about, indent=1) + "\n", path: corpus})
        except OSError as error:
            raise StoreError(
                f"The corpus could not be written to {path}: {error.strerror}. It is paid and kept in the vault: make "
                "room, and run the command again."
            ) from error


def make_corpus(
    workshop: "SynthesisRunner",
    out: Path,
    parameters: base.SynthesisAlgorithm[Any],
    *,
    only_new: bool,
    force: bool,
    told: Told,
    ray: str | None = None,
) -> Synthetic:
    """Make a corpus and write it to `out`, with its receipt; the model runs on a Ray cluster, if one is named.

    Raises:
        UsageError: if `out` exists or cannot be written: nothing was paid. Or if a task drops every text: the paid
            texts are kept for another task.
        DiscreetError: if there is no such cluster. Nothing was paid.
    """
    check_output_path(out, workshop.folder.parent, force=force)
    check_output_path(receipt_path(out), workshop.folder.parent, force=force)
    with workshop.alone(), use_ray(workshop.model, ray) as model:
        corpus = replace(workshop, model=model)._make(parameters, only_new, told)
        if parameters.task and corpus.texts and not corpus.kept:
            raise UsageError(
                f"With this task none of the {len(corpus.texts)} texts would be in the corpus. They are paid and kept "
                "in the vault: run the command again with another --task, or without one, and nothing is paid again."
            )
        corpus.write(out)
        workshop.finish(corpus)
    return corpus


def receipt_path(path: Path) -> Path:
    """Return the path of the receipt of a corpus."""
    return path.with_name(path.name.removesuffix(".jsonl") + ".receipt.json")


@dataclass
class SynthesisRunner:
    """The parts of a vault that a synthesis needs.

    Attributes:
        folder: VAULT/synthesis.
        store: the documents.
        model: the public model.
        ledger: the record of payments.
        secret: the key of the units' names in the ledger; empty if all units pay.
        unit: the word for a unit.
        embedder: the public embedder of the documents' vectors.
        noise: the noise of a simulation; the operating system's if None.
        planned: called with the plan, before the model reads a document and before a payment.
        readings: what the model read in the texts before; None if that is not used.
    """

    folder: Path
    store: Store
    model: ScoringModel
    ledger: UnitLedger
    secret: bytes
    unit: str
    embedder: Embedder
    noise: Noise | None = None
    planned: Callable[[base.CorpusPlan], None] = lambda _: None
    readings: Readings | None = None
    _held: bool = field(default=False, init=False)

    @cached_property
    def _machine(self) -> str:
        """The digest of the kind of machine on which the model runs.

        The number of texts decides which texts a machine had read when it stopped. If a machine that rounds in another
        way resumed the run, one unit would change the facts of others.
        """
        return probe(self.model)

    def plan(self, parameters: base.SynthesisAlgorithm[Any]) -> base.CorpusPlan:
        """Return the plan of a corpus. Nothing is paid, and only the spending of all units is read.

        Raises:
            UsageError: if the model or the embedder cannot run the method.
            BudgetExhausted: if the price is not left to every unit.
        """
        check_task(self.model, parameters.task)
        parameters.check(base.Public(self.model, self.embedder))
        plan: base.CorpusPlan = parameters.plan(
            self.ledger.budget, self.ledger.spent(), self.embedder.dimension, LARGEST
        )
        return plan

    def make(
        self, parameters: base.SynthesisAlgorithm[Any], *, only_new: bool = False, told: Told = lambda *_: None
    ) -> Synthetic:
        """Make a corpus, and pay for it; or resume one that was interrupted.

        Raises:
            BudgetExhausted: if the price cannot be paid.
            UsageError: if a run with other parameters was interrupted.
            BadData: if the noise would exceed the votes of all units. Nothing was paid.
        """
        with self.alone():
            return self._make(parameters, only_new, told)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from making a corpus of this vault.

        Raises:
            UsageError: if another process makes one.
        """
        if self._held:
            yield
            return
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(
                    "Another process makes a synthetic corpus of this vault. Wait until it is done."
                ) from error
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def _make(self, parameters: base.SynthesisAlgorithm[Any], only_new: bool, told: Told) -> Synthetic:
        journal = RunCheckpoint(self.folder / "run.jsonl")
        with open_extraction_cache(self.folder) as files:
            started, plan, read = self._begun(journal, parameters, only_new)
            self.planned(plan)
            reader = UnitReader(self.model, self._machine, self.store, self.secret, self.readings)
            units = reader.read(read, parameters, files, told)
            assumed = reader.assumptions(parameters)
        receipt, texts = self._paid(parameters, plan, units, journal, started["question"], told)
        documents = set(started["documents"]) | (self._done() if only_new else set())
        receipt = replace(receipt, assumed=assumed)
        about = {"method": parameters.name} | self._steps(plan)
        return Synthetic(tuple(texts), receipt, about, tuple(sorted(documents)), started["question"])

    def _begun(
        self, journal: RunCheckpoint, parameters: base.SynthesisAlgorithm[Any], only_new: bool
    ) -> tuple[dict[str, Any], base.CorpusPlan, list[StoredText]]:
        """Return the beginning of the run, now or before; its plan; and its texts."""
        if journal.fresh:  # what cannot be done is refused before the model computes anything
            plan = self.plan(parameters)
            known = self._done() if only_new else set()
            read = [text for text in self.store.texts() if text.tag not in known]
            plan.check_size(len({text.unit for text in read}), self.model.vocabulary_size)
            request, tags = self._asked(parameters, only_new), [text.tag for text in read]
            return journal.begin(request, uuid.uuid4().hex, tags, self._steps(plan)), plan, read
        started = journal.begun(self._asked(parameters, only_new))
        check_task(self.model, parameters.task)  # which may be another one now
        names = set(started["documents"])
        read = [text for text in self.store.texts() if text.tag in names]
        return started, self._plan_of(parameters, started["steps"]), read

    def _asked(self, parameters: base.SynthesisAlgorithm[Any], only_new: bool) -> dict[str, Any]:
        """Return the description of a run: only a call with the same description resumes it."""
        return {
            "version": VERSION,
            "method": parameters.name,
            # The texts that are dropped at the end do not change the draws.
            "parameters": {name: value for name, value in asdict(parameters).items() if name != "task"},
            "only_new": only_new,
            "model": self.model.name,
            "simulation": self.ledger.simulation,
            "machine": self._machine,
        }

    def _steps(self, plan: base.CorpusPlan) -> dict[str, Any]:
        described: dict[str, Any] = json.loads(json.dumps(plan.describe(self.model.vocabulary_size)))
        return described

    def _plan_of(self, parameters: base.SynthesisAlgorithm[Any], steps: dict[str, Any]) -> base.CorpusPlan:
        """Return the plan of a run that began; its own payments must not count against it."""
        plan: base.CorpusPlan = parameters.plan(
            self.ledger.budget, Spending.nothing(), self.embedder.dimension, LARGEST, rho=float(steps["rho"])
        )
        if self._steps(plan) != steps:
            raise UsageError(
                "A synthesis was begun in this vault by another version of discreet, which shares the price out "
                f"otherwise. Finish it with that one, or give it up by removing {self.folder / 'run.jsonl'}."
            )
        return plan

    def finish(self, made: Synthetic) -> None:
        """Remove the run after its corpus was written, and record its documents. A copy of it draws nothing again."""
        replace_file(self.folder / "done.json", json.dumps({"documents": made.documents}))
        self.ledger.finish_run(made.question)
        (self.folder / "run.jsonl").unlink(missing_ok=True)

    def _paid(
        self,
        parameters: base.SynthesisAlgorithm[Any],
        plan: base.CorpusPlan,
        units: Private[Member[base.UnitTexts]],
        journal: "RunCheckpoint",
        question: str,
        told: Told,
    ) -> tuple[Receipt, list[base.SyntheticText]]:
        assert plan.ceiling is not None

        def run(members: Private[Member[base.UnitTexts]], privacy: PrivacyFilter) -> list[base.SyntheticText]:
            inputs = base.SynthesisInputs(
                plan=plan,
                units=members.map(lambda member: member.value),
                public=base.Public(self.model, self.embedder),
                privacy=privacy,
                checkpoint=journal,
                on_progress=told,
            )
            return parameters.make(inputs)

        if not self.secret:
            shared = PrivacyFilter(self.ledger, plan.ceiling, question, unit=self.unit, noise=self.noise, again=True)
            with self._explained(shared):
                texts = run(units, shared)
            return shared.receipt(), texts
        each = UnitAccount(self.ledger, question, ceiling=plan.ceiling, unit=self.unit, noise=self.noise)
        admitted, privacy = each.admit(units, Spending.of(plan.cost), again=True)
        texts = run(admitted, privacy)
        each.settle()
        return each.receipt(), texts

    @contextmanager
    def _explained(self, shared: PrivacyFilter) -> Iterator[None]:
        """Add the paid epsilon to the error, if a question left too little for the rest meanwhile."""
        try:
            yield
        except BudgetExhausted as error:
            if paid := shared.receipt().epsilon:
                raise BudgetExhausted(
                    f"{error} Epsilon {paid:.4g} of this corpus is paid, and its draws are kept. The rest of the "
                    f"budget cannot finish it. To make another corpus, give it up: remove {self.folder}/run.jsonl.",
                    asked=error.asked,
                    left=error.left,
                ) from error
            raise

    def _done(self) -> set[str]:
        try:
            return set(json.loads((self.folder / "done.json").read_text())["documents"])
        except FileNotFoundError:
            return set()
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(
                f"{self.folder / 'done.json'} is damaged: which documents a corpus was made from is not known. Restore "
                "it from a copy, or make a corpus of all documents, without --only-new."
            ) from error
