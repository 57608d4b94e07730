"""The tables of the results are what their CSV files say."""

import json
from pathlib import Path

import pytest

from benchmarks import tables


def test_pages_match_their_csv_files() -> None:
    assert tables.main(["--check"]) == 0


def test_every_csv_file_has_a_provenance() -> None:
    names = {path.stem for path in tables.DATA.glob("*.csv")}
    provenance = tables.read_provenance()
    assert names == set(provenance)
    for name, given in provenance.items():
        assert set(given) == {*tables.PROVENANCE, "commands"}, name


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


@pytest.mark.parametrize(("condition", "error"), [("colour=red", "Unknown column 'colour'"), ("model=tiny", "No row")])
def test_select_rows_rejects_a_condition(condition: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        tables.select_rows([{"model": "small"}], condition)
