"""Vectors of a vault for an external vector database: one for each unit, projected, with noise.

An untrusted party may keep them: the content of the file is a paid release. The guarantee covers the stored vectors.
It does not cover a text that a search puts into a prompt: answers need an algorithm of their own
(docs/privacy-details.md).

VAULT/exports/ID.json      the unit of each row of an export, under a keyed hash: private, like the vault
"""

import json
import os
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.ensemble import check_number
from discreet.errors import BadData, StoreError, UsageError
from discreet.privacy.account import Account, CorpusAccount, UnitAccount
from discreet.privacy.accounting import Budget, Spending, check_affordable, largest
from discreet.privacy.costs import ZeroConcentrated
from discreet.privacy.filter import PrivacyFilter, Receipt
from discreet.privacy.mechanisms.vectors import NoisyVectors
from discreet.privacy.noise import Noise, SystemNoise, Whole, sample
from discreet.privacy.partition import REPLACE_ONE, Member, assign_rows
from discreet.privacy.private import Private
from discreet.store.protocol import Store
from discreet.store.sealed_corpus import unit_key
from discreet.store.vectors import LARGEST
from discreet.system.files import check_output_path, replace_file

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger


FOLDER = "exports"
ROWS, SIZE = 10_000, 64
"""The default number of rows of a file, and of numbers of a row."""
MOST_NUMBERS = 10**9
"""The maximum in a file, which is made in memory, with the noise in whole numbers."""
_FORMAT, _HEADERS = 1, 65_536
"""The format of the file, and the maximum size of its content beside the numbers, in bytes."""
GRAIN = 2**16
"""The whole number that represents 1 in a matrix of whole numbers."""
_UNITY = (LARGEST - 1) * GRAIN
"""The number 1 in a product of whole numbers: the length of a unit's vector times the grain of a matrix."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """The parameters of an export.

    Attributes:
        epsilon, delta: the price, for each unit.
        k: the number of numbers of a projected vector.
        rows: the number of rows of the file: public, regardless of the content of the vault.
    """

    epsilon: float
    delta: float
    k: int = SIZE
    rows: int = ROWS

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        if not 0 < self.delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {self.delta}. Try 1e-6.")
        if self.rows < 1:
            raise UsageError(f"A file of vectors has at least one row, not {self.rows}.")
        if self.rows * max(1, self.k) > MOST_NUMBERS:
            raise UsageError(
                f"A file of vectors holds {MOST_NUMBERS:,} numbers at most. Take fewer rows, or a smaller k."
            )


@dataclass(frozen=True)
class Exported:
    """The result of an export: for the custodian, except for the receipt.

    Attributes:
        receipt: the receipt.
        units: the number of units with a row.
        left_out: the number of units without a row, or unable to pay.
    """

    receipt: Receipt
    units: int
    left_out: int


@dataclass(frozen=True)
class Source:
    """The parts of a vault that an export needs.

    Attributes:
        folder: VAULT/exports.
        store: the documents.
        ledger: the record of payments.
        secret: the key of the units' names in the ledger; empty if all units pay.
        unit: the word for a unit.
        embedder: the name of the embedder, and its dimension.
        noise: the noise of a simulation; the operating system's if None.
    """

    folder: Path
    store: Store
    ledger: "LogLedger"
    secret: bytes
    unit: str
    embedder: tuple[str, int]
    noise: Noise | None = None


def export_vectors(source: Source, out: Path, wanted: Export, *, force: bool = False) -> Exported:
    """Write the vectors to `out`, after every unit has paid.

    Raises:
        UsageError: if `out` exists, is a folder or has no folder, or if a parameter is out of range. Nothing was paid.
        StoreError: if there is no room for it. Nothing was paid.
        BudgetExhausted: if the budget cannot pay. Nothing was paid.
    """
    check_output_path(out, source.folder.parent, force=force)
    name, dimension = source.embedder
    check_size(dimension, wanted.k)
    noise, budget = source.noise or SystemNoise(), source.ledger.budget
    if wanted.delta > budget.delta:
        raise UsageError(
            f"The export's delta, {wanted.delta:g}, is above the vault's, {budget.delta:g}. Give a smaller one or none."
        )
    ceiling = Budget(wanted.epsilon, wanted.delta)
    rho = most_rho(ceiling)

    def most(epsilon: float) -> Spending:
        return Spending.of(ZeroConcentrated(most_rho(Budget(epsilon, wanted.delta))))

    check_affordable(budget, source.ledger.spent(), wanted.epsilon, most)
    matrix = draw_matrix(dimension, wanted.k, noise)
    release = NoisyVectors.calibrated(rho, matrix, wanted.rows, LARGEST, REPLACE_ONE)
    question = uuid.uuid4().hex
    units = _units(source, noise)
    with room_for(out, 4 * (wanted.rows + dimension) * wanted.k) as file:
        vectors, receipt, seated = _released(source, question, ceiling, release, units)
        about = {
            "format": _FORMAT,
            "id": question,
            "embedder": name,
            "receipt": receipt.describe(),
            "sigma": release.sigma * release.reach / _UNITY,
            "meaning": "row = embedding of length one @ matrix + Gaussian noise of standard deviation sigma a number",
        }
        _write(file, vectors / _UNITY, matrix / GRAIN, about)
    return Exported(receipt, seated, len(units) - seated)


def draw_matrix(dimension: int, k: int, noise: Noise) -> Whole:
    """Draw a matrix of independent Gaussian whole numbers of standard deviation `GRAIN`, shape (dimension, k).

    Raises:
        UsageError: if k is not between 1 and the dimension.
    """
    check_size(dimension, k)
    return noise.gaussians(float(GRAIN), dimension * k).reshape(dimension, k)


def check_size(dimension: int, k: int) -> None:
    """Check that vectors of this dimension can be projected to k numbers.

    Raises:
        UsageError: if they cannot.
    """
    if not 1 <= k <= dimension:
        raise UsageError(
            f"Vectors of {dimension} numbers cannot be projected to k = {k} numbers. Expected: k between 1 and "
            f"{dimension}."
        )


def most_rho(ceiling: Budget) -> float:
    """Return the zCDP that fills a budget."""

    def fits(rho: float) -> bool:
        return ceiling.admits(Spending.of(ZeroConcentrated(rho)))

    largest_rho = largest(fits, 1e-9, ceiling.epsilon + 1) * (1 - 1e-9)  # a scale that was rounded must not cost more
    if not fits(largest_rho):
        raise UsageError(f"An epsilon of {ceiling.epsilon:g} at delta {ceiling.delta:g} is too little for any vector.")
    return largest_rho


def unit_vector(vectors: Sequence[Whole]) -> Whole:
    """Return the mean of one unit's vectors, scaled to full length, in whole numbers; it is never longer."""
    total = np.sum(vectors, axis=0, dtype=np.int64).astype(np.float64)
    norm = float(np.linalg.norm(total))
    # Rounded towards zero, and shorter by one: no rounding exceeds the maximum length.
    return np.trunc(total * ((LARGEST - 1) / norm)).astype(np.int64) if norm else np.zeros_like(vectors[0])


@dataclass(frozen=True)
class _Unit:
    """A unit's vector, and the unit's name in VAULT/exports."""

    tag: str
    vector: Whole = field(repr=False)


def _units(source: Source, noise: Noise) -> list[Member[_Unit]]:
    """Return every unit, in random order."""
    vectors: dict[str, list[Whole]] = defaultdict(list)
    for text in source.store.texts():
        vectors[text.unit].append(text.vector)
    return [
        Member(unit_key(unit, source.secret), _Unit(source.store.tag(unit.encode()), unit_vector(vectors[unit])))
        for unit in sample(sorted(vectors), len(vectors), noise)
    ]


def _released(
    source: Source, question: str, ceiling: Budget, release: NoisyVectors, units: Sequence[Member[_Unit]]
) -> tuple[Whole, Receipt, int]:
    """Pay, assign rows, and draw; return the rows, the receipt, and (for the custodian) the number of units with a row.

    Of the units in random order, the first ones that can pay have a row. Without one of them, the next unit has it.
    """
    ledger, noise = source.ledger, source.noise or SystemNoise()
    seated = list[int]()

    def first(count: int) -> Private[Member[_Unit]]:
        return Private(units[:count], REPLACE_ONE)

    def drawn(admitted: Private[Member[_Unit]], privacy: PrivacyFilter) -> Whole:
        def remember(held: dict[int, _Unit]) -> None:
            seated.append(len(held))
            source.folder.mkdir(mode=0o700, exist_ok=True)
            keys = json.dumps({row: unit.tag for row, unit in held.items()})
            replace_file(source.folder / f"{question}.json", keys + "\n")

        paid = privacy.within(privacy.pay(release, REPLACE_ONE))
        seats = assign_rows(admitted, release.rows, noise, remember)
        return paid.release(release, seats.map(lambda held: (held[0], held[1].vector)))

    ledger.begin(question, "export-vectors", None)
    account: Account
    if source.secret:
        account = UnitAccount(ledger, question, ceiling=ceiling, unit=source.unit, noise=source.noise)
    else:
        account = CorpusAccount(ledger, ceiling, question, unit=source.unit, noise=source.noise)
    paying = account.charge_every_unit(Spending.of(release.cost(REPLACE_ONE)))
    vectors = drawn(paying.nearest(first, release.rows), paying.paid)
    account.settle()
    ledger.finish(question, "end")
    return vectors, account.receipt(), seated[0]


@contextmanager
def room_for(out: Path, size: int) -> Iterator[BinaryIO]:
    """Open a file beside `out` with room for `size` bytes and headers; it replaces `out` after success."""
    part, lost = out.with_name(f".{out.name}.{os.getpid()}"), "Nothing was paid"
    try:
        with part.open("w+b") as file:
            file.write(bytes(size + _HEADERS))
            _on_disk(file)
            file.seek(0)
            lost = "They may be paid, and are lost"
            yield file
            file.truncate()
            _on_disk(file)
        os.replace(part, out)
    except OSError as error:
        raise StoreError(
            f"The vectors cannot be written to {out}: {error.strerror}. {lost}: make room, or choose another place, "
            "and export again."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _on_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write(file: BinaryIO, vectors: NDArray[np.float64], matrix: NDArray[np.float64], about: dict[str, Any]) -> None:
    header = np.array(json.dumps(about))
    np.savez(file, vectors=vectors.astype(np.float32), matrix=matrix.astype(np.float32), about=header)


@dataclass(frozen=True, eq=False)
class ExportedVectors:
    """The content of a file of vectors. All of it was released."""

    vectors: NDArray[np.float32]
    matrix: NDArray[np.float32]
    about: dict[str, Any]

    @staticmethod
    def read(path: Path) -> "ExportedVectors":
        """Read a file.

        Raises:
            BadData: if the file is damaged, or is no file of vectors.
        """
        try:
            # Opened here, because numpy leaves the handle of a damaged file open.
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                if about["format"] == _FORMAT:
                    return ExportedVectors(*_fitting(file["vectors"], file["matrix"]), about)
        except Exception as error:
            # Damaged bytes cause a dozen kinds of errors in zipfile, zlib and numpy; no list of them is complete.
            raise BadData(
                f"{path} is no file of vectors that discreet wrote, or a damaged one. Name a file that `discreet "
                "export-vectors` wrote."
            ) from error
        raise BadData(f"{path} has another format. Read it with the version of discreet that wrote it.")

    def nearest(self, embedding: NDArray[np.float32], count: int) -> list[int]:
        """Return the rows nearest to a question's embedding of length one, by inner product, nearest first."""
        scores = self.vectors @ (embedding @ self.matrix)
        return [int(row) for row in np.argsort(-scores, kind="stable")[:count]]


def _fitting(vectors: Any, matrix: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Check the shapes and types that `_write` writes; return both arrays."""
    whole = vectors.ndim == matrix.ndim == 2 and vectors.shape[1] == matrix.shape[1]
    if not (whole and vectors.dtype == matrix.dtype == np.float32):
        raise ValueError("vectors and matrix do not fit")
    return vectors, matrix


def units_of_rows(folder: Path, store: Store, export: str, rows: Sequence[int]) -> list[str | None]:
    """Return the units of rows of an export, for the custodian; None for an empty row, and for an erased unit.

    Raises:
        BadData: if the vault made no such export.
    """
    try:
        keys = dict(json.loads((folder / f"{Path(export).name}.json").read_text()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BadData("This vault made no such export, or no longer knows of it.") from error
    names = {store.tag(text.unit.encode()): text.unit for text in store.texts()}
    return [names.get(keys.get(str(row), "")) for row in rows]
