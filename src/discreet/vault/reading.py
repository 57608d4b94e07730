"""The part of a vault that reads the statements of its texts, and has a schema proposed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from discreet.algorithms.text.schema_words import check_distinct
from discreet.errors import BadData, StoreError, UsageError
from discreet.generation.capabilities import require_scores
from discreet.planning.prices import is_empty
from discreet.retrieval.attribute_schema import FILE, AttributeSchema
from discreet.retrieval.public import not_a_corpus, texts_of
from discreet.retrieval.store import Store
from discreet.synthesis.readings import check_reader, read_all
from discreet.synthesis.schema_proposal import propose_schema
from discreet.system.atomic_write import replace_file
from discreet.system.progress import by_steps
from discreet.system.sharing import taking_turns
from discreet.system.words import quoted
from discreet.vault.components import VaultParts


def schema_of(folder: Path) -> AttributeSchema | None:
    """Return the schema of the vault in a folder; None if it has none.

    Raises:
        BadData: if the file is damaged.
    """
    path = folder / FILE
    try:
        return AttributeSchema.read(path) if path.exists() else None
    except BadData as error:
        raise BadData(
            f"{error} Name the schema again: discreet read {quoted(folder)} --schema FILE. Or read without one: "
            "--no-schema."
        ) from error


def settle_schema(folder: Path, given: AttributeSchema | None, *, drop: bool) -> AttributeSchema | None:
    """Keep the schema that is given, or drop the vault's; return the one that counts from now on.

    Raises:
        BadData: if a question could not tell two attributes of the given one apart, or if the vault's is damaged.
        StoreError: if it cannot be written.
    """
    path = folder / FILE
    if given is not None:
        check_distinct(given)
    try:
        if given is not None:
            replace_file(path, given.text())
        elif drop:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"The schema cannot be kept in {path}: {error.strerror}.") from error
    return schema_of(folder)


def public_texts_of(path: Path, store: Store) -> list[str]:
    """Return the texts of a public file. Refuse the file if it is no public one, as far as that can be seen.

    Raises:
        UsageError: if there is no such file, or if it lies in a vault.
        BadData: if it holds no texts, or a document of the store, word for word.
    """
    if any((folder / "vault.json").exists() for folder in path.resolve().parents) or (path / "vault.json").exists():
        raise UsageError(
            f"{path} lies in a vault. A schema is public, so it comes from public texts: name another file."
        )
    try:
        texts = texts_of(path.read_bytes(), path)
    except FileNotFoundError:
        raise UsageError(f"There is no file at {path}. Name a JSONL file with a public 'text' on every line.") from None
    except OSError as error:
        raise not_a_corpus(path, error) from error
    found = len({stored.text for stored in store.texts()} & set(texts))
    if found:
        raise BadData(
            f"{path} holds {found} documents of the vault, word for word. A schema is public, so it comes from other, "
            "public texts. Nothing was read."
        )
    return texts


@taking_turns()
class VaultReading(VaultParts):
    """A vault whose texts a model reads once. One thread at a time is inside."""

    def read(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        ray: str | None = None,
        schema: AttributeSchema | str | Path | None = None,
        drop_schema: bool = False,
    ) -> int:
        """Read the statements of all texts with the model, each text by itself. Return the number of texts.

        Lists and statements about attributes need it. Nothing is released, so nothing is paid. Run it again after an
        interruption, or after documents were added: what was read is not read again. Under another schema, all texts
        are read again, and the former reading counts until then.

        Args:
            progress: called with the number of texts that are read, and that of all texts.
            ray: the address of a Ray cluster on which the model runs.
            schema: the attributes that the model looks for, or their file; it is kept as the vault's. The vault's own
                if None.
            drop_schema: whether the vault has no schema from now on, so that the model writes what a text states.

        Raises:
            UsageError: if no `add` has ended yet, if there is no such file, or if the model cannot read so.
            BadData: if the file holds no schema.
        """
        if is_empty(self.path):  # by a public mark: whether votes are read before is public, and depends on no document
            raise UsageError(
                f"The vault at {self.path} has no documents yet. Add some, then read them: discreet add "
                f"{quoted(self.path)} FILES. Nothing was read."
            )
        if schema is not None and drop_schema:
            raise UsageError("A schema is given and dropped at once. Give a schema, or --no-schema.")
        given = AttributeSchema.read(Path(schema)) if isinstance(schema, str | Path) else schema
        model = self.components.model
        # First: a schema that this model cannot read by would break each later reading, too.
        check_reader(model, ray, schema=given is not None or (not drop_schema and schema_of(self.path) is not None))
        kept = settle_schema(self.path, given, drop=drop_schema)
        with by_steps() as told:
            on_text = progress or partial(told, "Reading the documents")
            return read_all(self.components.readings, self.store, model, on_text, ray, kept)

    def propose_schema(self, public: str | Path) -> AttributeSchema:
        """Return a schema that the model proposes from public texts. No document of the vault has any influence.

        Args:
            public: a JSONL file with a "text" on every line.

        Raises:
            UsageError: if there is no such file, or if it lies in a vault.
            BadData: if it holds no texts, if one of them is a document of this vault, or if they share no attribute.
        """
        texts = public_texts_of(Path(public), self.store)
        return propose_schema(require_scores(self.components.model, "read"), texts)
