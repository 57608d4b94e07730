"""`discreet attack`: what leaks, measured on copies of a vault."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.ask import reads_before
from discreet.cli.output import doing_steps, err, explained, nothing_kept, out, print_json
from discreet.cli.parameters import Params, Plugins, accept_parameters, choose_names, parse_for_any
from discreet.errors import UsageError
from discreet.registry import ALGORITHMS, RAG
from discreet.system.files import check_output_path, write_private
from discreet.vault import Vault
from discreet_lab.attacks import report
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.extraction import read_prompts
from discreet_lab.attacks.membership import MOST, read_suspects
from discreet_lab.attacks.simulation import read_canaries
from discreet_lab.attacks.suite import run_attack
from discreet_lab.attacks.targets import REDACTED, available, check_names
from discreet_lab.attacks.verdict import exceeded
from discreet_lab.cli.evaluate import OtherModel, check_model, with_model


@app.command()
@accept_parameters(ALGORITHMS.values())
@explained
def attack(
    vault: VaultPath,
    target: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="An algorithm, a method, redacted or corpus. Repeatable.")
    ] = None,
    plugin: Plugins = None,
    param: Params = None,
    epsilon: Annotated[list[float] | None, typer.Option(metavar="NUMBER", help="Maximum cost. Repeatable.")] = None,
    members: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="Individuals, of each kind.")] = 20,
    questions: Annotated[int, typer.Option(metavar="NUMBER", min=1, max=MOST, help="Questions about each.")] = 2,
    non_members: Annotated[Path | None, typer.Option(help='Documents of others, {"text"} a line.')] = None,
    canaries: Annotated[
        Path | None, typer.Option(help='{"unit", "secret", "text", "questions", "member"} a line.')
    ] = None,
    planted: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Maximum number of canaries.")] = 10,
    prompts: Annotated[Path | None, typer.Option(help='For extraction, {"target", "prompt"} a line.')] = None,
    corpus: Annotated[Path | None, typer.Option(help="What the target 'corpus' reads.")] = None,
    max_tokens: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Maximum length of an answer.")] = 48,
    model: OtherModel = "",
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Seed of every choice.")] = 0,
    output: Annotated[Path | None, typer.Option("--out", help="Write the report to this HTML file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> int:
    """Attack copies of the vault, and report what leaks: for the custodian only.

    It takes minutes to hours. A trial: --target rag --members 2 --questions 1 --planted 1. Parameters of an algorithm:
    discreet algorithms show NAME.
    """
    opened = Vault.open(vault)
    check_model(model)
    if output is not None:
        report.open_template()  # first: a missing package must show before long work
        check_output_path(output, opened.path, force=force)
    targets = tuple(dict.fromkeys(choose_names(target, plugin) or _choose_targets(opened)))
    check_names(targets)
    wanted = Attack(
        targets=targets,
        epsilons=tuple(epsilon or [10.0]),
        members=members,
        questions=questions,
        suspects=tuple(read_suspects(non_members)) if non_members else (),
        canaries=tuple(read_canaries(canaries)) if canaries else (),
        planted=planted,
        prompts=tuple(read_prompts(prompts)) if prompts else None,
        corpus=corpus,
        options=_parse(targets, param, max_tokens),
        as_asked=not (target or plugin or model) and reads_before(opened, param),
        seed=seed,
    )
    with (
        nothing_kept("The copies of the vault are removed"),
        doing_steps("Attacking copies of the vault") as on_progress,
    ):
        findings = run_attack(with_model(opened, model), wanted, on_progress)
    # Shown first: it took long, and writing may fail.
    if as_json:
        print_json(report.shown(findings))
    else:
        _print(findings)
    if output is not None:
        write_private(output, report.page(findings, opened.path.resolve().name))
        if not as_json:
            out.print(f"Report: {output}", markup=False)
    return 1 if exceeded(findings.compared) else 0


def _parse(targets: Sequence[str], param: list[str] | None, max_tokens: int) -> dict[str, Any]:
    """Return the parameters of the algorithms among the targets. Plain RAG reads what the other targets release.

    Raises:
        UsageError: if no algorithm among the targets has a parameter, or if a value has another type.
    """
    names = dict.fromkeys(name if name in ALGORITHMS else RAG.name for name in targets)
    options = parse_for_any(list(names), param, {"max_tokens": max_tokens})
    if "epsilon" in options:
        raise UsageError("An attack has several epsilons, so epsilon is no --param here. Give it as --epsilon.")
    return options


def _choose_targets(vault: Vault) -> list[str]:
    """Return answers without documents, with documents, with redacted ones if possible, and the vault's own."""
    return ["non-rag", "rag", *([REDACTED] if available() else []), vault.default_algorithm().name]


def _print(findings: report.Findings) -> None:
    out.print(report.summary(findings), markup=False)
    for title, headings, rows in (
        (
            "Membership: area under the curve, 0.5 is guessing",
            report.headings(findings),
            report.membership_rows(findings),
        ),
        (
            "Membership: true positives at few false ones, BLEU, one question",
            report.TRUE,
            report.true_positive_rows(findings),
        ),
        ("Canaries and extraction", report.SECRETS, report.secret_rows(findings)),
    ):
        table = Table(*headings, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        out.print(table)
    for warning in report.warnings(findings):
        err.print(f"Note: {warning}", markup=False)
    err.print(report.NOTICE, markup=False)
