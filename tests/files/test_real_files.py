"""Files as people really send them, through `discreet add`: whose each text is, what is listed, and the exit code.

A preview of each has the counts of the addition. Each case stands for its kind: other delimiters, formats, encodings.
"""

import io
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from discreet.vault import Vault
from tests.cli.running import json_of, run
from tests.files import samples

CASES = [
    json.loads(line) for line in Path(__file__).with_name("real_files.jsonl").read_text(encoding="utf-8").splitlines()
]
"""What is odd about some files (`name`), their contents, and what must come of them: the texts of each unit (`units`),
parts of reasons (`listed`) and what else (`says`, unless it begins with !) is shown, and the exit code. The others are
the options of `add` and the declared fields of the vault."""
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
W14 = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
OF = "urn:oasis:names:tc:opendocument:xmlns"


def docx(body: str) -> bytes:
    return samples.packed({"word/document.xml": f"<w:document {W} {W14}><w:body>{body}</w:body></w:document>"})


def odt(body: str) -> bytes:
    names = f'xmlns:office="{OF}:office:1.0" xmlns:text="{OF}:text:1.0" xmlns:form="{OF}:form:1.0"'
    return samples.packed({"content.xml": f"<office:d {names}>{body}</office:d>"})


def parquet(rows: list[dict[str, object]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), made)
    return made.getvalue()


MADE: dict[str, Callable[[Any], bytes]] = {
    "mixed": lambda parts: b"".join(part.encode(("utf-8", "latin-1")[n % 2]) for n, part in enumerate(parts)),
    **{"docx": docx, "odt": odt, "parquet": parquet, "xlsx": lambda rows: samples.xlsx(*rows)},
    **{"zip": samples.packed, "pdf": samples.pdf, "rtf": samples.rtf, "office": samples.docx},
}
"""Contents that are no text, by their kind."""


def content(made: Any) -> bytes:
    """The bytes of a file: a text, a text in another encoding, or what is made of a value."""
    if isinstance(made, str):
        return made.encode()
    if "encoding" in made:
        return bytes(made["text"].encode(made["encoding"]))
    ((kind, value),) = made.items()
    return MADE[kind](value)


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, made in files.items():
        (folder / name).write_bytes(content(made))
    return folder


def vault_at(path: Path, **fields: str) -> Vault:
    return Vault.create(path, epsilon=20, delta=1e-5, unit_field="patient", embedder="hashing", fields=fields)


def texts(vault: Vault) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if vault.inventory.batches():
        for one in vault.store.texts():
            found.setdefault(one.unit, []).append(one.text)
    return {unit: sorted(own) for unit, own in found.items()}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_whose_each_text_is_and_what_is_listed(case: dict[str, Any], tmp_path: Path) -> None:
    files, units, code = write(tmp_path / "in", case["files"]), case["units"], case.get("code", 0)
    vault = vault_at(tmp_path / "vault", **case.get("fields", {}))
    options = shlex.split(case.get("options", ""))
    seen = run("add", vault.path, files, *options, "--preview", "--json")
    result = run("add", vault.path, files, *options)
    shown = " ".join(result.output.split())
    assert (seen.exit_code, result.exit_code) == (code, code), shown
    assert texts(Vault.open(vault.path)) == {unit: sorted(own) for unit, own in units.items()}, shown
    for part in case.get("listed", ()):
        assert part in shown
    for part in case.get("says", ()):
        assert (part.removeprefix("!") in shown) != part.startswith("!")
    office = any(isinstance(made, dict) and "text" not in made for made in case["files"].values())
    if (preview := json.loads(seen.stdout).get("preview")) is not None and not office:  # each starts a process
        again = json.loads(run("add", vault.path, files, *options, "--json").stdout)
        assert (preview["new"], preview["units"]) == (sum(map(len, units.values())), len(units))
        assert again["unchanged"] == preview["new"]  # the same files, added again, add nothing
        for left in ("refused", "empty", "in_part", "erased"):
            assert len(preview[left]) == len(again["bad" if left == "refused" else left])


def rows_of(*records: tuple[object, ...]) -> str:
    return "".join(",".join(map(str, record)) + "\n" for record in (("id", "patient", "text"), *records))


def test_preview_is_the_addition_without_writing(tmp_path: Path) -> None:
    """It counts what is new, replaced, unchanged, refused, and refused as erased; and who is in the vault."""
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of((1, "P1", "Cold"), (2, "P2", "Rash"), (3, "P3", "Pain"), (4, "P4", "Ache")))
    assert run("add", vault.path, notes).exit_code == 0
    assert run("remove", vault.path, "--unit", "P3").exit_code == 0
    changed = (
        (1, "P1", "Cold"),
        (2, "P2", "Rash, gone"),
        (3, "P3", "Pain"),
        (4, "P5", "x"),
        (6, "P6", "y"),
        (6, "P6", "z"),
    )
    notes.write_text(rows_of(*((one, who, f'"{text}"') for one, who, text in changed)))
    seen = json.loads(run("add", vault.path, notes, "--preview", "--json").stdout)["preview"]
    added = json.loads(run("add", vault.path, notes, "--json").stdout)
    assert (seen["new"], seen["replaced"], seen["unchanged"], seen["known"]) == (1, 1, 1, 2)
    assert (added["added"], added["replaced"], added["unchanged"]) == (1, 1, 1)
    assert seen["refused"] == added["bad"]
    assert [bad["where"] for bad in added["bad"]] == ["n.csv line 5", "n.csv line 7"]
    assert seen["erased"] == added["erased"]
    assert added["buried"] == 1
    shown = run("add", vault.path, notes, "--preview").stdout
    assert "0 new, 0 replaced, 3 unchanged; in the vault already: 3 of 3 patients." in shown


def test_record_with_the_id_of_another_individual_does_not_stand_in_the_way_of_the_right_one(tmp_path: Path) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of((1, "P1", "a")))
    assert run("add", vault.path, notes).exit_code == 0
    notes.write_text(rows_of((1, "P2", "b"), (1, "P2", "b"), (1, "P1", "c"), (1, "P2", "b"), (1, "P1", "d")))
    seen = json.loads(run("add", vault.path, notes, "--preview", "--json").stdout)["preview"]
    added = json.loads(run("add", vault.path, notes, "--json").stdout)
    assert (seen["units"], seen["replaced"], seen["unchanged"]) == (1, 1, 0)
    assert (added["replaced"], added["unchanged"]) == (1, 0)
    assert seen["refused"] == added["bad"]
    reasons = {bad["where"].rpartition(" ")[2]: bad["reason"] for bad in added["bad"]}
    assert {line for line, reason in reasons.items() if "about another individual" in reason} == {"2", "3"}
    assert {line for line, reason in reasons.items() if "the first was kept" in reason} == {"5", "6"}
    assert texts(Vault.open(vault.path)) == {"p1": ["c"]}


def test_corrected_texts_without_ids_are_pointed_out(tmp_path: Path) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    for text in ("Cold", "Cold, gone"):
        notes.write_text(f'Fallnr.,patient,text\n1,P1,"{text}"\n2,P2,"{text}"\n')
        shown = " ".join(run("add", vault.path, notes).output.split())
    assert "2 texts of individuals who are in the vault" in shown
    assert "Is 'Fallnr.' an id? --id-field Fallnr." in shown


def test_addition_that_did_not_end_is_told_and_completed(tmp_path: Path) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of(*((n, f"P{n % 100}", f"Text {n}.") for n in range(300))))

    def stop(kind: str, count: int) -> None:
        if vault.store.count_documents():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.add(notes, progress=stop)
    other = write(tmp_path / "b", {"n.csv": rows_of(*((f"b{n}", f"P{n}", "Text.") for n in range(3)))}) / "n.csv"
    assert run("add", vault.path, other).exit_code == 0  # another file of that name
    assert Vault.open(vault.path).components.unfinished.batches == [1]
    assert run("undo", vault.path, 2).exit_code == 0
    assert Vault.open(vault.path).components.unfinished.batches == [1]
    stored = Vault.open(vault.path).store.count_documents()
    assert 0 < stored < 300
    assert "Batch 1 did not end" in run("list", vault.path, "batches").output
    assert json_of("list", vault.path, "batches")["unfinished"] == [1]
    assert "The `add` of batch 1 runs now, or did not end" in " ".join(run("doctor", vault.path).output.split())
    asked = run("ask", vault.path, "How many patients have a cold?").output
    assert "An addition to this vault did not end" in " ".join(asked.split())
    report = json.loads(run("add", vault.path, notes, "--json").stdout)
    assert (report["added"], report["unchanged"], report["batch"]) == (300 - stored, stored, 1)
    _, batch = json_of("list", vault.path, "batches")["batches"]
    assert (batch["documents"], batch["files"]) == (300, 1)
    assert "did not end" not in run("list", vault.path, "batches").output


@pytest.mark.parametrize(
    ("command", "options", "is_empty"), [("undo", "2", False), ("undo", "2", True), ("remove", "--file n.csv", False)]
)
def test_erasure_of_a_batch_that_did_not_end_ends_it(
    command: str, options: str, is_empty: bool, tmp_path: Path
) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    assert run("add", vault.path, write(tmp_path / "in", {"kept.csv": "patient,text\nP1,Cold\n"})).exit_code == 0
    notes.write_text(rows_of(*((n, f"P{n % 100}", f"Text {n}.") for n in range(300))))

    def stop(kind: str, count: int) -> None:
        if vault.store.count_documents() > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.add(notes, progress=stop)
    if is_empty:  # as if it had stopped between its mark and its first document
        vault.store.remove_batch(2)
    assert vault.components.unfinished.batches == [2]
    assert run(command, vault.path, *options.split(), "--yes").exit_code == 0
    assert vault.components.unfinished.batches == []
    assert "did not end" not in run("list", vault.path, "batches").output
    assert texts(Vault.open(vault.path)) == {"p1": ["Cold"]}


def test_many_are_erased_only_after_a_question_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of(*((n, f"P{n % 2}", f"Text {n}.") for n in range(4))))
    assert run("add", vault.path, notes).exit_code == 0
    monkeypatch.setattr("discreet.cli.remove._at_a_terminal", lambda: True)
    for command in (
        ("undo", vault.path, 1),
        ("remove", vault.path, "--unit", "P1"),
        ("remove", vault.path, "--file", "n.csv"),
    ):
        refused = run(*command, typed="n\n")
        assert refused.exit_code == 2
        assert "will be erased for good" in refused.output
    assert Vault.open(vault.path).store.count_documents() == 4
    assert run("remove", vault.path, "--unit", "P1", typed="y\n").exit_code == 0
    assert run("undo", vault.path, 1, "--yes").exit_code == 0
    assert Vault.open(vault.path).store.count_documents() == 0
