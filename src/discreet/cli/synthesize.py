"""`discreet synthesize`: a corpus that is paid for once and may be asked for ever."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from discreet.algorithms.dp_synrag.parameters import DPSynRAG, Plan
from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json, working
from discreet.errors import UsageError
from discreet.synthesis import receipt_path
from discreet.vault import Vault


@app.command()
@explained
def synthesize(
    vault: VaultPath,
    output: Annotated[Path | None, typer.Option("--out", metavar="FILE.jsonl", help="Where the corpus goes.")] = None,
    epsilon: Annotated[float, typer.Option(help="The price of the whole corpus.")] = 10.0,
    delta: Annotated[float | None, typer.Option(help="Its delta; the vault's if not given.")] = None,
    task: Annotated[str, typer.Option(help="What it is for: texts of no use for that are dropped by the model.")] = "",
    keywords: Annotated[int | None, typer.Option(help="How many keywords of a unit count.")] = None,
    clusters: Annotated[int | None, typer.Option(help="How many keywords make a cluster, at most.")] = None,
    overlap: Annotated[int | None, typer.Option(help="In how many clusters a unit is at most.")] = None,
    first: Annotated[
        str | None, typer.Option(help="By which keywords a unit goes to clusters: surprising or rare.")
    ] = None,
    wanted: Annotated[int | None, typer.Option(help="How many units a cluster should be left with.")] = None,
    tokens: Annotated[int | None, typer.Option(help="How many tokens are drawn for a cluster.")] = None,
    text_tokens: Annotated[int | None, typer.Option(help="To how many tokens a text is cut.")] = None,
    shape: Annotated[str | None, typer.Option(help="votes, centred, difference or clip.")] = None,
    rerank: Annotated[bool, typer.Option(help="Narrow a cluster to the units near its centre.")] = True,
    only_new: Annotated[bool, typer.Option("--only-new", help="Only from documents added since the last one.")] = False,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print what it would cost, and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic corpus, paid for once; run again after an interruption, it goes on."""
    given: dict[str, Any] = {
        "keywords": keywords,
        "clusters": clusters,
        "overlap": overlap,
        "first": first,
        "wanted": wanted,
        "tokens": tokens,
        "text_tokens": text_tokens,
        "shape": shape,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    parameters = DPSynRAG(epsilon=epsilon, delta=delta, task=task, rerank=rerank, **chosen)
    opened = Vault.open(vault)
    if show_plan:
        with working("Working the plan out"):
            plan, vocabulary = opened.workshop().plan(parameters), opened.model.vocabulary_size
        if as_json:
            print_json(plan.describe(vocabulary))
        else:
            print_plan(plan, vocabulary)
        return
    if output is None:
        raise UsageError("Say where the corpus goes: --out FILE.jsonl. (Or --plan, to see what it would cost.)")
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=err
    ) as bars:
        shown: dict[str, Any] = {}

        def told(step: str, done: int, total: int) -> None:
            if step not in shown:
                shown[step] = bars.add_task(step, total=total)
            bars.update(shown[step], completed=done)

        made = opened.synthesize(output, parameters, only_new=only_new, force=force, told=told)
    if as_json:
        about = {"out": str(output), "written": len(made.texts), "kept": len(made.kept), "plan": made.plan}
        print_json(about | {"receipt": made.receipt.describe()})
        return
    clusters_made = len({text.keyword for text in made.texts})
    if not made.texts:
        out.print("No keyword was common enough to be released: the corpus is empty. It is paid all the same.")
    out.print(f"{len(made.kept)} texts kept of {len(made.texts)} written, by {clusters_made} clusters: {output}")
    out.print(
        f"  receipt: epsilon {made.receipt.epsilon:.4g}, delta {made.receipt.delta:g}; {made.receipt.relation} of one "
        f"'{made.receipt.unit}'; made by {made.receipt.payment}; {receipt_path(output)}"
    )
    out.print(f"Next: discreet ask {vault} QUESTION --corpus {output}", markup=False)


def print_plan(plan: Plan, vocabulary: int) -> None:
    """What a corpus would cost, for a person."""
    assert plan.ceiling is not None
    out.print(
        f"Price: epsilon {plan.ceiling.epsilon:g} at delta {plan.ceiling.delta:g} for each unit (about {plan.rho:.4g}-"
        "zCDP). Nothing is paid yet."
    )
    out.print(f"  keywords: {plan.counts}; a keyword is released if about {plan.counts.threshold} units have it")
    out.print(f"  clusters: a unit is in at most {plan.each.overlap}; in each:")
    for priced, times in plan.each.drawn:
        out.print(f"    {times} x {priced}")
    out.print(
        f"  a token that the public model does not expect needs about {plan.voices(vocabulary)} units that agree on it"
    )
