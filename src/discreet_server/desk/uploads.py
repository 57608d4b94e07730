"""The quarantine: files that the custodian uploaded, until they are added or discarded.

STATE/desk/uploads/ID/about.json   when, for which vault, how the files are read, and their digests
STATE/desk/uploads/ID/files/...    the files, under the names that they had
STATE/desk/uploads/ID/manifest/    the manifest, if one came with them

Folders and files are for the desk's user alone.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from discreet.errors import UsageError
from discreet.system.files import replace_file
from discreet_server.custody_messages import FILES, MANIFEST, HowRead

_ABOUT = "about.json"
_ID = re.compile("[0-9a-f]{32}")
_PART = 2**20
_LONGEST_NAME, _DEEPEST = 200, 12


@dataclass(frozen=True)
class Upload:
    """Files that were uploaded together.

    Attributes:
        id: the name of their folder.
        vault: for which vault.
        time: when, in seconds.
        how: how they are read.
        count: how many files there are.
        digest: the SHA-256 over the digests of all files, in the order of their names.
    """

    id: str
    vault: str
    time: float
    how: HowRead
    count: int
    digest: str


class Quarantine:
    """The uploads in a folder.

    Args:
        folder: `ServeConfig.uploads`.
        clock: the time, in seconds.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock = folder, clock

    def take(
        self, vault: str, how: HowRead, files: Sequence[tuple[str, IO[bytes]]], manifest: IO[bytes] | None
    ) -> Upload:
        """Write files, by the names that the browser sent, and return the upload.

        Raises:
            UsageError: if there is no file, or a name cannot be used. Nothing stays.
        """
        if not files:
            raise UsageError("No file was chosen. Choose files or a folder.")
        name = secrets.token_hex(16)
        folder = self._folder / name
        for one in (self._folder.parent, self._folder, folder, folder / FILES):
            one.mkdir(mode=0o700, exist_ok=True)
        try:
            digests = [f"{source}\0{_write(folder / FILES, source, file)}" for source, file in files]
            if manifest is not None:
                (folder / MANIFEST).mkdir(mode=0o700)
                digests.append(f"{MANIFEST}\0{_write(folder / MANIFEST, 'manifest.csv', manifest)}")
            digest = hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()
            upload = Upload(name, vault, self._clock(), how, len(files), digest)
            replace_file(folder / _ABOUT, json.dumps(asdict(upload)))
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise UsageError(f"The upload cannot be kept: {error.strerror}. Make room, and try again.") from None
            raise
        return upload

    def find(self, name: str) -> Upload:
        """Return an upload.

        Raises:
            UsageError: if it is not there.
        """
        try:
            if not _ID.fullmatch(name):
                raise ValueError
            about = json.loads((self._folder / name / _ABOUT).read_text())
            return Upload(**(about | {"how": HowRead(**about["how"])}))
        except (OSError, ValueError, TypeError, KeyError):
            raise UsageError("This upload is not there any more. Upload the files again.") from None

    def list(self) -> list[Upload]:
        """Return the uploads that wait, the oldest first."""
        uploads = []
        for one in self._folder.iterdir() if self._folder.is_dir() else ():
            try:
                uploads.append(self.find(one.name))
            except UsageError:
                continue
        return sorted(uploads, key=lambda upload: upload.time)

    def discard(self, upload: Upload) -> None:
        """Delete an upload."""
        shutil.rmtree(self._folder / upload.id, ignore_errors=True)


def _write(folder: Path, source: str, file: IO[bytes]) -> str:
    """Write a file below a folder; return its SHA-256."""
    parts = _parts(source)
    for depth in range(1, len(parts)):
        folder.joinpath(*parts[:depth]).mkdir(mode=0o700, exist_ok=True)
    path = folder.joinpath(*parts)
    digest = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        out = os.fdopen(os.open(path, flags, 0o600), "wb")
    except FileExistsError:
        raise UsageError(f"Two files are called {source!r}. Rename one.") from None
    with out:
        while part := file.read(_PART):
            digest.update(part)
            out.write(part)
    return digest.hexdigest()


def _parts(source: str) -> list[str]:
    """Return the parts of a file's name. A browser sends the path within a folder that was chosen."""
    parts = source.split("/")
    plain = all(part not in ("", ".", "..") and part.isprintable() and "\\" not in part for part in parts)
    short = len(parts) <= _DEEPEST and all(len(part.encode(errors="replace")) <= _LONGEST_NAME for part in parts)
    if not (plain and short):
        raise UsageError(f"A file is called {source[:_LONGEST_NAME]!r}, which cannot be used. Rename it.")
    return parts
