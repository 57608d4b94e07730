"""The messages between the desk and the keeper. Private values may cross here: this socket is the custodian's."""

from dataclasses import dataclass, field
from typing import Any

PAGE = 50
"""So many entries a page of a list has."""


@dataclass(frozen=True)
class HowRead:
    """How the files of an upload become documents; the fields are those of `vault.ingestion.How`.

    Attributes:
        text_field: the field with the text.
        unit_field: the field that names the unit; the vault's if empty.
        id_field: the field with a document's id.
        unit_from: a pattern over the paths of files, such as "{unit}/**".
        manifest: whether the upload has a manifest, which names the unit of each file.
        each_file: whether a file that names no unit is a unit of its own.
        each_record: whether a record that names no unit is a unit of its own.
    """

    text_field: str = "text"
    unit_field: str = ""
    id_field: str = "id"
    unit_from: str = ""
    manifest: bool = False
    each_file: bool = False
    each_record: bool = False


@dataclass(frozen=True)
class CorpusWanted:
    """A synthetic corpus that is planned or made.

    Attributes:
        method: the name of a method of `synthesis.runner`.
        epsilon: its price.
        task: what it is for; no text is dropped if empty.
        only_new: whether it is made from documents alone that the last one was not made from.
    """

    method: str
    epsilon: float
    task: str = ""
    only_new: bool = False


@dataclass(frozen=True)
class Overview:
    """A request for the state of all vaults."""


@dataclass(frozen=True)
class Listing:
    """A request for a page of a list.

    Attributes:
        vault: the name of the vault.
        what: "documents", "units" or "batches".
        skip: how many entries are left out at the beginning.
        unit: of documents, those of this unit alone; all if empty.
    """

    vault: str
    what: str
    skip: int = 0
    unit: str = ""


@dataclass(frozen=True)
class Preview:
    """A request for what would be added of an upload."""

    vault: str
    upload: str
    how: HowRead


@dataclass(frozen=True)
class Add:
    """A request to add an upload. The reply comes when it is done."""

    vault: str
    upload: str
    how: HowRead


@dataclass(frozen=True)
class Undo:
    """A request to erase what a batch brought; `anyway` if earlier texts may be gone with it."""

    vault: str
    batch: int
    anyway: bool = False


@dataclass(frozen=True)
class Erase:
    """A request to erase a unit; `anyway` to keep it out though it has no document."""

    vault: str
    unit: str
    anyway: bool = False


@dataclass(frozen=True)
class Readmit:
    """A request to let an erased unit come back."""

    vault: str
    unit: str


@dataclass(frozen=True)
class Remains:
    """A request for what is left of a unit."""

    vault: str
    unit: str


@dataclass(frozen=True)
class Paper:
    """A request for the report for the person who signs."""

    vault: str


@dataclass(frozen=True)
class Plan:
    """A request for what a synthetic corpus would cost."""

    vault: str
    wanted: CorpusWanted


@dataclass(frozen=True)
class Make:
    """A request to make a synthetic corpus, and to pay for it. The reply comes when it is done."""

    vault: str
    wanted: CorpusWanted
    name: str


@dataclass(frozen=True)
class Corpora:
    """A request for the synthetic corpora of a vault."""

    vault: str


@dataclass(frozen=True)
class Progress:
    """A request for how far the long work is."""


@dataclass(frozen=True)
class Level:
    """How many units have between `low` and `high` of epsilon left."""

    low: float
    high: float
    units: int


@dataclass(frozen=True)
class GrantCard:
    """The grant of a vault, as the accounts need it: `privacy.accounting.Budget`, and a usual charge.

    Attributes:
        epsilon, delta, failures, order, accountant: the grant.
        loss_nano, failure_atto: the charge of a usual question; none if the grant is too small for one.
        paid: whether the ledger has questions.
    """

    epsilon: float
    delta: float
    failures: float
    order: float
    accountant: str
    loss_nano: tuple[int, ...]
    failure_atto: int
    paid: bool


@dataclass(frozen=True)
class VaultState:
    """A vault, for its custodian.

    Attributes:
        name, unit, payment: as in the wire's VaultCard.
        grant: what was granted.
        spent: what every unit paid.
        odometer: what all questions may have cost any one unit at most.
        more: about how many default questions fit; None if that cannot be told.
        price: what a default question costs a unit at most.
        levels: how many units have how much left.
        documents, units: how many there are.
        questions: how many questions the ledger has.
    """

    name: str
    unit: str
    payment: str
    grant: GrantCard
    spent: float
    odometer: float | None
    more: int | None
    price: float
    levels: tuple[Level, ...]
    documents: int
    units: int
    questions: int


@dataclass(frozen=True)
class Overviewed:
    """The state of all vaults, and the names of the methods of making corpora."""

    vaults: tuple[VaultState, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """A page of a list: entries as plain data, and whether there are more."""

    rows: tuple[dict[str, Any], ...]
    more: bool


@dataclass(frozen=True)
class Previewed:
    """What would be added: `reading.preview.Preview.describe()`, and its summary."""

    summary: str
    preview: dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """A record, or a part of a file, that was not added: where it was, and why."""

    where: str
    reason: str


@dataclass(frozen=True)
class Added:
    """What was added; the fields are those of `vault.ingestion.Added`."""

    added: int
    replaced: int
    unchanged: int
    own_unit: int
    repeated: int
    buried: int
    batch: int
    bad: tuple[Refusal, ...]
    in_part: tuple[Refusal, ...]


@dataclass(frozen=True)
class Undone:
    """How many documents of a batch were erased."""

    documents: int


@dataclass(frozen=True)
class Remained:
    """What is left of a unit.

    Attributes:
        documents: how many documents were erased now.
        tag: a keyed hash of the unit's name, for the audit log.
        report: `operations.erasure.ErasureReport.describe()`.
    """

    documents: int
    tag: str
    report: dict[str, Any]


@dataclass(frozen=True)
class Reported:
    """The report for the person who signs: a page of HTML."""

    page: str = field(repr=False)


@dataclass(frozen=True)
class Planned:
    """What a corpus would cost, and what would run, in lines for a person."""

    epsilon: float
    delta: float
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """A corpus that was made."""

    name: str
    texts: int
    kept: int
    epsilon: float
    delta: float


@dataclass(frozen=True)
class CorpusFile:
    """A corpus that the desk can hand out."""

    name: str
    bytes: int
    time: float


@dataclass(frozen=True)
class PaidCorpus:
    """A corpus that the ledger has payments of."""

    id: str
    epsilon: float
    time: str


@dataclass(frozen=True)
class CorporaListed:
    """The corpora of a vault; `unfinished` if one was interrupted."""

    files: tuple[CorpusFile, ...]
    paid: tuple[PaidCorpus, ...]
    unfinished: bool


@dataclass(frozen=True)
class Progressed:
    """How far the long work is.

    Attributes:
        running: whether there is any.
        what: "add" or "make"; "" if there is none.
        step: what it does.
        done: how much of it is done.
        of: of how much; 0 if that is not known.
    """

    running: bool
    what: str = ""
    step: str = ""
    done: int = 0
    of: int = 0


@dataclass(frozen=True)
class Failed:
    """A refusal.

    Attributes:
        code: "refused" (the message says why), "busy" (long work runs), or "internal".
        message: for the custodian.
    """

    code: str
    message: str


Asked = Overview | Listing | Preview | Add | Undo | Erase | Readmit | Remains | Paper | Plan | Make | Corpora | Progress
Replied = (
    Overviewed
    | Listed
    | Previewed
    | Added
    | Undone
    | Remained
    | Reported
    | Planned
    | Made
    | CorporaListed
    | Progressed
    | Failed
)
