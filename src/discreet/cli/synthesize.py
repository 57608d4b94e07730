"""`discreet synthesize`: a corpus that is paid for once and may be asked for ever."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.cli.progress import doing, doing_steps
from discreet.errors import UnknownName, UsageError
from discreet.synthesis.base import CorpusPlan, SynthesisAlgorithm
from discreet.synthesis.runner import METHODS, Synthetic, make_corpus, receipt_path
from discreet.system.output_path import check_output_path
from discreet.vault import Vault


@app.command()
@explained
def synthesize(
    vault: VaultPath,
    output: Annotated[Path | None, typer.Option("--out", metavar="FILE.jsonl", help="Where the corpus goes.")] = None,
    method: Annotated[str, typer.Option(help=f"How it is made: {', '.join(METHODS)}.")] = next(iter(METHODS)),
    epsilon: Annotated[float, typer.Option(help="The price of the whole corpus.")] = 10.0,
    delta: Annotated[float | None, typer.Option(help="Its delta; the vault's if not given.")] = None,
    task: Annotated[
        str | None, typer.Option(help="What it is for: texts of no use for that are dropped by the model.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(help="How many tokens are drawn for a cluster, a subset, a text.")
    ] = None,
    text_tokens: Annotated[int | None, typer.Option(help="To how many tokens a document's text is cut.")] = None,
    shape: Annotated[str | None, typer.Option(help="votes, centred, difference or clip.")] = None,
    keywords: Annotated[
        int | None, typer.Option(help="dp-synrag, dp-facts: how many keywords of a unit count.")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(help="dp-synrag, dp-facts: how many keywords make a cluster, at most.")
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(help="dp-synrag, dp-facts: in how many clusters a unit is at most.")
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(help="dp-synrag, dp-facts: by which keywords a unit goes to clusters: surprising or rare."),
    ] = None,
    alike: Annotated[
        float | None, typer.Option(help="dp-synrag: keywords as similar as this share a cluster: 0.8, say.")
    ] = None,
    wanted: Annotated[int | None, typer.Option(help="dp-synrag: how many units a cluster should be left with.")] = None,
    rerank: Annotated[
        bool | None, typer.Option("--rerank/--no-rerank", help="dp-synrag: narrow a cluster to units near its centre.")
    ] = None,
    facts: Annotated[int | None, typer.Option(help="dp-facts: how many facts of a unit count in a cluster.")] = None,
    subsets: Annotated[int | None, typer.Option(help="dp-synth: among how many subsets units are dealt.")] = None,
    about: Annotated[str | None, typer.Option(help="aug-pe: what kind of texts the model is asked for first.")] = None,
    texts: Annotated[int | None, typer.Option(help="aug-pe: how many texts are kept.")] = None,
    variations: Annotated[int | None, typer.Option(help="aug-pe: how many variations of each are written.")] = None,
    generations: Annotated[int | None, typer.Option(help="aug-pe: how often units vote.")] = None,
    temperature: Annotated[float | None, typer.Option(help="aug-pe: at which the public model is sampled.")] = None,
    seed: Annotated[int | None, typer.Option(help="aug-pe: of the public texts; it protects nobody.")] = None,
    only_new: Annotated[
        bool,
        typer.Option(
            "--only-new", help="From documents added since the last one, for which their units pay; or everybody."
        ),
    ] = False,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print what it would cost, and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the model on a Ray cluster: host:port, or local.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a synthetic corpus, paid for once; run again after an interruption, it goes on."""
    given: dict[str, Any] = {
        "tokens": tokens,
        "text_tokens": text_tokens,
        "shape": shape,
        "keywords": keywords,
        "clusters": clusters,
        "overlap": overlap,
        "first": first,
        "alike": alike,
        "wanted": wanted,
        "rerank": rerank,
        "facts": facts,
        "subsets": subsets,
        "about": about,
        "texts": texts,
        "variations": variations,
        "generations": generations,
        "temperature": temperature,
        "seed": seed,
    }
    if task is not None and not task.strip():
        raise UsageError("The task is blank. Say what the corpus is for, or leave --task out: no text is dropped then.")
    parameters = method_called(method, {"epsilon": epsilon, "delta": delta, "task": task or ""}, given)
    opened = Vault.open(vault)
    if show_plan:
        with doing("Working the plan out"):
            plan, vocabulary = opened.workshop().plan(parameters), opened.model.vocabulary_size
        if as_json:
            print_json({"method": method} | plan.describe(vocabulary))
        else:
            print_plan(plan, vocabulary, out)
            out.print("Nothing is paid yet.")
        return
    if output is None:
        raise UsageError("Say where the corpus goes: --out FILE.jsonl. (Or --plan, to see what it would cost.)")
    check_output_path(output, opened.path, force=force)  # before the model is loaded

    shop = opened.workshop()
    if not as_json:
        shop.planned = lambda plan: print_plan(plan, shop.model.vocabulary_size, err)
    with doing_steps("Making the corpus") as told:
        made = make_corpus(shop, output, parameters, only_new=only_new, force=force, told=told, ray=ray)
    if as_json:
        summary = {"out": str(output), "written": len(made.texts), "kept": len(made.kept), "plan": made.plan}
        print_json(summary | {"receipt": made.receipt.describe()})
        return
    print_made(made, output)
    out.print(f"Next: discreet ask {vault} QUESTION --corpus {output}", markup=False)


def method_called(name: str, price: dict[str, Any], given: dict[str, Any]) -> SynthesisAlgorithm[Any]:
    """A method with those of the options that were given.

    Raises:
        UnknownName: there is no such method.
        UsageError: an option belongs to another method.
    """
    if name not in METHODS:
        raise UnknownName("method", name, METHODS)
    chosen = {option: value for option, value in given.items() if value is not None}
    own = [field.name for field in fields(METHODS[name]) if field.name in given]
    if foreign := [option for option in chosen if option not in own]:
        raise UsageError(
            f"'{name}' has no option {_spelled(foreign)}. It has {_spelled(own)}. Leave out what it has not, or name "
            "another method: --method."
        )
    return METHODS[name](**price, **chosen)


def _spelled(options: list[str]) -> str:
    return ", ".join("--" + option.replace("_", "-") for option in options)


def print_made(made: Synthetic, output: Path) -> None:
    """What came out, for a person."""
    if not made.texts:
        out.print("Nothing was common enough to be released: the corpus is empty. It is paid all the same.")
    clusters = len({text.keyword for text in made.texts if text.keyword})
    by = f", by {clusters} clusters" if clusters else ""
    out.print(f"{len(made.kept)} texts kept of {len(made.texts)} written{by}: {output}", markup=False)
    out.print(
        f"  receipt: epsilon {made.receipt.epsilon:.4g}, delta {made.receipt.delta:g}; {made.receipt.relation} of one "
        f"'{made.receipt.unit}'; made by {made.receipt.payment}; {receipt_path(output)}",
        markup=False,
    )


def print_plan(plan: CorpusPlan, vocabulary: int, to: Console) -> None:
    """What a corpus costs, for a person."""
    assert plan.ceiling is not None
    to.print(
        f"Price: epsilon {plan.ceiling.epsilon:g} at delta {plan.ceiling.delta:g} for each unit (about {plan.rho:.4g}-"
        "zCDP)."
    )
    for line in plan.lines(vocabulary):
        to.print(f"  {line}", markup=False)
