"""Readings under a schema: asked for, grounded in the text, another schema again; lists and votes that rest on them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.algorithms.consensus import Consensus, names_attribute
from discreet.cli.app import app
from discreet.cli.codebook import example_question
from discreet.errors import BadData, CannotAnswer, UsageError
from discreet.models.completer import FunctionModel, adapt_completer
from discreet.models.loading import load_model
from discreet.models.toy import ToyModel
from discreet.questions.router import Router
from discreet.registry import ListValues, MuRAGAda, Typical
from discreet.store.codebook import FILE, Attribute, Codebook, CodedValue
from discreet.store.documents import Document
from discreet.store.unit_records import TextStatement
from discreet.synthesis.statements import asked, propose_schema, statements_said, values_said
from discreet.vault import Vault
from tests.cli.running import run


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


SCHEMA = Codebook.parse(
    {
        "attributes": [
            {"name": "disease", "words": ["diagnosis"]},
            {"name": "age", "type": "number", "unit": "years", "low": 0, "high": 100},
            {"name": "ward", "type": "one of", "values": [{"name": "North"}, {"name": "South"}]},
            {"name": "seen", "type": "date"},
        ]
    }
)
STATED = SCHEMA.part(coded=False)
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
    use(vault, SCHEMA)
    vault.code(coder="model")
    return vault


def use(vault: Vault, book: Codebook | Path | None) -> None:
    """Make a book the vault's, and read under it."""
    vault.use_book(book, made_without_records=True)
    vault.read()


def of(vault: Vault, unit: str, text: str) -> list[TextStatement]:
    return list(vault.components.readings.load().of(unit, text))


# -- what a text states ----------------------------------------------------------------------------------------------


def test_attributes_are_asked_of_each_text(read: Vault) -> None:
    assert of(read, "u1", NOTE) == [
        TextStatement("disease", "winter hand"),
        TextStatement("age", "43", number=43.0, unit="years"),
        TextStatement("seen", "2026-05-03"),
    ]
    assert of(read, "u0", OTHER) == [TextStatement("disease", "glass knee")]
    assert read.components.readings.schema == STATED
    codes = read.components.codes.load()
    assert [codes.coded(unit, text) for unit, text in (("u1", NOTE), ("u0", OTHER), ("u1", OTHER))] == [
        {"ward": ("north",)},
        {"ward": ()},
        None,
    ]


@pytest.mark.parametrize(
    ("attribute", "said", "text", "values"),
    [
        (
            Attribute(name="symptoms"),
            "a dry cough, cold feet, and fever. The",
            "Dry cough, cold feet.",
            ["dry cough", "cold feet"],
        ),
        (Attribute(name="symptoms"), "not stated.", "Not stated.", []),
        (Attribute(name="symptoms"), "fever, and the disease is flu.", "Fever. The disease is flu.", ["fever"]),
        (Attribute(name="symptoms"), "symptoms.", "The symptoms.", []),
        (Attribute(name="dose", type="number", unit="mg"), "2.5 mg. The", "Takes 2.5 mg.", ["2.5"]),
        (Attribute(name="dose", type="number", unit="mg"), "2.5.", "Takes 2.5 g.", []),
        (Attribute(name="dose", type="number", unit="mg"), "2.5.", "Takes 12.5 mg.", []),
        (Attribute(name="fee", type="number"), "1,200.", "It costs 1,200 euros.", ["1200"]),
        (Attribute(name="age", type="number", unit="years"), "43.", "A 43-year-old man.", ["43"]),
        (Attribute(name="age", type="number", unit="years"), "43.", "Ana, 43, was seen.", ["43"]),
        (Attribute(name="age", type="number", unit="years"), "6.", "A baby of 6 months.", []),
        (Attribute(name="age", type="number", low=0.0, high=120.0), "430.", "Room 430.", []),
        (Attribute(name="age", type="number"), "61.", "Ana, 43, was seen.", []),
        (Attribute(name="day", type="date"), "May 3, 2026.", "Seen on 3 May 2026.", ["2026-05-03"]),
        (Attribute(name="day", type="date"), "2026-05-04.", "Seen on 3 May 2026.", []),
        (
            Attribute(name="ward", type="one of", values=tuple(CodedValue(name=one) for one in ("North", "South"))),
            "the south ward.",
            "In the south.",
            ["south"],
        ),
        (
            Attribute(name="ward", type="one of", values=tuple(CodedValue(name=one) for one in ("North", "South"))),
            "north.",
            "In the south.",
            ["north"],
        ),
        (
            Attribute(name="ward", type="one of", values=tuple(CodedValue(name=one) for one in ("North", "South"))),
            "west.",
            "In the west.",
            [],
        ),
    ],
)
def test_value_counts_if_it_stands_in_the_text_or_the_book(
    attribute: Attribute, said: str, text: str, values: list[str]
) -> None:
    assert [one.text for one in values_said(attribute, said, text)] == values


def test_denied_value_is_no_value() -> None:
    schema = Codebook(attributes=(Attribute(name="symptoms"), Attribute(name="allergy")))
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
    schema = Codebook(attributes=(Attribute(name="disease"), Attribute(name="age", type="number", unit="years")))
    together = dict(asked(model, notes, schema, 24, 96))
    assert [dict(asked(model, [note], schema, 24, 96))[0] for note in notes] == [together[n] for n in range(3)]
    assert [value for _, value, *_ in together[0]] == ["copper lung", "43"]


# -- the schema of a vault -------------------------------------------------------------------------------------------


def test_schema_belongs_to_the_vault(read: Vault) -> None:
    told: list[int] = []
    read.read(lambda done, _: told.append(done))
    assert told == [2]  # nothing is read again, and nothing without the schema
    assert Codebook.read(read.path / FILE) == SCHEMA
    read.remove("d0")
    assert read.components.readings.schema == STATED


def test_other_schema_is_another_reading(read: Vault) -> None:
    other, told = Codebook(attributes=(Attribute(name="ward"),)), list[int]()
    with pytest.raises(UsageError, match="--made-without-records"):
        read.use_book(other)
    read.use_book(other, made_without_records=False)

    def broken(done: int, size: int) -> None:
        told.append(done)
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read.read(broken)
    assert told[0] == 0
    assert read.components.readings.schema == STATED  # the former reading counts
    assert len(of(read, "u1", NOTE)) == 3
    read.read()  # the vault's book is the other one now
    assert of(read, "u1", NOTE) == [TextStatement("ward", "north")]
    use(read, SCHEMA)
    assert len(of(read, "u1", NOTE)) == 3
    assert "not declared" in " ".join(read.components.readings.assumed)  # it stays so, whatever is declared later
    use(read, None)
    assert read.components.readings.schema is None
    assert not (read.path / FILE).exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "holds no codebook"),
        ("[]", "needs a list"),
        ('{"attributes": []}', "at least 1 item"),
        ('{"attributes": [{"nam": "age"}]}', "attributes.0.nam: Extra inputs"),
        ('{"attributes": [{"name": ""}]}', "1 to 4 words"),
        ('{"attributes": [{"name": "a: b"}]}', "1 to 4 words"),
        ('{"attributes": [{"name": "age", "type": "integer"}]}', "any of"),
        ('{"attributes": [{"name": "ward", "type": "one of"}]}', "is 'one of' and has no values"),
        ('{"attributes": [{"name": "ward", "values": [{"name": "north"}]}]}', "has values and is 'text'"),
        ('{"attributes": [{"name": "age", "unit": "years"}]}', "only a number has a unit"),
        ('{"attributes": [{"name": "age", "type": "number", "low": 5, "high": 1}]}', "smaller to a larger"),
        ('{"attributes": [{"name": "age", "type": "number", "low": 0, "high": 0}]}', "smaller to a larger"),
        ('{"attributes": [{"name": "age", "type": "number", "high": 0}]}', "smaller to a larger"),
        ('{"attributes": [{"name": "age", "type": "number", "low": 1e999, "high": 1}]}', "valid number"),
        ('{"attributes": [{"name": "age"}, {"name": "Age"}]}', "stands for two"),
    ],
)
def test_schema_of_no_use_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / FILE
    path.write_text(content)
    with pytest.raises(BadData, match=said):
        Codebook.read(path)


def test_coding_keeps_to_the_coder_of_before(read: Vault) -> None:
    """Else `add` would code what the model coded again, by the packaged embedder."""
    before = read.components.codes.done.about
    read.add_documents([Document("new", "new", NOTE)])
    read.code()
    assert read.components.codes.done.about == before
    assert read.components.codes.load().coded("new", NOTE) == {"ward": ("north",)}


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
    with pytest.raises(CannotAnswer, match="read for disease, age, seen"):
        read.ask("q", ListValues(attribute=attribute))
    with pytest.raises(CannotAnswer, match="needs a number"):
        read.ask("q", Typical(attribute="disease", low=0, high=1))
    assert read.ledger.unit_balances() == []


def test_vote_is_the_attribute_that_the_question_names(read: Vault) -> None:
    by_reading = MuRAGAda(inner=Consensus(readings=True), lowest=-1.0)
    assert read.ask("What is the age of a patient?", by_reading).answer == "43"


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
    assert found == Codebook(
        attributes=(Attribute(name="disease"), Attribute(name="age", type="number"))
    )  # a name tells apart


def test_proposal_takes_no_document_of_the_vault(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lies in a vault"):
        vault.propose_book(vault.path / "public.jsonl")
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"text": NOTE}) + "\n")
    with pytest.raises(BadData, match="1 documents of the vault"):
        vault.propose_book(own)
    with pytest.raises(UsageError, match="no file"):
        vault.propose_book(tmp_path / "none.jsonl")


def test_schema_is_not_kept_if_the_model_has_no_logits(vault: Vault) -> None:
    """It would break each later reading of the vault, too."""
    model = adapt_completer(FunctionModel(lambda prompt, tokens: "The disease is flu."))
    writer = Vault.open(vault.path, model=model)
    assert writer.read() == 2
    use(vault, SCHEMA)
    with pytest.raises(UsageError, match="requires a language model with"):
        writer.read()  # under the vault's book
    with pytest.raises(UsageError, match="requires a language model with"):
        writer.read(ray="local")
    with pytest.raises(UsageError, match="requires a language model with"):
        writer.code(coder="model")
    writer.use_book(None)
    assert writer.read() == 2


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "question"),
    [
        (None, "What are the most common symptoms of ...?"),
        (STATED, "What is the disease for ...?"),
        (
            Codebook(attributes=(Attribute(name="age", type="number"), Attribute(name="allergies"))),
            "What are the most common allergies?",
        ),
        (
            Codebook(attributes=(Attribute(name="seen", type="date"), Attribute(name="age", type="number"))),
            "What is the median age?",
        ),
        (Codebook(attributes=(Attribute(name="seen", type="date"),)), ""),
    ],
)
def test_next_question_is_about_what_was_read(vault: Vault, schema: Codebook | None, question: str) -> None:
    assert example_question(schema) == question
    names = names_attribute(question, schema)
    assert names or "most common symptoms" in question or not question
    if "most common" in question or "median" in question:
        assert Router(vault.settings, "en", schema).understand(question.replace("...", "flu"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--made-with-records",), "Nothing changes in the codebook"),
        (("--book", "s.yaml", "--no-book"), "given and dropped at once"),
        (("--book", "medical"), "medical-visit"),
    ],
)
def test_options_that_do_not_fit_are_refused(vault: Vault, options: tuple[str, ...], said: str) -> None:
    found = run("code", vault.path, *options)
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())


def test_command_names_what_is_wrong_with_a_schema(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"attributes": [{"name": "age", "typ": "number"}]}')
    found = run("code", vault.path, "--book", path)
    assert found.exit_code == 4
    assert "attributes.0.typ" in found.output.replace("\n", " ")
    assert run("code", vault.path, "--book", tmp_path / "nothing.yaml").exit_code == 2


def test_refusal_comes_before_what_changes(read: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book that the model cannot read by, or that a question cannot tell apart, is not kept."""
    writer = Vault.open(read.path, model=adapt_completer(FunctionModel(lambda prompt, tokens: "The disease is flu.")))
    other, alike = tmp_path / "other.json", tmp_path / "alike.json"
    other.write_text(WARDS.text())
    alike.write_text('{"attributes": [{"name": "age"}, {"name": "age of onset"}]}')
    monkeypatch.setattr(Vault, "open", lambda *_, **__: writer)
    changed = ("--made-without-records", "--book")
    refused = run("code", read.path, *changed, other)
    assert refused.exit_code == 2
    assert "requires a language model with" in " ".join(refused.output.split())
    assert Codebook.read(read.path / FILE) == SCHEMA
    monkeypatch.setattr(Vault, "open", lambda *_, **__: read)
    assert run("code", read.path, *changed, alike).exit_code == 4
    assert Codebook.read(read.path / FILE) == SCHEMA
    done = run("code", read.path, *changed, other)
    assert done.exit_code == 0
    assert Codebook.read(read.path / FILE).attributes == WARDS.attributes


# -- what was released before ------------------------------------------------------------------------------------------

WARDS = Codebook.parse({"attributes": [{"name": "ward"}, {"name": "seen", "words": ["diagnosis"]}]})


def test_released_list_stays_under_another_schema(read: Vault) -> None:
    """It was asked with a word of the schema; the next schema lacks it, or means another attribute by it."""
    question, lost = "What are the most common diagnoses?", "List the diseases"
    named, called = ListValues(attribute="disease"), ListValues(attribute="diagnosis")
    paid = read.ask(lost, named)
    again = read.ask(question, called)
    assert again.table == paid.table
    spent = list(read.ledger.unit_balances())
    use(read, WARDS)
    found = read.ask(lost, named)
    assert found.table == paid.table
    assert read.price(lost, named) == 0
    assert list(read.ledger.unit_balances()) == spent


def test_list_that_was_not_released_is_refused(read: Vault) -> None:
    use(read, WARDS)
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
