"""All tables anew: which commands, with which names filled in, and an estimate of their work."""

import argparse
from pathlib import Path

import pytest

from discreet.generation.loading import PACKAGED
from discreet_lab.docs_tables import read_provenance
from discreet_lab.experiments.common import add_model_option, model_name, vault_in
from discreet_lab.reprint import dataset_of, filled_in, main, run_all, scripts, with_model
from discreet_lab.reprint_work import OWN, ROWS, SHARED, STEPS, Machine, Work, work_of


def told(
    command: str, data: str = "nq_notes (5,340 notes); 100 questions", model: str = "SmolLM2-135M"
) -> dict[str, object]:
    """The set-up of a table."""
    return {"commands": [command], "data": data, "model": model}


def test_every_table_has_its_commands_once() -> None:
    provenance = read_provenance()
    found = scripts(provenance, {})
    wanted = sorted(name for name, told in provenance.items() if "commands" in told)
    assert sorted(name for script in found for name in script.tables) == wanted


def test_equal_commands_on_other_data_stay_apart() -> None:
    provenance = {"a": told("x"), "b": told("x"), "c": told("x", "chatdoctor (5,014 dialogues)")}
    assert [script.tables for script in scripts(provenance, {})] == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    ("data", "folder"),
    [
        ("medical_synth_small (1,000 patients, 12 diseases); 48 questions", "medical_synth_small"),
        ("a part of nq_notes: 1,232 notes", "nq_notes"),
        ("chatdoctor (5,014 dialogues); 40 questions", "chatdoctor"),
        ("none", "none"),
    ],
)
def test_dataset_is_found_in_the_set_up(data: str, folder: str) -> None:
    assert dataset_of(data) == folder


def test_names_in_capitals_are_filled_in(tmp_path: Path) -> None:
    command = ".venv/bin/python -m discreet_lab.experiments streams many-questions VAULT DATA/questions.jsonl"
    (script,) = scripts({"a": told(command)}, {})
    program = filled_in(script, tmp_path / "data", tmp_path / "out", "big")
    assert "discreet init " in program
    assert "--model big" in program
    assert f"{tmp_path}/data/nq_notes/questions.jsonl" in program
    assert "VAULT" not in program


def test_model_is_given_where_it_is_taken() -> None:
    lab = "python -m discreet_lab.experiments"
    text = f"{lab} streams stream A\n{lab} ledger payments\n{lab} streams tokens"
    assert with_model(text, "big") == text.replace("streams stream", "streams stream --model big")
    assert with_model(text, None) == text


MODELS = ("accuracy fixed-price", "attacks answers", "decoding answers", "peers compare", "side-channels time")


@pytest.mark.parametrize("part", MODELS)
def test_part_that_reads_a_model_takes_another_one(part: str) -> None:
    text = f"python -m discreet_lab.experiments {part} A"
    assert with_model(text, "big") == f"python -m discreet_lab.experiments {part} --model big A"


def test_new_vault_of_any_name_gets_the_model() -> None:
    text = "discreet init context-vault --epsilon 20\ndiscreet synthesize context-vault --out c.jsonl"
    found = with_model(text, "big").splitlines()
    assert found == ["discreet init context-vault --model big --epsilon 20", text.splitlines()[1]]


def test_commands_of_all_tables_are_whole_but_for_those_with_code_of_others() -> None:
    found = [script for script in scripts(read_provenance(), {}) if script.by_hand]
    tables = {name for script in found for name in script.tables}
    assert tables == {"peers", "peers-pairs"}


def test_commands_that_are_not_whole_are_for_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = scripts({"a": told("(the same) --seed 1")}, {})
    assert run_all(found, tmp_path, tmp_path, None) == 0
    assert capsys.readouterr().out == "a: for a person\n"


def test_run_keeps_what_was_printed_and_fails_with_it(tmp_path: Path) -> None:
    found = scripts({"a": told("echo printed"), "b": told("no-such-program")}, {})
    assert run_all(found, tmp_path / "data", tmp_path / "out", None) == 1
    assert (tmp_path / "out" / "a" / "printed.md").read_text() == "printed\n"
    assert "no-such-program" in (tmp_path / "out" / "b" / "errors.txt").read_text()


def test_work_counts_questions_rows_and_seeds() -> None:
    work = work_of("a", told("x --seeds 3"), 2)
    assert work == Work(600, 0)
    assert work.prefilled == 600 * (SHARED + OWN * ROWS)
    assert work.steps == 600 * STEPS
    assert work_of("a", told("x", model="none"), 2) is None


def test_hours_are_arithmetic_and_bytes() -> None:
    work = Work(1, 0)
    hours = Machine(1e9, 1e12, 1e12).hours(work)
    assert hours == pytest.approx((2e9 * work.prefilled / 1e12 + work.steps * 2e9 / 1e12) / 3600)


def test_estimate_runs_nothing_and_names_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["reprint", "--estimate", "--only", "stream"])
    assert main() == 0
    assert "| stream | streams stream |" in capsys.readouterr().out


def test_a_table_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["reprint", "--estimate", "--only", "streem"])
    with pytest.raises(SystemExit):
        main()


def test_model_option_is_none_unless_given() -> None:
    parser = argparse.ArgumentParser()
    add_model_option(parser)
    assert model_name(parser.parse_args([]).model) == PACKAGED
    assert model_name(parser.parse_args(["--model", "big"]).model) == "big"


def test_vault_is_made_once_with_the_model_asked_for(tmp_path: Path) -> None:
    made = vault_in(tmp_path / "v", "big", epsilon=1.0, delta=1e-5, embedder="hashing")
    assert made.settings.model == "big"
    assert vault_in(tmp_path / "v", None, epsilon=1.0, delta=1e-5).settings.model == "big"
