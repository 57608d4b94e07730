"""Readings under a schema: asked for, grounded in the text, another schema again; lists and votes that rest on them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from discreet.algorithms.common.read_votes import names_attribute
from discreet.algorithms.consensus import Consensus
from discreet.cli.app import app
from discreet.cli.read import example_question
from discreet.errors import BadData, CannotAnswer, UsageError
from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.function_model import FunctionModel
from discreet.generation.loading import load_model
from discreet.generation.toy import ToyModel
from discreet.questions.router import Router
from discreet.registry import ListValues, MuRAGAda, Typical
from discreet.retrieval.attribute_schema import Attribute, AttributeSchema
from discreet.retrieval.documents import Document
from discreet.retrieval.unit_records import Statement
from discreet.synthesis.asked_statements import asked, statements_said
from discreet.synthesis.asked_values import values_said
from discreet.synthesis.readings import DONE
from discreet.synthesis.schema_proposal import propose_schema
from discreet.vault import Vault


class Asked(ToyModel):
    """A toy that writes the words after `NAME:` of a text when it is asked for NAME."""

    def start(self, shared, prompts, max_tokens):  # type: ignore[no-untyped-def]
        texts = [[self._word(token) for token in prompt.tokens[prompt.padding :]] for prompt in prompts]
        return _AskedDecoding(self, texts)


class _AskedDecoding:
    """Rows that repeat what their text says of the attribute in the appended words."""

    def __init__(self, model: Asked, texts: list[list[str]]) -> None:
        self._model, self._texts, self._appended = model, texts, list[list[int]]()

    def best(self):  # type: ignore[no-untyped-def]
        found = [self._next(place) for place in range(len(self._texts))]
        return np.array(found, dtype=np.int64)

    def _next(self, row: int) -> int:
        said = [self._model._word(step[row]) for step in self._appended]
        if len(said) < 3:
            return 0
        name, written = said[1], len(said) - 3
        text = self._texts[row]
        start = text.index(f"{name}:") + 1 if f"{name}:" in text else len(text)
        end = text.index(".", start) if "." in text[start:] else len(text)
        words = text[start:end]
        return self._model.encode(words[written])[0] if written < len(words) else 0

    def logits(self):  # type: ignore[no-untyped-def]
        best: Any = self.best()  # type: ignore[no-untyped-call]
        found = np.zeros((len(best), self._model.vocabulary_size), dtype=np.float32)
        found[np.arange(len(best)), best] = 9.0
        return found

    def append(self, token: int) -> None:
        self._appended.append([token] * len(self._texts))

    def append_each(self, tokens: list[int]) -> None:
        self._appended.append(list(tokens))

    def truncate(self, length: int) -> None:
        del self._appended[length:]


SCHEMA = AttributeSchema.parse(
    {
        "attributes": [
            {"name": "disease", "words": ["diagnosis"]},
            {"name": "age", "type": "number", "unit": "years", "low": 0, "high": 100},
            {"name": "ward", "type": "category", "categories": ["North", "South"]},
            {"name": "seen", "type": "date"},
        ]
    }
)
NOTE = "disease: winter hand . age: 43 years . ward: north . seen: 3 May 2026 ."
OTHER = "disease: glass knee . age: 6 months . ward: west . seen: 03/05/2026 ."


def toy() -> Asked:
    return Asked(f"Record: The is {NOTE} {OTHER} {' '.join(SCHEMA.names)}".split(), size=60)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", unit_field="patient")
    made = Vault.open(made.path, model=toy())
    made.add_documents(Document(f"d{n}", f"u{n}", NOTE if n % 3 else OTHER) for n in range(300))
    return made


@pytest.fixture
def read(vault: Vault) -> Vault:
    vault.read(schema=SCHEMA)
    return vault


def of(vault: Vault, unit: str, text: str) -> list[Statement]:
    return list(vault.components.readings.load().of(unit, text))


# -- what a text states ----------------------------------------------------------------------------------------------


def test_attributes_are_asked_of_each_text(read: Vault) -> None:
    assert of(read, "u1", NOTE) == [
        Statement("disease", "winter hand"),
        Statement("age", "43", number=43.0, unit="years"),
        Statement("ward", "north"),
        Statement("seen", "2026-05-03"),
    ]
    assert of(read, "u0", OTHER) == [Statement("disease", "glass knee")]
    assert read.components.readings.schema == SCHEMA


@pytest.mark.parametrize(
    ("attribute", "said", "text", "values"),
    [
        (
            Attribute("symptoms"),
            "a dry cough, cold feet, and fever. The",
            "Dry cough, cold feet.",
            ["dry cough", "cold feet"],
        ),
        (Attribute("symptoms"), "not stated.", "Not stated.", []),
        (Attribute("symptoms"), "fever, and the disease is flu.", "Fever. The disease is flu.", ["fever"]),
        (Attribute("symptoms"), "symptoms.", "The symptoms.", []),
        (Attribute("dose", "number", unit="mg"), "2.5 mg. The", "Takes 2.5 mg.", ["2.5"]),
        (Attribute("dose", "number", unit="mg"), "2.5.", "Takes 2.5 g.", []),
        (Attribute("dose", "number", unit="mg"), "2.5.", "Takes 12.5 mg.", []),
        (Attribute("fee", "number"), "1,200.", "It costs 1,200 euros.", ["1200"]),
        (Attribute("age", "number", unit="years"), "43.", "A 43-year-old man.", ["43"]),
        (Attribute("age", "number", unit="years"), "43.", "Ana, 43, was seen.", ["43"]),
        (Attribute("age", "number", unit="years"), "6.", "A baby of 6 months.", []),
        (Attribute("age", "number", low=0.0, high=120.0), "430.", "Room 430.", []),
        (Attribute("age", "number"), "61.", "Ana, 43, was seen.", []),
        (Attribute("day", "date"), "May 3, 2026.", "Seen on 3 May 2026.", ["2026-05-03"]),
        (Attribute("day", "date"), "2026-05-04.", "Seen on 3 May 2026.", []),
        (Attribute("ward", "category", categories=("North", "South")), "the south ward.", "In the south.", ["south"]),
        (Attribute("ward", "category", categories=("North", "South")), "north.", "In the south.", []),
        (Attribute("ward", "category", categories=("North", "South")), "west.", "In the west.", []),
    ],
)
def test_value_counts_if_it_stands_in_the_text(attribute: Attribute, said: str, text: str, values: list[str]) -> None:
    assert [one.text for one in values_said(attribute, said, text)] == values


def test_denied_value_is_no_value() -> None:
    schema = AttributeSchema((Attribute("symptoms"), Attribute("allergy")))
    found = statements_said(schema, "No fever, but a rash.", [" fever, rash.", " fever."])
    assert found == [("symptoms", "fever", True, None, ""), ("symptoms", "rash", False, None, "")]


def test_statement_of_a_number_leaves_with_its_text(read: Vault) -> None:
    (path,) = (read.path / "readings").glob("statements-*.jsonl")
    path.write_text(path.read_text().replace("43.0", "44.0"))
    assert "age" not in [one.attribute for one in of(read, "u1", NOTE)]


def test_packaged_model_reads_each_text_by_itself() -> None:
    """Beside other texts, in a batch of another length of values, the statements are the same."""
    model = load_model("smollm2-135m")
    notes = [
        "Ana Costa, 43, has a fever. The disease is Copper Lung.",
        "My disease is Glass Knee. I have stiff mornings, clicking knees and a limp after sunset. I am 71 years old.",
        "Nothing.",
    ]
    schema = AttributeSchema((Attribute("disease"), Attribute("age", "number", unit="years")))
    together = dict(asked(model, notes, schema, 24, 96))
    assert [dict(asked(model, [note], schema, 24, 96))[0] for note in notes] == [together[n] for n in range(3)]
    assert [value for _, value, *_ in together[0]] == ["copper lung", "43"]


# -- the schema of a vault -------------------------------------------------------------------------------------------


def test_schema_belongs_to_the_vault(read: Vault) -> None:
    told: list[int] = []
    read.read(lambda done, _: told.append(done))
    assert told == [2]  # nothing is read again, and nothing without the schema
    assert AttributeSchema.read(read.path / "schema.json") == SCHEMA
    read.remove("d0")
    assert read.components.readings.schema == SCHEMA


def test_other_schema_is_another_reading(read: Vault) -> None:
    other, told = AttributeSchema((Attribute("ward", "category", categories=("north",)),)), list[int]()

    def broken(done: int, size: int) -> None:
        told.append(done)
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read.read(broken, schema=other)
    assert told[0] == 0
    assert read.components.readings.schema == SCHEMA  # the former reading counts
    assert len(of(read, "u1", NOTE)) == 4
    read.read()  # the vault's schema is the other one now
    assert of(read, "u1", NOTE) == [Statement("ward", "north")]
    read.read(schema=SCHEMA)
    assert len(of(read, "u1", NOTE)) == 4
    read.read(drop_schema=True)
    assert read.components.readings.schema is None
    assert not (read.path / "schema.json").exists()


def test_reading_of_an_older_version_stays(vault: Vault) -> None:
    """Its lines are pairs, and its mark names no schema."""
    vault.read()
    mark = vault.path / "readings" / DONE
    assert "schema" not in json.loads(mark.read_text())
    assert vault.components.readings.complete


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "holds no schema"),
        ("[]", 'needs a list "attributes"'),
        ('{"attributes": []}', "1 to 20"),
        ('{"attributes": [{"nam": "age"}]}', "unknown key 'nam'"),
        ('{"attributes": [{"name": ""}]}', "name of 1 to 4 words"),
        ('{"attributes": [{"name": "a: b"}]}', "name of 1 to 4 words"),
        ('{"attributes": [{"name": "age", "type": "integer"}]}', "the types are text, category"),
        ('{"attributes": [{"name": "ward", "type": "category"}]}', "1 to 100"),
        ('{"attributes": [{"name": "age", "unit": "years"}]}', "only a number has a unit"),
        ('{"attributes": [{"name": "age", "type": "number", "low": 5, "high": 1}]}', "smaller to a larger"),
        ('{"attributes": [{"name": "age", "type": "number", "low": 1e999, "high": 1}]}', "no finite number"),
        ('{"attributes": [{"name": "age"}, {"name": "Age"}]}', "stands for two"),
        ('{"attributes": [{"name": "age"}, {"name": "age of onset"}]}', "do not tell apart"),
        ('{"attributes": [{"name": "disease"}, {"name": "diagnosis"}]}', "do not tell apart"),
    ],
)
def test_schema_of_no_use_is_refused(vault: Vault, tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(content)
    with pytest.raises(BadData, match=said):
        vault.read(schema=path)
    assert not (vault.path / "schema.json").exists()


# -- what rests on it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["What are the most common diseases?", "Top 3 diagnoses", "List the illnesses."])
def test_list_finds_the_attribute_by_its_words(read: Vault, question: str) -> None:
    found = read.ask(question)
    assert set(found.released) == {"winter hand", "glass knee"}


def test_other_words_for_one_list_pay_once(read: Vault) -> None:
    assert read.ask("q one", ListValues(attribute="diagnosis")).receipt.payment != "nobody"  # type: ignore[union-attr]
    assert read.ask("q one", ListValues(attribute="diseases")).receipt.payment == "nobody"  # type: ignore[union-attr]


def test_typical_number_takes_the_range_of_the_schema(read: Vault) -> None:
    algorithm = read.algorithm_for("What is the median age of patients?")
    assert isinstance(algorithm, Typical)
    assert algorithm.range == (0.0, 100.0)
    table = read.ask("What is the median age of patients?").table
    assert abs(table[0].value - 43) < 5


@pytest.mark.parametrize("attribute", ["allergies", "hobby"])
def test_attribute_beyond_the_schema_is_refused_unpaid(read: Vault, attribute: str) -> None:
    with pytest.raises(CannotAnswer, match="read for disease, age, ward, seen"):
        read.ask("q", ListValues(attribute=attribute))
    with pytest.raises(CannotAnswer, match="needs a number"):
        read.ask("q", Typical(attribute="disease", low=0, high=1))
    assert read.ledger.unit_balances() == []


def test_vote_is_the_attribute_that_the_question_names(read: Vault) -> None:
    by_reading = MuRAGAda(inner=Consensus(readings=True), lowest=-1.0)
    assert read.ask("What is the ward of a patient?", by_reading).answer == "north"


# -- a schema that the model proposes --------------------------------------------------------------------------------


class Writer(ToyModel):
    """A toy that writes the text itself."""

    def _wish(self, prompt):  # type: ignore[no-untyped-def]
        return list(prompt.tokens[prompt.padding :])


def public(path: Path) -> Path:
    texts = [
        f"The disease is {'flu' if n % 2 else 'measles'} . The age is {20 + n} . The name is n{n} ." for n in range(20)
    ]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def test_proposed_schema_has_what_public_texts_share(tmp_path: Path) -> None:
    texts = [json.loads(line)["text"] for line in public(tmp_path / "p.jsonl").read_text().splitlines()]
    found = propose_schema(Writer(size=200), texts)
    assert found == AttributeSchema((Attribute("disease"), Attribute("age", "number")))  # a name tells apart


def test_proposal_takes_no_document_of_the_vault(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lies in a vault"):
        vault.propose_schema(vault.path / "public.jsonl")
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"text": NOTE}) + "\n")
    with pytest.raises(BadData, match="1 documents of the vault"):
        vault.propose_schema(own)
    with pytest.raises(UsageError, match="no file"):
        vault.propose_schema(tmp_path / "none.jsonl")


def test_schema_is_not_kept_if_the_model_has_no_logits(vault: Vault) -> None:
    """It would break each later reading of the vault, too."""
    model = adapt_completer(FunctionModel(lambda prompt, tokens: "The disease is flu."))
    writer = Vault.open(vault.path, model=model)
    with pytest.raises(UsageError, match="requires a language model with"):
        writer.read(schema=SCHEMA)
    assert not (vault.path / "schema.json").exists()
    assert writer.read() == 2
    with pytest.raises(UsageError, match="requires a language model with"):
        writer.read(ray="local", schema=SCHEMA)
    assert not (vault.path / "schema.json").exists()
    vault.read(schema=SCHEMA)
    with pytest.raises(UsageError, match="requires a language model with"):
        writer.read()  # under the vault's schema
    assert writer.read(drop_schema=True) == 2


# -- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("schema", "question"),
    [
        (None, "What are the most common symptoms of ...?"),
        (SCHEMA, "What is the disease for ...?"),
        (AttributeSchema((Attribute("age", "number"), Attribute("allergies"))), "What are the most common allergies?"),
        (AttributeSchema((Attribute("seen", "date"), Attribute("age", "number"))), "What is the median age?"),
        (AttributeSchema((Attribute("seen", "date"),)), ""),
    ],
)
def test_next_question_is_about_what_was_read(vault: Vault, schema: AttributeSchema | None, question: str) -> None:
    assert example_question(schema) == question
    names = names_attribute(question, schema)
    assert names or "most common symptoms" in question or not question
    if "most common" in question or "median" in question:
        assert Router(vault.settings, "en", schema).understand(question.replace("...", "flu"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "s.json"), "--out is the file of a proposed schema"),
        (("--propose-schema", "p.jsonl", "--ray", "local"), "on this machine alone"),
        (("--propose-schema", "p.jsonl", "--no-schema"), "reads no document"),
        (("--schema", "s.json", "--no-schema"), "given and dropped at once"),
    ],
)
def test_options_that_do_not_fit_are_refused(vault: Vault, options: tuple[str, ...], said: str) -> None:
    found = run("read", vault.path, *options)
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())


def test_command_names_what_is_wrong_with_a_schema(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"attributes": [{"name": "age", "typ": "number"}]}')
    found = run("read", vault.path, "--schema", path)
    assert found.exit_code == 4
    assert "unknown key 'typ'" in found.output.replace("\n", " ")
    assert run("read", vault.path, "--schema", tmp_path / "nothing.json").exit_code == 2
    assert run("read", vault.path, "--schema", path, "--propose-schema", path).exit_code == 2


def test_refusal_comes_before_what_changes(read: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says that all texts are read again once nothing can refuse it any more."""
    writer = Vault.open(read.path, model=adapt_completer(FunctionModel(lambda prompt, tokens: "The disease is flu.")))
    other, alike = tmp_path / "other.json", tmp_path / "alike.json"
    other.write_text(WARDS.text())
    alike.write_text('{"attributes": [{"name": "age"}, {"name": "age of onset"}]}')
    monkeypatch.setattr(Vault, "open", lambda *_, **__: writer)
    refused = run("read", read.path, "--schema", other)
    assert refused.exit_code == 2
    assert "requires a language model with" in " ".join(refused.output.split())
    assert "read again" not in refused.output
    monkeypatch.setattr(Vault, "open", lambda *_, **__: read)
    refused = run("read", read.path, "--schema", alike)
    assert refused.exit_code == 4
    assert "read again" not in refused.output
    done = run("read", read.path, "--schema", other)
    assert done.exit_code == 0
    assert " ".join(done.output.split()).count("All are read again.") == 1


# -- what was released before ------------------------------------------------------------------------------------------

WARDS = AttributeSchema.parse({"attributes": [{"name": "ward"}, {"name": "seen", "words": ["diagnosis"]}]})


def test_released_list_stays_under_another_schema(read: Vault) -> None:
    """It was asked with a word of the schema; the next schema lacks it, or means another attribute by it."""
    question, lost = "What are the most common diagnoses?", "List the diseases"
    named, called = ListValues(attribute="disease"), ListValues(attribute="diagnosis")
    paid = read.ask(lost, named)
    again = read.ask(question, called)
    assert again.table == paid.table
    spent = list(read.ledger.unit_balances())
    read.read(schema=WARDS)
    found = read.ask(lost, named)
    assert found.table == paid.table
    assert read.price(lost, named) == 0
    assert list(read.ledger.unit_balances()) == spent


def test_released_list_is_found_as_it_was_asked(read: Vault) -> None:
    question, called = "What are the most common diagnoses?", ListValues(attribute="diagnosis")
    paid = read.ask(question, called)
    read.read(schema=WARDS)
    assert read.ask(question, called).table == paid.table
    assert read.price(question, called) == 0


def test_list_that_was_not_released_is_refused(read: Vault) -> None:
    read.read(schema=WARDS)
    with pytest.raises(CannotAnswer, match="none of these"):
        read.ask("List the ages", ListValues(attribute="age"))


def test_released_list_needs_no_readings(read: Vault) -> None:
    question, called = "What are the most common diagnoses?", ListValues(attribute="diagnosis")
    paid = read.ask(question, called)
    shutil.rmtree(read.path / "readings")
    opened = Vault.open(read.path)
    assert not opened.components.readings.complete
    assert opened.ask(question, called).table == paid.table
    given = ["--algorithm", "list", "--param", "attribute=diagnosis"]
    shown = CliRunner().invoke(app, ["ask", str(read.path), question, *given])
    assert shown.exit_code == 0, shown.output
