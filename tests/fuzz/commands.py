"""Command lines: real commands with their real options, and strange values, run in this process as a user's are."""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import typer.main
from typer.core import TyperArgument

from discreet.cli import main
from discreet.cli.app import app
from discreet.errors import UnknownName
from discreet.models import loading
from discreet.models.toy import ToyModel
from tests.fuzz.files import CANARIES, CORPUS, PROMPTS, QUESTIONS, SUSPECTS
from tests.fuzz.mutations import TEXTS, Choices, of_bytes
from tests.fuzz.targets import Crash, Target
from tests.fuzz.vaults import PATIENTS, vault_in

CODES = (0, 1, 2, 3, 4, 130)
WHOLE = ("1", "2", "3", "5", "0", "-1", "7.5", "nan", "", "x", "1e3", "٣", "1_0", str(2**31), str(2**63), "9" * 400)
FEW = ("1", "2", "3", "0", "-1", "nan", "", "x")
"""For what takes longer the more is asked for: who wants a million must wait."""
REAL = ("1", "0.5", "2", "10", "0", "-1", "nan", "inf", "-inf", "1e308", "1e-320", "1e999", "", "x", "-0.0", "9" * 400)
SMALL = ("1e-6", "1e-9", "0.5", "0", "1", "2", "nan", "-1", "inf", "5e-324", "x")
WORDS = (
    *"unit corpus hashing minilm no/such-model consensus rag dp-rag murag murag-ada adaptive dp-ksa ksa".split(),
    *"dp-vote-rag projection-rag knn-lm non-rag naive-multi-rag observed vocabulary limited-domain".split(),
    *"dp-synrag dp-facts dp-synth aug-pe votes clip rare surprising projection".split(),
    *("postgresql://[", "postgresql://u:p@/d", "sqlite:///x", "postgresql://:99999999/d", "Winter Hand", "text", "id"),
    *("units", "documents", "batches", "join", "p1"),
    *("dp-rp-g", "none", "patient", "n1", "p1", "Why has p1 cold hands?", "say: x .", "noisy-count", "exponential"),
)
PATHS = (
    *("notes.jsonl", "q.jsonl", "c.jsonl", "m.jsonl", "p.jsonl", "s.jsonl", "empty.jsonl", "binary.jsonl", "image.png"),
    *("folder", "vault", "vault/vault.json", "new", "new.jsonl", "new/deep/down", "nowhere.csv", ".", "/dev/null", ""),
    *(" ", "x" * 300, "x/" * 3000, "b[/x]", "[bold]", "caf\udce9.jsonl", "\ud800", "nul\0.jsonl", "notes.jsonl/x"),
    "loop",
)
VAULTS = ("vault",) * 100 + PATHS
NAMED = {
    **dict.fromkeys(("draws", "trials", "seeds", "members", "planted", "questions", "generations", "variations"), FEW),
    **dict.fromkeys(("texts", "wanted", "limit", "rows"), FEW),
    "rows": ("1", "20", "0", "-1", "9" * 400, "x"),
    "draws": ("100", "101", "99", "0", "-1", "x"),
    "max_tokens": ("1", "3", "20", "0", "-1", "9" * 400, "x"),
    "dimension": ("3", "5", "64", "0", "-1", "9" * 400, "x"),
    "quantum": ("0", "0.01", "-1", "nan", "inf", "1e308", "x"),
    "delta": SMALL,
    "names": ("noisy-count", "permute-and-flip", "x", "", "noisy-histogram"),
    "questions_file": ("q.jsonl",) * 3 + PATHS,
}
LEFT_OUT = ("ray",)
"""Starts a cluster."""
QUICK = {
    "audit": ("noisy-count", "--draws", "100"),
    "export-vectors": ("--rows", "20"),
    "distinguish": ("--trials", "2", "--dimension", "5", "--rows", "9", "--k", "2"),
    "attack": ("--members", "2", "--questions", "1", "--planted", "1", "--max-tokens", "3"),
}
"""Without these a command takes its time. What is said later counts."""
NEEDED = ("show_plan",)


def words(data: bytes) -> list[str]:
    """The command line that bytes decide."""
    choices = Choices(data)
    command = _commands()
    said: list[str] = []
    while hasattr(command, "commands"):
        name = choices.one(sorted(command.commands))
        said.append(name)
        command = command.commands[name]
    if said[0] == "demo":  # twenty seconds of real work; what its options are is all that is tried
        return [*said, choices.one(("--help", "--epsilon=x", "--no-such"))]
    said += _values(command, choices)
    for _ in range(choices.below(3) if choices.chance(15) else 0):
        said.insert(choices.below(len(said) + 1), choices.one((*TEXTS, *WORDS, "--help", "--", "-", "--json", "-x")))
    return said


@cache
def _commands() -> Any:
    group: Any = typer.main.get_group(app)
    group.commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    return group


def _values(command: Any, choices: Choices) -> list[str]:
    """A value for each argument, and for some of the options."""
    given, options = [], list[str]()
    for parameter in command.params:
        if parameter.name in LEFT_OUT or parameter.name == "help":
            continue
        needs = parameter.required or parameter.name in NEEDED
        if not choices.chance(95 if needs else 8):
            continue
        if isinstance(parameter, TyperArgument):
            given += [_value(parameter, choices) for _ in range(1 + choices.below(3) * (parameter.nargs < 0))]
        elif parameter.is_flag:
            options.append(choices.one([*parameter.opts, *parameter.secondary_opts]))
        else:
            options += [parameter.opts[0], _value(parameter, choices)]
    quick = QUICK.get(command.name, ())
    return [*quick, *given, *options] if choices.chance(50) else [*quick, *options, *given]


def _value(parameter: Any, choices: Choices) -> str:
    kind = str(parameter.type_descriptor.annotation)
    if choices.chance(4):
        return str(choices.one(TEXTS))
    if parameter.name == "vault":
        return str(choices.one(VAULTS))
    if parameter.name == "questions" and "Path" in kind:
        return str(choices.one(NAMED["questions_file"]))
    if parameter.name in NAMED:
        return str(choices.one(NAMED[parameter.name]))
    if "Path" in kind:
        return str(choices.one(PATHS))
    if "int" in kind:
        return str(choices.one(WHOLE))
    if "float" in kind:
        return str(choices.one(REAL))
    return str(choices.one(WORDS if choices.chance(70) else TEXTS))


def run(folder: Path, data: bytes) -> str:
    """Run one command line in a folder with a vault and with files of every kind."""
    said = words(data)
    code, output = called(_prepared(folder), said)
    if "Unexpected error" in output or "Traceback" in output:
        raise Crash(f"{said[0]}: {output.strip()[-120:]}")
    if code not in CODES or (code and not output.strip()):
        raise Crash(f"{said[0]}: ends with {code} and says {output[-80:]!r}")
    return f"exit {code}" if code else ""


def called(folder: Path, said: list[str]) -> tuple[int, str]:
    """What a command line ends with, and all that it says, as a user in `folder` sees it.

    Raises:
        Crash: a traceback.
    """
    with _streams(said) as (out, err), _inside(folder):
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code
        except Exception as error:
            raise Crash(f"{said[0]}: {type(error).__name__}, not caught") from error
        sys.stdout.flush()
        sys.stderr.flush()
        told = out.getvalue() + err.getvalue()
    return (code if isinstance(code, int) else int(code is not None)), told.decode(errors="replace")


@contextmanager
def toy_at_hand() -> Iterator[None]:
    """While this lasts, the packaged language model is the project's toy, and there is none within reach of a hub."""
    real: Any = loading.load_model

    def load_model(name: str = loading.PACKAGED, device: str = "auto") -> ToyModel:
        if name != loading.PACKAGED:
            raise UnknownName(
                "language model (nor one within reach at that path or hub name)", name, [loading.PACKAGED]
            )
        return ToyModel(["x", "y", "nothing", "known"], size=4096)

    loading.load_model = load_model  # type: ignore[assignment]
    try:
        yield
    finally:
        loading.load_model = real


def _prepared(folder: Path) -> Path:
    """The folder as it is before every command."""
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    vault_in(folder, "place/vault")
    (place / "folder").mkdir()
    (place / "folder" / "a.txt").write_text("A text.")
    files = {"notes": PATIENTS, "q": QUESTIONS, "c": CANARIES, "m": SUSPECTS, "p": PROMPTS, "s": CORPUS, "empty": b""}
    for name, content in (files | {"binary": bytes(range(256))}).items():
        (place / f"{name}.jsonl").write_bytes(content)
    (place / "image.png").write_bytes(b"\x89PNG")
    (place / "loop").symlink_to("loop")
    return place


@contextmanager
def _streams(said: list[str]) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Streams as a process has them: UTF-8, and strict about it on standard output."""
    kept, out, err = (sys.argv, sys.stdin, sys.stdout, sys.stderr), io.BytesIO(), io.BytesIO()
    sys.argv = ["discreet", *said]
    sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.stdout = io.TextIOWrapper(out, "utf-8")
    sys.stderr = io.TextIOWrapper(err, "utf-8", errors="backslashreplace")
    try:
        yield out, err
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _mutated(data: bytes, random: Random) -> bytes:
    """The same with other words somewhere, or other words altogether."""
    return of_bytes(data, random) if random.random() < 0.5 else random.randbytes(240)


SEEDS = tuple(Random(seed).randbytes(240) for seed in range(20))
COMMANDS = Target("command line", 25, SEEDS, run, _mutated)
