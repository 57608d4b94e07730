"""`constraints.txt` names a version of all that `make test` and `make long` install: no package may move by itself."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = ("all", "dev", "long")
TOOLS = {"pip", "setuptools"}  # `pip freeze` leaves them out: an environment has its own
PINNED = {
    canonicalize_name(line.partition("==")[0]): line.partition("==")[2]
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
}


def needed(name: str, extras: frozenset[str], found: dict[str, frozenset[str]]) -> None:
    """Add to `found` the packages that `name` with its extras needs here, each with its own extras."""
    for line in requires(name) or ():
        one = Requirement(line)
        if one.marker is not None and not any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        key, own = canonicalize_name(one.name), frozenset(one.extras)
        if key in found and own <= found[key]:
            continue
        found[key] = found.get(key, frozenset()) | own
        try:
            needed(key, found[key], found)
        except PackageNotFoundError:
            found.pop(key)  # not installed: another environment than that of `make long`


def test_every_package_has_a_version() -> None:
    found: dict[str, frozenset[str]] = {}
    needed("discreet", frozenset(EXTRAS), found)
    assert len(found) > 100
    assert not sorted(found.keys() - PINNED.keys() - TOOLS - {"discreet"})


def test_each_version_is_exact_and_each_package_is_named_once() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+", line) for line in lines)
    assert len(PINNED) == len(lines)
