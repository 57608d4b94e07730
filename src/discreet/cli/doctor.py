"""`discreet doctor`: check a vault."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.app import Json, app
from discreet.cli.output import counted, doing, explained, out, print_json
from discreet.errors import UsageError
from discreet.operations.checks import Finding, problems
from discreet.operations.doctor import examine, examine_model

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "bold red"}


@dataclass(frozen=True)
class Examination:
    """What `discreet doctor` found.

    Attributes:
        problems: the number of problems.
        findings: the checks in order.
    """

    problems: int
    findings: list[Finding]


@app.command()
@explained
def doctor(
    vault: Annotated[Path | None, typer.Argument(metavar="VAULT", help="The folder of the vault.")] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Check a language model instead: a folder, or a name on the hub.")
    ] = "",
    expect: Annotated[
        int,
        typer.Option(min=0, metavar="QUESTIONS", help="The least number of questions that your records show."),
    ] = 0,
    as_json: Json = False,
) -> int:
    """Check a vault, and report problems with their remedies. It changes nothing. For the custodian.

    With --model, tell whether a language model can be used, and what of it runs fast or slowly. No weights are loaded.
    Exit code 0: no problem. Exit code 1: at least one problem.
    """
    if (vault is None) == (not model) or (vault is None and expect):
        raise UsageError("Give a vault, or a model: discreet doctor VAULT, or discreet doctor --model NAME.")
    if vault is None:
        findings = examine_model(model)
    else:
        with doing("Checking the vault"):
            findings = examine(vault, expect=expect)
    wrong = problems(findings)
    if as_json:
        print_json(Examination(len(wrong), findings))
        return 1 if wrong else 0
    for one in findings:
        out.print(f"[{_COLOURS[one.level]}]{one.level:8}[/] {one.check:12} {escape(one.what)}")
        if one.remedy:
            out.print(f"{'':21} -> {escape(one.remedy)}")
    warnings = sum(one.level == "warning" for one in findings)
    out.print(f"{counted(len(wrong), 'problem')}, {counted(warnings, 'warning')}.")
    return 1 if wrong else 0
