"""The keywords and facts that the model found in each text, by the text's content: no text is read twice.

All of it is private, like the vault.
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
"""The files of the keywords and facts of texts."""


class ExtractionCache:
    """The results of reading texts with the model, by content: a resumed run, or the next one, does not read again.

    Args:
        file: the file of the results (`open_extraction_cache`).
        about: how texts are read, as plain data. Results of another way are ignored.
        read: yields the position and the result of each text, as plain data.
        others: results of the same way that are kept elsewhere, by the names of the texts (`digest`).
    """

    def __init__(self, file: TextIO, about: Sequence[Any], read: Read, others: Mapping[str, Any] | None = None) -> None:
        self._file, self._about, self._read = file, list(about), read
        self._others = dict(others or {})

    def of(self, texts: Sequence[str], on_progress: Callable[[int], None]) -> list[Any]:
        """Return the result of each text; call `on_progress` with the number of texts that are done."""
        entries = self._known()
        fresh = sorted({text for text in texts if digest(text) not in entries})
        done = len(texts) - len(fresh)
        on_progress(done)
        for place, extracted in self._read(fresh):
            name = digest(fresh[place])
            line = json.dumps([*self._about, name, extracted])
            entries[name] = json.loads(line)[-1]
            self._keep(line)
            done += 1
            on_progress(done)
        return [entries[digest(text)] for text in texts]

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
        entries: dict[str, Any] = dict(self._others)
        self._file.seek(0)
        for line in filter(None, self._file.read().split("\n")):
            try:
                *about, name, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            if about == self._about and isinstance(name, str):
                entries[name] = value
        return entries


@contextmanager
def open_extraction_cache(folder: Path) -> Iterator[Mapping[str, TextIO]]:
    """Open the files of the results by name, for a run; open them before the run lists the documents.

    If the files are removed during the run, its later results are lost with them.
    """
    files = {name: (folder / name).open("a+", encoding="ascii", errors="replace") for name in (KEYWORDS, FACTS)}
    try:
        yield files
    finally:
        for file in files.values():
            with suppress(OSError):  # on a full disk, what could not be written
                file.close()


def forget_extractions(folder: Path) -> None:
    """Remove the results of all texts, because a document is erased.

    Raises:
        StoreError: if a file cannot be removed; the error names it.
    """
    for name in (KEYWORDS, FACTS):
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder / name} holds words of documents and cannot be removed: {error.strerror}."
            ) from error


def digest(text: str) -> str:
    """Return the name of a text's content."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
