"""What a store in PostgreSQL holds, for readers of the whole vault: with vectors, or of each unit without them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.retrieval.documents import StoredText
from discreet.retrieval.postgres.server import Server
from discreet.retrieval.unit_texts import Moment, gather

_MARK = "select next, erasures, (select count(*) from document) from store"
_ADDED = "select distinct document, unit from chunk where id >= %s"
_TEXTS = "select name, text, document from chunk join unit on unit.id = chunk.unit"
_TEXTS_OF = (
    "select name, text, chunk.document from unit join document on document.unit = unit.id "
    "join chunk on chunk.document = document.tie where unit.id = any(%s)"
)
"""By way of the documents: chunks have no index of units."""
_FIELDS = "select name, fields, document.tie from document join unit on unit.id = document.unit where fields != '{}'"
_FIELDS_OF = f"{_FIELDS} and unit.id = any(%s)"
_IN_ORDER = "order by document.id"
_SHARE = 8
"""One over the share of documents that may be added before all texts are read: a scan is faster than look-ups."""


@dataclass(frozen=True)
class Mark:
    """A moment of a store. Numbers of chunks are never reused, so those from `next` on were added later.

    Attributes:
        store: the name of the store.
        next: the number of the next chunk.
        erasures: the number of erasures and replacements until then.
        documents: the number of documents.
    """

    store: str
    next: int
    erasures: int
    documents: int


def read_moment(server: Server, since: object = None) -> Moment:
    """Return what the store holds.

    Args:
        server: the server.
        since: the mark of a former moment, to read only the units with new documents. If documents were erased or
            replaced since, or for any other value, all units are read.
    """
    with server.transaction(reading=True):
        mark = Mark(server.name, *map(int, server.rows(_MARK)[0]))
        numbers = _with_new(server, mark, since) if isinstance(since, Mark) else None
        if numbers is None:
            return _gather(server.rows(_TEXTS), server.rows(f"{_FIELDS} {_IN_ORDER}"), mark)
        found = _gather(server.rows(_TEXTS_OF, numbers), server.rows(f"{_FIELDS_OF} {_IN_ORDER}", numbers), mark)
    return replace(found, whole=False)


def _with_new(server: Server, mark: Mark, since: Mark) -> list[int] | None:
    """Return the numbers of the units with new documents; None if all texts must be read.

    A document without a chunk has no number, so the documents with new chunks must be all that came.
    """
    came = mark.documents - since.documents
    if (mark.store, mark.erasures) != (since.store, since.erasures) or not 0 <= came * _SHARE <= mark.documents:
        return None
    found = server.rows(_ADDED, since.next)
    return sorted({unit for _, unit in found}) if len(found) == came else None


def _gather(texts: Sequence[Sequence[bytes]], fields: Sequence[tuple[bytes, str, bytes]], mark: Mark) -> Moment:
    return gather(
        [(name.decode(), text.decode(), document) for name, text, document in texts],
        [(name.decode(), json.loads(content), document) for name, content, document in fields],
        mark,
    )


def read_texts(server: Server, extension: str, tag: Callable[[bytes], str]) -> list[StoredText]:
    """Return every chunk of every document with its vector, in a fixed order.

    Args:
        server: the server.
        extension: the schema of pgvector.
        tag: returns the name of a document's content.
    """
    found = server.rows(
        f"select name, digest, text, {extension}.halfvec_send(v) from chunk join vector on vector.id = chunk.id "
        "join document on document.tie = chunk.document join unit on unit.id = chunk.unit "
        "order by document.id, chunk.id"
    )
    return [
        # The binary form is the dimension in four bytes, then the numbers.
        StoredText(name.decode(), tag(content), np.frombuffer(v, ">f2", offset=4).astype(np.int64), text.decode())
        for name, content, text, v in found
    ]
