"""The schema between the desk and the keeper. Private values may cross here: this socket is the custodian's."""

from typing import Annotated, Any

from pydantic import Field

from discreet.privacy.accounting import Budget
from discreet_server.wire import Call, Id, Message, Population, T, UnitCharge, Value, Whole, Wire, one_of

PAGE = 50
"""So many entries a page of a list has."""
FILES, MANIFEST = "files", "manifest"
"""In the folder of an upload: the folder of its files, and that of the manifest."""
Many = Annotated[tuple[T, ...], Field(max_length=1_000_000)]
FileName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Plain = Annotated[dict[str, Any], Field(max_length=1_000_000)]
"""Plain data of a `describe()`."""


class HowRead(Message):
    """How the files of an upload become documents; the fields are those of `vault.documents.How`.

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


class CorpusWanted(Message):
    """A synthetic corpus that is planned or made.

    Attributes:
        method: the name of a method of `synthesis.runner`.
        epsilon: its price.
        task: what it is for; no text is dropped if empty.
        only_new: whether it is made from documents alone that the last one was not made from.
    """

    method: str
    epsilon: Value
    task: str = ""
    only_new: bool = False


class BalanceLevel(Message):
    """How many units have between `low` and `high` of epsilon left."""

    low: Value
    high: Value
    units: Whole


class VaultState(Message):
    """A vault, for its custodian.

    Attributes:
        name, unit, payment: as in the wire's VaultCard.
        grant: what was granted.
        usual: what a usual question costs; None if the grant is too small for one.
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
    grant: Budget
    usual: UnitCharge | None
    spent: Value
    odometer: Value | None
    more: Whole | None
    price: Value
    levels: Many[BalanceLevel]
    documents: Whole
    units: Whole
    questions: Whole


class Overviewed(Message):
    """The state of all vaults."""

    vaults: Many[VaultState]


class Listed(Message):
    """A page of a list: entries as plain data, and whether there are more."""

    rows: Many[Plain]
    more: bool


class Previewed(Message):
    """What would be added: `files.intake.Preview.describe()`, and its summary."""

    summary: str
    preview: Plain


class LeftOut(Message):
    """A record, or a part of a file, that was not added: where it was, and why."""

    where: str
    reason: str


class UploadAdded(Message):
    """What was added: fields of `vault.documents.Added`."""

    added: Whole
    replaced: Whole
    unchanged: Whole
    batch: Whole
    bad: Many[LeftOut]
    in_part: Many[LeftOut]


class Remained(Message):
    """What is left of a unit.

    Attributes:
        documents: how many documents were erased now.
        tag: a keyed hash of the unit's name, for the audit log.
        report: `operations.erasure.ErasureReport.describe()`.
    """

    documents: Whole
    tag: str
    report: Plain


class Planned(Message):
    """What a corpus would cost, and what would run, in lines for a person."""

    epsilon: Value
    delta: Value
    lines: Many[str]


class Made(Message):
    """A corpus that was made."""

    name: str
    texts: Whole
    kept: Whole
    epsilon: Value
    delta: Value


class PaidCorpus(Message):
    """A corpus that the ledger has payments of."""

    id: str
    epsilon: Value
    time: str


class CorporaListed(Message):
    """What a vault paid for; `unfinished` if a corpus was interrupted; and the names of the methods of making one."""

    methods: Many[str]
    paid: Many[PaidCorpus]
    unfinished: bool


class Progressed(Message):
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
    done: Whole = 0
    of: Whole = 0


class NotDone(Message):
    """A refusal.

    Attributes:
        code: "refused" (the message says why), "busy" (long work runs), or "internal".
        message: for the custodian.
    """

    code: str
    message: str


class OfVault(Call[T]):
    """A message about one vault.

    Attributes:
        vault: its name.
    """

    vault: str


class Overview(Call[Overviewed]):
    """A request for the state of all vaults."""


class Listing(OfVault[Listed]):
    """A request for a page of a list.

    Attributes:
        what: of what.
        skip: how many entries are left out at the beginning.
    """

    what: Annotated[str, Field(pattern=one_of("documents", "units", "batches"))]
    skip: Whole = 0


class Bind(OfVault[str]):
    """A request to look whether a key can be bound to a population. Replied: the population in words.

    Attributes:
        where: tests of declared fields.
    """

    where: Population


class OfUpload(OfVault[T]):
    """A message about an upload for a vault."""

    upload: Id
    how: HowRead


class Inspect(OfUpload[Previewed]):
    """A request for what would be added of an upload."""


class Add(OfUpload[UploadAdded]):
    """A request to add an upload. The reply comes when it is done."""


class Undo(OfVault[int]):
    """A request to erase what a batch brought; `anyway` if earlier texts may be gone with it. Replied: how many are."""

    batch: Whole
    anyway: bool = False


class OfUnit(OfVault[Remained]):
    """A message about a unit of a vault."""

    unit: str


class Remains(OfUnit):
    """A request for what is left of a unit."""


class Erase(OfUnit):
    """A request to erase a unit; `anyway` to keep it out though it has no document."""

    anyway: bool = False


class Readmit(OfUnit):
    """A request to let an erased unit come back."""


class ReportPage(OfVault[str]):
    """A request for the report for the person who signs. Replied: a page of HTML."""


class PlanCorpus(OfVault[Planned]):
    """A request for what a synthetic corpus would cost."""

    wanted: CorpusWanted


class Make(OfVault[Made]):
    """A request to make a synthetic corpus, and to pay for it. The reply comes when it is done."""

    wanted: CorpusWanted
    name: FileName


class Corpora(OfVault[CorporaListed]):
    """A request for the synthetic corpora of a vault."""


class Progress(Call[Progressed]):
    """A request for how far the long work is."""


LOOKS = (Overview, Listing, Bind, Inspect, Remains, ReportPage, PlanCorpus, Corpora, Progress)
ACTS = (Add, Undo, Erase, Readmit, Make)
CUSTODY = Wire(
    (*LOOKS, *ACTS),
    NotDone,
    most_asked=64 * 1024 * 1024,
    most_replied=64 * 1024 * 1024,  # a report lists up to a thousand questions, a preview every record that is refused
)
