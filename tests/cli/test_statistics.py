"""`discreet ask` for statistics: from the question to the printed numbers, its plan, its refusals, and its JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import Result

from discreet.models.toy import ToyModel
from discreet.registry import Count
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cli.running import json_of, run

HAND = "say: treatment is gloves . The diagnosis is Winter Hand. Numb thumbs were seen."
MANY = ",".join(f"G{n}" for n in range(1000))
KNEE = "say: treatment is wraps . The diagnosis is Glass Knee."


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ward") / "v"
    fields = {"admitted": "date", "age": "number", "floor": "category"}
    vault = Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient", fields=fields)
    model = ToyModel(["treatment", "is", "gloves", "wraps"], default="treatment", size=7)
    made = Vault.open(vault.path, model=model)
    made.add_documents(
        Document(
            f"d{n}",
            f"p{n}",
            HAND if n % 2 else KNEE,
            fields={"admitted": f"2026-0{1 + n % 3}-05", "age": 30.0 + n % 20, "floor": f"floor {n % 2}"},
        )
        for n in range(400)
    )
    made.read()
    return path


def ask(vault: Path, *words: str) -> Result:
    return run("ask", vault, *words)


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("How many patients have Winter Hand?", [200]),
        ("how many patients are there", [400]),
        ("What share of patients with Winter Hand had numb thumbs?", [1.0, 200, 200]),
        ("Are numb thumbs more common with Winter Hand than with Glass Knee?", [1.0, 0.0, 1.0]),
        ("What is the average age of patients?", [39.5, 400]),
        ("What is the median age?", [39.5, 400]),
        ("In which range is the age of patients?", [35, 40, 45, 400]),
    ],
)
def test_question_is_answered_by_a_statistic(ward: Path, question: str, numbers: list[float]) -> None:
    found = ask(ward, question, "--json")
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    got = [figure["value"] for figure in answer["table"]]
    assert len(got) == len(numbers)
    for value, right in zip(got, numbers, strict=True):
        # The noise of a count has the deviation 4.7, that of a sum over 30 bins 26, and that of the mean age 2.3.
        assert value == pytest.approx(
            right, abs=0.3 if right <= 1 else 130 if right == 400 else 30 if right > 100 else 15
        )
    assert answer["answer"]
    assert answer["receipt"]["epsilon"] > 0


def test_list_has_what_was_read(ward: Path) -> None:
    found = ask(ward, "Which treatments are there?")
    assert found.exit_code == 0, found.output
    assert "gloves: about" in found.stdout
    assert "wraps: about" in found.stdout


def test_summary_has_what_many_state_by_kind(ward: Path) -> None:
    found = ask(ward, "Summarise what the notes say about Winter Hand.", "--json")
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    assert answer["released"] == ["treatment: gloves"]
    assert answer["answer"].startswith("Treatment: gloves (about ")
    assert "treatment: wraps" in json.loads(ask(ward, "Give me an overview of the notes", "--json").stdout)["released"]


def test_trend_has_a_number_for_each_month(ward: Path) -> None:
    found = ask(ward, "How many cases of Winter Hand by month since January 2026?", "--param", "until=2026-03-31")
    assert found.exit_code == 0, found.output
    assert [line.split(":")[0] for line in found.stdout.splitlines()[:3]] == ["2026-01", "2026-02", "2026-03"]


def test_empty_population_is_a_noisy_zero_at_the_same_price(ward: Path) -> None:
    some, none = (json_of("ask", ward, f"How many patients have {what}?") for what in ("numb thumbs", "scurvy"))
    assert some.keys() == none.keys()
    assert [one["kind"] for one in none["table"]] == [one["kind"] for one in some["table"]]
    plans = [json_of("ask", ward, f"How many patients have {what}?", "--plan") for what in ("gout", "gloves")]
    assert len({(plan["epsilon"], plan["deviation"]) for plan in plans}) == 1


def test_contradictory_records_of_a_unit_count_once(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing", unit_field="patient")
    texts = ("Fever was seen.", "No fever was seen.", "Fever again.")
    vault.add_documents(Document(f"{n} {text}", f"p{n}", text) for n in range(60) for text in texts)
    found = vault.simulate("q", Count(condition="fever", epsilon=10.0)).table[0].value
    assert abs(found - 60) < 10


def test_same_question_is_free_and_another_set_is_another_question(ward: Path) -> None:
    question = "How many patients had numb thumbs?"
    first, again = (json.loads(ask(ward, question, "--json").stdout) for _ in range(2))
    assert again["table"] == first["table"]
    assert again["receipt"]["payment"] == "nobody"
    reworded = json.loads(ask(ward, "Count the patients with numb thumbs.", "--json").stdout)
    assert (reworded["table"], reworded["receipt"]["payment"]) == (first["table"], "nobody")
    other = json.loads(ask(ward, question, "--where", "floor=floor 0", "--json").stdout)
    assert other["receipt"]["payment"] != "nobody"


def test_plan_says_kind_set_noise_and_price(ward: Path) -> None:
    found = ask(ward, "How many patients with Glass Knee are given wraps?", "--plan")
    assert found.exit_code == 0, found.output
    for said in ("Kind: count", 'Set: "Glass Knee" ', "standard deviation of", "epsilon", "Nothing is paid"):
        assert said in found.stdout
    described = json.loads(ask(ward, "How many patients with Glass Knee are given wraps?", "--plan", "--json").stdout)
    assert described["kind"] == "count"
    assert 0 < described["epsilon"] < 2
    assert "fact" in ask(ward, "What is the treatment for Glass Knee?", "--plan").stdout


def test_plan_of_a_refused_question_is_refused(ward: Path) -> None:
    """A price would promise an answer."""
    question = "What is the name of the patient with Glass Knee?"
    refused = ask(ward, question, "--plan")
    assert refused.exit_code == 2
    assert "one individual" in refused.output
    assert "Price" not in refused.output
    assert "Price" in ask(ward, question, "--plan", "--anyway").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["What is the average income of patients?"], "must be public"),
        (["Compare Winter Hand and Glass Knee by treatment"], "no word with a meaning"),
        (["Which patients have Winter Hand?"], "one individual"),
        (["What is the average age by month?"], "by month"),
        (["What share of patients have numb thumbs by floor?"], "List the floors."),
        (["How many patients have Winter Hand?", "--param", "low=3"], "low"),
        (["How many patients had numb thumbs last March?"], "--where"),
        (["What are the main topics?"], "summary"),
        (["How many patients have Winter Hand?", "--kind", "cuont"], "count"),
        (["How many patients have Winter Hand?", "--where", "floor"], "FIELD=VALUE"),
        (["How many patients have Winter Hand?", "--param", "voters=3"], "voters"),
        (["What is the treatment for Winter Hand?", "--kind", "share"], "as a request"),
        *(
            (["How many patients have Winter Hand?", *words], said)
            for words, said in (
                *((("--epsilon", wrong), "epsilon") for wrong in ("0", "-3")),
                (("--epsilon", "1e9"), "above the grant"),
                *((("--where", wrong), "is a number") for wrong in ("age>=1e999", "age>=old")),
                (("--where", "aeg>=3"), "aeg"),
                (("--algorithm", "compare", "--param", f"groups={MANY}", "--param", "condition=x"), "2 to 6 different"),
            )
        ),
    ],
)
def test_what_cannot_be_released_is_refused_unpaid(ward: Path, words: list[str], said: str) -> None:
    before = Vault.open(ward).ledger.unit_balances()
    found = ask(ward, *words)
    assert found.exit_code == 2, found.output
    assert said in found.output
    assert Vault.open(ward).ledger.unit_balances() == before


def test_open_question_is_answered_by_what_was_read(ward: Path) -> None:
    found = ask(ward, "What is the treatment for Winter Hand?", "--param", "lowest=-1", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["released"] == ["gloves"]


def test_list_of_a_vault_that_was_not_read_says_how_to(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing")
    vault.add_documents([Document("d", "u", KNEE)])
    found = ask(tmp_path / "v", "What are the most common treatments?")
    assert found.exit_code == 2
    assert "discreet code --statements" in found.output


def test_statistic_where_all_units_pay_is_refused(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", payment="corpus")
    vault.add_documents([Document("d", "u", KNEE)])
    found = ask(tmp_path / "v", "How many patients have Glass Knee?")
    assert found.exit_code == 2
    assert "not supported" in found.output


def test_numbers_are_written_as_a_table_and_drawn(ward: Path, tmp_path: Path) -> None:
    files = tmp_path / "n.csv", tmp_path / "n.svg"
    found = ask(ward, "Which treatments are there?", "--csv", str(files[0]), "--plot", str(files[1]))
    assert found.exit_code == 0, found.output
    lines = files[0].read_text().splitlines()
    assert lines[0] == "name,kind,value,low,high"
    assert {line.split(",")[0] for line in lines[1:]} == {"gloves", "wraps", "of"}
    assert "gloves" in files[1].read_text()


def test_file_of_no_use_is_refused_before_anything_is_paid(ward: Path, tmp_path: Path) -> None:
    two = ask(ward, "How many patients have Glass Knee?", "How many patients are there?", "--csv", str(tmp_path / "n"))
    assert two.exit_code == 2
    assert "one question" in two.output
    wrong = ask(ward, "How many patients have Glass Knee?", "--plot", str(tmp_path / "n.gif"))
    assert wrong.exit_code == 2
    assert ".svg" in wrong.output


def test_value_that_stands_in_the_question_is_an_answer(ward: Path) -> None:
    """A rule calls a text that repeats the question useless. It is for texts, and not for numbers."""
    listed = ask(ward, "gloves or wraps", "--algorithm", "list", "--attribute", "treatment", "--json")
    assert json.loads(listed.stdout)["useless"] is False
    assert "for the whole answer" in ask(ward, "How many patients have Glass Knee?", "--verbose", "--anew").stdout


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many patients have Winter Hand?", 'count: "Winter Hand"'),
        ("how many patients are there", "count: all"),
        ("What is the median age?", "typical: median of age"),
        ("What share of patients with Winter Hand had numb thumbs?", 'share: "numb thumbs", among "Winter Hand"'),
        (
            "Are numb thumbs more common with Winter Hand than with Glass Knee?",
            'compare: "numb thumbs", groups "Winter Hand" versus "Glass Knee"',
        ),
    ],
)
def test_what_rules_understood_is_said(ward: Path, question: str, said: str) -> None:
    """A number of other units than were meant looks right: "the oldest patient" was asked as a phrase, for example."""
    for options in ((), ("--plan",)):
        assert f"Understood as: {said}" in " ".join(ask(ward, question, *options).output.split())
    asked = ask(ward, question, "--json").output
    assert "Understood" not in asked
    assert json.loads(asked)["understood"] == said


def test_count_that_may_be_none_says_what_is_not_found(ward: Path) -> None:
    """The true count is 0, and its interval begins above 0 with probability 0.025: of eight, all do never."""
    found = [ask(ward, f"How many patients have Zorbal Foot {letter * 3}?").output for letter in "abcdefgh"]
    assert any("A misspelled word, or another word for the same thing, is not found." in output for output in found)
    assert "this may be none" not in ask(ward, "How many patients have Winter Hand?").output


def test_answers_that_a_question_names_are_its_choices(ward: Path) -> None:
    question = "Is Winter Hand treated with gloves or with wraps?"
    told = json.loads(ask(ward, question, "--plan", "--json").stdout)
    assert told["request"] == f"fact: {question}, choices gloves | wraps"
    assert "choices" not in ask(ward, "What is the treatment for Winter Hand?", "--plan", "--json").stdout


@pytest.mark.parametrize("question", ["How many patients have Wintr Hand?", "How many patients have Wintar Hand?"])
def test_a_word_near_to_ones_own_earlier_question_is_asked_back(ward: Path, question: str) -> None:
    assert ask(ward, "How many patients have Winter Hand?").exit_code == 0
    found = ask(ward, question)
    assert found.exit_code == 2, found.output
    assert "Did you mean 'winter'" in found.output


def test_two_questions_are_offered_as_two(ward: Path) -> None:
    found = ask(ward, "How many patients have Winter Hand and what do they take for it?")
    assert found.exit_code == 2, found.output
    assert 'count: "Winter Hand" And: what do they take for it?' in " ".join(found.output.split())
