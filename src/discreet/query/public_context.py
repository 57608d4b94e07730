"""The public context: a public corpus that a vault names as knowledge for its public prompt.

The voters' words are charged if the public prompt disagrees with them. With a public text about the question it agrees
more often. The choice of the text depends on the question and the corpus alone, so it is free. A corpus is public if it
was paid for (`discreet synthesize`), or if all may read it. The custodian declares this by naming it.

VAULT/public.jsonl  a copy of the corpus; later changes of the named file have no effect
VAULT/public.npz    its vectors and the digest of their copy; computed again if the digests differ
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from discreet.algorithms.base import Algorithm, Input
from discreet.baselines import RAG
from discreet.errors import BadData, StoreError, UsageError
from discreet.models.protocol import VotingModel
from discreet.query.answer_cache import Released
from discreet.store.documents import chunk
from discreet.store.embedding import Embedder
from discreet.store.protocol import Store, Vector
from discreet.store.public import PublicTexts, digest_of, not_a_corpus, texts_of
from discreet.synthesis.extraction import facts_of
from discreet.system.files import replace_file
from discreet.system.words import quoted

MOST_BYTES, MOST_TEXTS = 64 * 2**20, 20_000
_COPY, _VECTORS = "public.jsonl", "public.npz"
# The number of texts that are compared with the documents of the vault.
_LOOKED_UP = 50


class PublicContext:
    """The public corpus of a vault, if it has one."""

    def __init__(self, folder: Path, embedder: Embedder, store: Store | None = None) -> None:
        self._folder, self._embedder, self._store = folder, embedder, store
        self._texts: PublicTexts | None = None
        self._read: tuple[int, ...] | None = None

    @property
    def texts(self) -> PublicTexts | None:
        """The corpus; None if there is none. It is read again only after a process has named or removed a corpus.

        Raises:
            BadData: if the vault's copy is damaged. Nothing was paid.
        """
        there = self._there()
        if self._read != there:
            self._texts = self._load()
            self._read = there
        return self._texts

    def use(self, corpus: str | Path, *, force: bool = False) -> PublicTexts:
        """Name a corpus, in place of the earlier one. Copy it into the vault, and return it.

        Args:
            corpus: a JSONL file with a "text" on every line. The user declares that it is public.
            force: whether it may hold documents of the vault, word for word, because they are public. Without it, fifty
                texts are compared, so that an accepted corpus may hold some documents.

        Raises:
            BadData: if it is no corpus, holds no texts, is too large, or holds documents. The earlier one stays.
            StoreError: if the copy cannot be written. The earlier one stays.
        """
        path = Path(corpus)
        content = _content(path)
        pieces = _pieces(content, path)
        if len(pieces) > MOST_TEXTS:
            raise BadData(f"{path} holds {len(pieces):,} texts; a vault's public corpus has at most {MOST_TEXTS:,}.")
        texts = PublicTexts(pieces, self._embedder, digest_of(content))
        if self._store is not None and not force:
            _refuse_documents(texts, self._store, path)
        packed = BytesIO()
        np.savez(packed, vectors=texts.vectors, digest=np.array(texts.digest))
        # The copy is written last: vectors of another copy are computed again, and a whole copy is always valid.
        try:
            replace_file(self._folder / _VECTORS, packed.getvalue())
            replace_file(self._folder / _COPY, content)
        except OSError as error:
            raise StoreError(
                f"The corpus could not be copied into {self._folder}: {error.strerror}. The earlier corpus stays."
            ) from error
        self._texts, self._read = texts, self._there()
        return texts

    def remove(self) -> bool:
        """Remove the public corpus; return whether there was one.

        Raises:
            StoreError: if the copy cannot be removed.
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
        """Return the time, the inode and the size of the copy; empty if there is none."""
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
                f"public {quoted(self._folder)} CORPUS.jsonl, or --remove. Or ask without it: --no-public."
            ) from error
        digest = digest_of(content)
        return PublicTexts(pieces, self._embedder, digest, self._vectors(digest, len(pieces)))

    def _vectors(self, digest: str, count: int) -> Vector | None:
        """Return the vectors of the copy; None if they are missing, damaged, or of another copy."""
        try:
            # The file is opened here, since numpy does not close a damaged file.
            with (self._folder / _VECTORS).open("rb") as file, np.load(file, allow_pickle=False) as packed:
                vectors: Vector = packed["vectors"]
                belong = str(packed["digest"]) == digest
        except Exception:
            # Damaged vectors are computed again. The type of the error depends on zipfile, zlib and numpy.
            return None
        fits = vectors.shape == (count, self._embedder.dimension) and vectors.dtype == np.float32
        return vectors if belong and fits else None


def _refuse_documents(texts: PublicTexts, store: Store, path: Path) -> None:
    some = texts.some(_LOOKED_UP)
    held = sum(any(near.text == text for near in store.nearest_units(vector, 1)) for text, vector in some)
    if held:
        raise BadData(
            f"Of {len(some)} texts of {path} that were compared, {held} are documents of this vault, word for word. "
            "The texts of a public corpus may be released to any analyst. Answers keep them after another corpus is "
            "named. The corpus was not named. If these documents are public: --force (in Python: force=True)."
        )


def _pieces(content: bytes, path: Path) -> list[str]:
    """Return the texts, cut into chunks like documents: the public prompt has the room of a voter's prompt."""
    pieces = [piece for text in texts_of(content, path) for piece in chunk(text)]
    if not pieces:
        raise BadData(f"{path} holds only empty texts. Name a corpus with texts.")
    return pieces


def _content(path: Path) -> bytes:
    """Return the content of a file, if it is no larger than a public corpus may be."""
    try:
        if not path.is_file():
            raise UsageError(f"There is no file at {path}. Name a corpus, as `discreet synthesize` writes it.")
        if path.stat().st_size > MOST_BYTES:
            raise BadData(f"{path} is larger than {MOST_BYTES // 2**20} MiB, the most for a vault's public corpus.")
        return path.read_bytes()
    except OSError as error:
        raise not_a_corpus(path, error) from error


# --- proposals --------------------------------------------------------------------------------------------------------
# Public answers that a question starts with: the corpus proposes, and the voters dispose (privacy-spec, part 10.5).
#
# Sources are a public corpus, as the public model reads it and as it states facts, and what earlier questions released.
# All of them are public before a document is read, so proposals cost nothing. What the public model says without a text
# is no proposal: it is shown for nothing if no answer is released, and voters whose documents do not help say it, too.

READ = 3
"""The number of texts of a corpus from which answers are proposed."""


def check_hears(algorithm: Algorithm) -> None:
    """Check that an algorithm hears proposed answers.

    Raises:
        UsageError: if it does not, with its parameters.
    """
    if Input.PROPOSALS not in algorithm.spec.inputs:
        raise UsageError(
            f"{algorithm.name} hears no proposed answers with these parameters. Use murag-ada, or consensus with "
            "the leader and at most 40 voters, and no choices."
        )


def propose(
    question: str,
    texts: PublicTexts,
    before: Sequence[Released],
    algorithm: Algorithm,
    model: VotingModel,
) -> tuple[str, ...]:
    """Return answers that a public corpus and released answers propose, the likeliest ones first.

    Args:
        question: the question.
        texts: the public corpus. The texts that are nearest to the question are read, each by itself.
        before: released answers to related questions.
        algorithm: the algorithm that the voters use; its limit of tokens and its prefix hold here, too.
        model: the public model.
    """
    reader = RAG(max_tokens=getattr(algorithm, "max_tokens", RAG.max_tokens), prefix=getattr(algorithm, "prefix", ""))
    near = texts.unsealed_passages(question, READ)
    read = reader.read_all([(question, [passage]) for passage in near], model)
    stated = [value for passage in near for _, value in facts_of(passage.text)]
    return (*(answer.text for answer in read), *stated, *(value for one in before for value in one.released))
