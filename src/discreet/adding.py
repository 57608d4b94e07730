"""Documents on their way into a vault."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.retrieval.documents import Document
from discreet.retrieval.loading import BadRecord, Fields, check_fields, read_documents
from discreet.retrieval.retriever import Corpus

_NAMELESS = (
    "names nobody, and is in the vault as a document about somebody: it stays as it was. Name them, or remove it"
)
_TAKEN = (
    "is in the vault as one about another individual: that stays as it was. Give this one an id of its own; or, if it "
    "is the same document, remove that first"
)
Progress = Callable[[str, int], None]
"""Told (what is done, how many more are done): for a progress bar."""


@dataclass(frozen=True)
class Added:
    """What `add` did.

    Attributes:
        added, replaced, unchanged: counts of documents.
        own_unit: how many carried no unit and so became a unit of their own.
        bad: records that could not be read, or whose id is another one's, by place and reason.
        conflicts: ids that came twice with different text; the first text was kept.
    """

    added: int
    replaced: int
    unchanged: int
    own_unit: int
    bad: tuple[BadRecord, ...]
    conflicts: tuple[str, ...]


def add_files(corpus: Corpus, paths: Sequence[Path], fields: Fields, progress: Progress | None) -> Added:
    """Add documents from files and folders; records that cannot be read are reported, and the rest is added."""
    bad: list[BadRecord] = []
    for path in paths:
        check_fields(path, fields)
    files = [read_documents(path, fields) for path in paths]  # one that is not there is told before any is added

    def good() -> Iterable[Document]:
        for records in files:
            for record in records:
                if isinstance(record, BadRecord):
                    bad.append(record)
                else:
                    yield record

    found = add_documents(corpus, good(), progress)
    return replace(found, bad=(*bad, *found.bad))


def add_documents(corpus: Corpus, documents: Iterable[Document], progress: Progress | None) -> Added:
    """Add documents."""
    own_unit = 0

    def counted() -> Iterable[Document]:
        nonlocal own_unit
        for document in documents:
            own_unit += document.own_unit
            yield document

    done = None if progress is None else lambda count: progress("documents", count)
    counts = corpus.index(counted(), progress=done)
    refused = tuple(
        BadRecord(f"the document '{name}'", reason)
        for names, reason in ((counts.nameless, _NAMELESS), (counts.taken, _TAKEN))
        for name in names
    )
    return Added(counts.added, counts.replaced, counts.unchanged, own_unit, refused, tuple(counts.conflicts))
