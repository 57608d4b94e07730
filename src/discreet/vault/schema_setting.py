"""The schema of a vault: a public setting in VAULT/schema.json, for this reading and all later ones."""

from pathlib import Path

from discreet.algorithms.text.schema_words import check_distinct
from discreet.errors import BadData, StoreError, UsageError
from discreet.retrieval.attribute_schema import FILE, AttributeSchema
from discreet.retrieval.public import not_a_corpus, texts_of
from discreet.retrieval.store import Store
from discreet.system.atomic_write import replace_file
from discreet.system.words import quoted


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
