"""How often answers are right at a price, and how many votes a price takes."""

import argparse
import json
import math
import sys
import tempfile
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.consensus_release import SHARE, least_epsilon
from discreet.algorithms.common.private_rag import PRICE, VotingBudget
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.algorithms.text.keywords import keywords
from discreet.algorithms.text.normalize import canonical
from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.planning.prices import LIKELY, VOCABULARY, times, vault_budget
from discreet.privacy.accounting import Budget, Spending, largest
from discreet.privacy.mechanisms.counting import ThresholdedCounts
from discreet.privacy.mechanisms.leader_selection import MOST_CANDIDATES, LeaderSelection
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.mechanisms.optimal_selection import (
    CountedSelection,
    OptimalSelection,
    candidate_curve,
    least_votes,
    unseen_curve,
)
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Change, Relation
from discreet.privacy.sampled_costs import amplified_epsilon
from discreet.query.known_answers import Question, matches, read_questions
from discreet.registry import DPKSA, DPRAG, RAG, Adaptive, Consensus, DPSparseVoteRAG, DPVoteRAG, NonRAG
from discreet.retrieval.public import PublicTexts
from discreet.vault import Vault
from discreet_lab.baselines.ksa import KSA
from discreet_lab.baselines.vote_rag import VoteRAG
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.experiment import Outcome, Row, run_answers, summary
from discreet_lab.evaluation.report import likeness_cells
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    asked_model,
    name_part,
    vault_in,
    write_table,
)
from discreet_lab.vote_releases import (
    cheapest_release,
    counted_selection_for,
    order_selection_for,
    thresholded_counts_for,
)

CHOOSING = "consensus among choices"
GROUNDED = "consensus, grounded votes"
LED, LED_GROUNDED = "consensus, leader", "consensus, leader and grounded votes"
PROPOSING, PROPOSING_GROUNDED = "consensus, corpus proposing", "consensus, corpus proposing and grounded votes"
DRAWN = (1.0, 3.0, 8.0)
"""The epsilons that are drawn against the number of voters."""
Made = dict[tuple[str, int, float | None], Algorithm]
"""Algorithms by (name, voters, epsilon); 0 voters if they have none, or another number for each question."""
Line = tuple[str, int, float | None, Row]
"""A row, and the key of its algorithm."""
Point = tuple[str, int, float | None, float, float]
"""What is drawn of a row: its key, a figure, and how often anything was released."""


def made(given: argparse.Namespace, kind: str, choices: dict[str, tuple[str, ...]]) -> Made:
    """What is compared on questions of one kind."""
    found: Made = {("non-rag", 0, None): NonRAG(), ("rag", 0, None): RAG()}
    for voters in given.voters:
        found["vote-rag", voters, None] = VoteRAG(voters=voters)
        found["ksa", voters, None] = KSA(voters=voters)
        for algorithm in (DPVoteRAG, DPSparseVoteRAG) if voters in given.token_voters else ():
            for epsilon in given.token_epsilon:
                found[algorithm.name, voters, epsilon] = algorithm(voters=voters, epsilon=epsilon, delta=given.delta)
        for epsilon in given.epsilon:
            question = {"voters": voters, "epsilon": epsilon, "delta": given.delta}
            found[DPKSA.name, voters, epsilon] = DPKSA(**question)
            found[Consensus.name, voters, epsilon] = Consensus(**question, leader=False)
            found[GROUNDED, voters, epsilon] = Consensus(**question, leader=False, grounded=True)
            found[LED, voters, epsilon] = Consensus(**question)
            found[LED_GROUNDED, voters, epsilon] = Consensus(**question, grounded=True)
            if kind in choices:
                found[CHOOSING, voters, epsilon] = Consensus(**question, choices=choices[kind])
    for wanted in given.wanted if given.dp_rag else ():
        for epsilon in given.token_epsilon:
            found[DPRAG.name, wanted, epsilon] = DPRAG(wanted=wanted, epsilon=epsilon, delta=given.delta)
    return found


def proposed(given: argparse.Namespace) -> Made:
    """What hears the answers of a public corpus."""
    found: Made = {}
    for voters in given.voters:
        for epsilon in given.epsilon:
            for name, grounded in ((PROPOSING, False), (PROPOSING_GROUNDED, True)):
                if not given.only or name in given.only:
                    question = {"voters": voters, "epsilon": epsilon, "delta": given.delta}
                    found[name, voters, epsilon] = Consensus(**question, grounded=grounded)
    return found


def adaptive(given: argparse.Namespace, support: int | None) -> Made:
    """The same with a number of voters for the question at hand."""
    found: Made = {}
    for algorithm in (DPKSA, Consensus):
        for epsilon in given.epsilon:
            inner = algorithm(epsilon=epsilon, delta=given.delta)
            choosing = Adaptive(inner=inner, similarity=given.similarity, numbers=tuple(given.numbers))
            found[f"adaptive {inner.name}", 0, epsilon] = choosing
            if support is not None:
                found[f"told {inner.name}", 0, epsilon] = choosing.having(choosing.number(support))
    return found


def choices_of(path: Path) -> dict[str, tuple[str, ...]]:
    """For each kind of question, all answers that the file has, each once."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for question in read_questions(path):
        if question.kind and question.kind != "reference":
            found[question.kind].update({canonical(text): text for text in question.answers})
    return {kind: tuple(sorted(answers.values())) for kind, answers in found.items() if len(answers) > 1}


def usable(algorithm: Algorithm, vault: Vault) -> bool:
    """Whether so small a budget can release anything at all."""
    try:
        algorithm.plan(vault.ledger.budget, vault.model.vocabulary_size)
    except UsageError as error:
        print(f"{algorithm.name}: {error}", file=sys.stderr)
        return False
    return True


def run(given: argparse.Namespace, vault: Vault, questions: list[Question], progress: Callable[[], None]) -> list[Line]:
    """All answers; a row for each algorithm, number of voters and epsilon."""
    choices, model = choices_of(given.questions), CachingModel(vault.model)
    corpus = PublicTexts.read(given.propose, vault.embedder) if given.propose else None
    answers: dict[tuple[str, int, float | None], list[list[Outcome]]] = defaultdict(list)
    named: Made = {}
    for question in questions:
        offered = made(given, question.kind, choices) | (adaptive(given, question.support) if given.adaptive else {})
        wanted = {key: a for key, a in offered.items() if not given.only or key[0] in given.only}
        asked = {key: a for key, a in wanted.items() if usable(a, vault)}
        named |= asked
        # Each once: a number of voters that was told may be one of those that all questions have.
        once = list(dict.fromkeys(asked.values()))
        found = run_answers(vault, [question], once, given.seeds, progress, model)
        for key, algorithm in asked.items():
            answers[key] += found[algorithm]
        proposing = {key: a for key, a in proposed(given).items() if corpus and usable(a, vault)}
        named |= proposing
        found = run_answers(vault, [question], list(proposing.values()), given.seeds, progress, model, propose=corpus)
        for key, algorithm in proposing.items():
            answers[key] += found[algorithm]
    return [(*key, summary(named[key], groups)) for key, groups in answers.items()]


def write_told(questions: list[Question], model: VotingModel) -> None:
    """Write how many answers are right with the right keywords given: sentences of the model, and answers shown."""
    sentences = shown = 0
    for question in questions:
        found = tuple(sorted(keywords(question.answers[0]) - keywords(question.question)))
        text = KSA().answer_with(found, question.question, model).text
        words = ", ".join(found)
        shown += matches(text, question.answers)
        sentences += text != words and matches(text.removesuffix(f" ({words})"), question.answers)
    print(f"Right with the right keywords: {sentences} sentences and {shown} answers of {len(questions)}.")


def write_lines(rows: list[Line], path: Path | None) -> None:
    """Write accuracy, or likeness, and how often anything was released."""
    like = all(row.likeness for *_, row in rows)
    figures = ["F1", "ROUGE-1", "ROUGE-L", "Levenshtein"] if like else ["accuracy"]
    headings = ["algorithm", "voters", "epsilon", *figures, "released", "epsilon spent"]
    lines = []
    for label, voters, epsilon, row in rows:
        found = (
            list(likeness_cells(row, row.likeness)[2:6])
            if row.likeness
            else [f"{row.accuracy:.2f} ± {row.accuracy_margin:.2f}"]
        )
        lines.append(
            [
                label,
                str(voters or "-"),
                "-" if epsilon is None else f"{epsilon:g}",
                *found,
                f"{row.released:.2f}",
                "no guarantee" if row.epsilon_spent is None else f"{row.epsilon_spent:.2f}",
            ]
        )
    write_table(headings, lines, path)


def points(rows: list[Line]) -> list[Point]:
    """What is drawn of each row: its accuracy, or ROUGE-1; and how often anything was released."""
    return [
        (label, voters, epsilon, row.likeness.rouge_1 if row.likeness else row.accuracy, row.released)
        for label, voters, epsilon, row in rows
    ]


def printed(tables: list[Path]) -> list[Point]:
    """The same, of tables that were printed before: parts of one experiment that were run by themselves."""
    found: dict[tuple[str, int, float | None], tuple[float, float]] = {}
    columns = (0, 0)
    for line in (line for path in tables for line in path.read_text().splitlines() if line.startswith("| ")):
        name, voters, epsilon, *cells = (cell.strip() for cell in line.strip("| ").split("|"))
        if name == "algorithm":
            columns = cells.index("ROUGE-1" if "ROUGE-1" in cells else "accuracy"), cells.index("released")
        elif not name.startswith("---"):
            key = (name, 0 if voters == "-" else int(voters), None if epsilon == "-" else float(epsilon))
            value, released = (float(cells[column].split()[0]) for column in columns)
            found[key] = value, released
    return [(*key, *figures) for key, figures in found.items()]


def write_by_voters(found: list[Point], path: Path | None) -> None:
    """Write a table of the figure, and how often anything was released, with a column for each number of voters."""
    numbers = sorted({voters for _, voters, *_ in found if voters})
    rows: dict[tuple[str, float | None], dict[int, str]] = defaultdict(dict)
    for label, voters, epsilon, value, released in found:
        if voters:
            rows[label, epsilon][voters] = f"{value:.2f}" if epsilon is None else f"{value:.2f} ({released:.2f})"
    heading = ["algorithm", "epsilon", *(f"{number} voters" for number in numbers)]
    lines = []
    for (label, epsilon), cells in sorted(rows.items(), key=lambda row: (row[0][0], row[0][1] or 0.0)):
        if len(cells) > 2:
            price = "-" if epsilon is None else f"{epsilon:g}"
            lines.append([label, price, *(cells.get(number, "") for number in numbers)])
    write_table(heading, lines, path)


def draw(found: list[Point], path: Path, shown: int, label: str) -> None:
    """A figure against epsilon; beside it, against the number of voters, where there are more than two of those."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    several = len({voters for _, voters, *_ in found if voters}) > 2
    figure, (panes,) = pyplot.subplots(1, 1 + several, figsize=(7 + 5 * several, 4), sharey=True, squeeze=False)
    _against_epsilon(panes[0], found, shown)
    if several:
        _against_voters(panes[1], found)
    panes[0].set_ylabel(label)
    panes[0].set_ylim(0, 1)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def _against_epsilon(axes: Any, found: list[Point], shown: int) -> None:
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for label, voters, epsilon, value, _ in found:
        if voters in (0, shown) and epsilon is None:
            axes.axhline(value, linestyle=":", color="grey")
            axes.annotate(label, (0.5, value), fontsize="x-small", color="grey")
        elif voters in (0, shown):
            lines[label].append((epsilon or 0.0, value))
    for name, line in lines.items():
        axes.plot(*zip(*sorted(line), strict=True), marker="o", label=name)
    axes.set_xscale("log")
    axes.minorticks_off()
    prices = sorted({epsilon for _, _, epsilon, *_ in found if epsilon})
    axes.set_xticks(prices, labels=[f"{epsilon:g}" for epsilon in prices])
    axes.set_xlabel("epsilon of a question")
    axes.set_title(f"{shown} voters")
    axes.legend(fontsize="small")


def _against_voters(axes: Any, found: list[Point]) -> None:
    lines: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for label, voters, epsilon, value, _ in found:
        if voters and (epsilon is None or epsilon in DRAWN):
            lines[label if epsilon is None else f"{label}, epsilon {epsilon:g}"].append((voters, value))
    for name, line in lines.items():
        if len(line) > 2:
            axes.plot(*zip(*sorted(line), strict=True), marker="o", label=name)
    axes.set_xlabel("voters")
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))


def price_answers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Answers paid as a whole against answers paid by the token: accuracy against epsilon per question.

    Prints a Markdown table; with `--tables`, one by the number of voters, of tables that it printed before. With
    answers of kind "reference", likeness to them instead of accuracy, and no choices; else "consensus among
    choices" chooses among all the answers that the file has for questions of the same kind. With `--adaptive`, also
    a number of voters for each question: by a noisy count of units near it ("adaptive"), and, for comparison and
    without a guarantee for that choice, by the file's own count of units that hold the answer ("told"). With
    `--propose CORPUS`, also "consensus, corpus proposing": the answers of a public corpus need fewer votes. With
    `--dp-rag`, also tokens from summed opinions, for each `--token-epsilon`; the second figure is then the units
    wanted. With `--told`, nothing but how many questions the public model answers from the keywords of the right
    answer: what DP-KSA could have at best. Noise is seeded: a second run prints the same figures, but for the
    seconds. Delta is that of a question.
    """
    parser.add_argument("documents", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="?")
    parser.add_argument("--tables", type=Path, nargs="+", help="only what these files hold, printed before")
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--voters", type=int, nargs="+", default=[40, 80])
    parser.add_argument(
        "--token-voters", type=int, nargs="*", default=[40, 80], help="for algorithms that pay by the token"
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0, 3.0, 5.0, 8.0])
    parser.add_argument(
        "--token-epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0], help="for the same"
    )
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--adaptive", action="store_true", help="also a number of voters for each question")
    parser.add_argument("--similarity", type=float, default=Adaptive().similarity)
    parser.add_argument("--numbers", type=int, nargs="+", default=list(Adaptive().numbers))
    parser.add_argument("--propose", type=Path, help="a public corpus whose answers are candidates")
    parser.add_argument("--dp-rag", action="store_true", help="also tokens from summed opinions")
    parser.add_argument("--wanted", type=int, nargs="+", default=[DPRAG().wanted], help="units above its threshold")
    parser.add_argument("--told", action="store_true", help="only answers from the keywords of the right answer")
    parser.add_argument("--only", nargs="+", help="the names of the rows wanted; all if not given")
    parser.add_argument("--plot", type=Path)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    if given.tables and given.plot is None:
        parser.error("Say where the figure of the tables goes: --plot FILE.svg.")
    if given.tables:
        like = any("ROUGE-1" in path.read_text() for path in given.tables)
        found = printed(given.tables)
        write_by_voters(found, given.csv)
        if given.plot is not None:
            draw(found, given.plot, given.voters[0], "ROUGE-1" if like else "accuracy")
        return
    if given.questions is None:
        parser.error("DOCUMENTS and QUESTIONS are needed, or --tables.")
    questions = read_questions(given.questions, given.limit)
    if given.told:
        write_told(questions, asked_model(given.model))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.vault or Path(folder) / "vault"
        vault = vault_in(path, given.model, epsilon=1.0, delta=1e-5)
        vault.add(given.documents)
        count = iter(range(1, 1_000_000))
        rows = run(given, vault, questions, lambda: print(next(count), file=sys.stderr, flush=True))
    write_lines(rows, given.csv)
    print(
        f"\n{len(questions)} questions, {given.seeds} seeds, delta {given.delta:g} a question; "
        f"{vault.settings.model}, {vault.settings.embedder}"
    )
    if given.plot is not None:
        draw(points(rows), given.plot, given.voters[0], "ROUGE-1" if rows[0][-1].likeness else "accuracy")


QUESTION_DELTA, STREAM_DELTA = 1e-6, 1e-5
CHANCES = (0.5, 0.9, 0.99)
REPLACED = Change(1, Relation.REPLACE)
SAMPLED, LEADER_VOTERS = 80, 40


def list_votes(needed: Callable[[float], int | None], chances: tuple[float, ...] = CHANCES) -> str:
    """Return the votes for each chance, as in 14/16/18."""
    return "/".join(str(needed(chance)) for chance in chances)


def question_row(epsilon: float) -> list[str]:
    """Return a row of the first table."""
    today = ObservedSelection.calibrated(epsilon, QUESTION_DELTA, REPLACED)
    moved = ObservedSelection.calibrated(epsilon, QUESTION_DELTA, ADD_REMOVE_ONE)
    optimal: OptimalSelection[str] = OptimalSelection.calibrated(epsilon, QUESTION_DELTA, ADD_REMOVE_ONE)
    proposals = [candidate_curve(epsilon, prior) for prior in (0.01, 0.001)]
    proposing = LeaderSelection(epsilon, QUESTION_DELTA, LEADER_VOTERS, tuple(range(MOST_CANDIDATES)))
    return [
        f"{epsilon:g}",
        list_votes(today.votes_needed),
        list_votes(LeaderSelection(epsilon, QUESTION_DELTA, LEADER_VOTERS).votes_needed),
        list_votes(proposing.candidate_votes_needed) if proposing.proposes else "not proved",
        list_votes(proposing.votes_needed) if proposing.proposes else "not proved",
        list_votes(moved.votes_needed),
        list_votes(optimal.votes_needed),
        *(list_votes(lambda chance, curve=curve: least_votes(curve, chance)) for curve in proposals),  # type: ignore[misc]
    ]


def observed_for(budget: Budget, uses: int) -> ObservedSelection | None:
    """Return the selection among observed values of the largest epsilon that fits `uses` times, for replaced votes."""
    delta = budget.failures / uses * (1 - 1e-9)

    def fits(epsilon: float) -> bool:
        cost = ObservedSelection.calibrated(epsilon, delta, REPLACED).cost(REPLACED)
        return budget.admits(Spending.of(cost, uses))

    epsilon = largest(fits, 1e-4, 64.0)
    return ObservedSelection.calibrated(epsilon, delta, REPLACED) if fits(epsilon) else None


def stream_row(epsilon: float, uses: int) -> list[str]:
    """Return a row of the second table."""
    budget, chances = Budget(epsilon, STREAM_DELTA, STREAM_DELTA / 2), CHANCES[:2]
    today, optimal = observed_for(budget, uses), counted_selection_for(budget, uses)
    counts, chosen = thresholded_counts_for(budget, uses), cheapest_release(budget, uses)
    curve = order_selection_for(budget, uses)
    return [
        f"{epsilon:g}",
        str(uses),
        list_votes(today.votes_needed, chances) if today else "refused",
        list_votes(optimal.votes_needed, chances) if optimal else "refused",
        list_votes(counts.votes_needed, chances) if counts else "refused",
        list_votes(curve.votes_needed, chances) if curve else "refused",
        str(curve if curve and curve.votes_needed(0.9) < chosen.votes else chosen.mechanism),
    ]


def units_row(units: int) -> list[str]:
    """Return a row of the third table."""
    price = least_epsilon(units, QUESTION_DELTA, 0.6, 0.95)
    probability = min(1.0, SAMPLED / units)
    of_sample = least_epsilon(min(units, SAMPLED), QUESTION_DELTA / probability, 0.6, 0.95)
    return [str(units), f"{price:.3f}", f"{amplified_epsilon(of_sample, probability):.3f}"]


def votes_of(algorithm: MuRAGAda, budget: Budget, chance: float) -> int:
    """Return how many units must agree for a release with probability `chance`."""
    voters, rounds = algorithm.count_votes(budget, VOCABULARY)
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)[0]
    return int(selection.votes_needed(chance))  # type: ignore[attr-defined]


def price_rows() -> list[list[str]]:
    """Return the rows of the fourth table."""
    budget = vault_budget(20.0, STREAM_DELTA)
    former = MuRAGAda(all_vote=False)
    wanted = votes_of(former, budget, 0.9)
    hundredths = range(50, round(100 * PRICE) + 1)
    cheapest = next(h / 100 for h in hundredths if votes_of(MuRAGAda(epsilon=h / 100), budget, 0.9) <= wanted)
    uses = max(uses for uses in range(1, 60) if votes_of(MuRAGAda(uses=uses), budget, 0.9) <= wanted)
    ways = {
        "the nearest 40": former,
        "all": MuRAGAda(epsilon=PRICE),
        "all, as many votes": MuRAGAda(epsilon=cheapest),
        f"all, M={uses}": MuRAGAda(uses=uses),
        "all, by default": MuRAGAda(),
    }
    return [
        [
            name,
            f"{algorithm.plan(budget, VOCABULARY).price(budget):.3g}",
            list_votes(lambda chance, algorithm=algorithm: votes_of(algorithm, budget, chance), CHANCES[:2]),  # type: ignore[misc]
            str(times(budget, algorithm.calibrate(budget, VOCABULARY).plan.max_cost)),
        ]
        for name, algorithm in ways.items()
    ]


def proposals(epsilon: float, uses: int | None) -> list[str]:
    """Return a row of the fifth table."""
    voters, rounds = MuRAGAda(uses=uses).count_votes(vault_budget(epsilon, STREAM_DELTA), VOCABULARY)
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)[0]
    assert isinstance(selection, CountedSelection | ThresholdedCounts | OrderSelection)
    kind = {CountedSelection: "selection", ThresholdedCounts: "counts", OrderSelection: "curve"}[type(selection)]
    known = [selection.with_candidates(range(number)) for number in (1, 5, MOST_CANDIDATES)]
    votes = [list_votes(one.candidate_votes_needed, CHANCES[:2]) for one in known]
    return [f"{epsilon:g}", str(uses or "default"), kind, list_votes(selection.votes_needed, CHANCES[:2]), *votes]


def questions_of(inner: Consensus, budget: Budget, units: int) -> int:
    """Return how many questions a budget pays for if so many units suffice for an answer."""

    def suffices(uses: int) -> bool:
        try:
            _, rounds = MuRAGAda(inner=inner, uses=uses).count_votes(budget, VOCABULARY)
        except UsageError:
            return False
        return isinstance(rounds, VotingBudget) and not rounds.crowded and rounds.enough <= units

    return bisect_left(range(1, MOST_QUESTIONS), True, key=lambda uses: not suffices(uses))


def grant_rows() -> Iterator[list[str]]:
    """Yield the rows of the sixth table."""
    kinds = {
        "before": Consensus(curve=False),
        "now": Consensus(),
        "with its count": Consensus(with_count=True),
        "yes or no": Consensus(choices=("yes", "no", "not said"), unsaid="not said", grounded=True),
    }
    for granted in (5.0, 10.0, 20.0):
        budget = vault_budget(granted, QUESTION_DELTA)
        for votes in (8, 10, 14, 24, 40):
            found = [questions_of(inner, budget, math.ceil(votes / SHARE)) for inner in kinds.values()]
            yield [f"{granted:g}", str(votes), *map(str, found)]


def count_votes_needed(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How many agreeing voters an answer needs to be released, under each release of votes: by arithmetic alone.

    First table: one question, delta 1e-6; votes for a release with probability 0.5 / 0.9 / 0.99. "observed" is the
    selection among observed values, and "leader" that of `consensus`, certified for 40 voters: without candidates,
    for one of 20 candidates, and for another answer beside them. These are for a replaced vote. The others are for
    a vote that comes or goes. Candidates are public, with the prior. Second table: streams. A unit pays for M
    questions from (epsilon, 1e-5), half of delta for failures; votes for 0.5 / 0.9, and the release that is chosen.
    "observed" is one such selection for each question, of the largest epsilon that the same budget admits M times.
    Third table: the least epsilon that releases the answer of 60 % of the units with probability 0.95, and what
    each unit pays if it takes part by a secret coin, such that 80 units vote on average. Fourth table: `murag-ada`
    over `consensus`, where a unit has (20, 1e-5). The nearest 40 vote at the default price; then all admitted
    units, at the same price, at the least price at which they need no more votes, and at a share of the budget. The
    counts of the units are paid in each row. Fifth table: `murag-ada` with public candidates, at several grants and
    numbers of questions: votes for 0.5 / 0.9 of an answer that is no candidate, and of one of 1, 5 and 20
    candidates. Sixth table: how many questions of `murag-ada` a grant pays for if so many votes release an answer with
    probability 0.9: by counts alone ("before"), by the release that is chosen, and with the count that is bought with
    the question; and of questions for yes or no, for which as many units suffice.
    """
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    columns = [
        *("epsilon", "observed", "leader", "leader, a candidate", "leader, beside candidates"),
        *("observed, a vote comes or goes", "optimal", "candidate, prior 0.01"),
        "prior 0.001",
    ]
    table = TableWriter(columns, given.csv)
    for epsilon in (0.25, 0.5, 1.0, 2.0, 3.0, 5.0):
        table.write(question_row(epsilon))
    print(f"\none question, delta {QUESTION_DELTA:g}\n")
    columns = ["epsilon per unit", "M", "observed", "optimal", "thresholded counts", "curve", "chosen"]
    table = TableWriter(columns, name_part(given.csv, "streams"))
    for epsilon, uses in ((2, 1), (5, 1), (5, 5), (10, 2), (10, 5), (10, 10), (10, 20), (20, 20)):
        table.write(stream_row(epsilon, uses))
    print(f"\nM questions a unit, delta {STREAM_DELTA:g}, half of it for failures\n")
    table = TableWriter(["units", "all vote", f"a secret sample of {SAMPLED}"], name_part(given.csv, "support"))
    for units in (22, 40, 80, 160, 524, 5000):
        table.write(units_row(units))
    print(f"\nan answer of 60 % of the units, released with probability 0.95, delta {QUESTION_DELTA:g}\n")
    columns = ["who votes", "epsilon of a question", "votes", "questions a unit"]
    table = TableWriter(columns, name_part(given.csv, "prices"))
    for row in price_rows():
        table.write(row)
    print(f"\nmurag-ada over consensus, (20, {STREAM_DELTA:g}) a unit, counts included\n")
    columns = ["epsilon per unit", "M", "release", "another answer", "1 candidate", "one of 5", "one of 20"]
    table = TableWriter(columns, name_part(given.csv, "candidates"))
    for granted, each in ((2, 1), (5, 1), (5, 5), (10, 5), (10, 10), (20, 20), (20, None)):
        table.write(proposals(granted, each))
    print(f"\nmurag-ada with public candidates, delta {STREAM_DELTA:g} a unit, counts included\n")
    columns = ["grant", "votes", "before", "now", "with its count", "yes or no"]
    table = TableWriter(columns, name_part(given.csv, "grants"))
    for row in grant_rows():
        table.write(row)
    print(f"\nquestions of murag-ada from one grant, delta {QUESTION_DELTA:g}, counts included")


MOST_QUESTIONS = 5_000
REACH_EPSILONS = (1.0, 2.0, 3.0, 5.0, 10.0)
REACH = ("epsilon", "failures", "votes", "out of reach", "votes at delta", "out of reach at delta")


def supports(folder: Path) -> list[int]:
    """Return the support of each question of a data set; 0 where its reference names nothing that could be shared."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["support"] or 0 for line in lines]


def votes_for_half(epsilon: float, delta: float) -> int:
    """Return the fewest units whose common answer the best method releases at least half of the time."""
    votes = least_votes(unseen_curve(epsilon, delta), LIKELY)
    assert votes is not None  # the curve reaches 1
    return votes


def share_below(found: list[int], votes: int) -> float:
    """Return the share of questions with fewer supporting units than `votes`."""
    return sum(support < votes for support in found) / len(found)


def reach_row(found: list[int], epsilon: float, delta: float) -> list[str]:
    """Return a row of the table."""
    failures = vault_budget(epsilon, delta).failures
    half, whole = votes_for_half(epsilon, failures), votes_for_half(epsilon, delta)
    shares = [f"{share_below(found, votes):.2f}" for votes in (half, whole)]
    return [f"{epsilon:g}", f"{failures:g}", str(half), shares[0], str(whole), shares[1]]


def count_out_of_reach(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """The share of questions that no private method without candidates can answer: by arithmetic alone.

    A method without candidates releases no answer that no unit gives. Let p(n) be the probability with which it
    releases one answer that n units give, all else equal. Then p(0) = 0. If a unit that gives it is removed or
    replaced, p falls by (epsilon, delta) at most: p(n) <= e^epsilon p(n-1) + delta, and 1 - p(n-1) <= e^epsilon (1
    - p(n)) + delta. The curve of optimal selection is the largest that keeps both (docs/mechanisms.md). So no such
    method exceeds it, whatever it reads and however it counts, and with one question for the whole budget.

    A question is out of reach if this curve is below 0.5 at its support: the number of notes that have a right
    answer. All of them are taken to give the same answer. The column "failures" has the delta of the release as a
    vault has it by default, half of its delta; the last columns are for the whole delta.
    """
    parser.add_argument("folder", type=Path, help="a data set with questions.jsonl")
    parser.add_argument("--delta", type=float, default=STREAM_DELTA)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    found = supports(given.folder)
    table = TableWriter(REACH, given.csv)
    for epsilon in REACH_EPSILONS:
        table.write(reach_row(found, epsilon, given.delta))
    print(f"\n{len(found)} questions of {given.folder.name}, delta {given.delta:g}")
