"""What the model made of each text, kept by content: no text is read twice.

All of it is private, as the vault is.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import StoreError

Read = Callable[[Sequence[str]], Iterable[tuple[int, Any]]]


KEYWORDS, FACTS = "keywords.jsonl", "facts.jsonl"
"""The files of what the model made of texts."""


class ExtractionCache:
    """What the model makes of texts, by their content: a run that goes on, or the next one, need not read them again.

    Args:
        file: where they are kept (`open_extraction_cache`).
        about: how they are read, as plain data: what was read in another way does not count.
        read: what the model makes of each of some texts, as plain data, with the text's place among them.
    """

    def __init__(self, file: TextIO, about: Sequence[Any], read: Read) -> None:
        self._file, self._about, self._read = file, list(about), read

    def of(self, texts: Sequence[str], told: Callable[[int], None]) -> list[Any]:
        """What it makes of each text; `told` how many are done."""
        known = self._known()
        fresh = sorted({text for text in texts if _digest(text) not in known})
        done = len(texts) - len(fresh)
        told(done)
        for place, found in self._read(fresh):
            digest = _digest(fresh[place])
            line = json.dumps([*self._about, digest, found])
            known[digest] = json.loads(line)[-1]
            self._keep(line)
            done += 1
            told(done)
        return [known[_digest(text)] for text in texts]

    def _keep(self, line: str) -> None:
        try:
            self._file.write("\n" + line + "\n")
            self._file.flush()
        except OSError as error:
            raise StoreError(
                f"What was read of the documents could not be kept in {self._file.name}: {error.strerror}. Make room, "
                "and run the command again: it goes on where it stopped."
            ) from error

    def _known(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._file.seek(0)
        for line in self._file.read().split("\n"):
            try:
                *about, digest, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            if about == self._about and isinstance(digest, str):
                found[digest] = value
        return found


@contextmanager
def open_extraction_cache(folder: Path) -> Iterator[Mapping[str, TextIO]]:
    """The files of readings by name, for a run; to be opened before the run looks which documents there are.

    If they are forgotten while it lasts, what it still reads goes with them.
    """
    files = {name: (folder / name).open("a+", encoding="ascii", errors="replace") for name in (KEYWORDS, FACTS)}
    try:
        yield files
    finally:
        for file in files.values():
            with suppress(OSError):  # on a full disk, what could not be written
                file.close()


def forget_extractions(folder: Path) -> None:
    """Forget what was made of all texts: something is being erased.

    Raises:
        StoreError: a file could not be removed, and is named.
    """
    for name in (KEYWORDS, FACTS):
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder / name} holds words of documents and cannot be removed: {error.strerror}."
            ) from error


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
