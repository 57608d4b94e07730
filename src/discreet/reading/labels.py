"""Labels of a file: front matter in its text, or a JSON file beside it (a sidecar)."""

import json
import re
from pathlib import Path
from typing import Any

_LINE = re.compile(r"(?P<name>[^\s:#\-][^:]*?)\s*:(?:\s+(?P<value>.*?))?\s*")
_MORE = re.compile(r"\s*(#.*)?|\s+.*|-(\s.*)?")
"""Lines of front matter that are not read: comments, lists and nested values."""
_MOST_LINES = 200
_LARGEST_SIDECAR = 2**20
_TWO_FILES = "; if it is a table of records, rename one of the two files: neither is added"


class WrongLabel(ValueError):  # noqa: N818 - it is a file's, and becomes a `BadRecord`
    """A label that cannot be read. The message never has its content."""


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """Split a text into the fields between `---` lines at its beginning, and the rest.

    A text with another beginning, or with other lines in between, has no fields and is returned unchanged.

    Raises:
        WrongLabel: if a field occurs twice.
    """
    first, _, rest = text.partition("\n")
    if first.strip() != "---":
        return {}, text
    fields: dict[str, object] = {}
    for _ in range(_MOST_LINES):
        line, ended, rest = rest.partition("\n")
        if line.strip() in ("---", "..."):
            return fields, rest
        found = _LINE.fullmatch(line.rstrip("\r"))
        if not ended or not (found or _MORE.fullmatch(line.rstrip("\r"))):
            break
        if found:
            if found["name"] in fields:
                raise WrongLabel("a field occurs twice in its front matter: remove one")
            fields[found["name"]] = _scalar(found["value"] or "")
    return {}, text


def _scalar(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.split(" #")[0].rstrip()


def sidecar(path: Path) -> Path | None:
    """Return the JSON file with the labels of a file, in the same folder: `letter.pdf.json`, or `letter.json`.

    It may be a link, but only to a file in the same folder.
    """
    if path.suffix.lower() == ".json":
        return None
    beside = (path.with_name(path.name + ".json"), path.with_suffix(".json"))
    here = path.parent.resolve()
    return next((one for one in beside if one.is_file() and one.resolve().is_relative_to(here)), None)


def read_sidecar(path: Path) -> dict[str, object]:
    """Return the fields of a sidecar.

    Raises:
        WrongLabel: if the sidecar is too large, is not a JSON object in UTF-8, has a field twice, or contains records.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_SIDECAR + 1)
        if len(content) > _LARGEST_SIDECAR:
            raise WrongLabel(f"its sidecar {path.name!a} is larger than 1 MiB")
        record = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except WrongLabel:
        raise
    except OSError as error:
        raise WrongLabel(f"its sidecar {path.name!a} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise WrongLabel(f"its sidecar {path.name!a} is not well-formed JSON") from error
    if not isinstance(record, dict):
        raise WrongLabel(f"its sidecar {path.name!a} is not a JSON object{_TWO_FILES}")
    if "text" in record or any(
        isinstance(value, list) and any(isinstance(one, dict) for one in value) for value in record.values()
    ):
        raise WrongLabel(f"its sidecar {path.name!a} contains records{_TWO_FILES}")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise WrongLabel("a field occurs twice in its sidecar: remove one")
    return record
