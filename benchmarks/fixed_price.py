"""Answers paid as a whole against answers paid by the token: accuracy against epsilon per question.

    .venv/bin/python -m benchmarks.fixed_price DOCUMENTS QUESTIONS [--limit 40] [--seeds 3] [--voters 40 80]
        [--epsilon 0.5 1 2 3 5 8] [--token-voters 40 80] [--token-epsilon 0.5 1 2 3 5 8 10] [--plot FILE.svg]
        [--adaptive [--similarity 0.32] [--numbers 20 40 60 80]] [--dp-rag [--wanted 40 80]]
        [--only "dp-ksa" "consensus"] [--propose CORPUS.jsonl]
    .venv/bin/python -m benchmarks.fixed_price --tables TABLE.md ... [--plot FILE.svg]
    .venv/bin/python -m benchmarks.fixed_price DOCUMENTS QUESTIONS --told [--limit 24]

Prints a Markdown table; with `--tables`, one by the number of voters, of tables that it printed before. With answers of
kind "reference", likeness to them instead of accuracy, and no choices; else "consensus among choices" chooses among all
the answers that the file has for questions of the same kind. With `--adaptive`, also a number of voters for each
question: by a noisy count of units near it ("adaptive"), and, for comparison and without a guarantee for that choice,
by the file's own count of units that hold the answer ("told"). With `--propose CORPUS`, also "consensus, corpus
proposing": the answers of a public corpus need fewer votes. With `--dp-rag`, also tokens from summed opinions, for each
`--token-epsilon`; the second figure is then the units wanted. With `--told`, nothing but how many questions the public
model answers from the keywords of the right answer: what DP-KSA could have at best.
Noise is seeded: a second run prints the same figures, but for the seconds. Delta is that of a question.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.models import add_model_option, asked_model, vault_in
from benchmarks.writing import add_csv_option, write_table

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.text.keywords import keywords
from discreet.algorithms.text.normalize import canonical
from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.query.known_answers import Question, matches, read_questions
from discreet.registry import DPKSA, DPRAG, RAG, Adaptive, Consensus, DPSparseVoteRAG, DPVoteRAG, NonRAG
from discreet.retrieval.public import PublicTexts
from discreet.vault import Vault
from discreet_lab.baselines.ksa import KSA
from discreet_lab.baselines.vote_rag import VoteRAG
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.experiment import Outcome, Row, run_answers, summary
from discreet_lab.evaluation.report import likeness_cells

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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    given = parser.parse_args()
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


if __name__ == "__main__":
    main()
