"""Modules that are imported at their first use, for tests that need torch, SciPy and the like.

Every process of pytest imports all files of tests before it runs one. Some tests fork hundreds of times, and a fork
copies the tables of all memory: with torch in it, it takes five times as long.
"""

from importlib import import_module
from typing import Any


class Later:
    """A module that is not imported yet.

    Under `if TYPE_CHECKING` the module itself is imported, so its types are known.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_mock_name":  # pytest asks for these while it looks for tests
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
