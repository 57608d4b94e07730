"""All tables of docs/results anew, by one command: what they take, and a run of all of them, one after another.

    .venv/bin/python -m discreet_lab.reprint --estimate [--parameters 8e9]
    .venv/bin/python -m discreet_lab.reprint --run DATA OUT [--model NAME] [--only TABLE ...]

`--estimate` runs nothing. It lists each command of docs/results/data/provenance.json with the tables that it prints,
and the hours of a language model of so many parameters on a GPU: `--arithmetic` operations a second and `--bandwidth`
bytes a second, which are a third of what an H100 states. Then it prints the hours of all commands and the memory for
models of some sizes (`--csv`). It counts tokens as reprint_work.py says; it is an estimate, no measurement.

`--run` runs them with DATA, the folder of all data sets. OUT gets one folder a command, with what it printed; vaults
and corpora of one data set are shared there. Commands that are no whole programs ("the same", "...") are for a
person, and are named. `--model` is passed to each command that takes it. Ends with 1 if a command fails.
"""

import argparse
import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet_lab.docs_tables import COMMANDS, DATA, read_provenance, read_rows
from discreet_lab.experiments.catalogue import COMMAND, EXPERIMENTS, ROOT
from discreet_lab.experiments.common import add_csv_option, write_table
from discreet_lab.reprint_work import Machine, Work, work_of

BY_HAND = ("(the same", " ...", "CORPUS.jsonl", "SARUS", "PYTHON3.12")
COLUMNS = ("tables", "command", "answers", "million tokens", "hours")
TOTALS = ("parameters", "hours of the model", "GiB of memory")
SIZES = (1.35e8, 1e9, 3e9, 8e9, 7e10)
MODEL_OPTION = "add_model_option(parser)"


@dataclass(frozen=True)
class Script:
    """The commands of one table or of some.

    Attributes:
        tables: the names of the tables.
        text: the commands.
        data: the set of data, as the tables name it.
        work: what a language model must do.
    """

    tables: tuple[str, ...]
    text: str
    data: str
    work: Work

    @property
    def by_hand(self) -> bool:
        """Return whether a person must fill in something."""
        return not self.text or any(mark in self.text for mark in BY_HAND)

    @property
    def dataset(self) -> str:
        """Return the name of the data set's folder."""
        return dataset_of(self.data)


def dataset_of(data: str) -> str:
    """Return the name of a data set's folder: the first word with an underscore, or the first of the others."""
    found = re.search(r"\b[a-z]+(?:_[a-z]+)+\b", data) or re.search(r"\b(?:chatdoctor|movielens|medquad)\b", data)
    return found[0] if found else "none"


def scripts(provenance: Mapping[str, Mapping[str, Any]], rows: Mapping[str, int]) -> list[Script]:
    """Return the different commands, each with all its tables. A table whose script is gone is left out."""
    same: dict[tuple[str, str], list[str]] = {}
    for name, told in provenance.items():
        if COMMANDS in told:
            same.setdefault(("\n".join(told["commands"]), dataset_of(told["data"])), []).append(name)
    made = []
    for (text, _), names in same.items():
        works = [work for name in names if (work := work_of(name, provenance[name], rows.get(name, 1)))]
        whole = Work(sum(work.answers for work in works), max((work.records for work in works), default=0))
        made.append(Script(tuple(names), text, str(provenance[names[0]]["data"]), whole))
    return made


def takes_model(name: str, part: str) -> bool:
    """Return whether a part of an experiment has the option `--model`; it is read, for to import it takes seconds."""
    experiment = EXPERIMENTS[name]
    module, _, function = experiment.parts[experiment.part_of([part]) or ""].partition(":")
    path = Path(__file__).parent / "experiments" / f"{module.replace('.', '/')}.py"
    text = path.read_text(encoding="utf-8")
    (found,) = (one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and one.name == function)
    return MODEL_OPTION in (ast.get_source_segment(text, found) or "")


def with_model(text: str, model: str | None) -> str:
    """Return commands with a model, where they take one."""
    if not model:
        return text

    def named(found: re.Match[str]) -> str:
        return f"{found[0]} --model {shlex.quote(model)}" if takes_model(found[1], found[2]) else found[0]

    text = COMMAND.sub(named, text)
    text = re.sub(r"discreet bench [\w-]+", rf"\g<0> --model {shlex.quote(model)}", text)
    return re.sub(r"discreet init [\w-]+", rf"\g<0> --model {shlex.quote(model)}", text)


def filled_in(script: Script, data: Path, shared: Path, model: str | None) -> str:
    """Return a program for bash: a vault made where one is needed, and all names in capitals replaced."""
    text, own = with_model(script.text, model), data / script.dataset
    vault = shared / script.dataset / "vault"
    if "VAULT" in text and "init VAULT" not in text and not vault.exists():
        first = ".venv/bin/discreet init VAULT --epsilon 20 --delta 1e-5\n"
        filled = "" if "add VAULT" in text else f".venv/bin/discreet add VAULT {_documents(own)}\n"
        text = with_model(first, model) + filled + text
    whole = re.search(rf"DATA/{re.escape(script.dataset)}\b", text)
    names = {"DATA": data if whole else own, "PROMPTS": data / "attack_prompts", "VAULT": vault}
    names |= {"FOLDER": shared / script.dataset / "corpora", "PART": shared / script.dataset / "part"}
    for name, path in names.items():
        text = re.sub(rf"\b{name}\b", shlex.quote(str(path)), text)
    programs = Path(sys.executable).parent
    return "set -e\n" + text.replace(".venv/bin/", f"{programs}/")


def _documents(folder: Path) -> str:
    found = sorted(folder.glob("documents.jsonl*"))
    return str(found[0]) if found else "DATA/documents.jsonl"


def run_all(chosen: Iterable[Script], data: Path, out: Path, model: str | None) -> int:
    """Run the commands; return 1 if one fails."""
    failed = 0
    for script in chosen:
        name = script.tables[0]
        if script.by_hand:
            print(f"{name}: for a person", flush=True)
            continue
        folder = out / name
        for made in (folder / "docs" / "figures", out / script.dataset / "corpora"):
            made.mkdir(parents=True, exist_ok=True)
        program = filled_in(script, data.resolve(), out.resolve(), model)
        (folder / "commands.sh").write_text(program + "\n", encoding="utf-8")
        with (folder / "printed.md").open("wb") as printed, (folder / "errors.txt").open("wb") as errors:
            command = ["env", f"PYTHONPATH={ROOT}:{ROOT / 'src'}", "bash", "commands.sh"]
            ended = subprocess.run(command, cwd=folder, stdout=printed, stderr=errors)
        failed |= bool(ended.returncode)
        print(f"{name}: {'done' if not ended.returncode else f'failed, see {folder}/errors.txt'}", flush=True)
    return int(failed)


def estimate(chosen: Iterable[Script], machine: Machine, path: Path | None) -> None:
    """Print what the commands take."""
    found = sorted(chosen, key=lambda script: -machine.hours(script.work))
    read = [script for script in found if script.work.prefilled]
    rows = [
        [
            ", ".join(script.tables),
            _shortened(script.text),
            f"{script.work.answers:,}",
            f"{script.work.prefilled / 1e6:.0f}",
            f"{machine.hours(script.work):.2f}",
        ]
        for script in read
    ]
    write_table(COLUMNS, rows)
    print()
    works = [script.work for script in read]
    machines = (replace(machine, parameters=size) for size in sorted({*SIZES, machine.parameters}))
    write_table(TOTALS, (totals(one, works) for one in machines), path)
    print(
        f"\n{len(read)} commands read a language model, {len(found) - len(read)} do not; "
        f"{sum(script.by_hand for script in found)} are for a person. An estimate."
    )


def totals(machine: Machine, works: Iterable[Work]) -> list[str]:
    """Return the size of a model, the hours of some work, and the memory."""
    hours = sum(machine.hours(work) for work in works)
    return [f"{machine.parameters / 1e9:g} billion", f"{hours:.1f}", f"{machine.gibibytes:.1f}"]


def _shortened(text: str) -> str:
    found = re.findall(r"-m discreet_lab\.experiments (\S+ [\w-]+)|(discreet \w+)", text)
    return ", ".join(dict.fromkeys(one or other for one, other in found)) or "-"


def main() -> int:
    """Estimate, or run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--estimate", action="store_true")
    way.add_argument("--run", type=Path, nargs=2, metavar=("DATA", "OUT"))
    parser.add_argument("--only", nargs="+", help="the names of tables; default: all")
    parser.add_argument("--model", help="the folder of a language model, or its name")
    parser.add_argument("--parameters", type=float, default=8e9)
    parser.add_argument("--arithmetic", type=float, default=3.3e14)
    parser.add_argument("--bandwidth", type=float, default=1.1e12)
    add_csv_option(parser)
    given = parser.parse_args()
    provenance = read_provenance()
    rows = {name: len(read_rows(name)) for name in provenance if (DATA / f"{name}.csv").exists()}
    chosen = [one for one in scripts(provenance, rows) if not given.only or set(given.only) & set(one.tables)]
    if not chosen:
        parser.error(f"no table is called {', '.join(given.only)}; the tables are: {', '.join(provenance)}")
    if given.run:
        return run_all(chosen, given.run[0], given.run[1], given.model)
    estimate(chosen, Machine(given.parameters, given.arithmetic, given.bandwidth), given.csv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
