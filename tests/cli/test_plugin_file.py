"""`--plugin FILE.py:NAME`: an algorithm in one file, in the same tables and under the same audits."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.parameters import register_files
from discreet.errors import UnknownName
from discreet.models.toy import ToyModel
from discreet.registry import ALGORITHMS
from discreet.store.documents import Document
from discreet.testing.algorithm import BUDGET
from discreet.testing.algorithm import run as answer_once
from discreet.vault import Vault
from discreet_lab.attacks.targets import check_names
from discreet_lab.audit import algorithms as audited
from discreet_lab.audit.algorithms import PAIRS, VOCABULARY, WORDS
from tests.cli.running import run, said

EXAMPLES = Path(__file__).parents[2] / "examples"
SOUND, BROKEN = f"{EXAMPLES / 'one_file.py'}:MyRAG", f"{EXAMPLES / 'one_file_broken.py'}:Broken"


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    before = dict(ALGORITHMS)
    yield
    ALGORITHMS.clear()
    ALGORITHMS.update(before)


@pytest.fixture
def one_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audited, "PAIRS", (PAIRS[1],))


@pytest.mark.long
@pytest.mark.usefixtures("one_pair")
def test_sound_file_is_not_flagged() -> None:
    result = run("audit", "--plugin", SOUND, "--draws", 500, "--seed", 3, "--json")
    (row,) = json.loads(result.stdout)["rows"]
    assert (result.exit_code, row["name"], row["verdict"]) == (0, "my-rag", "no violation found")
    assert row["claimed"] == pytest.approx(2.0)


@pytest.mark.usefixtures("one_pair")
def test_file_without_noise_is_flagged() -> None:
    result = run("audit", "--plugin", BROKEN, "--draws", 500, "--seed", 3)
    assert result.exit_code == 1
    assert "VIOLATION: the privacy loss of broken exceeds the claim" in said(result)


def audit_alone(plugin: str, draws: int) -> tuple[int, dict[str, Any]]:
    """Audit one algorithm on one pair. Return the exit code and the row."""
    result = run("audit", "--plugin", plugin, "--draws", draws, "--seed", 3, "--json")
    (row,) = json.loads(result.stdout)["rows"]
    return result.exit_code, row


@pytest.mark.parametrize(("file", "name"), [(SOUND, "my-rag"), (BROKEN, "broken")])
def test_example_reads_answers_as_models_write_them(file: str, name: str) -> None:
    register_files([file])
    example: Any = ALGORITHMS[name]()
    said_and_places = {"No.": 1, "Yes, it helps.": 0, "The answer is no": 1, "Certainly": -1, "": -1}
    assert {one: example.vote(one) for one in said_and_places} == said_and_places
    model = ToyModel(["No.", "Yes,"])
    answers = [
        answer_once(example, model, BUDGET, "corpus", ["numb thumbs say: No. ."] * 60, seed) for seed in range(5)
    ]
    assert {one.generated.text for one in answers} == {"no"}


def test_parameter_of_several_texts_is_given_several_times() -> None:
    shown = said(run("algorithms", "show", "my-rag", "--plugin", SOUND))
    assert "choices: text; give it several times, default yes and no" in shown
    numbers = said(run("algorithms", "show", "dp-rag"))
    assert "levels: number, or several, with commas, default 0." in numbers


READER = """
from discreet import GeneratedAnswer
from discreet.privacy.private import unseal
@dataclass(frozen=True)
class Reader(Algorithm):
    name = "reader"
    spec = AlgorithmSpec(Payment.NOTHING)
    def plan(self, budget, vocabulary): return None
    def run(self, query, corpus, model, account):
        found = unseal(corpus.top_units(query.text, 3), lambda all_: sorted(one.text for own in all_ for one in own))
        return GeneratedAnswer(" ".join(found), "end", 1, 1)
"""


@pytest.mark.usefixtures("one_pair")
def test_file_that_reads_and_pays_nothing_is_flagged(tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(HEAD + READER)
    code, row = audit_alone(f"{tmp_path / 'reader.py'}:Reader", 100)
    assert (code, row["verdict"]) == (1, "VIOLATION")


SILENT = """
from discreet import Budget, BudgetExhausted, GeneratedAnswer, Plan
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
@dataclass(frozen=True)
class Silent(Algorithm):
    name = "silent"
    spec = AlgorithmSpec(Payment.EVERY_UNIT)
    def plan(self, budget, vocabulary): return Plan(Budget(1.0, budget.delta), Pure(1.0), 1)
    def run(self, query, corpus, model, account):
        paying = account.charge_every_unit(Spending.of(Pure(1.0)))
        near = paying.among(corpus.above(query.text, 0.3)).map(lambda _: True)
        DRAW
        return GeneratedAnswer("none", "end", 1, 1)
"""
DRAW = "paying.paid.release(NoisyCount.calibrated(4.0, ADD_REMOVE_ONE), near)"


@pytest.mark.usefixtures("one_pair")
@pytest.mark.parametrize(
    ("draw", "fault"),
    [
        (DRAW, "'silent' releases more than its plan declares: run draws epsilon 4, plan has epsilon 1."),
        ("raise BudgetExhausted('Not today.', asked=1, left=0)", "Every draw of 'silent' ended in a refusal."),
        ("pass", "No draw of 'silent' released anything, though its plan has a cost."),
    ],
)
def test_file_that_never_answers_has_a_fault(tmp_path: Path, draw: str, fault: str) -> None:
    (tmp_path / "silent.py").write_text(HEAD + SILENT.replace("DRAW", draw))
    command = ("audit", "--plugin", f"{tmp_path / 'silent.py'}:Silent", "--draws", 100, "--seed", 3)
    result, printed = run(*command, "--json"), run(*command)
    told = json.loads(result.stdout)
    (row,) = told["rows"]
    assert (result.exit_code, told["faults"], told["violations"], row["verdict"]) == (1, 1, 0, "FAULT")
    assert fault in row["fault"]
    assert (printed.exit_code, f"{fault} " in said(printed), "No violation" in said(printed)) == (1, True, False)
    assert "1 of 1 audits shows nothing." in said(printed)


@pytest.mark.usefixtures("one_pair")
def test_file_beside_a_mechanism_in_one_table() -> None:
    options = ("--draws", 100, "--seed", 3, "--json", "--param", "voters=2", "--param", "choices=x", "--param")
    result = run("audit", "noisy-count", "--plugin", SOUND, *options, "choices=z")
    assert [row["name"] for row in json.loads(result.stdout)["rows"]] == ["noisy-count", "noisy-count", "my-rag"]


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = Vault.create(tmp_path / "vault", epsilon=20.0, delta=1e-5, embedder="hashing", model="toy")
    made.add_documents([Document(f"d{n}", f"u{n}", f"fever {n} say: x .") for n in range(8)])
    opened = Vault.open(made.path, model=ToyModel(WORDS.split(), default="who knows", size=VOCABULARY))
    monkeypatch.setattr(Vault, "open", lambda *_, **__: opened)
    (tmp_path / "asked.jsonl").write_text(json.dumps({"question": "fever?", "answers": ["x"]}) + "\n")
    return tmp_path / "vault"


def test_eval_has_the_file_in_the_same_table(vault: Path) -> None:
    given = ("--algorithm", "rag", "--plugin", SOUND, "--param", "choices=x", "--param", "choices=y", "--json")
    result = run("eval", vault, vault.parent / "asked.jsonl", "--epsilon", 5, *given)
    assert result.exit_code == 0, said(result)
    assert [row["algorithm"] for row in json.loads(result.stdout)["rows"]] == ["rag", "my-rag"]


def test_eval_measures_bert_score_by_the_packaged_encoder(vault: Path) -> None:
    given = ("--algorithm", "non-rag", "--bert-score", "minilm", "--json")
    result = run("eval", vault, vault.parent / "asked.jsonl", *given)
    assert result.exit_code == 0, said(result)
    assert 0 < json.loads(result.stdout)["rows"][0]["bert_score"] < 1


def test_ask_charges_for_the_file(vault: Path) -> None:
    given = ("--plugin", SOUND, "--choice", "x", "--choice", "y", "--epsilon", 5, "--json")
    answer = json.loads(run("ask", vault, "fever?", *given).stdout)
    assert (answer["algorithm"], answer["answer"]) == ("my-rag", "x")
    assert 0 < answer["receipt"]["epsilon"] <= 5.0
    refused = run("ask", vault, "fever?", "--plugin", SOUND, "--algorithm", "rag")
    assert (refused.exit_code, "Give one of them" in said(refused)) == (2, True)


HEAD = """
from dataclasses import dataclass
from discreet import Algorithm, AlgorithmSpec, Guarantee, Payment
class Other: pass
"""
FITTING = """
@dataclass(frozen=True)
class Mine(Algorithm):
    name = "mine"
    spec = AlgorithmSpec(Payment.EVERY_UNIT)
    voters: int = 3
    def plan(self, budget, vocabulary): return None
    def run(self, query, corpus, model, account): return 1 / 0
"""


@pytest.mark.parametrize(
    ("old", "new", "called", "hint"),
    [
        ("", "", "Absent", "has no 'Absent'. Its algorithms: Mine."),
        ("", "", "Other", "not a dataclass that derives from discreet.Algorithm"),
        ("query, corpus, model, account", "query", "Mine", "run(self, query). Expected run(self, query, corpus, mod"),
        ("    def plan", "    def planned", "Mine", "it has no plan"),
        ("frozen=True", "", "Mine", "Expected @dataclass(frozen=True)"),
        ('"mine"', '"rag"', "Mine", "the name 'rag'. Expected a name that no other"),
        ("    name = ", "    named = ", "Mine", "does not declare a `name`"),
        ("    spec = ", "    promise = ", "Mine", "does not declare a `spec`"),
        ("voters: int = 3", "voters: int", "Mine", "its fields voters have no default"),
        ("class Mine", "clas Mine", "Mine", "cannot be loaded: SyntaxError"),
        ("EVERY_UNIT", "NOTHING, guarantee=Guarantee.NONE", "Mine", "no claim to audit. Expected Guarantee.DP"),
        ("", "", "Mine", "failed: ZeroDivisionError: division by zero (line 12)"),
        # The line is that of the file, and not of the library that it calls.
        ("1 / 0", '__import__("json").loads("{")', "Mine", "column 2 (char 1) (line 12). Mend the file"),
    ],
)
def test_unfit_file_is_refused(tmp_path: Path, old: str, new: str, called: str, hint: str) -> None:
    (tmp_path / "mine.py").write_text(HEAD + FITTING.replace(old, new, 1))
    result = run("audit", "--plugin", f"{tmp_path / 'mine.py'}:{called}", "--draws", 100)
    assert (result.exit_code, hint in said(result)) == (2, True), said(result)


def without_answer(path: Path, returned: str) -> str:
    """Write an algorithm that charges nothing and returns something else than an answer; return it for --plugin."""
    (path / "mine.py").write_text(HEAD + FITTING.replace("EVERY_UNIT", "NOTHING").replace("1 / 0", returned))
    return f"{path / 'mine.py'}:Mine"


RETURNED = "returned an object of type {}. Expected a GeneratedAnswer from `run`, or from `respond` of an ensemble."


def test_audit_states_what_a_file_must_return(tmp_path: Path) -> None:
    result = run("audit", "--plugin", without_answer(tmp_path, "5"), "--draws", 100)
    assert (result.exit_code, RETURNED.format("int") in said(result)) == (1, True), said(result)


def test_error_is_shown_on_the_fictional_hospital_alone(tmp_path: Path, vault: Path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + FITTING.replace("EVERY_UNIT", "NOTHING"))
    plugin = ("--plugin", f"{tmp_path / 'mine.py'}:Mine")
    shown = run("bench", "vote-epsilon", "--quick", "--limit", 1, "--epsilon", 1, *plugin)
    assert (shown.exit_code, "The run of mine failed: ZeroDivisionError" in said(shown)) == (2, True), said(shown)
    assert "(line 12). Mend the file." in said(shown)
    for command in (("eval", vault), ("bench", "vote-epsilon", vault)):
        withheld = run(*command, vault.parent / "asked.jsonl", *plugin)
        assert (withheld.exit_code, "division by zero" in said(withheld)) == (1, False), said(withheld)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (("--plugin", "absent.py:Mine"), "no file 'absent.py'"),
        (("--plugin", "my.py"), "Expected FILE.py:NAME, such as my.py:MyRAG"),
        (("--plugin", SOUND, "--twins"), "no broken twin"),
        (("--plugin", SOUND, "--param", "voter=3"), "voters"),
        (("noisy-count", "--param", "voters=3"), "--param is for an algorithm of --plugin"),
    ],
)
def test_wrong_use(wrong: tuple[str, ...], hint: str) -> None:
    result = run("audit", *wrong)
    assert (result.exit_code, hint in said(result)) == (2, True), said(result)


def test_page_has_the_example() -> None:
    page = (EXAMPLES.parent / "docs" / "extend.md").read_text()
    assert f"```python\n{(EXAMPLES / 'one_file.py').read_text()}```" in page


def test_file_is_a_target_of_attacks(vault: Path) -> None:
    register_files([SOUND])
    check_names(["rag", "my-rag"])
    with pytest.raises(UnknownName):
        check_names(["count"])  # a statistic says no words to compare
    refused = run("attack", vault, "--plugin", "absent.py:Mine")
    assert (refused.exit_code, "no file 'absent.py'" in said(refused)) == (2, True)
