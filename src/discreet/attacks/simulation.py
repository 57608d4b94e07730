"""A copy of a vault to be attacked: with people left out, and canaries planted. The vault itself is only read."""

import contextlib
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
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
    """A document as a vault has it.

    Attributes:
        unit: whose it is.
        chunks: its pieces, in order.
    """

    unit: str
    chunks: tuple[StoredText, ...] = field(repr=False)

    @property
    def texts(self) -> list[str]:
        """The text of each piece."""
        return [chunk.text for chunk in self.chunks]


def documents_of(vault: Vault) -> list[Stored]:
    """The documents of a vault, in an order that is fixed for it."""
    grouped = groupby(vault.store.texts(), key=lambda chunk: (chunk.unit, chunk.tag))
    return [Stored(unit, tuple(chunks)) for (unit, _), chunks in grouped]


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder that its owner alone may read; gone afterwards, also if the program is told to end."""
    with tempfile.TemporaryDirectory(prefix="discreet-attack-") as folder, _ended_in_order():
        yield Path(folder)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP (a session that is closed) interrupt like Ctrl-C, so that copies are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # What is ignored stays so: nohup ignores SIGHUP.
    heeded = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def copied(vault: Vault, folder: Path, documents: Sequence[Stored], planted: Sequence[Document]) -> Iterator[Vault]:
    """A vault of the same settings in `folder`, with these documents and those planted. It pays for nothing.

    Vectors are taken over as they are; only what is planted is embedded.
    """
    with _beside(vault, folder) as copy:
        scale = copy.store.scale
        for start in range(0, len(documents), AT_ONCE):
            with copy.store.batch():
                for number, stored in enumerate(documents[start : start + AT_ONCE], start):
                    pieces = [Piece(c.text, np.asarray(c.vector / scale, np.float32)) for c in stored.chunks]
                    copy.store.put(Document(f"d{number}", stored.unit, "\n".join(stored.texts)), pieces)
        # Under names of their own: that of a canary in a file may be that of somebody's document here.
        copy.add_documents(replace(document, id=f"planted {n}") for n, document in enumerate(planted))
        yield copy


@contextmanager
def rewritten(vault: Vault, folder: Path, documents: Sequence[tuple[str, str]]) -> Iterator[Vault]:
    """A vault of the same settings in `folder`, with other texts: (unit, text)."""
    with _beside(vault, folder) as copy:
        copy.add_documents(Document(f"d{number}", unit, text) for number, (unit, text) in enumerate(documents))
        yield copy


@contextmanager
def _beside(vault: Vault, folder: Path) -> Iterator[Vault]:
    settings = vault.settings
    Vault.create(
        folder,
        epsilon=settings.epsilon,
        delta=settings.delta,
        model=settings.model,
        embedder=settings.embedder,
        payment=settings.payment,
        history=False,
        accept_claims=settings.accept_claims,
    )
    copy = Vault.open(folder, model=vault.model, embedder=vault.embedder)  # loaded once for all copies
    with contextlib.closing(copy.store):
        yield copy
