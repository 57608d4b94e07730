"""Front matter and sidecars: what a file states about itself, and nothing that only looks like it."""

from pathlib import Path

import pytest

from discreet.files.records import Unreadable
from discreet.files.units import front_matter, read_sidecar, sidecar


@pytest.mark.parametrize(
    ("text", "fields", "rest"),
    [
        ("---\npatient: P7\n---\nShe is well.", {"patient": "P7"}, "She is well."),
        ("---\r\npatient: 'P7'\r\n---\r\nWell.", {"patient": "P7"}, "Well."),
        (
            '---\npatient: "P: 7"  \ndate: 2026-01-31 # seen\n...\nWell.',
            {"patient": "P: 7", "date": "2026-01-31"},
            "Well.",
        ),
        ("---\n# a comment\n\ntags:\n  - x\n  - y\npatient: P7\n---\n", {"patient": "P7"}, ""),
        ("---\nA text between rules.\n---\nMore.", {}, None),
        ("---\npatient: P7\nnever closed", {}, None),
        ("patient: P7\n---\n", {}, None),
        ("--- \nzoë name: Zoë\n--- \nx", {"zoë name": "Zoë"}, "x"),
        ("---\nurl:x\n---\n", {}, None),
        ("---", {}, None),
        ("", {}, None),
    ],
)
def test_front_matter(text: str, fields: dict[str, object], rest: str | None) -> None:
    assert front_matter(text) == (fields, text if rest is None else rest)


def test_field_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="twice"):
        front_matter("---\npatient: P7\npatient: P8\n---\n")
    for damaged in ("# a comment\ntags:\n  - x\n- y\npatient: P7", "patient: [P7", "patient: *a", "a: b: c"):
        with pytest.raises(Unreadable, match="not well-formed YAML"):
            front_matter(f"---\n{damaged}\n---\n")
    (tmp_path / "a.json").write_text('{"patient": "P7", "patient": "P8"}')
    with pytest.raises(Unreadable, match="twice"):
        read_sidecar(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("names", "beside"),
    [
        (["a.pdf.json"], "a.pdf.json"),
        (["a.json"], "a.json"),
        (["a.json", "a.pdf.json"], "a.pdf.json"),
        (["b.json", "a.txt"], None),
    ],
)
def test_sidecar_lies_beside_its_file(names: list[str], beside: str | None, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_text("{}")
    assert sidecar(tmp_path / "a.pdf") == (tmp_path / beside if beside else None)
    assert sidecar(tmp_path / "a.json") is None


@pytest.mark.parametrize("content", [b"[1]", b"{secret", b"\xff", b"[" * 100_000, b'"secret"', b" " * 2_000_000])
def test_damaged_sidecar_is_named_without_its_content(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(Unreadable, match=r"a\.json") as caught:
        read_sidecar(tmp_path / "a.json")
    assert "secret" not in str(caught.value)
    with pytest.raises(Unreadable, match="cannot be read"):
        read_sidecar(tmp_path / "none.json")


@pytest.mark.parametrize("records", ['{"notes": [{"patient": 7}]}', '[{"patient": 7}]', '{"patient": 7, "text": "a"}'])
def test_table_beside_a_file_is_reported_and_no_sidecar(records: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(records)
    with pytest.raises(Unreadable, match=r"rename one of the two files: neither is added"):
        read_sidecar(tmp_path / "a.json")


def test_sidecar_that_leads_elsewhere_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    (tmp_path / "elsewhere.json").write_text("{}")
    (folder / "a.json").symlink_to(tmp_path / "elsewhere.json")
    assert sidecar(folder / "a.pdf") is None
    (folder / "b.json").write_text("{}")
    (folder / "c.json").symlink_to(folder / "b.json")
    assert sidecar(folder / "c.pdf") == folder / "c.json"
