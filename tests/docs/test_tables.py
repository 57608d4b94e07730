"""The tables of the results are what their CSV files say."""

import json
from pathlib import Path

import pytest

from discreet_lab import docs_tables as tables


def test_pages_match_their_csv_files() -> None:
    assert tables.main(["--check"]) == 0


def test_every_csv_file_has_a_provenance() -> None:
    names = {path.stem for path in tables.DATA.glob("*.csv")}
    provenance = tables.read_provenance()
    assert names == set(provenance)
    for name, given in provenance.items():
        assert set(given) in ({*tables.PROVENANCE, tables.COMMANDS}, {*tables.PROVENANCE, tables.MARK}), name


def test_changed_table_is_out_of_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "docs/results/data"
    data.mkdir(parents=True)
    (data / "speed.csv").write_text("model,seconds\nsmall,1.0\nlarge,7.5\n")
    (data / "provenance.json").write_text(json.dumps({}))
    page = tmp_path / "docs/results/page.md"
    page.write_text("Before.\n<!-- table: speed; where: model=large; columns: seconds -->\nold\n<!-- end -->\nAfter.\n")
    monkeypatch.setattr(tables, "PAGES", tmp_path / "docs")
    monkeypatch.setattr(tables, "DATA", data)
    assert tables.main(["--check"]) == 1
    assert "old" in page.read_text()
    assert tables.main([]) == 0
    assert "| 7.5 |" in page.read_text()
    assert "2 rows and 2 columns: [speed.csv](data/speed.csv)" in page.read_text()
    assert tables.main(["--check"]) == 0


def test_two_faults_of_markers_do_not_hide_each_other(tmp_path: Path) -> None:
    """An end whose begin is lost, and a begin whose end is lost: their numbers are equal, and neither is a table."""
    page = tmp_path / "page.md"
    page.write_text("A lost begin.\n<!-- end -->\n\n<!-- table: speed -->\nA lost end.\n")
    with pytest.raises(ValueError, match="1 markers that begin and 1 that end"):
        tables.fill_page(page)


@pytest.mark.parametrize(("condition", "error"), [("colour=red", "Unknown column 'colour'"), ("model=tiny", "No row")])
def test_select_rows_rejects_a_condition(condition: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        tables.select_rows([{"model": "small"}], condition)


SET_UP = {"data": "none", "model": "none", "machine": "any", "seeds": "none", "commits": ["1234567"]}


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"commands": []}, "a: it needs commands, or 'not reprinted since' with a commit, and not both"),
        ({"commands": ["x"], "not reprinted since": "1234567"}, "a: it needs commands"),
        ({"commands": ["python -m discreet_lab.no_such_module"]}, "a: there is no module discreet_lab.no_such_module"),
        (
            {"commands": ["python -m discreet_lab.experiments accuracy prices"]},
            "a: there is no experiment accuracy prices",
        ),
        ({"commands": ["python -m discreet_lab.experiments speed"]}, "a: there is no experiment speed"),
        ({"commands": ["python -m discreet_lab.experiments files speed"]}, ""),
        ({"commands": ["python -m discreet_lab.experiments ledger payments --seconds 7"]}, ""),
        ({"not reprinted since": "1234567"}, ""),
    ],
)
def test_table_needs_a_command_that_exists_or_its_last_commit(told: dict[str, object], fault: str) -> None:
    found = list(tables.find_faults({"a": SET_UP | told}))
    assert len(found) == bool(fault)
    assert all(one.startswith(fault) for one in found)


def test_set_up_says_which_tables_are_not_reprinted() -> None:
    mark = {tables.MARK: "1234567"}
    assert list(tables.name_last_commits({"a": mark, "b": mark}, ["a", "b"])) == ["Not reprinted since `1234567`."]
    one = tables.name_last_commits({"a": mark, "b": {"commands": ["x"]}}, ["a", "b"])
    assert list(one) == ["`a`: not reprinted since `1234567`."]
