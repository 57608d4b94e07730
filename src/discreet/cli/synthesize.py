"""`discreet synthesize` and `export-vectors`: a corpus, and vectors, that are paid for once."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import doing, doing_steps, err, explained, out, print_json, say
from discreet.cli.parameters import Params, accept_parameters, choose_method
from discreet.errors import UsageError
from discreet.export import ROWS, SIZE, Export
from discreet.privacy.filter import ReceiptShown
from discreet.synthesis.base import CorpusPlan, SynthesisAlgorithm
from discreet.synthesis.runner import METHODS, Synthetic, make_corpus, receipt_path
from discreet.system.files import check_output_path
from discreet.system.plain import Sparse, Unbounded
from discreet.vault import Vault

Drawn = dict[str, str | int | dict[str, Unbounded | int | str]]
"""A mechanism, as plain data."""


@dataclass(frozen=True, kw_only=True)
class CorpusPriced(Sparse):
    """What a synthetic corpus would cost. A key that the method has no use for is absent.

    Attributes:
        method: the method.
        epsilon: the epsilon of the whole corpus.
        delta: the delta of the whole corpus.
        rho: the zCDP cost.
        keyword_sigma: the standard deviation of the noise on the counts of keywords.
        keyword_threshold: the noisy count from which a keyword is released.
        drawn_in_each_cluster: what is drawn in each cluster: `what`, how many `times`, and its `cost`.
        clusters_of_a_unit: the most clusters that a unit is in.
        clusters_in_order_of: by what the clusters of a unit are chosen first.
        clip: the bound on what a unit adds to the score of a token.
        voices_needed: about how many units must agree on a token for it to exceed the noise.
        subsets: the number of subsets.
        drawn_in_each_subset: what is drawn in each subset, in the same form.
        fact_sigma: the standard deviation of the noise on the counts of facts.
        fact_threshold: the noisy count from which a fact is released.
        keywords_in_order_of: by what the keywords of a unit are chosen first.
        generations: the number of votes of the units.
        texts_voted_on: the number of public texts in each vote.
        vote_sigma: the standard deviation of the noise on a text's votes.
        votes_that_stand_out: from about how many votes a text exceeds the noise.
    """

    method: str
    epsilon: float | None
    delta: float | None
    rho: float
    keyword_sigma: float | None = None
    keyword_threshold: int | None = None
    drawn_in_each_cluster: list[Drawn] | None = None
    clusters_of_a_unit: int | None = None
    clusters_in_order_of: str | None = None
    clip: float | None = None
    voices_needed: int | None = None
    subsets: int | None = None
    drawn_in_each_subset: list[Drawn] | None = None
    fact_sigma: float | None = None
    fact_threshold: int | None = None
    keywords_in_order_of: str | None = None
    generations: int | None = None
    texts_voted_on: int | None = None
    vote_sigma: float | None = None
    votes_that_stand_out: int | None = None


@dataclass(frozen=True)
class CorpusMade:
    """A synthetic corpus.

    Attributes:
        out: the path of the corpus.
        written: the number of texts.
        kept: the number of texts that stay after the filter.
        plan: the plan, as `synthesize --plan` prints it, and the texts that the method began with.
        receipt: what was paid, as in an answer.
    """

    out: str
    written: int
    kept: int
    plan: dict[str, Any]
    receipt: ReceiptShown


@app.command()
@accept_parameters(METHODS.values())
@explained
def synthesize(
    vault: VaultPath,
    output: Annotated[Path | None, typer.Option("--out", metavar="FILE.jsonl", help="The file to write.")] = None,
    method: Annotated[str, typer.Option(help=f"One of: {', '.join(METHODS)}.")] = next(iter(METHODS)),
    param: Params = None,
    epsilon: Annotated[float | None, typer.Option(help="Cost of the whole corpus. [default: 10]")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the corpus; the vault's if not given.")] = None,
    task: Annotated[str | None, typer.Option(help="What the corpus is for: the model drops useless texts.")] = None,
    only_new: Annotated[
        bool, typer.Option("--only-new", help="Use only documents added since the last corpus.")
    ] = False,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the cost, and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the model on a Ray cluster: host:port, or local.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a synthetic corpus, paid for once. Run the command again to resume after an interruption.

    Parameters of a method: discreet algorithms show NAME.
    """
    if task is not None and not task.strip():
        raise UsageError("The task is blank. Say what the corpus is for, or leave --task out: no text is dropped then.")
    parameters = choose_method(method, param, {"epsilon": epsilon, "delta": delta, "task": task})
    opened = Vault.open(vault)
    if show_plan:
        with doing("Computing the plan"):
            plan, vocabulary = opened.workshop().plan(parameters), opened.model.vocabulary_size
        if as_json:
            described: dict[str, Any] = plan.describe(vocabulary)
            print_json(CorpusPriced(method=method, **described))
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
    with doing_steps("Making the corpus") as on_progress:
        corpus = make_corpus(shop, output, parameters, only_new=only_new, force=force, told=on_progress, ray=ray)
    if as_json:
        print_json(CorpusMade(str(output), len(corpus.texts), len(corpus.kept), corpus.plan, corpus.receipt.shown()))
        return
    print_made(corpus, output)
    ask = shlex.join(["discreet", "ask", str(vault), "QUESTION", "--corpus", str(output)])
    out.print(f"Next: {ask}" if corpus.kept else what_helps(vault, parameters), markup=False)


def print_made(made: Synthetic, output: Path) -> None:
    """Print a summary of the corpus and its receipt."""
    say("corpus.txt", made=made, out=output, beside=receipt_path(output))


def what_helps(vault: Path, parameters: SynthesisAlgorithm[Any]) -> str:
    """Return advice for a corpus that came out empty."""
    keywords = getattr(parameters, "keywords", None)
    fewer = f", fewer than {keywords} keywords of a unit (--keywords)" if keywords else ""
    plan = shlex.join(["discreet", "synthesize", str(vault), "--method", parameters.name, "--epsilon", "E", "--plan"])
    return (
        f"What helps: more than epsilon {parameters.epsilon:g}{fewer}, or more documents. See how many units must "
        f"agree, before you pay: {plan}"
    )


def print_plan(plan: CorpusPlan, vocabulary: int, to: Console) -> None:
    """Print the cost and the steps of a corpus."""
    assert plan.ceiling is not None
    to.print(
        f"Price: epsilon {plan.ceiling.epsilon:g} at delta {plan.ceiling.delta:g} for each unit (about {plan.rho:.4g}-"
        "zCDP)."
    )
    for line in plan.lines(vocabulary):
        to.print(f"  {line}", markup=False)


# --- discreet export-vectors ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorsWritten:
    """A file of vectors with noise.

    Attributes:
        out: the path that was written.
        rows: the number of rows of the file: public.
        units: the number of units that have a row: private.
        left_out: the number of units that got no row, or could not pay: private.
        receipt: what was paid, as in an answer.
    """

    out: str
    rows: int
    units: int
    left_out: int
    receipt: ReceiptShown


@app.command()
@explained
def export_vectors(
    vault: VaultPath,
    output: Annotated[Path, typer.Option("--out", metavar="FILE.npz", help="The output file.")],
    epsilon: Annotated[float, typer.Option(help="The cost, which all units pay.")],
    delta: Annotated[float | None, typer.Option(help="The delta of the cost. Default: the vault's delta.")] = None,
    k: Annotated[int, typer.Option(help="The dimension of a projected vector.")] = SIZE,
    rows: Annotated[int, typer.Option(help="The number of rows of the file: public.")] = ROWS,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write one projected vector with noise for each unit, for an untrusted vector database."""
    opened = Vault.open(vault)
    wanted = Export(epsilon=epsilon, delta=opened.settings.delta if delta is None else delta, k=k, rows=rows)
    with doing("Drawing noise"):
        export = opened.export_vectors(output, wanted, force=force)
    if as_json:
        print_json(VectorsWritten(str(output), rows, export.units, export.left_out, export.receipt.shown()))
        return
    say("vectors.txt", made=export, rows=rows, k=k, out=output)
