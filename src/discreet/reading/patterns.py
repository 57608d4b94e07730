"""Whose a file is, from its name: patterns such as "{unit}/**" or "{unit}_[0-9]*.txt"."""

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
    """A pattern over the path of a file, relative to the folder that was named.

    `*` stands for any characters of a name, `**` for any folders, `?` for one character, `[0-9]` for one of several.
    `{unit}` is the name of the unit: at least one character, as few as the rest of the pattern allows. Too few join
    two individuals, who are then protected together; too many would give one individual two budgets.

    Attributes:
        text: the pattern as it was typed.

    Raises:
        UsageError: the unit is not in it exactly once, or nothing separates it from what follows.
    """

    text: str

    def __post_init__(self) -> None:
        if self.text.count(_UNIT) != 1:
            raise UsageError(
                f"The pattern '{self.text}' must hold {_UNIT} once. For example: --unit-from '{_UNIT}/**' if each "
                f"individual has a folder, or --unit-from '{_UNIT}_*.txt'."
            )
        if self.text.split(_UNIT)[1].startswith(("*", "?")):
            raise UsageError(
                f"In the pattern '{self.text}' nothing separates {_UNIT} from what follows, so each unit would be a "
                f"single letter. Put a character between them: --unit-from '{_UNIT}_*'."
            )
        try:
            _ = self._expressions
        except re.error as error:
            raise UsageError(f"The pattern '{self.text}' is not well formed. Check what is between [ and ].") from error

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        tokens = _TOKEN.findall(unicodedata.normalize("NFC", self.text))
        shortest, longest = (
            "".join(unit if token == _UNIT else _expression(token) for token in tokens)
            for unit in ("([^/]+?)", "([^/]+)")
        )
        return re.compile(shortest, re.DOTALL), re.compile(longest, re.DOTALL)

    def unit(self, path: str) -> str:
        """The unit that a path names; empty if the path does not match."""
        return self._found(path, 0)

    def ambiguous(self, path: str) -> tuple[str, str] | None:
        """The unit that a path names and another one that it may name as well; None if there is one way to read it."""
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
    """Find a pattern that may fit the names of some files: a suggestion to be judged by a person, never taken.

    Returns:
        The pattern and, by unit, the number of files; None if no pattern joins files of one unit.
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
    """Patterns to try, the more telling first: a folder for each unit, then names cut at a separator."""
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
    """What all names begin with, up to and with its last separator."""
    if not names:
        return ""
    first, last = min(names), max(names)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: max(first[:same].rfind(separator) for separator in _SEPARATORS) + 1]


_PLAIN = re.compile(r"[^*?\[\]{}]*")
