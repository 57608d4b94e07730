"""`discreet attack`: what leaks, measured on copies."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.attacks import report
from discreet.attacks.attack import Attack
from discreet.attacks.canaries import read_canaries
from discreet.attacks.extraction import read_prompts
from discreet.attacks.membership import MOST, read_suspects
from discreet.attacks.redaction import available
from discreet.attacks.suite import Findings, run_attack
from discreet.attacks.targets import NAMES, REDACTED
from discreet.attacks.verdict import exceeded
from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.cli.progress import doing_steps
from discreet.errors import DiscreetError, Interrupted
from discreet.synthesis.runner import Told
from discreet.system.output_path import check_output_path, write_private
from discreet.vault import Vault


@app.command()
@explained
def attack(
    vault: VaultPath,
    target: Annotated[
        list[str] | None, typer.Option(help=f"What is attacked; several times. One of: {', '.join(NAMES)}.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Of one question, or of a whole synthetic corpus; several times.")
    ] = None,
    members: Annotated[
        int,
        typer.Option(
            min=2,
            help="How many people are tried, each in one copy and out of another; of a file, so many of each kind.",
        ),
    ] = 20,
    questions: Annotated[int, typer.Option(min=1, max=MOST, help="How many questions are asked about each.")] = 2,
    non_members: Annotated[
        Path | None, typer.Option(help='Documents of others, {"text"} a line, in place of people of the vault.')
    ] = None,
    canaries: Annotated[
        Path | None, typer.Option(help='{"unit", "secret", "text", "questions", "member"} a line; else made up.')
    ] = None,
    planted: Annotated[int, typer.Option(min=1, help="How many canaries are planted at most.")] = 10,
    prompts: Annotated[Path | None, typer.Option(help='For extraction, {"target", "prompt"} a line.')] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="A synthetic corpus of this vault, for the target 'corpus'.")
    ] = None,
    voters: Annotated[int | None, typer.Option(help="How many voters.")] = None,
    private_tokens: Annotated[int | None, typer.Option(help="How many private tokens epsilon should buy.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="The longest answer, in tokens.")] = 48,
    seed: Annotated[int, typer.Option(min=0, help="Of every choice.")] = 0,
    output: Annotated[Path | None, typer.Option("--out", help="Write the report to this HTML file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
    as_json: Json = False,
) -> int:
    """Attack copies of the vault, and say what leaks: for the custodian only."""
    opened = Vault.open(vault)
    if output is not None:
        check_output_path(output, opened.path, force=force)
    wanted = Attack(
        targets=tuple(dict.fromkeys(target or _usual(opened))),
        epsilons=tuple(epsilon or [10.0]),
        members=members,
        questions=questions,
        suspects=tuple(read_suspects(non_members)) if non_members else (),
        canaries=tuple(read_canaries(canaries)) if canaries else (),
        planted=planted,
        prompts=tuple(read_prompts(prompts)) if prompts else None,
        corpus=corpus,
        options={"voters": voters, "private_tokens": private_tokens, "max_tokens": max_tokens},
        seed=seed,
    )
    with doing_steps("Attacking copies of the vault") as told:
        findings = _run(opened, wanted, told)
    # Shown first: it took long, and writing may fail.
    if as_json:
        print_json(report.describe(findings))
    else:
        _print(findings)
    if output is not None:
        write_private(output, report.page(findings, opened.path.resolve().name))
        if not as_json:
            out.print(f"Report: {output}", markup=False)
    return 1 if exceeded(findings) else 0


def _usual(vault: Vault) -> list[str]:
    """Without documents, with them, redacted where that is installed, and as the vault answers."""
    return ["non-rag", "rag", *([REDACTED] if available() else []), vault.default_algorithm().name]


def _run(vault: Vault, wanted: Attack, told: Told) -> Findings:
    try:
        return run_attack(vault, wanted, told)
    except (KeyboardInterrupt, Interrupted):
        # Not chained: the frames hold documents.
        broken = DiscreetError("Interrupted. The copies of the vault are removed; nothing was kept.")
        broken.exit_code = Interrupted.exit_code
        raise broken from None


def _print(findings: Findings) -> None:
    out.print(report.summary(findings), markup=False)
    for title, headings, rows in (
        ("Membership: area under the curve, 0.5 is guessing", report.HEADINGS, report.membership_rows(findings)),
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
