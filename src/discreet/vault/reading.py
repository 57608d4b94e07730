"""The part of a vault that reads its texts once: codes by a coder, statements by the model; and proposes a codebook."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from discreet.algorithms.text.attributes import check_distinct
from discreet.engines.ray import RayEmbedder
from discreet.errors import BadData, StoreError, UsageError
from discreet.models.capabilities import require_scores
from discreet.planning.prices import is_empty
from discreet.store.codebook import FILE, Codebook, find_book
from discreet.store.embedding import Embedder, Told, Vectors, open_embedder
from discreet.store.protocol import Store
from discreet.store.public import not_a_corpus, texts_of
from discreet.store.unit_records import owned_texts
from discreet.synthesis.embedder_coder import EMBEDDER_CODER, EmbedderCoder
from discreet.synthesis.readings import Coder, Readings, by_coder, by_model, check_reader, read_all
from discreet.synthesis.statements import propose_schema
from discreet.system.databases import taking_turns, wait_for_answers
from discreet.system.files import replace_file
from discreet.system.progress import by_steps
from discreet.system.words import quoted
from discreet.vault.components import VaultComponents, VaultParts, book_of

CODER = "minilm"
"""The embedder of the usual coder: the packaged one, also where the vault has another."""
RESTORED = "restored.json"
"""The file of a vault that was restored from a backup (`operations.backup`)."""
_WORST = ("not declared", "declared")
"""How a codebook may have been changed; the first of these that was ever said stays."""


def settle_book(
    parts: VaultComponents, given: Codebook | None, *, drop: bool, declared: bool | None
) -> Codebook | None:
    """Keep the codebook that is given, or drop the vault's; return the one that counts from now on.

    Args:
        parts: the parts of the vault.
        given: the codebook; the vault's own if None.
        drop: whether the vault has none from now on.
        declared: whether the custodian declares that a changed book was made without a look at the records.

    Raises:
        BadData: if a question could not tell two attributes of the given one apart, or if the vault's is damaged.
        UsageError: if the book changes after records were coded and nothing is declared, or if it has the name of a
            declared field.
        StoreError: if it cannot be written.
    """
    path = parts.path / FILE
    if given is not None:
        check_distinct(given)
        if twice := sorted(given.fields.keys() & parts.settings.fields.keys()):
            raise UsageError(
                f"The vault has a declared field '{twice[0]}', and the codebook a code of this name. Give the code "
                "another name."
            )
        before = book_of(parts.path)
        # A backup lacks the codes, so a restored vault may have been coded.
        read = parts.codes.complete or parts.readings.complete or (parts.path / RESTORED).exists()
        marks = {one.changed for one in (before, parts.codes.schema, parts.readings.schema, given) if one}
        if (before is not None and read and before.digest != given.digest) or _is_other(parts, given):
            if declared is None:
                raise UsageError(
                    "The codebook changes after records were coded. A book that follows from records may tell of them, "
                    "so say on each receipt how it was changed: --made-without-records if no one who changed it looked "
                    "at records or at `codebook check`, else --made-with-records. Nothing was changed."
                )
            marks.add("declared" if declared else "not declared")
        given = given.model_copy(update={"changed": next((one for one in _WORST if one in marks), "")})
    try:
        if given is not None:
            replace_file(path, given.text())
        elif drop:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"The codebook cannot be kept in {path}: {error.strerror}.") from error
    return book_of(parts.path)


def _is_other(parts: VaultComponents, given: Codebook) -> bool:
    """Return whether records were coded, or read, under another book."""
    return any(
        under is not None and (now is None or now.digest != under.digest)
        for under, now in (
            (parts.codes.schema, given.part(coded=True)),
            (parts.readings.schema, given.part(coded=False)),
        )
    )


def _settled_book(parts: VaultComponents) -> Codebook | None:
    """Return the codebook of a vault.

    Raises:
        UsageError: if it was changed in its file after records were coded: nothing was declared of the change.
    """
    book = book_of(parts.path)
    if book is not None and not book.changed and _is_other(parts, book):
        own = quoted(parts.path)
        raise UsageError(
            f"{parts.path / FILE} was changed after records were coded. Say how: discreet code {own} --book "
            f"{quoted(parts.path / FILE)} --made-without-records, or --made-with-records. Nothing was coded."
        )
    return book


def public_texts_of(path: Path, store: Store) -> list[str]:
    """Return the texts of a public file. Refuse the file if it is no public one, as far as that can be seen.

    Raises:
        UsageError: if there is no such file, or if it lies in a vault.
        BadData: if it holds no texts, or a document of the store, word for word.
    """
    if any((folder / "vault.json").exists() for folder in path.resolve().parents) or (path / "vault.json").exists():
        raise UsageError(
            f"{path} lies in a vault. A codebook is public, so it comes from public texts: name another file."
        )
    try:
        texts = texts_of(path.read_bytes(), path)
    except FileNotFoundError:
        raise UsageError(f"There is no file at {path}. Name a JSONL file with a public 'text' on every line.") from None
    except OSError as error:
        raise not_a_corpus(path, error) from error
    stored_texts = len({stored.text for stored in store.texts()} & set(texts))
    if stored_texts:
        raise BadData(
            f"{path} holds {stored_texts} documents of the vault, word for word. A codebook is public, so it comes "
            "from other, public texts. Nothing was read."
        )
    return texts


class _Yielding:
    """An embedder that waits, after each batch, until a server of the vault has answered.

    So an answer takes no longer for the coding beside it than one batch.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self.name, self.dimension = embedder.name, embedder.dimension
        self._embedder, self._folder = embedder, folder

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""

        def waiting(done: int) -> None:
            wait_for_answers(self._folder)
            if progress:
                progress(done)

        return self._embedder.embed(texts, waiting)


@taking_turns()
class VaultReading(VaultParts):
    """A vault whose texts are read once. One thread at a time is inside."""

    def use_book(
        self, book: Codebook | str | Path | None, *, made_without_records: bool | None = None
    ) -> Codebook | None:
        """Keep a codebook as the vault's, or drop it. Return it. Records are coded under it the next time.

        Args:
            book: the book, its file, or the name of a packaged one; None to drop the vault's.
            made_without_records: for a book that changes after records were coded: whether the custodian declares that
                no one who changed it looked at them. Each receipt says it.

        Raises:
            UsageError: if there is no such file, or if nothing is declared of a changed book.
            BadData: if the file holds no codebook.
        """
        given = find_book(book) if isinstance(book, str | Path) else book
        return settle_book(self.components, given, drop=book is None, declared=made_without_records)

    def code(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        coder: Coder | str | None = None,
        ray: str | None = None,
    ) -> int:
        """Find the codes of each record, each text by itself. Return the number of texts.

        Nothing is released, so nothing is paid. Run it again after an interruption, or after documents were added:
        what was coded is not coded again. Under another book all texts are coded again, and the former codes count
        until then.

        Args:
            progress: called with the number of texts that are coded, and that of all texts.
            coder: "embedder" for the packaged one, "model" for the vault's language model, or one of your own. By
                default, the model if it coded the last time, and else the packaged one.
            ray: the address of a Ray cluster on which the packaged embedder runs.

        Raises:
            UsageError: if no `add` has ended yet, or if the vault has no codebook with codes.
        """
        self._refuse_empty("code")
        book = _settled_book(self.components)
        coded = book.part(coded=True) if book else None
        if coded is None:
            raise UsageError(
                "The vault has no codebook with codes. Name one: discreet code "
                f"{quoted(self.path)} --book medical-visit. `discreet codebook show` lists the packaged ones."
            )
        with by_steps() as told, ExitStack() as after:
            if coder == "model" or (coder is None and self._coded_by_model):
                check_reader(self.components.model, None, schema=True)
                way = by_model(require_scores(self.components.model, "code --coder model"), coded)
            elif coder is None or isinstance(coder, str):
                embedder = open_embedder(CODER)
                if ray is not None:
                    embedder = spread = RayEmbedder(embedder, ray)
                    after.callback(spread.close)
                way = by_coder(EmbedderCoder(_Yielding(embedder, self.path)), coded)
            else:
                way = by_coder(coder, coded)
            on_text = progress or partial(told, "Coding the documents")
            return self.components.codes.read(way, lambda: owned_texts(self.store), self._yielding(on_text))

    def read(self, progress: Callable[[int, int], None] | None = None, *, ray: str | None = None) -> int:
        """Read the statements of all texts with the model, each text by itself. Return the number of texts.

        It reads the attributes of the vault's codebook that are no codes; what a text states if there are none. Nothing
        is released, so nothing is paid. What was read is not read again.

        Args:
            progress: called with the number of texts that are read, and that of all texts.
            ray: the address of a Ray cluster on which the model runs.

        Raises:
            UsageError: if no `add` has ended yet, or if the model cannot read so.
        """
        self._refuse_empty("code")
        book = _settled_book(self.components)
        stated = book.part(coded=False) if book else None
        check_reader(self.components.model, ray, schema=stated is not None)
        with by_steps() as told:
            on_text = progress or partial(told, "Reading the documents")
            told_first = self._yielding(on_text)
            return read_all(self.components.readings, self.store, self.components.model, told_first, ray, stated)

    @property
    def _coded_by_model(self) -> bool:
        """Whether the vault's model found the codes: else `add` would code all records again by another coder."""
        return self._is_by_model(self.components.codes)

    @property
    def read_by_model(self) -> bool:
        """Whether the vault's present model read the statements: then new texts can be read alone, and no other."""
        return self._is_by_model(self.components.readings)

    @property
    def can_code(self) -> bool:
        """Whether the coder of before is at hand: else all records would be coded again, by another one."""
        return self.components.codes.done.about[:1] in ((), (EMBEDDER_CODER,)) or self._coded_by_model

    def _is_by_model(self, readings: Readings) -> bool:
        former = readings.done.about[:1]
        return former not in ((), (EMBEDDER_CODER,)) and former == (self.components.model.name,)  # its name loads it

    def propose_book(self, public: str | Path) -> Codebook:
        """Return a codebook that the model proposes from public texts. No document of the vault has any influence.

        Args:
            public: a JSONL file with a "text" on every line.

        Raises:
            UsageError: if there is no such file, or if it lies in a vault.
            BadData: if it holds no texts, if one of them is a document of this vault, or if they share no attribute.
        """
        texts = public_texts_of(Path(public), self.store)
        return propose_schema(require_scores(self.components.model, "codebook propose"), texts)

    def _yielding(self, told: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """Return what waits, after each text, until a server has answered."""

        def waiting(done: int, size: int) -> None:
            wait_for_answers(self.path)
            told(done, size)

        return waiting

    def _refuse_empty(self, command: str) -> None:
        if is_empty(self.path):  # by a public mark: whether votes are read before is public, and depends on no document
            raise UsageError(
                f"The vault at {self.path} has no documents yet. Add some first: discreet add {quoted(self.path)} "
                f"FILES. Then: discreet {command} {quoted(self.path)}. Nothing was read."
            )
