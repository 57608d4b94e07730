"""Conformance suites: pytest classes that test another package's part against the contract of its protocol.

A package subclasses a suite in its own tests, and overrides the suite's fixtures:

    from discreet.testing import LoaderSuite

    class TestMyLoader(LoaderSuite): ...

The suites need pytest and hypothesis: `pip install 'discreet[testing]'`. See docs/extend.md.
"""

try:
    import hypothesis  # noqa: F401 - the suites need it
    import pytest
except ImportError as error:
    raise ImportError(
        "discreet.testing needs pytest and hypothesis. Run: pip install 'discreet[testing]'", name=error.name
    ) from error

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{suite}"
        for suite in ("algorithm", "coder", "embedder", "exact_search", "loader", "model", "refusal", "store")
    )
)

from discreet.testing.algorithm import AlgorithmSuite  # noqa: E402 - asserts are rewritten first
from discreet.testing.coder import CoderSuite  # noqa: E402
from discreet.testing.embedder import EmbedderSuite  # noqa: E402
from discreet.testing.loader import LoaderSuite  # noqa: E402
from discreet.testing.model import ModelSuite  # noqa: E402
from discreet.testing.refusal import AlwaysExact  # noqa: E402
from discreet.testing.store import StoreSuite  # noqa: E402

__all__ = [
    "AlgorithmSuite",
    "AlwaysExact",
    "CoderSuite",
    "EmbedderSuite",
    "LoaderSuite",
    "ModelSuite",
    "StoreSuite",
]
