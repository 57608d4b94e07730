"""Copies of a vault for attacks, without some units and with planted canaries. The vault itself is only read."""

import contextlib
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from types import FrameType

import numpy as np

from discreet.retrieval.documents import Document, StoredText
from discreet.retrieval.store import Piece
from discreet.vault import Vault

AT_ONCE = 256


@dataclass(frozen=True)
class Stored:
    """A document as stored in a vault.

    Attributes:
        unit: the unit of the document.
        chunks: its chunks, in order.
    """

    unit: str
    chunks: tuple[StoredText, ...] = field(repr=False)

    @property
    def texts(self) -> list[str]:
        """The text of each chunk."""
        return [chunk.text for chunk in self.chunks]


def documents_of(vault: Vault) -> list[Stored]:
    """Return the documents of a vault, in an order that is fixed for it."""
    grouped = groupby(vault.store.texts(), key=lambda chunk: (chunk.unit, chunk.tag))
    return [Stored(unit, tuple(chunks)) for (unit, _), chunks in grouped]


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a temporary folder that only its owner may read.

    It is removed afterwards, also after a signal to terminate.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-attack-") as folder, _ended_in_order():
        yield Path(folder)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Make SIGTERM and SIGHUP (the end of a session) interrupt like Ctrl-C, so that copies are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # Ignored signals stay ignored: nohup ignores SIGHUP.
    heeded = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def copied(vault: Vault, folder: Path, documents: Sequence[Stored], planted: Sequence[Document]) -> Iterator[Vault]:
    """Yield a vault of the same settings in `folder`, with these documents and the planted ones. No unit pays.

    Vectors are copied; only planted documents are embedded.
    """
    with _beside(vault, folder) as copy:
        scale = copy.store.scale
        for start in range(0, len(documents), AT_ONCE):
            with copy.store.batch():
                for number, stored in enumerate(documents[start : start + AT_ONCE], start):
                    pieces = [Piece(c.text, np.asarray(c.vector / scale, np.float32)) for c in stored.chunks]
                    copy.store.put(Document(f"d{number}", stored.unit, "\n".join(stored.texts)), pieces)
        # They get new ids, since a canary in a file may have the id of a document in this copy.
        copy.add_documents(replace(document, id=f"planted {n}") for n, document in enumerate(planted))
        yield copy


def read_again(vault: Vault, copy: Vault, on_progress: Callable[[int, int], None]) -> None:
    """Read the texts of a copy as those of the vault were read. The model reads only planted documents.

    The schema is that of the vault's last complete reading. Each copy names its own texts, so that one that is left
    out of it has no statements there.
    """
    read = vault.components.readings
    read.give(copy.components.readings)
    copy.use_book(read.schema)
    copy.read(on_progress)


@contextmanager
def rewritten(vault: Vault, folder: Path, documents: Sequence[tuple[str, str]], embedder: str = "") -> Iterator[Vault]:
    """Yield a vault of the same settings in `folder`, with other texts: (unit, text), or another embedder."""
    with _beside(vault, folder, embedder) as copy:
        copy.add_documents(Document(f"d{number}", unit, text) for number, (unit, text) in enumerate(documents))
        yield copy


@contextmanager
def _beside(vault: Vault, folder: Path, embedder: str = "") -> Iterator[Vault]:
    settings = vault.settings
    Vault.create(
        folder,
        epsilon=settings.epsilon,
        delta=settings.delta,
        model=settings.model,
        embedder=embedder or settings.embedder,
        payment=settings.payment,
        history=False,
        accept_claims=settings.accept_claims,
    )
    # Loaded once for all copies.
    copy = Vault.open(folder, model=vault.model, embedder=None if embedder else vault.embedder)
    with contextlib.closing(copy.store):
        yield copy
