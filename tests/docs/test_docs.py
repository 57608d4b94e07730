"""The documentation holds: commands and options exist, links lead somewhere, and what can be run runs as printed."""

import csv
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.output import WRONG_USE
from discreet.models.toy import ToyModel
from discreet.vault import Vault
from tests.docs.pages import PAGES, ROOT, Page

ALL = [Page(path) for path in PAGES]
COMMANDS: Any = get_command(app)
NAMES = set(COMMANDS.list_commands(None))
LINES = [pytest.param(words, id=f"{page.name}: {' '.join(words)[:60]}") for page in ALL for words in page.commands()]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DISEASES = {"Winter Hand": "warm sand", "Glass Knee": "nettle oil"}


@cache
def find_command(name: str) -> Any:
    """Build a command once: its modules are imported, and its options read."""
    return COMMANDS.get_command(None, name)


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, and run nothing."""
    command = COMMANDS
    while hasattr(command, "get_command") and words:
        found = find_command(words[0]) if command is COMMANDS else command.get_command(None, words[0])
        assert found is not None, f"there is no command '{words[0]}'"
        command, words = found, words[1:]
    command.make_context(command.name, list(words))


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", LINES)
def test_every_command_line_is_understood(words: list[str]) -> None:
    parse(words)


def test_wrong_command_line_is_noticed() -> None:
    for line in ("ask", "ask hospital Why? --no-such", "plan --people many --epsilon 1"):
        with pytest.raises(WRONG_USE):
            parse(line.split())
    with pytest.raises(AssertionError, match="asks"):
        parse(["asks", "hospital", "Why?"])


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_commands_that_are_mentioned_exist(page: Page) -> None:
    for span in page.mentions():
        name, *rest = span.split()[1:]
        assert name in NAMES, f"{page.name}: `{span}`"
        command = find_command(name)
        subcommands = getattr(command, "commands", {}).values()
        known = {option for one in (command, *subcommands) for param in one.params for option in options_of(param)}
        for option in re.findall(r"--[a-z][a-z-]*", " ".join(rest)):
            assert option in known, f"{page.name}: `{span}`: {option}"


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_command_that_makes_a_vault_with_epsilon_has_delta(page: Page) -> None:
    """`discreet init` refuses one without the other; `--people` gives delta."""
    made = [words for words in page.commands() if words[:1] == ["init"]]
    made += [span.split()[1:] for span in page.mentions() if span.startswith("discreet init ")]
    for words in made:
        assert "--epsilon" not in words or {"--delta", "--people"} & set(words), words


def options_of(param: Any) -> list[str]:
    return [*param.opts, *param.secondary_opts]


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_programs_exist(page: Page) -> None:
    for program in page.programs():
        path = program if program.endswith(".py") else program.replace(".", "/")
        names = (path, f"src/{path}", f"src/{path}.py", f"{path}.py", f"src/{path}/__init__.py")
        assert any((ROOT / one).exists() for one in names), program


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Page) -> None:
    for link in page.links():
        target, _, anchor = link.partition("#")
        path = (page.path.parent / target).resolve() if target else page.path
        assert path.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in Page(path).anchors(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_paths_exist(page: Page) -> None:
    for path in page.paths():
        assert (ROOT / path).exists(), f"{page.name}: `{path}`"


def test_odds_of_the_privacy_page_follow_from_epsilon() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.,]+) \| (.+) \|$", (ROOT / "docs/privacy.md").read_text(), re.MULTILINE)
    assert len(rows) == 5
    for epsilon, factor, cells in rows:
        odds = math.exp(float(epsilon))
        assert math.isclose(float(factor.replace(",", "")), odds, rel_tol=0.03)
        for before, cell in zip((0.01, 0.1, 0.5), cells.split(" | "), strict=True):
            after = before * odds / (before * odds + 1 - before)
            printed = cell.removesuffix(" %")
            assert abs(100 * after - float(printed)) <= (0.5 if "." not in printed else 0.06), (epsilon, cell)


def test_reference_lists_every_page() -> None:
    listed = {link.partition("#")[0] for link in Page(ROOT / "docs/reference.md").links()}
    assert {path.name for path in ROOT.glob("docs/*.md")} <= listed | {"reference.md"}


def test_readme_is_short() -> None:
    readme = Page(ROOT / "README.md").text
    assert len(readme.splitlines()) <= 70
    assert {"make demo", "make test"} <= set(re.findall(r"^    (make \w+)", readme, re.MULTILINE))


def test_way_to_a_first_count_is_short() -> None:
    first = Page(ROOT / "docs/first-hour.md").text.partition("\n## 5.")[0]
    pages = [Page(ROOT / "README.md").text, Page(ROOT / "docs/install.md").text, first]
    assert sum(len(page.split()) for page in pages) <= 1200


def test_there_are_eighteen_pages_of_43000_words() -> None:
    """Generated tables and set-ups apart, and the pages of single results, which the page of results links."""
    pages = [*ROOT.glob("docs/*.md"), ROOT / "docs/results/index.md", ROOT / "docs/report/report.md"]
    generated = re.compile(r"^<!-- (?:table|setup): .*?<!-- end -->$", re.MULTILINE | re.DOTALL)
    assert len(pages) == 18
    assert sum(len(generated.sub("", page.read_text()).split()) for page in pages) <= 43_000


def test_figures_of_the_readme_are_in_their_files() -> None:
    rows = re.findall(
        r"^\| .*\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| \[[\w-]+\]\((docs/\S+)\) \|$", README, re.MULTILINE
    )
    assert len(rows) == 5
    for *cells, path in rows:
        known = set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", (ROOT / path).read_text()))
        assert {cell for cell in cells if cell[0].isdigit()} <= known, path


# --- what can be run --------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vault reads with the toy model, in place of the packaged one, which takes minutes."""
    model = ToyModel(default="nothing known")
    monkeypatch.setattr("discreet.models.loading.load_model", lambda *_given, **_named: model)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name: notes, letters, questions, a public corpus."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (f"P{number}", text)
        for number, (disease, treatment) in enumerate(list(DISEASES.items()) * 60)
        for text in (f"say: {treatment} . {disease}, number {number}", f"Seen for {disease} on day {number}.")
    ]
    with Path("notes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("patient", "note"), *rows, ("Ada Lind", "Seen once.")])
    lines = [json.dumps({"id": str(4700 + n), "patient": unit, "text": text}) for n, (unit, text) in enumerate(rows)]
    Path("notes.jsonl").write_text("\n".join(lines))
    for name in ("adler_ada", "berg_bo"):
        folder = Path("letters") / name
        folder.mkdir(parents=True)
        (folder / "one.txt").write_text(f"{name} has Winter Hand.")
    public = [{"text": f"{disease} is treated with {treatment}."} for disease, treatment in DISEASES.items()]
    Path("public.jsonl").write_text("\n".join(map(json.dumps, public)))
    return tmp_path


def run(words: list[str], *more: str) -> str:
    result = CliRunner().invoke(app, [*words, *more])
    assert result.exit_code == 0, (words, result.output)
    return result.output


def without_numbers(text: str) -> str:
    """Return a text with a sign in place of each number, and with single spaces."""
    return re.sub(r"\d[\d.,]*\d|\d", "#", text)


def steps(page: str, *names: str) -> list[list[str]]:
    """The command lines of a page that begin with one of these names, in the page's order."""
    return [words for words in Page(ROOT / page).commands() if words[0] in names]


def made(words: list[str]) -> list[str]:
    """A command line; a vault is made with the embedder that needs no model."""
    return [*words, "--embedder", "hashing"] if words[0] == "init" else words


def test_readme_runs_as_printed(desk: Path, toy: None) -> None:
    page = Page(ROOT / "README.md")
    said = ""
    for words, code in page.exit_codes():
        result = CliRunner().invoke(app, made(words))
        assert result.exit_code == code, (words, result.output)
        said += result.output
    (printed,) = page.code("text")
    assert all(line in without_numbers(said) for line in without_numbers(printed).splitlines())


def test_plan_prints_what_the_page_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    page = Page(ROOT / "docs/plan.md")
    said = run(next(page.commands()))
    rows = re.findall(
        r"^    ((?:murag|naive|consensus|dp-vote|count|share|list| \d+ %|Grant:).*)$", page.text, re.MULTILINE
    )
    assert len(rows) > 10
    assert all(row.rstrip() in said for row in rows)


def test_operate_runs_as_printed(desk: Path, toy: None) -> None:
    run(["init", "hospital", "--epsilon", "20", "--delta", "1e-7", "--unit-field", "patient", "--embedder", "hashing"])
    run(["add", "hospital", "notes.csv", "--text-field", "note"])
    run(["ask", "hospital", "How many patients have Winter Hand?"])
    steps_of_it = steps("docs/operate.md", "doctor", "budget", "backup", "restore", "close-log", "report")
    for number, words in enumerate(steps_of_it):
        if "--expect" in words:  # of another vault
            continue
        if words[0] == "restore":  # each to a place that is new
            words[2] = f"{words[2]}-{number}"
        if words[-1] == "hospital-again":
            words[-1] += f"-{number - 1}"
        run(words, *(["--yes"] if "--destroy" in words else []))
    assert (desk / "dpo.html").exists()


def test_questions_of_the_page_are_answered(desk: Path, toy: None) -> None:
    fields = [
        "sex:category(w=women/mujeres, m=men)",
        "date:date",
        "ward:category(north, south)",
        "age:number",
        "visit:date",
    ]
    options = [word for field in fields for word in ("--field", field)]
    run(
        ["init", "hospital", "--epsilon", "200", "--delta", "1e-7", "--unit-field", "patient", "--force", *options],
        "--embedder",
        "hashing",
    )
    lines = [json.loads(line) for line in Path("notes.jsonl").read_text().splitlines()]
    declared = {"sex": "w", "date": "2026-01-05", "ward": "north", "age": "61", "visit": "2026-01-05"}
    Path("all.jsonl").write_text("\n".join(json.dumps(line | declared) for line in lines))
    run(["add", "hospital", "all.jsonl"])
    asked = [words for words in steps("docs/ask.md", "ask") if "Quante" not in words[-1]]  # that one needs a server
    for words in asked:
        run(["0.1" if word == "20" else word for word in words])  # of seconds: the page's are for a real model
    assert len(asked) > 6


def test_synthesis_runs_as_printed(desk: Path, toy: None) -> None:
    run(
        ["init", "hospital", "--epsilon", "50", "--delta", "1e-7", "--unit-field", "patient", "--force"],
        "--embedder",
        "hashing",
    )
    run(["add", "hospital", "notes.jsonl"])
    Path("public.jsonl").unlink()
    for words in steps("docs/synthesis.md", "synthesize", "ask", "public", "export-vectors"):
        run(["20" if word == "5000" else word for word in words])  # of rows


def test_keys_run_as_printed(desk: Path, toy: None) -> None:
    run(
        [
            "init",
            "hospital",
            "--epsilon",
            "20",
            "--delta",
            "1e-7",
            "--unit-field",
            "patient",
            "--field",
            "ward:category",
        ],
        "--embedder",
        "hashing",
    )
    for words in steps("docs/keys.md", "key", "audit-log"):
        if words[1] in ("approve", "deny", "share") or "--head" in words:  # of a request, a database, another log
            continue
        run(words)


def test_files_run_as_printed(desk: Path, toy: None) -> None:
    found: dict[str, str] = {}
    note = {"subject": {"reference": "Patient/1"}, "note": [{"text": "A cold."}]}
    rows: dict[str, object] = {
        "bundle.json": {"resourceType": "Bundle", "entry": [{"resource": note}, {"resource": {"id": "1"}}]},
        "slack/general/2026-01-31.json": [{"user": "U1", "text": "A rash.", "ts": "1"}],
        "teams.json": [{"from": {"user": {"id": "u1"}}, "body": {"content": "<p>A pain.</p>"}}],
        "tickets.jsonl": {"customer": 7, "title": "An ache", "comments": [{"body": "Worse."}]},
    }
    for name, content in rows.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(json.dumps(content))
    Path("survey.csv").write_text("liked,missed\nThe garden.,\n,A lamp.\n")
    Path("mails.mbox").write_text("From x\nFrom: Ada <ada@x.org>\n\nBetter.\n> How is it?\n")
    for name in ("adler_ada", "berg_bo"):
        (Path("letters") / f"{name}_2024.txt").write_text("A letter.")
        (Path("letters") / f"{name}_2024.txt.json").write_text(json.dumps({"id": name}))
    (Path("letters") / "own.txt").write_text("---\npatient: Ada\n---\nA letter.")
    Path("manifest.csv").write_text("path,unit\n" + "".join(f"{path.relative_to('letters')},Ada\n" for path in files()))
    added = [words for words in steps("docs/files.md", "add") if words[2] != "notes.csv"]
    for number, (_, _, *words) in enumerate(added):  # each in a vault of its own
        vault = Vault.create(f"v{number}", epsilon=20, delta=1e-7, unit_field="patient", embedder="hashing")
        result = CliRunner().invoke(app, ["add", f"v{number}", *words])
        in_part = words[0] == "letters" and not {"--units", "--each-file-a-unit"} & set(words)
        assert result.exit_code == (4 if in_part else 0), (words, result.output)
        found |= {one.unit: one.text for one in Vault.open(vault.path).store.texts()}
    assert {"patient/1": "A cold.", "7": "An ache Worse.", "u1": "A pain."}.items() <= found.items()
    assert found["ada@x.org"] == "From: Ada <ada@x.org> Better."


def files() -> list[Path]:
    """The letters of the folder."""
    return sorted(Path("letters").rglob("*.txt"))


def test_erasure_runs_as_printed(desk: Path, toy: None) -> None:
    run(["init", "hospital", "--epsilon", "20", "--delta", "1e-7", "--unit-field", "patient", "--embedder", "hashing"])
    for _ in range(3):
        run(["add", "hospital", "notes.jsonl"])
        Path("notes.jsonl").write_text(Path("notes.jsonl").read_text().replace("Seen for", "Seen again for"))
    for number in range(4, 6):
        Path(f"late{number}.jsonl").write_text(json.dumps({"patient": f"late {number}", "text": "Seen late."}))
        run(["add", "hospital", f"late{number}.jsonl"])
    run(["add", "hospital", "notes.csv", "--text-field", "note"])
    for words in steps("docs/files.md", "list", "undo", "remove", "erasure-report", "readmit"):
        if words[:3] in (["remove", "hospital", "--unit"], ["erasure-report", "hospital", "--unit"]):
            Path("ada.jsonl").write_text(json.dumps({"patient": "Ada Lind", "text": "Seen once more."}))
            run(["add", "hospital", "ada.jsonl"])
        run(words)


@pytest.mark.parametrize("page", [page for page in ALL if page.code("python")], ids=lambda page: f"{page.name}")
def test_code_runs_as_printed(page: Page, desk: Path, toy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")  # a test of an example stands beside it
    vault = Vault.create("hospital", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    vault.add("notes.jsonl")
    run(["export-vectors", "hospital", "--epsilon", "10", "--rows", "200", "--out", "vectors.npz"])
    for block in page.code("python"):
        exec(compile(block, page.name, "exec"), {})
