"""What a store in PostgreSQL holds, for readers of the whole vault: with vectors, or of each unit without them."""

import json
from collections.abc import Callable

import numpy as np

from discreet.retrieval.documents import StoredText
from discreet.retrieval.postgres.server import Server
from discreet.retrieval.unit_texts import Moment, gather

_TEXTS = "select name, text from chunk join unit on unit.id = chunk.unit"
_FIELDS = (
    "select name, fields from document join unit on unit.id = document.unit where fields != '{}' order by document.id"
)


def read_moment(server: Server) -> Moment:
    """Return what the store holds. The server cannot tell what changed, so each call reads all texts."""
    with server.transaction(reading=True):
        texts, fields = server.rows(_TEXTS), server.rows(_FIELDS)
    return gather(
        [(name.decode(), text.decode()) for name, text in texts],
        [(name.decode(), json.loads(content)) for name, content in fields],
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
