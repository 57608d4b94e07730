"""Vectors for a database that is not trusted, end to end: what is paid, what is in the file, and what is not."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.errors import BadData, BudgetExhausted, StoreError, UsageError
from discreet.export import FOLDER, Export, ExportedVectors, most_rho, room_for, unit_vector, units_of_rows
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure, ZeroConcentrated
from discreet.privacy.noise import sample
from discreet.privacy.partition import REPLACE_ONE, Member, assign_rows
from discreet.privacy.private import Private
from discreet.store.documents import Document
from discreet.store.sealed_corpus import unit_key
from discreet.store.vectors import LARGEST
from discreet.vault import Vault
from tests.exact import paths
from tests.guarantee.privacy.laws import Law, divergence, gaussian_law

DISEASES = ["Winter Hand", "Glass Knee", "Thunder Heart"]


def documents() -> list[Document]:
    return [Document(f"d{n}", f"unit {n % 6}", f"Patient {n} has {DISEASES[n % 3]}") for n in range(12)]


def filled(path: Path, payment: str = "unit", epsilon: float = 20) -> Vault:
    vault = Vault.create(path, epsilon=epsilon, delta=1e-5, embedder="hashing", payment=payment)
    vault.add_documents(documents())
    return vault


@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_everybody_pays_once_and_the_file_has_its_rows(tmp_path: Path, payment: str) -> None:
    vault, out = filled(tmp_path / "v", payment), tmp_path / "vectors.npz"
    made = vault.export_vectors(out, Export(epsilon=5, delta=1e-6, k=16, rows=20))
    assert made.receipt.private
    assert 4.9 < made.receipt.epsilon <= 5
    assert (made.receipt.payment, made.receipt.relation) == ("every unit", "add-remove")
    assert (made.units, made.left_out) == (6, 0)
    assert vault.budget().spent > 0
    assert Vault.open(vault.path).budget().spent == vault.budget().spent
    assert vault.budget().questions[-1].algorithm == "export-vectors"
    read = ExportedVectors.read(out)
    assert read.vectors.shape == (20, 16)
    assert read.matrix.shape == (1024, 16)
    assert len(np.unique(read.vectors)) > 310  # no row is without noise; two numbers in float32 may be the same
    assert "unit" not in json.dumps({key: value for key, value in read.about.items() if key != "receipt"})


def test_with_a_price_beyond_all_measure_rows_are_found_again(tmp_path: Path) -> None:
    """The row of a unit is the one that looks like it, and the vault knows whose it is; nobody else does."""
    vault, out = filled(tmp_path / "v", epsilon=1e9), tmp_path / "vectors.npz"
    vault.export_vectors(out, Export(epsilon=1e8, delta=1e-6, k=512, rows=20))
    read = ExportedVectors.read(out)
    rows = read.nearest(vault.embedder.embed(["Glass Knee"])[0], 2)
    owners = units_of_rows(vault.path / FOLDER, vault.store, read.about["id"], rows)
    assert set(owners) == {"unit 1", "unit 4"}
    vault.remove_unit("unit 1")
    assert set(units_of_rows(vault.path / FOLDER, vault.store, read.about["id"], rows)) == {None, "unit 4"}
    kept = (vault.path / FOLDER / f"{read.about['id']}.json").read_text()
    assert "unit" not in kept
    with pytest.raises(BadData, match="no such export"):
        units_of_rows(vault.path / FOLDER, vault.store, "another", rows)


def test_more_units_than_rows(tmp_path: Path) -> None:
    vault = filled(tmp_path / "v")
    made = vault.export_vectors(tmp_path / "vectors.npz", Export(epsilon=5, delta=1e-6, k=4, rows=4))
    assert (made.units, made.left_out) == (4, 2)


def test_units_get_rows_by_chance(tmp_path: Path) -> None:
    vault, seen = filled(tmp_path / "v", epsilon=1000), set()
    for number in range(6):
        vault.export_vectors(tmp_path / f"{number}.npz", Export(epsilon=1, delta=1e-7, k=2, rows=7))
    for file in (vault.path / FOLDER).iterdir():
        rows = json.loads(file.read_text())
        assert len(rows) == 6
        assert {int(row) for row in rows} <= set(range(7))
        seen.add(tuple(rows.items()))
    assert len(seen) > 1


def test_whoever_cannot_pay_takes_nobodys_row(tmp_path: Path) -> None:
    """A unit that has spent all it had must not show, not even by the row that it would keep from another."""
    vault = filled(tmp_path / "v", epsilon=10)
    broke = [f"unit {n}" for n in range(5)]
    ledger, secret = vault.ledger, (vault.path / "units.key").read_bytes()
    paid = ledger.reserve("before", 0, Spending.of(Pure(9.0)), [unit_key(unit, secret) for unit in broke])
    assert len(paid) == 5
    for number in range(4):
        made = vault.export_vectors(tmp_path / f"{number}.npz", Export(epsilon=2, delta=1e-6, k=2, rows=1))
        assert made.units == 1
        about = ExportedVectors.read(tmp_path / f"{number}.npz").about
        assert units_of_rows(vault.path / FOLDER, vault.store, about["id"], [0]) == ["unit 5"]


def test_a_unit_has_one_vector_however_many_documents(tmp_path: Path) -> None:
    one = unit_vector([np.array([3, 4, 0])])
    many = unit_vector([np.array([3, 4, 0])] * 50)
    assert np.array_equal(one, many)
    assert int(np.dot(one, one)) <= LARGEST**2
    assert np.dot(one, one) > 0.998 * LARGEST**2
    assert unit_vector([np.array([1, 2, 2]), np.array([-1, -2, -2])]).tolist() == [0, 0, 0]
    choose = np.random.default_rng(0)
    for _ in range(200):
        found = unit_vector(list(choose.integers(-4096, 4096, size=(3, 5))))
        assert int(np.dot(found, found)) <= LARGEST**2


def test_a_price_is_filled_and_not_exceeded() -> None:
    for epsilon, delta in ((0.5, 1e-6), (5.0, 1e-5), (50.0, 1e-9)):
        rho = most_rho(Budget(epsilon, delta))
        assert Budget(epsilon, delta).admits(Spending.of(ZeroConcentrated(rho)))
        assert not Budget(epsilon, delta).admits(Spending.of(ZeroConcentrated(rho * 1.001)))


def test_what_cannot_be_paid_is_not_paid(tmp_path: Path) -> None:
    vault = filled(tmp_path / "v", epsilon=2)
    with pytest.raises(BudgetExhausted) as refused:
        vault.export_vectors(tmp_path / "vectors.npz", Export(epsilon=3, delta=1e-6))
    assert vault.budget().spent == 0
    assert not (tmp_path / "vectors.npz").exists()
    assert refused.value.asked == 3
    assert 2 <= refused.value.would_fit < 3  # its delta is below the vault's
    vault.export_vectors(tmp_path / "vectors.npz", Export(epsilon=refused.value.would_fit, delta=1e-6))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": np.inf},
        {"delta": 0.0},
        {"delta": 1e-4},  # above the vault's
        {"delta": 1.0},
        {"k": 0},
        {"k": 1025},
        {"rows": 0},
    ],
)
def test_bad_parameters(tmp_path: Path, wrong: dict[str, float]) -> None:
    vault = filled(tmp_path / "v")
    with pytest.raises(UsageError):
        vault.export_vectors(tmp_path / "a.npz", Export(**({"epsilon": 1.0, "delta": 1e-6} | wrong)))  # type: ignore[arg-type]
    assert vault.budget().spent == 0


def test_a_file_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    vault = filled(tmp_path / "v")
    too_long = tmp_path / f"{'v' * 251}.npz"
    with pytest.raises(StoreError, match="cannot be written"):
        vault.export_vectors(too_long, Export(epsilon=5, delta=1e-6, k=16, rows=20))
    assert vault.budget().spent == 0
    with pytest.raises(UsageError, match="is a folder"):
        vault.export_vectors(tmp_path / "v", Export(epsilon=5, delta=1e-6, k=16, rows=20), force=True)
    assert vault.budget().spent == 0
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_disk_that_fails_after_everybody_paid_says_so(tmp_path: Path) -> None:
    out = tmp_path / "vectors.npz"
    with pytest.raises(StoreError, match="may be paid, and are lost"), room_for(out, 100):
        raise OSError(28, "No space left on device")
    with pytest.raises(StoreError, match="Nothing was paid"), room_for(tmp_path / "none" / "x.npz", 100):
        pass
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    vault, out = filled(tmp_path / "v"), tmp_path / "a.npz"
    out.write_text("mine")
    price = Export(epsilon=1, delta=1e-6, k=2, rows=8)
    with pytest.raises(UsageError, match="--force"):
        vault.export_vectors(out, price)
    with pytest.raises(UsageError, match="no folder"):
        vault.export_vectors(tmp_path / "nowhere" / "a.npz", price)
    assert vault.budget().spent == 0
    with pytest.raises(BadData, match="no file of vectors"):
        ExportedVectors.read(out)
    vault.export_vectors(out, price, force=True)
    assert ExportedVectors.read(out).vectors.shape == (8, 2)


# -- the law of all rows, over the choice of rows and the noise, of a vault with a unit and without -----------------

SIGMA = 4.0
VECTORS = {"a": 2, "b": -2, "c": 2, "d": -2}
"""Of one number each, at most 2; so a replaced one moves by at most 4."""


def rows_law(units: str, rows: int, *, in_order: bool = False) -> Law:
    """Of two rows with noise; all choices are enumerated."""
    total: Law = {}
    gaussian = gaussian_law(SIGMA, 40)
    for noise in paths():
        order = list(units) if in_order else sample(units, len(units), noise)
        members = Private([Member(unit.encode(), unit) for unit in order[:rows]], REPLACE_ONE)
        held = dict[int, int]()
        if in_order:
            held = {place: VECTORS[unit] for place, unit in enumerate(order[:rows])}
        else:

            def remember(found: dict[int, str], held: dict[int, int] = held) -> None:
                held.update({r: VECTORS[u] for r, u in found.items()})

            assign_rows(members, rows, noise, remember)
        for x, p in gaussian.items():
            for y, q in gaussian.items():
                seen = (held.get(0, 0) + x, held.get(1, 0) + y)
                total[seen] = total.get(seen, 0.0) + noise.probability * p * q
    return total


def most_lost(pairs: list[tuple[Law, Law]]) -> float:
    """The largest divergence of order 2; outcomes at the cut tails, which only one law has, weigh nothing."""
    lost = []
    for pair in pairs:
        for p, q in (pair, pair[::-1]):
            common = p.keys() & q.keys()
            lost.append(divergence({o: p[o] for o in common}, {o: q[o] for o in common}, 2.0))
    return max(lost)


@pytest.mark.parametrize("units", ["a", "ab", "abc", "abcd"])
def test_a_unit_more_or_less_costs_no_more_than_is_paid(units: str) -> None:
    """With fewer units than rows, as many, and more: the row of the one that is gone is empty, or another's."""
    with_all = rows_law(units, 2)
    pairs = [(with_all, rows_law(units.replace(gone, ""), 2)) for gone in units]
    assert 0 < most_lost(pairs) <= 2 * 4**2 / (2 * SIGMA**2) * (1 + 1e-6)


def test_rows_in_the_order_of_names_are_caught() -> None:
    """The broken twin: with the first gone, everybody moves up."""
    honest = 2 * 4**2 / (2 * SIGMA**2)
    assert most_lost([(rows_law("abcd", 2, in_order=True), rows_law("bcd", 2, in_order=True))]) > 1.5 * honest


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command(tmp_path: Path) -> None:
    vault, out = filled(tmp_path / "v"), tmp_path / "a.npz"
    options = ("--epsilon", 2, "--rows", 8, "--k", 4)
    told = json.loads(run("export-vectors", vault.path, "--out", out, *options, "--json").stdout)
    assert told["receipt"]["private"] is True
    assert (told["rows"], told["units"], told["left_out"]) == (8, 6, 0)
    shown = run("export-vectors", vault.path, "--out", tmp_path / "b.npz", *options).output
    assert "made by every unit" in shown
    assert "does not cover texts" in shown
    assert run("export-vectors", vault.path, "--out", tmp_path / "c.npz", "--epsilon", 99).exit_code == 3
    assert run("export-vectors", vault.path, "--out", out, *options).exit_code == 2
