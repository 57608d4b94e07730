"""What a store in PostgreSQL holds of each unit, without vectors, at one moment."""

import json

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
