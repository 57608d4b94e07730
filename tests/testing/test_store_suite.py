"""The suite of stores catches broken stores."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discreet.errors import StoreError
from discreet.store.protocol import Store, Vector
from discreet.testing import AlwaysExact, StoreSuite
from discreet.testing.broken_stores import (
    BROKEN_STORES,
    BrokenStore,
    Heedless,
    MovingBins,
    OpensHeedlessly,
    add_index,
    open_again,
    read_kept,
    starving,
)
from discreet.testing.plain_store import PlainScores, PlainStore
from discreet.testing.refusal import PAYMENTS

ROOT = Path(__file__).parents[2]


def check(suite: StoreSuite, name: str, make_store: Callable[[], Store], reopen: object = open_again) -> None:
    """Run one test of the suite."""
    given = {"make_store": make_store, "reopen": reopen, "read_files": read_kept, "make_inexact": add_index}
    algorithm, account = PAYMENTS[1]
    given |= {"algorithm": algorithm, "account": account}
    test = getattr(suite, name)
    test(**{fixture: given[fixture] for fixture in inspect.signature(test).parameters if fixture in given})


@pytest.mark.parametrize("twin", BROKEN_STORES)
def test_store_suite_catches(twin: type[BrokenStore]) -> None:
    made = list[BrokenStore]()

    def make_store() -> BrokenStore:
        if twin.found_by != "test_erased_bytes_are_in_no_file" or not made:
            made.append(twin())
        return made[-1]

    with pytest.raises(AssertionError):
        check(StoreSuite(), twin.found_by, make_store, (lambda store: store) if twin is MovingBins else open_again)


# -- the starving twin -------------------------------------------------------------------------------------------------


def test_suite_finds_a_grouping_that_starves_units() -> None:
    with pytest.raises(AssertionError):
        StoreSuite().test_heavy_units_take_one_rank_each(starving(PlainStore))


# -- refusal -----------------------------------------------------------------------------------------------------------


class Refusing(OpensHeedlessly):
    """Refuses to be searched and to be opened when it has an index."""


def open_refusing(store: Refusing) -> Refusing:
    if store.has_index:
        raise StoreError("The store has an approximate index. Drop the index.")
    return open_again(store)  # type: ignore[return-value]


REFUSALS = [name for name in dir(StoreSuite) if name.startswith("test_") and "refuse" in name and "inexact" in name]


@pytest.mark.parametrize("name", [*REFUSALS, "test_refused_question_costs_nothing"])
def test_store_that_refuses_passes(name: str) -> None:
    check(StoreSuite(), name, Refusing, open_refusing)


@pytest.mark.parametrize("message", ["No.", "The store of individual-anna has an approximate index."])
def test_refusal_without_a_clear_message_is_caught(message: str) -> None:
    class Unclear(Refusing):
        def scored(self, vector: Vector) -> PlainScores:
            if self.has_index:
                raise StoreError(message)
            return super().scored(vector)

    with pytest.raises(AssertionError, match="refusal"):
        check(StoreSuite(), "test_inexact_store_refuses_each_question", Unclear)


def test_store_that_stays_inexact_is_caught() -> None:
    @contextmanager
    def forever(store: Store) -> Iterator[None]:
        assert isinstance(store, Heedless)
        with add_index(store):
            yield
        store.has_index = True

    with pytest.raises(StoreError, match="index"):
        StoreSuite().test_inexact_store_refuses_each_question(Refusing, forever)


def test_store_that_is_always_exact_says_why() -> None:
    with pytest.raises(pytest.skip.Exception, match="It has no index"):
        StoreSuite().test_inexact_store_refuses_each_question(PlainStore, AlwaysExact("It has no index."))
    with pytest.raises(AssertionError, match="State why"):
        StoreSuite().test_inexact_store_refuses_each_question(PlainStore, AlwaysExact(""))


def test_store_has_to_declare_whether_it_can_be_inexact() -> None:
    with pytest.raises(NotImplementedError, match="AlwaysExact"):
        StoreSuite.make_inexact._get_wrapped_function()(StoreSuite())


def test_opening_is_not_tested_where_nothing_is_opened_again() -> None:
    with pytest.raises(pytest.skip.Exception, match="reopen"):
        check(StoreSuite(), "test_inexact_store_is_refused_at_opening", Refusing, lambda store: store)


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_page_shows_what_the_suite_catches(tmp_path: Path) -> None:
    """The examples of docs/extend.md run as printed: the store without a refusal fails, the starving twin is found."""
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    blocks = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
    shown = [block for block in blocks if "TestHeedless" in block or "starving(PlainStore)" in block]
    (tmp_path / "test_shown.py").write_text("\n".join(shown))
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "-k", "inexact or finds_a_starving"]
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "it was not refused" in done.stdout, done.stdout + done.stderr
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout
