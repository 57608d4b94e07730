"""A synthetic corpus that was released: the only texts that a retriever returns, because all may read them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import BadData, UsageError
from discreet.store.embedding import Embedder, open_embedder
from discreet.store.public import PublicTexts, digest_of, texts_of
from discreet.synthesis.runner import METHODS, receipt_path


@dataclass(frozen=True)
class ReleasedCorpus:
    """A synthetic corpus with its receipt.

    Attributes:
        texts: its texts with their vectors.
        about: what each text is returned with: the method, and what the corpus cost.
    """

    texts: PublicTexts
    about: dict[str, Any]

    @classmethod
    def read(cls, path: str | Path, embedder: str | Embedder = "minilm+words") -> "ReleasedCorpus":
        """Read a corpus that `discreet synthesize` wrote, and check that its receipt is beside it.

        Args:
            path: the file.
            embedder: the embedder, or its name; "hashing" needs no model.

        Raises:
            UsageError: if there is no file, or if the path is a folder, such as a vault.
            BadData: if the receipt is missing or another one, or if the file has been changed.
        """
        path = Path(path)
        if path.is_dir():
            raise UsageError(
                f"{path} is a folder. A retriever returns texts of a released corpus, and never documents of a vault. "
                "Ask a vault by its adapter for answers, or make a corpus: discreet synthesize VAULT --out CORPUS.jsonl"
            )
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}. Name a synthetic corpus.") from None
        receipt = _receipt(path)
        _check_unchanged(content, path, receipt)
        opened = open_embedder(embedder) if isinstance(embedder, str) else embedder
        paid = {name: receipt["receipt"].get(name) for name in ("epsilon", "delta", "unit")}
        texts = PublicTexts(texts_of(content, path), opened, digest_of(content))
        return cls(texts, {"synthetic": True, "method": receipt["plan"]["method"], **paid})

    def nearest(self, question: str, count: int) -> Sequence[str]:
        """Return the texts nearest to a question, nearest first. The question and the corpus decide alone: it is free.

        Raises:
            UsageError: if the count is below 1.
        """
        if count < 1:
            raise UsageError(f"The number of texts is {count}. Expected: at least 1.")
        return [passage.text for passage in self.texts.unsealed_passages(question, count)]


def _receipt(path: Path) -> dict[str, Any]:
    """Return the receipt beside a corpus.

    Raises:
        BadData: if there is none, or if it is that of no corpus.
    """
    beside = receipt_path(path)
    try:
        receipt: dict[str, Any] = json.loads(beside.read_bytes())
        fits = receipt["receipt"]["private"] is True and receipt["receipt"]["epsilon"] > 0
        fits = fits and receipt["plan"]["method"] in METHODS and type(receipt["kept"]) is int
    except OSError:
        raise _not_released(path, f"its receipt {beside.name} is not beside it") from None
    except (ValueError, LookupError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise _not_released(path, f"{beside.name} is no receipt of a corpus")
    return receipt


def _check_unchanged(content: bytes, path: Path, receipt: dict[str, Any]) -> None:
    """Check that a file is the one of its receipt.

    Raises:
        BadData: if it is not.
    """
    if receipt.get("sha256") != digest_of(content):
        raise _not_released(path, "it was changed after its receipt was written")


def _not_released(path: Path, reason: str) -> BadData:
    return BadData(
        f"{path} is not shown to be a released corpus: {reason}. A retriever returns texts word for word, so it takes "
        "only the file that discreet synthesize wrote, with its receipt. Keep the two files together and unchanged."
    )
