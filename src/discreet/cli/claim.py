"""`discreet claim`: what published claims amount to, which are no guarantees."""

import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from discreet.attacks.distinguish import distinguish as run_distinguish
from discreet.cli.app import Json, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.privacy.claims import (
    ALPHA,
    CAVEAT,
    DELTA,
    GAMMA,
    PAPER_EPSILON,
    SIGMA,
    K,
    ProjectionClaim,
    best_order,
    narrowest_ratio,
    row_divergence,
)

claim = typer.Typer(help="What published claims amount to that are no guarantees.", no_args_is_help=True)
app.add_typer(claim, name="claim")


@claim.command()
@explained
def projection(
    k: Annotated[int, typer.Option(help="To how many numbers a vector is projected.")] = K,
    gamma: Annotated[float, typer.Option(help="The shortest that an embedding may be.")] = GAMMA,
    norm: Annotated[float, typer.Option(help="The longest: the paper's Delta.")] = DELTA,
    alpha: Annotated[float, typer.Option(help="The order of the Renyi divergence.")] = ALPHA,
    delta: Annotated[float, typer.Option(help="For the conversion to (epsilon, delta).")] = 1e-5,
    as_json: Json = False,
) -> None:
    """The smallest epsilon that Theorem 1 of Yao and Li claims for a random projection, and where it says nothing."""
    made = ProjectionClaim(k, gamma, norm, alpha)
    best = best_order(k, gamma, norm, delta)
    low, high = 1 / made.widest, made.widest
    content: dict[str, Any] = {
        "renyi_epsilon": made.epsilon,
        "epsilon": made.converted(delta),
        "delta": delta,
        "meaningful": math.isfinite(made.epsilon),
        "ratios": [low, high],
        "at_lowest_ratio": row_divergence(k, low, alpha),
        "at_highest_ratio": row_divergence(k, high, alpha),
        "argument_at_highest_ratio": (1 - alpha) * high + alpha,
        "orders_below": made.highest_order,
        "best_order": {"alpha": best.alpha, "epsilon": best.converted(delta)},
        "ratio_that_the_papers_epsilon_takes": narrowest_ratio(k, alpha, PAPER_EPSILON),
        "caveat": CAVEAT,
    }
    if as_json:
        print_json(content)
        return
    out.print(
        f"k {k}, norms in [{gamma:g}, {norm:g}], alpha {alpha:g}: Gamma lies in [{low:.6g}, {high:.6g}].", markup=False
    )
    out.print(f"  At {low:.6g} the divergence of a row is {content['at_lowest_ratio']:.6f}.", markup=False)
    if content["meaningful"]:
        out.print(f"  At {high:.6g} it is {content['at_highest_ratio']:.6f}.", markup=False)
        out.print(
            f"Claimed: ({alpha:g}, {made.epsilon:.6f})-Renyi, which Appendix B makes ({made.converted(delta):.6f}, "
            f"{delta:g}).",
            markup=False,
        )
    else:
        out.print(
            f"  At {high:.6g} the formula takes the logarithm of {content['argument_at_highest_ratio']:.6g}: it has no "
            f"value, the divergence is infinite, and nothing is claimed. It has one for orders below "
            f"{made.highest_order:.6g}.",
            markup=False,
        )
    out.print(
        f"The best order for delta {delta:g} is {best.alpha:.4f}, with epsilon {best.converted(delta):.4f}. The "
        f"paper's {PAPER_EPSILON} at this k and alpha takes Gamma of at least "
        f"{content['ratio_that_the_papers_epsilon_takes']:.6f}, and no more than 1.",
        markup=False,
    )
    out.print(f"Not a guarantee: {CAVEAT}", markup=False)


@claim.command()
@explained
def distinguish(
    rows: Annotated[int, typer.Option(help="How many documents a collection has.")] = 1000,
    dimension: Annotated[int, typer.Option(help="How many numbers an embedding has.")] = 384,
    k: Annotated[int, typer.Option(help="To how many a projected one has.")] = K,
    gamma: Annotated[float, typer.Option(help="The shortest that an embedding may be.")] = GAMMA,
    norm: Annotated[float, typer.Option(help="The longest: the paper's Delta.")] = DELTA,
    sigma: Annotated[float, typer.Option(help="Of the matrix's entries.")] = SIGMA,
    trials: Annotated[int, typer.Option(min=1, help="With each of the two collections.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up collections.")] = 0,
    as_json: Json = False,
) -> None:
    """Tell two neighbouring collections apart by their projected vectors: what the claim does not cover."""
    with doing("Telling collections apart"):
        found = run_distinguish(rows, dimension, k, gamma=gamma, longest=norm, sigma=sigma, trials=trials, seed=seed)
    if as_json:
        print_json(asdict(found) | {"refuted": found.refuted})
        return
    out.print(
        f"{found.true_positives} of {trials} true positives, {found.false_positives} of {trials} false positives: "
        f"epsilon is at least {found.epsilon:.2f} at delta {found.delta:g} (confidence {found.confidence:g}).",
        markup=False,
    )
    more = "That is refuted." if found.refuted else "These trials do not refute it; take more (1000 are enough)."
    out.print(f"The paper claims {found.claimed:g}. {more}")
