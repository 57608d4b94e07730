"""How big the house is: `make size`. It fails if a measure is above its ceiling.

    .venv/bin/python -m tests.house.size [--issue 48] [--no-runs] [--of discreet.log discreet.ledger]
    .venv/bin/python -m tests.house.size --beside FOLDER [--python PYTHON]

files, code      Python files in src, and their lines without blanks, comments and docstrings
product          the same lines without the laboratory
meanings         names of public classes that more than one file defines
circles          groups of files that import each other, imports inside functions counted
count, question  own files in which a function runs for `discreet ask`, a count or an open question, with its process
add              the same for `discreet add`
over HTTP        the same for an open question to a server, in all its processes together, after they started

A function that runs while a module is imported does not count. The ceilings are in `ceilings.csv`, one row an issue.
The first row holds until its issue is done, and is deleted with it.

`--beside` prints a table of this house beside others, as a CSV file: FOLDER has checkouts of httpx, llm, datasette and
haystack, and of an earlier discreet as `before`; PYTHON has what they need. Pages are without changelogs, and words
with code and tables. A request is a GET, an answer of `llm-echo`, a table as JSON, a retriever and a prompt.
"""

import argparse
import ast
import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.small_model import save_small_model

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
LABORATORY = "discreet_lab"
CEILINGS = Path(__file__).with_name("ceilings.csv")
_NO_CODE = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)
COUNT, QUESTION = "How many patients have numb thumbs?", "What is the treatment for Thunder Heart?"
_PATIENTS = 60
_START = 300.0
"""Seconds in which a server must be ready: under a trace it starts slowly."""


# --- what stands ------------------------------------------------------------------------------------------------------


def read_modules(sources: Path = SOURCES) -> dict[str, str]:
    """Return the texts of all modules by their names."""
    return {
        ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
        for path in sorted(sources.rglob("*.py"))
    }


def count_code(text: str) -> int:
    """Return the number of lines that hold more than blanks, comments and docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if first is not None and ast.get_docstring(node, clean=False) is not None:
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def find_shared_names(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of public classes that several modules define, with these modules."""
    homes: dict[str, set[str]] = defaultdict(set)
    for name, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name)
    return {name: sorted(found) for name, found in sorted(homes.items()) if len(found) > 1}


def find_circles(modules: Mapping[str, str]) -> list[list[str]]:
    """Return the groups of modules of which each reaches each other one by imports."""
    arrows = {name: set(_imports(name, text, modules)) for name, text in modules.items()}
    reached = {name: _reach(name, arrows) for name in arrows}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in arrows
        if name in reached[name]
    }
    return sorted(map(list, groups))


def _imports(name: str, text: str, modules: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{one.name}" for one in node.names]
            found = [one if one in modules else node.module for one in full]
        else:
            continue
        yield from (one for one in found if one in modules and one != name)


def _reach(start: str, arrows: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    ahead = list(arrows[start])
    while ahead:
        if (name := ahead.pop()) not in found:
            found.add(name)
            ahead.extend(arrows[name])
    return found


# --- what runs --------------------------------------------------------------------------------------------------------


class Trace:
    """A folder of vaults, in which commands run under a trace."""

    def __init__(self, folder: Path, sources: Path = SOURCES) -> None:
        self._folder, self._runs, self._sources = folder, 0, str(sources)
        self._plain = {**os.environ, "PYTHONPATH": self._sources, "DISCREET_QUIET": "1"}
        self._plain.pop("PYTHONDONTWRITEBYTECODE", None)

    def prepare(self) -> None:
        """Make a vault with the notes of some fictional patients."""
        notes = self._folder / "notes.csv"
        with notes.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("patient", "note"))
            writer.writerows(
                (f"P{number:03d}", "Numb thumbs. Thunder Heart, treated with copper bracelets.")
                for number in range(_PATIENTS)
            )
        grant = ("--epsilon", "20", "--delta", "1e-6", "--unit-field", "patient", "--embedder", "hashing")
        save_small_model(self._folder / "model")
        self._run("init", "v", *grant, "--model", "model")
        self._run("add", "v", "notes.csv", "--text-field", "note")
        self._run("ask", "v", QUESTION)  # what is kept between two processes is there
        self._run("init", "w", *grant)

    def run(self, *command: str) -> set[str]:
        """Run a command of `discreet`. Return the files whose functions ran."""
        environment, records = self._trace()
        self._run(*command, environment=environment)
        return self._read(records)

    def ask_over_http(self, question: str) -> set[str]:
        """Serve the vault, and ask one question. Return the files whose functions ran from the question on."""
        environment, records = self._trace()
        quantum = ("--quantum", "20", "--port", "8931", "--no-desk")
        self._run("key", "issue", "v", "ana", "--epsilon", "20")
        secret = json.loads(self._run("key", "rotate", "v", "ana", "--json"))["key"]
        server = subprocess.Popen(
            [sys.executable, "-m", "discreet", "serve", "v", *quantum],
            cwd=self._folder,
            env=environment,
            stderr=(self._folder / "serve.err").open("w"),
        )
        try:
            _wait_until_ready("http://127.0.0.1:8931/health/ready")
            (records / "begin").touch()
            time.sleep(2)
            _post("http://127.0.0.1:8931/v1/chat/completions", secret, question)
            time.sleep(2)
            return self._read(records)
        finally:
            server.terminate()
            server.wait(timeout=60)

    def _trace(self) -> tuple[dict[str, str], Path]:
        self._runs += 1
        records = self._folder / f"records-{self._runs}"
        records.mkdir()
        path = os.pathsep.join((str(Path(__file__).with_name("trace")), self._sources))
        traced = {"PYTHONPATH": path, "DISCREET_TRACE": str(records), "DISCREET_TRACE_SOURCES": self._sources}
        return {**self._plain, **traced}, records

    def _run(self, *command: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "discreet", *command],
            cwd=self._folder,
            env=environment or self._plain,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"discreet {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def _read(self, records: Path) -> set[str]:
        ran = {line for path in records.glob("*.ran") for line in path.read_text().splitlines()}
        if not ran:
            raise SystemExit(f"The trace in {records} recorded no file.")
        return ran


def _wait_until_ready(url: str) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"The server was not ready within {_START:g} s.")


def _post(url: str, secret: str, question: str) -> None:
    body = json.dumps({"model": "v", "messages": [{"role": "user", "content": question}]}).encode()
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=_START) as reply:
        reply.read()


def measure_runs() -> dict[str, int]:
    """Return for each kind of run the number of own files in which a function runs."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(Path(folder))
        trace.prepare()
        return {
            "count": len(trace.run("ask", "v", COUNT)),
            "question": len(trace.run("ask", "v", QUESTION, "--anew")),
            "add": len(trace.run("add", "w", "notes.csv", "--text-field", "note")),
            "over HTTP": len(trace.ask_over_http("What helps against a weak grip?")),
        }


# --- beside others ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class House:
    """A checkout: its name in the table and its folders, and a program that makes one request."""

    name: str
    package: str
    pages: str
    tests: str
    request: str = ""


HOUSES = {
    ".": House("discreet", "src", "docs", "tests"),
    "before": House("discreet at 26ea044", "src", "docs", "tests"),
    "httpx": House(
        "httpx",
        "httpx",
        "docs",
        "tests",
        "import http.server, threading, httpx\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "httpx.get(f'http://127.0.0.1:{server.server_port}/').raise_for_status()",
    ),
    "llm": House("llm", "llm", "docs", "tests", "from llm.cli import cli\ncli(['-m', 'echo', 'hello'])"),
    "datasette": House(
        "datasette",
        "datasette",
        "docs",
        "tests",
        "import sqlite3\nfrom datasette.cli import cli\n"
        "sqlite3.connect('notes.db').executescript('create table note (id integer primary key)')\n"
        "cli(['notes.db', '--get', '/notes/note.json'])",
    ),
    "haystack": House(
        "haystack",
        "haystack",
        "docs-website/docs",
        "test",
        "from haystack import Document, Pipeline\n"
        "from haystack.components.builders import PromptBuilder\n"
        "from haystack.components.retrievers.in_memory import InMemoryBM25Retriever\n"
        "from haystack.document_stores.in_memory import InMemoryDocumentStore\n"
        "store = InMemoryDocumentStore()\nstore.write_documents([Document(content='Warm sand.')])\n"
        "line = Pipeline()\nline.add_component('near', InMemoryBM25Retriever(store))\n"
        "line.add_component('prompt', PromptBuilder('{{ documents }}', required_variables=['documents']))\n"
        "line.connect('near.documents', 'prompt.documents')\nline.run({'near': {'query': 'sand'}})",
    ),
}


def measure_house(root: Path, house: House) -> dict[str, float]:
    """Return what stands in a checkout: its package, its tests, and its pages without changelogs."""
    paths = sorted((root / house.package).rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    lines = [text.count("\n") for text in texts]
    pages = [path for path in (root / house.pages).rglob("*") if path.suffix in {".md", ".mdx", ".rst"}]
    pages = [path for path in (*pages, root / "README.md") if "changelog" not in path.name.lower()]
    tests = sum(path.read_text(encoding="utf-8").count("\n") for path in (root / house.tests).rglob("*.py"))
    return {
        "files": len(paths),
        "lines": sum(lines),
        "lines of code": sum(map(count_code, texts)),
        "functions": sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
        "lines of the median file": statistics.median(lines),
        "lines of tests for a line": round(tests / sum(lines), 2),
        "pages": len(pages),
        "words of pages": sum(len(path.read_text(encoding="utf-8").split()) for path in pages),
    }


def count_files_of_request(root: Path, house: House, python: str) -> int:
    """Return the number of own files in which a function runs for one request of another program."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join((str(Path(__file__).with_name("trace")), str(root)))
        traced = {"DISCREET_TRACE": folder, "DISCREET_TRACE_SOURCES": str(root / house.package)}
        environment = {**os.environ, "PYTHONPATH": path, "HOME": folder, **traced}
        subprocess.run(
            [python, "-c", house.request], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return len({line for record in Path(folder).glob("*.ran") for line in record.read_text().splitlines()})


def print_beside(folder: Path, python: str) -> None:
    """Print the measures of all houses as a CSV table, a column for each."""
    columns: dict[str, dict[str, object]] = {}
    for place, house in HOUSES.items():
        root = ROOT if place == "." else folder / place
        told: dict[str, object] = {**measure_house(root, house)}
        if house.request:
            told["files that run"] = count_files_of_request(root, house, python)
        else:
            with tempfile.TemporaryDirectory() as vaults:
                trace = Trace(Path(vaults), root / house.package)
                trace.prepare()
                count, question = trace.run("ask", "v", COUNT), trace.run("ask", "v", QUESTION, "--anew")
            told["files that run"] = f"a count {len(count)}, a question {len(question)}"
        columns[house.name] = {name: f"{value:,}" if isinstance(value, int) else value for name, value in told.items()}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("measure", *columns))
    for name in dict.fromkeys(name for column in columns.values() for name in column):
        writer.writerow((name, *(column.get(name, "-") for column in columns.values())))


# --- ceilings ---------------------------------------------------------------------------------------------------------


def read_ceilings(issue: str = "") -> tuple[str, dict[str, int]]:
    """Return the number of an issue, and its ceilings: of the first row if no issue is given."""
    with CEILINGS.open() as file:
        rows = list(csv.DictReader(file))
    row = next((row for row in rows if row["issue"] == issue), rows[0])
    return row["issue"], {name: int(value) for name, value in row.items() if name != "issue"}


def main() -> int:
    """Print the measures beside their ceilings. Return 1 if one is above."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.size", description="Measure the house.")
    parser.add_argument("--issue", default="", help="the row of ceilings.csv; the first one if not given")
    parser.add_argument("--no-runs", action="store_true", help="do not count the files that run")
    parser.add_argument("--names", action="store_true", help="list names with several meanings, and circles")
    parser.add_argument("--of", nargs="+", default=[], help="list the lines of code in these packages, by module")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="print this house beside those in FOLDER")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has what those need")
    given = parser.parse_args()
    if given.beside:
        print_beside(given.beside.resolve(), given.python)
        return 0
    issue, ceilings = read_ceilings(given.issue)
    modules = read_modules()
    shared, circles = find_shared_names(modules), find_circles(modules)
    lines = {name: count_code(text) for name, text in modules.items()}
    found = {
        "files": len(modules),
        "code": sum(lines.values()),
        "product": sum(count for name, count in lines.items() if not name.startswith(LABORATORY)),
        "meanings": len(shared),
        "circles": len(circles),
        **({} if given.no_runs else measure_runs()),
    }
    of = {name: count for name, count in lines.items() if any(f"{name}.".startswith(f"{one}.") for one in given.of)}
    for name, count in (of | {"together": sum(of.values())}).items() if of else ():
        print(f"{name:44}{count:6,}")
    print(f"{'':12}{'now':>8}{'ceiling':>10}   (issue {issue})")
    for name, value in found.items():
        print(f"{name:12}{value:8,}{ceilings.get(name) or '':>10}")
    if given.names:
        print(*(f"{name}: {', '.join(homes)}" for name, homes in shared.items()), sep="\n")
        print(*(" <-> ".join(circle) for circle in circles), sep="\n")
    above = [name for name, most in ceilings.items() if most and found.get(name, 0) > most]
    for name in above:
        print(f"{name} is {found[name]:,}, above its ceiling of {ceilings[name]:,}.", file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
