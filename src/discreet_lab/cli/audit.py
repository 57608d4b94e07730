"""`discreet audit`: statistical audits of mechanisms, algorithms and methods for synthetic corpora."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

import typer

from discreet.cli.app import Json, app
from discreet.cli.output import doing, explained, out, print_json
from discreet.cli.parameters import Params, Plugins, errors_in_full, parse_for_any, register_files
from discreet.errors import UnknownName, UsageError
from discreet.privacy.noise import InsecureSeededNoise, Noise, SystemNoise
from discreet.synthesis.runner import METHODS
from discreet.system.plain import Unbounded, show_as
from discreet_lab.audit.algorithms import algorithm_cases, plugin_cases, settings
from discreet_lab.audit.case import (
    CONFIDENCE,
    AuditFinding,
    Case,
    ProgressCallback,
    markdown,
    remarkable,
    run,
    table,
    verdict,
)
from discreet_lab.audit.corpora import corpus_cases
from discreet_lab.audit.mechanisms import MECHANISMS, mechanism_cases
from discreet_lab.audit.mutants import twins_of_algorithms, twins_of_corpora, twins_of_mechanisms

EPSILON = {"mechanisms": 1.0, "algorithms": 2.0, "corpora": 2.0, "server": 0.0}
"""The default epsilon of an audit. At these values, large privacy losses are frequent enough to detect."""


SERVERS = ("slow", "unusual", "exhausted", "erased")
"""The neighbouring vaults behind a server."""


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """An audit of one mechanism, algorithm or method.

    Attributes:
        name: the name.
        inputs: the neighbouring inputs.
        claimed: the claimed epsilon.
        delta: the delta of the claim.
        at_least: the epsilon that the draws show at least.
        violated: whether it is above the claim.
        likely: how often the event occurred with the input on which it is likelier.
        rare: how often the event occurred with the other input.
        trials: the number of counted draws of each input.
        fault: why the draws show nothing; empty if they show something.
        verdict: the verdict in words.
    """

    name: str
    inputs: str
    claimed: Unbounded
    delta: float
    at_least: Unbounded
    violated: bool
    likely: int
    rare: int
    trials: int
    fault: str
    verdict: str


@dataclass(frozen=True, kw_only=True)
class AuditShown:
    """The audits, with their verdicts.

    Attributes:
        confidence: the probability that all bounds hold.
        noise: the source of noise.
        twins: whether broken twins were audited.
        violations: the number of violations.
        faults: the number of audits whose draws show nothing, since no draw was answered.
        rows: the audits.
    """

    confidence: float
    noise: str
    twins: bool
    violations: int
    faults: int
    rows: list[AuditRow]


@app.command()
@explained
def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="mechanisms, algorithms, corpora, server, or single names. Default: all but the server.",
        ),
    ] = None,
    plugin: Plugins = None,
    param: Params = None,
    draws: Annotated[int | None, typer.Option(min=100, help="The number of draws for each input.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The claimed epsilon. Default: 1 for mechanisms, 2 for the others.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="A seed that reproduces a table. Default: noise of the operating system."),
    ] = None,
    twins: Annotated[bool, typer.Option("--twins", help="Audit broken twins; the audit must flag each.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_json: Json = False,
) -> int:
    """Search for more privacy loss than is claimed, in fictional vaults only. Finding none is no proof."""
    if epsilon is not None and not 0.01 <= epsilon <= 20:
        raise UsageError(f"--epsilon is {epsilon:g}. An audit needs a value between 0.01 and 20, such as 1.")
    added = register_files(plugin)
    built_in = [name for name in names or [] if name not in added]  # a plug-in is audited, be it named or not
    cases = [] if added and not built_in else _cases(built_in, epsilon, twins=twins)
    cases += _plugin_cases(added, param, epsilon, twins=twins)
    noise = SystemNoise() if seed is None else InsecureSeededNoise(seed)
    outcomes = sum(2 * (draws or case.draws) for case in cases)
    with doing(f"Drawing outcomes for {len(cases)} audits", outcomes) as drawn:
        findings = _run(cases, noise, draws, drawn, added)
    source = "the operating system's noise" if seed is None else f"seeded noise ({seed}), which is for tables like this"
    bad = [finding for finding in findings if finding.violated != twins or (finding.fault and not twins)]
    if as_json:
        print_json(_shown(findings, source, twins=twins))
    else:
        if as_markdown:
            print(markdown(findings, twin=twins))
        else:
            out.print(table(findings, twin=twins))
            for line in remarkable(findings, twin=twins):
                out.print(line, markup=False, soft_wrap=True)
        out.print(_summary(findings, bad, source, twins=twins), markup=False)
    return 1 if bad else 0


def _cases(names: Sequence[str], epsilon: float | None, *, twins: bool) -> list[Case]:
    names_of = {"mechanisms": list(MECHANISMS), "algorithms": list(settings(1.0)), "corpora": list(METHODS)}
    names_of |= {"server": list(SERVERS)}
    kinds: dict[str, Any] = {
        "mechanisms": twins_of_mechanisms if twins else mechanism_cases,
        "algorithms": twins_of_algorithms if twins else algorithm_cases,
        "corpora": twins_of_corpora if twins else corpus_cases,
        "server": _twins_of_servers if twins else _server_cases,
    }
    for name in names:
        if name not in names_of and not any(name in each for each in names_of.values()):
            raise UnknownName(
                "mechanism or algorithm to audit", name, [*names_of, *chain.from_iterable(names_of.values())]
            )
    cases: list[Case] = []
    for kind, each in names_of.items():
        is_wanted = kind in names if names else kind != "server"
        wanted = each if is_wanted else [name for name in each if name in names]
        if wanted:
            cases += kinds[kind](epsilon or EPSILON[kind], wanted)
    return cases


def _server_cases(_: float, names: Sequence[str]) -> list[Case]:
    from discreet_lab.audit.server import CASES  # needs the extra `serve`

    return [CASES[name] for name in names]


def _twins_of_servers(_: float, names: Sequence[str]) -> list[Case]:
    from discreet_lab.audit.server import TWINS

    return list(TWINS) if "slow" in names else []


def _plugin_cases(
    names: Sequence[str], param: Sequence[str] | None, epsilon: float | None, *, twins: bool
) -> list[Case]:
    """Return the cases of the algorithms in plug-in files, with the given parameters."""
    if not names:
        if param:
            raise UsageError("--param is for an algorithm of --plugin. Built-in parts are audited with their own.")
        return []
    if twins:
        raise UsageError("--plugin has no broken twin. Audit a broken copy of the file, without --twins.")
    options, grant = parse_for_any(names, param), epsilon or EPSILON["algorithms"]
    return [case for name in names for case in plugin_cases(grant, name, options)]


def _run(
    cases: Sequence[Case], noise: Noise, draws: int | None, on_progress: ProgressCallback, plugins: Sequence[str]
) -> list[AuditFinding]:
    """Draw outcomes, and bound the losses. All vaults are fictional, so an error of a plug-in is printed in full."""
    with errors_in_full(plugins, "audit"):
        return run(cases, noise, draws=draws, on_progress=on_progress)


def _summary(found: Sequence[AuditFinding], bad: Sequence[AuditFinding], source: str, *, twins: bool) -> str:
    drawn = f"Draws use {source}. All bounds hold together with confidence {CONFIDENCE:g}."
    if twins:
        missed = f"{len(bad)} of {len(found)} broken twins were MISSED: use more draws." if bad else ""
        return f"{missed or f'All {len(found)} broken twins were flagged.'} {drawn}"
    faults = " ".join(f"FAULT: {fault}" for fault in dict.fromkeys(one.fault for one in found if one.fault))
    if names := ", ".join(sorted({finding.name for finding in found if finding.violated})):
        return (
            f"VIOLATION: the privacy loss of {names} exceeds the claim. {drawn} Do not use it, and report this "
            f"output. {faults}".rstrip()
        )
    if bad:
        rows = f"{len(bad)} of {len(found)} audits show" if len(bad) > 1 else f"1 of {len(found)} audits shows"
        return f"{faults} {rows} nothing. {drawn}"
    return f"No violation found in {len(found)} audits. This is no proof (docs/privacy-details.md, Audits). {drawn}"


def _shown(found: Sequence[AuditFinding], source: str, *, twins: bool) -> AuditShown:
    return AuditShown(
        confidence=CONFIDENCE,
        noise=source,
        twins=twins,
        violations=sum(finding.violated for finding in found),
        faults=sum(bool(finding.fault) for finding in found),
        rows=[
            show_as(
                AuditRow,
                one,
                **{**vars(one.bound), "at_least": one.bound.epsilon},
                verdict=verdict(one, twin=twins),
            )
            for one in found
        ],
    )
