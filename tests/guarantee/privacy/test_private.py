"""A private value cannot be read by accident."""

import ast
import copy
import pickle
import re
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, LedgerError, PrivateValueError
from discreet.privacy.private import Change, Private, Relation, unseal

CHANGE = Change(1, Relation.REPLACE)
SECRET = "Ada Lind has Winter Hand"
SRC = Path(__file__).parents[3] / "src"
# Experiments draw data to measure with, and release nothing. They were scripts outside of src until they moved there.
EXPERIMENTS = SRC / "discreet_lab/experiments"
SOURCES = sorted(path for path in SRC.rglob("*.py") if not path.is_relative_to(EXPERIMENTS))


def sealed() -> Private[str]:
    return Private([SECRET, "nothing"], CHANGE)


@pytest.mark.parametrize(
    "look",
    [
        *(bool, len, list, hash, iter, pickle.dumps, copy.copy, copy.deepcopy, sorted),
        *(lambda p: p[0], lambda p: p == 1, lambda p: p != 1, lambda p: p < p, lambda p: "x" in p),
    ],
)
def test_looking_is_refused(look: Callable[[object], object]) -> None:
    with pytest.raises(PrivateValueError):
        look(sealed())


def test_printing_shows_nothing() -> None:
    private = sealed()
    for text in (repr(private), str(private), f"{private}", f"{private!r}", "%s" % private, str([private])):  # noqa: UP031
        assert "Ada" not in text
    assert not hasattr(private, "__dict__")


def test_a_reading_that_fails_on_a_share_is_no_error() -> None:
    """Otherwise the error would say that somebody's words are strange."""

    def deep(share: str) -> int:
        return 1 + deep(share) if share == SECRET else 0

    read = sealed().read(deep, otherwise=-1)
    assert unseal(read, lambda shares: shares) == (-1, 0)


def test_an_exception_on_a_share_names_its_type_alone() -> None:
    def fail(share: str) -> str:
        raise ValueError(f"cannot parse {share}")

    with pytest.raises(PrivateValueError) as caught:
        sealed().map(fail)
    error = caught.value
    assert "ValueError" in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(error))
    step = error.__traceback__
    while step is not None:
        if "discreet" in step.tb_frame.f_code.co_filename and "tests" not in step.tb_frame.f_code.co_filename:
            assert SECRET not in repr(step.tb_frame.f_locals)
        step = step.tb_next


@pytest.mark.parametrize("kind", [ValueError, LedgerError])
def test_an_exception_in_a_draw_shows_no_share(kind: type[Exception]) -> None:
    def draw(shares: tuple[str, ...]) -> str:
        failure = kind("It cannot be done.")
        raise failure from ValueError(shares)

    with pytest.raises(DiscreetError) as caught:
        unseal(sealed(), draw)
    error = caught.value
    assert isinstance(error, LedgerError) == (kind is LedgerError)  # what a ledger refuses is heard
    assert error.__cause__ is error.__context__ is None
    step = error.__traceback__
    while step is not None:
        if "tests" not in step.tb_frame.f_code.co_filename:
            assert SECRET not in repr(step.tb_frame.f_locals)
        step = step.tb_next


def test_a_batch_keeps_its_number_of_shares() -> None:
    with pytest.raises(PrivateValueError, match="number of shares"):
        sealed().map_batch(lambda shares: shares[:1])


def test_maps_keep_what_can_change() -> None:
    assert sealed().map(len).change == CHANGE


def test_a_change_is_of_at_least_one_share() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Change(0, Relation.REPLACE)


def test_only_the_filters_open_private_values() -> None:
    users = {path.name for path in SOURCES if re.search(r"\bunseal\(", path.read_text())}
    assert users == {"private.py", "filter.py", "partition.py", "account.py"}
    assert not [path for path in SOURCES if "_Private__" in path.read_text() and path.name != "private.py"]


def test_only_the_vault_lets_a_baseline_pass_unpaid() -> None:
    users = {path.name for path in SOURCES if "NotPrivateFilter" in path.read_text()}
    assert users == {"filter.py", "account.py"}


def test_no_noise_but_opendp_and_the_operating_system() -> None:
    generators = re.compile(
        r"np\.random|numpy\.random|torch\.(rand|multinomial|manual_seed|normal)|random\.(random|choice)"
    )
    for path in SOURCES:
        if path.name == "noise.py":
            tree = ast.parse(path.read_text())
            insecure = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "InsecureSeededNoise")
            lines = path.read_text().splitlines()
            outside = lines[: insecure.lineno - 1] + lines[insecure.end_lineno :]
            assert not generators.search("\n".join(outside))
        else:
            assert not generators.search(path.read_text()), path
