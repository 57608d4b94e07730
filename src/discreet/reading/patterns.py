"""Patterns that take the unit of a file from its path, such as "{unit}/**" or "{unit}_[0-9]*.txt"."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.errors import UsageError

_UNIT = "{unit}"
_TOKEN = re.compile(r"\{unit\}|\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|[\s\S]")
_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_TAILS = ("[0-9]*", "*")
_SEPARATORS = "_- ."


@dataclass(frozen=True)
class Pattern:
    """A pattern for the path of a file, relative to the given folder.

    `*` stands for any characters of a name, `**` for any folders, `?` for one character, `[0-9]` for one of several.
    `{unit}` is the name of the unit: one character or more, and as few as the rest of the pattern permits. Too short a
    name merges two individuals, which are then protected together. Too long a name gives one individual two budgets.

    Attributes:
        text: the pattern as typed.

    Raises:
        UsageError: if the pattern does not contain the unit exactly once, or if no character separates the unit from
            the next wildcard.
    """

    text: str

    def __post_init__(self) -> None:
        if self.text.count(_UNIT) != 1:
            raise UsageError(
                f"The pattern '{self.text}' must contain {_UNIT} exactly once. Examples: --unit-from '{_UNIT}/**' if "
                f"each individual has a folder, or --unit-from '{_UNIT}_*.txt'."
            )
        if self.text.split(_UNIT)[1].startswith(("*", "?")):
            raise UsageError(
                f"In the pattern '{self.text}', a wildcard follows {_UNIT} directly, so each unit would be a single "
                f"letter. Put a character between them: --unit-from '{_UNIT}_*'."
            )
        try:
            _ = self._expressions
        except re.error as error:
            raise UsageError(f"The pattern '{self.text}' is invalid. Check the characters between [ and ].") from error

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        tokens = _TOKEN.findall(unicodedata.normalize("NFC", self.text))
        shortest, longest = (
            "".join(unit if token == _UNIT else _expression(token) for token in tokens)
            for unit in ("([^/]+?)", "([^/]+)")
        )
        return re.compile(shortest, re.DOTALL), re.compile(longest, re.DOTALL)

    def unit(self, path: str) -> str:
        """Return the unit in a path; "" if the path does not match."""
        return self._found(path, 0)

    def ambiguous(self, path: str) -> tuple[str, str] | None:
        """Return the unit in a path and a second possible unit; None if only one is possible."""
        found = self._found(path, 0), self._found(path, 1)
        return found if found[0] != found[1] else None

    def _found(self, path: str, which: int) -> str:
        matched = self._expressions[which].fullmatch(unicodedata.normalize("NFC", path))
        return matched[1].strip() if matched else ""


def _expression(token: str) -> str:
    if token in _PARTS:
        return _PARTS[token]
    if len(token) > 1:  # one of several characters
        inside = token[1:-1].replace("\\", "\\\\")
        return f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    return re.escape(token)


def propose(paths: Sequence[str]) -> tuple[Pattern, Counter[str]] | None:
    """Find a pattern that may fit the paths of files. A person must judge it; it is never applied.

    Returns:
        The pattern and the number of files of each unit; None if no pattern groups the files.
    """
    best: tuple[Pattern, Counter[str]] | None = None
    for text in _candidates(paths):
        pattern = Pattern(text)
        units = Counter(unit for path in paths if (unit := pattern.unit(path)))
        matched = units.total()
        if 0.8 * len(paths) <= matched and 1 < len(units) < matched and (not best or matched > best[1].total()):
            best = pattern, units
    return best


def _candidates(paths: Sequence[str]) -> list[str]:
    """Return patterns to try, the most specific first: a folder for each unit, then names cut at a separator."""
    found = [f"{_UNIT}/**"]
    names = [os.path.basename(path) for path in paths]
    suffixes = {os.path.splitext(name)[1] for name in names}
    end = suffixes.pop() if len(suffixes) == 1 else ""
    start = _shared_beginning(names)
    deep = "**/" if any("/" in path for path in paths) else ""
    for begin in dict.fromkeys((start, "")):
        if not _PLAIN.fullmatch(begin + end):
            continue
        found += [f"{deep}{begin}{_UNIT}{separator}{tail}{end}" for tail in _TAILS for separator in _SEPARATORS[:3]]
    return found


def _shared_beginning(names: Sequence[str]) -> str:
    """Return the common prefix of all names, up to and including its last separator."""
    if not names:
        return ""
    first, last = min(names), max(names)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: max(first[:same].rfind(separator) for separator in _SEPARATORS) + 1]


_PLAIN = re.compile(r"[^*?\[\]{}]*")
