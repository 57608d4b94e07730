"""`discreet claim`: the values of published claims that are no guarantees."""

import math
from dataclasses import dataclass
from typing import Annotated

import typer

from discreet.cli.app import Json, app
from discreet.cli.output import doing, explained, out, print_json
from discreet.system.plain import Unbounded
from discreet_lab.attacks.distinguish import distinguish as run_distinguish
from discreet_lab.claims import (
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


@dataclass(frozen=True)
class OrderShown:
    """An order of the Renyi divergence.

    Attributes:
        alpha: the order.
        epsilon: the epsilon at this order.
    """

    alpha: float
    epsilon: Unbounded


@dataclass(frozen=True, kw_only=True)
class ProjectionShown:
    """What Theorem 1 of Yao and Li claims.

    Attributes:
        renyi_epsilon: the claimed Renyi epsilon; None where nothing is claimed.
        epsilon: the claimed epsilon at `delta`; None where nothing is claimed.
        delta: the delta of the conversion.
        meaningful: whether the formula has a value.
        ratios: the least and the largest ratio of squared lengths.
        at_lowest_ratio: the divergence of a row at the least ratio.
        at_highest_ratio: the divergence of a row at the largest ratio; None if it is infinite.
        argument_at_highest_ratio: the argument of the logarithm at the largest ratio.
        orders_below: the formula has a value for orders below this one.
        best_order: the best order for `delta`.
        ratio_that_the_papers_epsilon_takes: the least ratio, of at most 1, at which the divergence stays within the
            paper's epsilon.
        caveat: what is no guarantee.
    """

    renyi_epsilon: Unbounded
    epsilon: Unbounded
    delta: float
    meaningful: bool
    ratios: tuple[float, float]
    at_lowest_ratio: Unbounded
    at_highest_ratio: Unbounded
    argument_at_highest_ratio: float
    orders_below: Unbounded
    best_order: OrderShown
    ratio_that_the_papers_epsilon_takes: float
    caveat: str


claim = typer.Typer(help="Compute published claims that are no guarantees.", no_args_is_help=True)
app.add_typer(claim, name="claim")


@claim.command()
@explained
def projection(
    k: Annotated[int, typer.Option(help="The dimension of a projected vector.")] = K,
    gamma: Annotated[float, typer.Option(help="The least norm of an embedding.")] = GAMMA,
    norm: Annotated[float, typer.Option(help="The largest norm of an embedding: the paper's Delta.")] = DELTA,
    alpha: Annotated[float, typer.Option(help="The order of the Renyi divergence.")] = ALPHA,
    delta: Annotated[float, typer.Option(help="The delta of the conversion to (epsilon, delta).")] = 1e-5,
    as_json: Json = False,
) -> None:
    """Compute the epsilon that Theorem 1 of Yao and Li claims for a random projection, and where it claims none."""
    claim_of = ProjectionClaim(k, gamma, norm, alpha)
    best = best_order(k, gamma, norm, delta)
    low, high = 1 / claim_of.widest, claim_of.widest
    content = ProjectionShown(
        renyi_epsilon=claim_of.epsilon,
        epsilon=claim_of.converted(delta),
        delta=delta,
        meaningful=math.isfinite(claim_of.epsilon),
        ratios=(low, high),
        at_lowest_ratio=row_divergence(k, low, alpha),
        at_highest_ratio=row_divergence(k, high, alpha),
        argument_at_highest_ratio=(1 - alpha) * high + alpha,
        orders_below=claim_of.highest_order,
        best_order=OrderShown(best.alpha, best.converted(delta)),
        ratio_that_the_papers_epsilon_takes=narrowest_ratio(k, alpha, PAPER_EPSILON),
        caveat=CAVEAT,
    )
    if as_json:
        print_json(content)
        return
    out.print(
        f"k {k}, norms in [{gamma:g}, {norm:g}], alpha {alpha:g}: Gamma lies in [{low:.6g}, {high:.6g}].", markup=False
    )
    out.print(f"  At {low:.6g} the divergence of a row is {content.at_lowest_ratio:.6f}.", markup=False)
    if content.meaningful:
        out.print(f"  At {high:.6g} the divergence of a row is {content.at_highest_ratio:.6f}.", markup=False)
        out.print(
            f"Claimed: ({alpha:g}, {claim_of.epsilon:.6f})-Renyi, which Appendix B converts to "
            f"({claim_of.converted(delta):.6f}, {delta:g}).",
            markup=False,
        )
    else:
        out.print(
            f"  At {high:.6g} the formula takes the logarithm of {content.argument_at_highest_ratio:.6g}. It has no "
            f"value there: the divergence is infinite, and nothing is claimed. The formula has a value for orders "
            f"below {claim_of.highest_order:.6g}.",
            markup=False,
        )
    out.print(
        f"The best order for delta {delta:g} is {best.alpha:.4f}, with epsilon {best.converted(delta):.4f}. The "
        f"paper's {PAPER_EPSILON} at this k and alpha needs a Gamma between "
        f"{content.ratio_that_the_papers_epsilon_takes:.6f} and 1.",
        markup=False,
    )
    out.print(f"Not a guarantee: {CAVEAT}", markup=False)


@claim.command()
@explained
def distinguish(
    rows: Annotated[int, typer.Option(help="The number of documents of a collection.")] = 1000,
    dimension: Annotated[int, typer.Option(help="The dimension of an embedding.")] = 384,
    k: Annotated[int, typer.Option(help="The dimension of a projected vector.")] = K,
    gamma: Annotated[float, typer.Option(help="The least norm of an embedding.")] = GAMMA,
    norm: Annotated[float, typer.Option(help="The largest norm of an embedding: the paper's Delta.")] = DELTA,
    sigma: Annotated[float, typer.Option(help="The standard deviation of the matrix's entries.")] = SIGMA,
    trials: Annotated[int, typer.Option(min=1, help="The number of trials for each collection.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the random collections.")] = 0,
    as_json: Json = False,
) -> None:
    """Distinguish two neighbouring collections by their projected vectors, which refutes the claim."""
    with doing("Distinguishing collections"):
        outcome = run_distinguish(rows, dimension, k, gamma=gamma, longest=norm, sigma=sigma, trials=trials, seed=seed)
    if as_json:
        print_json(outcome)
        return
    out.print(
        f"{outcome.true_positives} of {trials} true positives, {outcome.false_positives} of {trials} false positives: "
        f"epsilon is at least {outcome.epsilon:.2f} at delta {outcome.delta:g} (confidence {outcome.confidence:g}).",
        markup=False,
    )
    more = (
        "The claim is refuted." if outcome.refuted else "These trials do not refute the claim; use more, such as 1000."
    )
    out.print(f"The paper claims {outcome.claimed:g}. {more}")
