"""Runs a conformance suite by itself, so that tests see which broken twin it catches."""

import inspect
from pathlib import Path

import pytest


def failing(suite: object, folder: Path, **fixtures: object) -> set[str]:
    """Return the names of the tests of a suite that fail with these fixtures; `tmp_path` is a new folder for each."""
    return {name for name in dir(suite) if name.startswith("test_") and fails(suite, name, folder, **fixtures)}


def fails(suite: object, name: str, folder: Path, **fixtures: object) -> bool:
    """Return whether one test of a suite fails."""
    test, own = getattr(suite, name), folder / name
    own.mkdir(parents=True)
    given = {fixture: fixtures.get(fixture, own) for fixture in inspect.signature(test).parameters}
    try:
        test(**given)
    except pytest.skip.Exception:
        return False
    except (Exception, pytest.fail.Exception):
        return True
    return False
