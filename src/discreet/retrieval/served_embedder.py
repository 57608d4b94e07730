"""An embedder that several askers share, and its replies to them: plain data, as those of `generation.remote`.

`server.model_worker` carries the replies over a socket, and `vault.worker_embedder` is the other side. Each call is
embedded by itself, so no vector depends on another asker.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from discreet.plugins import EMBEDDERS as PLUGINS
from discreet.plugins import find_names
from discreet.retrieval.embedding import (
    EMBEDDERS,
    Embedder,
    HashingEmbedder,
    MiniLM,
    MiniLMAndWords,
    Vectors,
    meaning,
    open_embedder,
)

EMBED = "/embed"
"""The call."""
MOST_TEXTS = 256
"""The most texts of a call."""
USUAL = MiniLMAndWords.name
"""The embedder that a worker serves if none is named."""
_PARTS = {MiniLMAndWords.name: MiniLM.name}
"""The embedder that is a part of another one: the part for meaning."""
_COMPUTING = ("discreet", "torch", "transformers", "tokenizers", "sentence-transformers")


class ServedEmbedder:
    """An embedder that is loaded at the first call for it.

    Attributes:
        name: its name.
    """

    def __init__(self, name: str = USUAL, load: Callable[[str], Embedder] = open_embedder) -> None:
        """Load nothing yet; `load` loads an embedder by its name, and keeps it."""
        self.name, self._load = name, load

    def reply(self, embedder: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the vectors of texts, and what computed them.

        Args:
            embedder: the name of the embedder, or of its part for meaning. If it is another one, no text is embedded,
                and the reply has the name of the embedder that is served.
            texts: the texts. If there are none, the embedder is loaded nevertheless.
        """
        is_part = _PARTS.get(self.name) == embedder
        if embedder != self.name and not is_part:
            return {"embedder": self.name}
        loaded = self._load(self.name)
        asked = meaning(loaded) if is_part else loaded
        written = [b64encode(vector.astype("<f4").tobytes()).decode() for vector in asked.embed(texts)]
        about = {"embedder": embedder, "dimension": asked.dimension, "computed_by": computing_versions()}
        return about | {"vectors": written}


def part_for_meaning(name: str) -> str:
    """Return the name of the part of an embedder that represents meaning; "" if it has no such part."""
    return _PARTS.get(name, "")


def needs_torch(name: str) -> bool:
    """Return whether an embedder loads torch, as far as its name tells: hashing does not, and a plug-in may not."""
    return name != HashingEmbedder.name and (name in EMBEDDERS or name not in find_names(PLUGINS))


def computing_versions() -> dict[str, str]:
    """Return the versions of what computes vectors, if installed here. Import none of it."""
    found = {}
    for name in _COMPUTING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def read_vectors(written: Sequence[str], count: int, dimension: int) -> Vectors:
    """Return the vectors of a reply, bit for bit as the worker computed them.

    Raises:
        ValueError: if they are not as many vectors of this dimension.
    """
    numbers = np.frombuffer(b"".join(b64decode(one, validate=True) for one in written), dtype="<f4")
    if not np.isfinite(numbers).all():
        raise ValueError("A vector has a number that is not finite.")
    return numbers.reshape(count, dimension).astype(np.float32)
