"""Public context: a corpus that a vault names, so that its public prompt has something to say.

The voters' words are paid for where the public prompt says something else. With a public text about the question it
says the same more often. Which text that is follows from the question and the corpus, so it costs nothing. A corpus is
public if it was paid for (`discreet synthesize`) or may be read by anybody anyway: naming one says so.

VAULT/public.jsonl  a copy of the corpus: what becomes of the file that was named changes nothing
VAULT/public.npz    its vectors and the digest of the copy that they belong to; made anew if they do not fit
"""

import os
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np

from discreet.errors import BadData, StoreError, UsageError
from discreet.retrieval.documents import chunk
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.public import PublicTexts, digest_of, not_a_corpus, texts_of
from discreet.retrieval.store import Store, Vector

MOST_BYTES, MOST_TEXTS = 64 * 2**20, 20_000
_COPY, _VECTORS = "public.jsonl", "public.npz"
# So many texts are looked up among the vault's own.
_LOOKED_UP = 50


class PublicContext:
    """The public corpus of a vault, if it has named one."""

    def __init__(self, folder: Path, embedder: Embedder, store: Store | None = None) -> None:
        self._folder, self._embedder, self._store = folder, embedder, store
        self._texts: PublicTexts | None = None
        self._read: tuple[int, ...] | None = None

    @property
    def texts(self) -> PublicTexts | None:
        """The corpus; None if there is none. Read again only if another one was named, or none, by any process.

        Raises:
            BadData: the vault's copy is damaged. Nothing was paid.
        """
        there = self._there()
        if self._read != there:
            self._texts = self._load()
            self._read = there
        return self._texts

    def use(self, corpus: str | Path, *, force: bool = False) -> PublicTexts:
        """Name a corpus, in place of the one before: it is copied into the vault. Returns it.

        Args:
            corpus: a JSONL file with a "text" on every line, of which the user says that it is public.
            force: whether it may hold documents of the vault, word for word, since they are public all the same. If
                not, fifty texts are looked up, so one that is accepted may hold some.

        Raises:
            BadData: it is no corpus, holds no texts, is too large, or holds documents. The one before stays.
            StoreError: the copy cannot be written. The one before stays.
        """
        path = Path(corpus)
        content = _content(path)
        pieces = _pieces(content, path)
        if len(pieces) > MOST_TEXTS:
            raise BadData(f"{path} holds {len(pieces):,} texts; a vault's public corpus has at most {MOST_TEXTS:,}.")
        found = PublicTexts(pieces, self._embedder, digest_of(content))
        if self._store is not None and not force:
            _refuse_documents(found, self._store, path)
        packed = BytesIO()
        np.savez(packed, vectors=found.vectors, digest=np.array(found.digest))
        # The copy last: vectors that do not belong to it are made anew, a copy that is there as a whole is never wrong.
        self._write(_VECTORS, packed.getvalue())
        self._write(_COPY, content)
        self._texts, self._read = found, self._there()
        return found

    def remove(self) -> bool:
        """Name no corpus any more; whether there was one.

        Raises:
            StoreError: the copy cannot be removed.
        """
        copy = self._folder / _COPY
        there = copy.exists()
        try:
            copy.unlink(missing_ok=True)
            (self._folder / _VECTORS).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{copy} cannot be removed: {error.strerror}.") from error
        self._texts, self._read = None, self._there()
        return there

    def _there(self) -> tuple[int, ...]:
        """What tells one copy from another; empty if there is none."""
        try:
            about = (self._folder / _COPY).stat()
        except OSError:
            return ()
        return about.st_mtime_ns, about.st_ino, about.st_size

    def _load(self) -> PublicTexts | None:
        copy = self._folder / _COPY
        try:
            content = copy.read_bytes()
            pieces = _pieces(content, copy)
        except FileNotFoundError:
            return None
        except (OSError, BadData) as error:
            raise BadData(
                f"The vault's copy of its public corpus, {copy}, is damaged. Name the corpus again, or none: discreet "
                f"public {self._folder} CORPUS.jsonl, or --remove. Or ask without it: --no-public."
            ) from error
        digest = digest_of(content)
        return PublicTexts(pieces, self._embedder, digest, self._vectors(digest, len(pieces)))

    def _vectors(self, digest: str, count: int) -> Vector | None:
        """The vectors of the copy; None if there are none that belong to it."""
        try:
            # Opened here: of a damaged file numpy leaves the handle open.
            with (self._folder / _VECTORS).open("rb") as file, np.load(file, allow_pickle=False) as packed:
                vectors: Vector = packed["vectors"]
                belong = str(packed["digest"]) == digest
        except Exception:
            # Damaged in any way, they are made anew; of what kind the error is depends on zipfile, zlib and numpy.
            return None
        fits = vectors.shape == (count, self._embedder.dimension) and vectors.dtype == np.float32
        return vectors if belong and fits else None

    def _write(self, name: str, content: bytes) -> None:
        """Write a file of the vault, whole or not at all."""
        made = ""
        try:
            with tempfile.NamedTemporaryFile(dir=self._folder, prefix=f".{name}-", delete=False) as file:
                made = file.name
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, self._folder / name)
        except OSError as error:
            if made:
                Path(made).unlink(missing_ok=True)
            raise StoreError(
                f"The corpus could not be copied into {self._folder}: {error.strerror}. What was named before stays."
            ) from error


def _refuse_documents(texts: PublicTexts, store: Store, path: Path) -> None:
    some = texts.some(_LOOKED_UP)
    held = sum(any(near.text == text for near in store.nearest_units(vector, 1)) for text, vector in some)
    if held:
        raise BadData(
            f"Of {len(some)} texts of {path} that were looked up, {held} are documents of this vault, word for word. "
            "What is named may be told to anybody, and is remembered in answers even when another is named. Nothing "
            "was named. If they are public all the same: --force (in Python: force=True)."
        )


def _pieces(content: bytes, path: Path) -> list[str]:
    """The texts, long ones cut as documents are: the public prompt has room for no more than a voter's."""
    pieces = [piece for text in texts_of(content, path) for piece in chunk(text)]
    if not pieces:
        raise BadData(f"{path} holds no texts but empty ones. There is nothing that they could tell.")
    return pieces


def _content(path: Path) -> bytes:
    """What is in a file that may be named."""
    try:
        if not path.is_file():
            raise UsageError(f"There is no file at {path}. Name a corpus, as `discreet synthesize` writes it.")
        if path.stat().st_size > MOST_BYTES:
            raise BadData(f"{path} is larger than {MOST_BYTES // 2**20} MiB, the most for a vault's public corpus.")
        return path.read_bytes()
    except OSError as error:
        raise not_a_corpus(path, error) from error
