"""Bad input of an analyst and of a custodian, as each meets it: a clear answer before a payment, no crash, no leak."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.generation.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Count, ListValues, Share, Typical
from discreet.retrieval.documents import Document
from discreet.vault import Vault

FEVER, RASH = "say: treatment is gloves . Fever was seen.", "say: treatment is wraps . A rash was seen."
WORDS = f"Record: The is {FEVER} {RASH}".split()
NAMES = "Kestrel Ivarsen Zimmerli".split()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    return " ".join(result.output.split())


def toy(name: str = "toy") -> ToyModel:
    model = ToyModel(WORDS, default="treatment", size=60)
    model.name = name
    return model


def vault_of(path: Path, documents: Sequence[Document], **fields: str) -> Vault:
    made = Vault.create(path, epsilon=20, delta=1e-5, embedder="hashing", unit_field="patient", fields=fields)
    made = Vault.open(made.path, model=toy())
    made.add_documents(documents)
    return made


def notes(count: int, text: str = FEVER, start: int = 0, **fields: Any) -> list[Document]:
    return [Document(f"d{n}", f"p{n}", text, fields=fields) for n in range(start, start + count)]


def paid(vault: Vault) -> list[Any]:
    return list(vault.ledger.unit_balances())


# -- populations and groups ------------------------------------------------------------------------------------------


def test_group_of_one_is_hidden_by_the_noise(tmp_path: Path) -> None:
    """The count of one is as noisy as any other, and its share may be any."""
    vault = vault_of(tmp_path / "v", [*notes(50), *notes(1, RASH, 50)])
    count, share = Count(condition="rash", epsilon=0.1), Share(population="rash", condition="rash", epsilon=0.1)
    seeded = [InsecureSeededNoise(seed) for seed in range(12)]
    values = {round(vault.simulate(f"q{n}", count, noise=noise).table[0].value) for n, noise in enumerate(seeded)}
    assert len(values) > 3
    shares = [vault.simulate(f"q{n}", share, noise=noise).table[0] for n, noise in enumerate(seeded[:3])]
    assert all(one.high - one.low > 0.5 for one in shares)


def test_empty_population_is_a_noisy_zero_at_the_same_price(tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", notes(50))
    some, none = (run("ask", vault.path, f"How many patients have {what}?", "--json") for what in ("fever", "scurvy"))
    assert (some.exit_code, none.exit_code) == (0, 0)
    with_, without = (json.loads(one.stdout) for one in (some, none))
    assert with_.keys() == without.keys()
    assert [one["kind"] for one in without["table"]] == [one["kind"] for one in with_["table"]]
    prices = [run("ask", vault.path, f"How many patients have {w}?", "--plan", "--json") for w in ("gout", "plague")]
    plans = [json.loads(one.stdout) for one in prices]
    assert [plans[0][part] for part in ("epsilon", "deviation")] == [
        plans[1][part] for part in ("epsilon", "deviation")
    ]


def test_vault_without_documents_answers_like_any_other(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing")
    found = run("ask", vault.path, "How many patients have fever?")
    assert found.exit_code in (0, 2, 4)
    assert "Traceback" not in said(found)


def test_thousand_groups_are_refused_before_payment(tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", notes(5))
    many = ",".join(f"G{n}" for n in range(1000))
    parts = ("--param", f"groups={many}", "--param", "condition=fever")
    found = run("ask", vault.path, "q", "--algorithm", "compare", *parts)
    assert found.exit_code == 2
    assert "2 to 6 different groups" in said(found)
    assert paid(vault) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "-3"), "epsilon"),
        (("--epsilon", "1e9"), "above the grant"),
        (("--where", "age>=1e999"), "is a number"),
        (("--where", "age>=old"), "is a number"),
        (("--where", "aeg>=3"), "aeg"),
    ],
)
def test_number_out_of_range_is_named(tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    vault = vault_of(tmp_path / "v", notes(5, age=30.0), age="number")
    found = run("ask", vault.path, "How many patients have fever?", *words)
    assert found.exit_code == 2, said(found)
    assert expected in said(found).lower() or expected in said(found)
    assert paid(vault) == []


def test_numbers_beyond_the_public_range_count_at_its_ends(tmp_path: Path) -> None:
    wild = [*notes(40, age=1e300), *notes(40, start=40, age=-1e300), *notes(41, start=80, age=50.0)]
    vault = vault_of(tmp_path / "v", wild, age="number")
    table = vault.simulate("q", Typical(attribute="age", epsilon=10.0)).table
    assert all(0 <= one.value <= 130 for one in table)


# -- fields ----------------------------------------------------------------------------------------------------------


SIX_DATES = {
    "2024-03-01": "2024-03-01",
    "2024-03-01T10:00Z": "2024-03-01",
    "March 1 2024": "2024-03-01",
    "1 Mar 2024": "2024-03-01",
    "01.03.2024": "2024-03-01",
    "03/01/2024": None,
}


@pytest.mark.parametrize(("date", "kept"), SIX_DATES.items())
def test_date_in_six_formats_is_read_or_named(tmp_path: Path, date: str, kept: str | None) -> None:
    vault = Vault.create(
        tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", unit_field="patient", fields={"seen": "date"}
    )
    records = [{"patient": "p0", "text": FEVER, "seen": "2024-01-01"}, {"patient": "p1", "text": FEVER, "seen": date}]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = run("add", vault.path, path)
    entries = [entry.fields for entry in vault.store.catalog.list_documents()]  # type: ignore[union-attr]
    if kept:
        assert {"seen": kept} in entries
        return
    assert len(entries) == 1
    for word in ("'seen'", "2026-01-31", "2"):  # the field, the form, the line
        assert word in said(found)
    assert date not in said(found)


def test_field_that_changed_its_type_is_named_by_its_line(tmp_path: Path) -> None:
    vault = Vault.create(
        tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", unit_field="patient", fields={"age": "number"}
    )
    ages: list[Any] = [30, "31", "thirty-two", {"years": 33}, None, 34.5]
    path = tmp_path / "notes.jsonl"
    path.write_text(
        "".join(json.dumps({"patient": f"p{n}", "text": FEVER, "age": age}) + "\n" for n, age in enumerate(ages))
    )
    found = run("add", vault.path, path)
    assert vault.store.count_documents() == 4
    assert "'age'" in said(found)
    assert "thirty-two" not in said(found)
    assert run("ask", vault.path, "How many patients have fever?", "--where", "age>=18").exit_code == 0


# -- questions and records -------------------------------------------------------------------------------------------


def test_question_that_names_a_person_is_refused(tmp_path: Path) -> None:
    documents = [Document(f"d{n}", f"Ada {name}", f"Ada {name}: {FEVER}") for n, name in enumerate(NAMES)]
    vault = vault_of(tmp_path / "v", documents)
    found = run("ask", vault.path, "Which patient has fever? Give a name.")
    assert found.exit_code == 2
    assert not any(name in said(found) for name in NAMES)
    assert paid(vault) == []
    # A name is a phrase like any other: one unit more or less, under the noise.
    counts = [vault.simulate("q", Count(population=f"Ada {name}", epsilon=0.1)) for name in (NAMES[0], "Nobody")]
    assert all(len(one.table) == 1 and one.stopped == "end" for one in counts)


def test_contradictory_records_of_a_unit_count_once(tmp_path: Path) -> None:
    documents = [
        *notes(60),
        *(Document(f"x{n}", f"p{n}", "No fever was seen. say: treatment is wraps .") for n in range(60)),
    ]
    vault = vault_of(tmp_path / "v", documents)
    found = vault.simulate("q", Count(condition="fever", epsilon=10.0)).table[0].value
    assert abs(found - 60) < 10
    vault.read()
    listed = vault.simulate("q", ListValues(attribute="treatment", epsilon=15.0))
    assert set(listed.released) == {"gloves", "wraps"}  # both of its values


def test_unit_with_ten_thousand_records_counts_once(tmp_path: Path) -> None:
    many = [Document(f"m{n}", "one", f"Fever was seen on day {n}.") for n in range(10_000)]
    vault = vault_of(tmp_path / "v", [*many, *notes(20)])
    started = time.process_time()
    found = vault.simulate("q", Count(condition="fever", epsilon=10.0)).table[0].value
    first = time.process_time() - started
    assert abs(found - 21) < 10
    assert first < 20
    started = time.process_time()
    vault.simulate("q", Count(condition="chills", epsilon=10.0))
    assert time.process_time() - started < 10


# -- readings --------------------------------------------------------------------------------------------------------


def test_interrupted_reading_leaves_the_vault_as_it_was(tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", [*notes(100), *notes(100, RASH, 100)])

    def broken(done: int, size: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.read(broken)
    found = run("ask", vault.path, "What are the most common treatments?")
    assert found.exit_code == 2
    assert "discreet code --statements" in said(found)
    assert paid(vault) == []
    vault.read()
    assert run("ask", vault.path, "What are the most common treatments?").exit_code == 0


def test_model_that_was_changed_after_the_reading_reads_again(tmp_path: Path) -> None:
    """The statements of the former model count until those of the other one are complete; none are mixed."""
    vault = vault_of(tmp_path / "v", [*notes(100), *notes(100, RASH, 100)])
    vault.read()
    other = Vault.open(vault.path, model=toy("other"))
    assert set(other.ask("Which treatments are given?", ListValues(attribute="treatment")).released) == {
        "gloves",
        "wraps",
    }
    told: list[int] = []

    def broken(done: int, size: int) -> None:
        told.append(done)
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        other.read(broken)
    assert told[0] == 0
    assert other.components.readings.done.about[0] == "toy"
    other.read()
    assert other.components.readings.done.about[0] == "other"
