"""Synthetic corpora: made in simulation, asked, and filtered."""

import argparse
import json
import math
import re
import shlex
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.cli.parameters import choose_method
from discreet.errors import BadData
from discreet.generation.model import Prompt, ScoringModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import Question, matches, read_questions
from discreet.reading.records import open_bytes
from discreet.registry import RAG, NonRAG
from discreet.retrieval.public import PublicTexts
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_facts import DPFacts, texts
from discreet.synthesis.dp_synrag.select import check_task, useful
from discreet.synthesis.fact_extraction import facts_of
from discreet.synthesis.runner import METHODS, receipt_path
from discreet.vault import Vault
from discreet_lab.bench.experiments.corpora import read_corpus, read_texts, share_told, simulate_corpus
from discreet_lab.evaluation.metrics import mean_and_margin, score
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    asked_model,
    name_part,
    open_vault,
)


def setting(text: str, delta: float) -> tuple[str, SynthesisAlgorithm[Any]]:
    """Return a name, and the method with the parameters that follow it."""
    name, *options = shlex.split(text)
    values = dict(option.split("=", 1) for option in options)
    method = values.pop("method", next(iter(METHODS)))
    price = {"epsilon": float(values.pop("epsilon", "10")), "delta": delta}
    return name, choose_method(method, [f"{key}={value}" for key, value in values.items()], price)


def make_corpus(vault: Vault, parameters: SynthesisAlgorithm[Any], path: Path, seed: int) -> None:
    """Make one corpus, as if it were paid."""
    try:
        made = simulate_corpus(vault, parameters, path, seed, _told(path.stem))
        print(f"{path.stem}: {len(made.kept)} of {len(made.texts)} texts kept")
    except BadData as error:
        print(f"{path.stem}: {error}")


def _told(name: str) -> Any:
    def told(step: str, done: int, total: int) -> None:
        print(f"{name}: {step} {done} of {total}", file=sys.stderr, flush=True)

    return told


def make_corpora(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Synthetic corpora in simulation, with seeded noise: for the part `ask` to ask.

    For each setting, FOLDER/NAME.jsonl and its receipt, unless they are there. An option is one of `discreet
    synthesize`, its name with underscores: "no-rerank epsilon=10 rerank=False", "random method=dp-synth
    epsilon=10". Nothing is paid; a second run of the same vault writes the same texts. (Another vault of the same
    documents deals units to the subsets of dp-synth otherwise.)
    """
    parser.add_argument("vault", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", nargs="+", metavar="NAME [OPTION=VALUE ...]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delta", type=float, default=1e-5)
    add_model_option(parser)
    given = parser.parse_args(arguments)
    given.folder.mkdir(exist_ok=True)
    vault = open_vault(given.vault, given.model)
    for name, parameters in [setting(text, given.delta) for text in given.settings]:
        if not (given.folder / f"{name}.jsonl").exists():
            make_corpus(vault, parameters, given.folder / f"{name}.jsonl", given.seed)


Answers = Callable[[list[str]], list[str]]


def ways(vault: Vault, corpora: list[Path], texts_read: int) -> dict[str, Answers]:
    """How each row of the table answers questions."""
    found: dict[str, Answers] = {
        "non-rag": lambda asked: [vault.simulate(question, NonRAG()).text for question in asked],
        "rag": lambda asked: [vault.simulate(question, RAG()).text for question in asked],
    }
    for corpus in corpora:
        try:
            texts = PublicTexts.read(corpus, vault.embedder)
        except BadData:  # nothing was kept
            texts = PublicTexts([""], vault.embedder)
        found[f"rag over {corpus.stem}"] = partial(read_corpus, vault, texts, count=texts_read)
    return found


def grouped(questions: list[Question], edges: list[int]) -> dict[str, list[int]]:
    """The questions of each column, by their places: of each kind, and of each range of support that has any."""
    found: dict[str, list[int]] = defaultdict(list)
    for place in sorted(range(len(questions)), key=lambda place: questions[place].kind):
        found[questions[place].kind].append(place)
    for low, high in pairwise([*edges, math.inf]):
        name = f"{low} units or more" if high == math.inf else f"{low} to {high - 1} units"
        found[name] += [place for place, q in enumerate(questions) if q.support is not None and low <= q.support < high]
    return {name: places for name, places in found.items() if places}


def ask_corpora(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Synthetic corpora against the documents they were made from: accuracy of plain RAG over either.

    Prints Markdown: accuracy (match), overall, by the kind of question, and, where the file knows how many units
    support the answer, by their number; of each corpus, how many texts were written and kept, and for how many
    questions some text holds an acceptable answer. Nothing is paid, and no noise is drawn: a corpus is made once
    (for one with seeded noise, see corpora.py).
    """
    parser.add_argument("vault", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="corpus")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--texts", type=int, default=1, help="how many texts of the corpus are read for a question")
    parser.add_argument("--support", type=int, nargs="*", default=[], help="where ranges of support begin")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    vault, questions = open_vault(given.vault, given.model), read_questions(given.questions, given.limit)
    groups = grouped(questions, given.support)
    table = TableWriter(["how", "accuracy", *groups], given.csv)
    for name, answer in ways(vault, given.corpora, given.texts).items():
        said = answer([q.question for q in questions])
        scores = [score(text, q.answers, q.kind) for text, q in zip(said, questions, strict=True)]
        mean, margin = mean_and_margin([[value] for value in scores])
        cells = [f"{sum(scores[place] for place in places) / len(places):.2f}" for places in groups.values()]
        table.write([name, f"{mean:.2f} ± {margin:.2f}", *cells])
    print(f"\n{len(questions)} questions; {vault.settings.model}, {vault.settings.embedder}\n")
    columns = ["corpus", "method", "epsilon", "delta", "written", "kept", "an answer is in some text for"]
    table = TableWriter(columns, name_part(given.csv, "corpora"))
    for corpus in given.corpora:
        about = json.loads(receipt_path(corpus).read_text())
        method, receipt = about["plan"].get("method", "dp-synrag"), about["receipt"]
        counts = [str(about[name]) for name in ("written", "kept")]
        price = [f"{receipt['epsilon']:.3g}", f"{receipt['delta']:g}"]
        table.write([corpus.stem, method, *price, *counts, f"{share_told(read_texts(corpus), questions):.2f}"])


SYSTEM = "Say whether a text is of use for a task. Answer Yes or No."
ASKED = "Task: {task}\n\nText: {text}\n\nIs the text of use for the task?"
EXAMPLES = (
    ("answer questions about bridges", "The review of the Orly bridge was moved to Friday.", "Yes"),
    ("answer questions about bridges", "I am not sure what you mean by that.", "No"),
)


def says_yes(model: ScoringModel, task: str, text: str) -> bool:
    """Whether the model thinks Yes likelier than No, as the paper asks it."""
    opening, closing = model.chat(SYSTEM, [(ASKED.format(task=of, text=about), said) for of, about, said in EXAMPLES])
    prompt = Prompt((*opening, *model.encode(ASKED.format(task=task, text=text)), *closing), 0)
    yes, no = (model.encode(word)[0] for word in ("Yes", "No"))
    logits = model.start((), [prompt], 1).logits()[0]
    return bool(logits[yes] > logits[no])


def filter_corpus(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """The texts of a synthetic corpus that `discreet synthesize --task` keeps: those of use for a task.

    For each task, FOLDER/task-1.jsonl and so on, with a receipt, for the part `ask` to ask; and a line of
    Markdown: how many texts are kept, and of how many the model says Yes if it is asked whether they are of use, as
    the paper does. The texts are public, so nothing is drawn and nothing is paid.
    """
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tasks", nargs="+")
    add_model_option(parser)
    add_csv_option(parser)
    options = parser.parse_args(arguments)
    lines = options.corpus.read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line)["text"]) for line in lines]
    model = asked_model(options.model)
    table = TableWriter(["task", "texts kept", "the model says Yes of"], options.csv)
    for number, task in enumerate(options.tasks, 1):
        check_task(model, task)
        judged = useful(model, task, texts)
        out = options.folder / f"task-{number}.jsonl"
        out.write_text("".join(f"{line}\n" for line, use in zip(lines, judged, strict=True) if use), encoding="utf-8")
        shutil.copy(receipt_path(options.corpus), receipt_path(out))
        said = sum(says_yes(model, task, text) for text in texts)
        table.write([task, f"{sum(judged)} of {len(texts)}", str(said)])


_STATED = re.compile(
    r"Given the symptoms \((.*?)\) of .*?, the diagnosis is (.*?) and the treatment should be (.*?)\.$"
)


def facts_in(text: str) -> list[tuple[str, str]]:
    """The facts of a note, by the sentence of its doctor; the diagnosis first."""
    found = _STATED.search(text)
    if found is None:
        return []
    symptoms, diagnosis, treatment = found.groups()
    return facts_of(f"The diagnosis is {diagnosis}. The treatment is {treatment}. The symptoms are {symptoms}.")


def make(notes: list[str], epsilon: float, delta: float, seed: int) -> list[str]:
    """The texts of a corpus, as dp-facts would release them."""
    method = DPFacts(epsilon=epsilon, delta=delta)
    plan = method.plan(Budget(1.5 * epsilon, delta, 0.5 * delta), Spending.nothing(), 0, 0)
    noise = InsecureSeededNoise(seed)
    stated = [facts for facts in map(facts_in, notes) if facts]
    order = sorted(plan.counts.draw([{facts[0][1]} for facts in stated], noise))
    brought = [
        {json.dumps([facts[0][1], *fact], ensure_ascii=False) for fact in facts[: method.facts]}
        for facts in stated
        if facts[0][1] in order
    ]
    return [made.text for made in texts(order, plan.stated.draw(brought, noise))]


def state_facts(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """A corpus of facts that notes of medical_synth state, read by a rule in place of the model.

    The counts and their noise are those of dp-facts at this price. Another thing than the reading differs: the
    keyword of a note is its diagnosis as a whole. So the corpus shows what proposals are worth if the facts were
    read well. Noise is seeded. With `--questions`, also for how many of them an answer stands in the corpus.
    """
    parser.add_argument("documents", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=Path)
    given = parser.parse_args(arguments)
    with open_bytes(given.documents) as lines:
        notes = [json.loads(line)["text"] for line in lines]
    made = make(notes, given.epsilon, given.delta, given.seed)
    given.corpus.write_text("".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in made))
    print(f"{len(made)} texts")
    if given.questions is not None:
        asked = read_questions(given.questions)
        there = sum(any(matches(text, question.answers) for text in made) for question in asked)
        print(f"an answer stands in some text for {there} of {len(asked)} questions")
