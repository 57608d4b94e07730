"""How fast the voters decode on a processor, and how fast and how often right whole answers are."""

import argparse
import copy
import json
import resource
import statistics
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from discreet.algorithms.common.algorithm import Algorithm
from discreet.demo.corpus import documents
from discreet.generation.answers import Written, write_answers
from discreet.generation.loading import load_model
from discreet.generation.model import Decoding, Prompt
from discreet.generation.prompts import Layout, layout
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.voters import VoterBatch
from discreet.generation.wrapping import WrappedModel
from discreet.planning.prices import VOCABULARY
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.exponential import ExponentialMechanism
from discreet.privacy.mechanisms.sparse_vector import SparseVector
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.private import Change, Private, Relation
from discreet.query.known_answers import Question, read_questions
from discreet.registry import RAG, Consensus, MuRAGAda
from discreet.vault import Vault
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.experiment import run_answers
from discreet_lab.evaluation.metrics import mean_and_margin
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    model_name,
    name_part,
    open_vault,
    write_table,
)

QUESTION = "I have white hands, numb thumbs and a weak grip. What is the disease?"
REPLACE = Change(1, Relation.REPLACE)


def seconds_of(work: Callable[[], Any], times: int = 1) -> float:
    """The median time of `work`."""
    return statistics.median(timeit.repeat(work, number=1, repeat=times))


def lockstep(model: TransformersModel, texts: list[str], tokens: int) -> None:
    """The voters of one question, continued by the public token."""
    shares: list[tuple[str, ...]] = [(text,) for text in texts]
    sealed = Private(shares, REPLACE)
    voters = VoterBatch(model, QUESTION, sealed, max_tokens=tokens)
    for _ in range(tokens - 1):
        voters.votes()
        voters.append(voters.public_token())
    voters.votes()


def one_by_one(model: Any, pad: int, laid: Layout, prompts: list[Prompt], tokens: int) -> None:
    """generate() for each voter; none ends early, so that all do the same work."""
    for prompt in prompts:
        ids = torch.tensor([[*laid.shared, *prompt.tokens[prompt.padding :]]])
        model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            pad_token_id=pad,
        )


def anew(model: Any, word: int, laid: Layout, prompts: list[Prompt], tokens: int) -> float:
    """Every prompt from its start for every token: the time of the first and last token, for all between."""

    def step(said: int) -> None:
        with torch.inference_mode():
            for prompt in prompts:
                text = [*laid.shared, *prompt.tokens[prompt.padding :], *[word] * said]
                model(input_ids=torch.tensor([text]), use_cache=False, logits_to_keep=1)

    return tokens * statistics.mean([seconds_of(lambda: step(0)), seconds_of(lambda: step(tokens - 1))])


def floor(model: TransformersModel, laid: Layout, prompts: list[Prompt], tokens: int) -> tuple[float, float]:
    """A batched prefill, and a batched step in the middle of an answer, each alone."""
    prefill = seconds_of(lambda: model.start(laid.shared, prompts, tokens), 3)
    decoding = model.start(laid.shared, prompts, tokens)
    word = model.encode(" word")[0]
    return prefill, seconds_of(lambda: decoding.append(word), tokens)


def arithmetic(model: Any, laid: Layout, prompts: list[Prompt]) -> float:
    """Seconds for the prefill's products with weights, at the best rate of such a product."""
    layers: int = sum(weight.numel() for name, weight in model.named_parameters() if ".layers." in name)
    fed = len(laid.shared) + len(prompts) * len(prompts[0].tokens)
    left, right = torch.ones(1400, 2048, dtype=model.dtype), torch.ones(2048, 2048, dtype=model.dtype)
    rate = 2 * left.numel() * 2048 / seconds_of(lambda: left @ right, 20)
    return 2 * layers * fed / rate


def reading(model: Any, laid: Layout, prompts: list[Prompt], tokens: int) -> float:
    """Seconds to read once what a step needs."""
    config = model.config
    held: int = len(laid.shared) + len(prompts) * (len(prompts[0].tokens) + tokens)
    numbers: int = sum(weight.numel() for weight in model.parameters())
    numbers += 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * held
    large = torch.ones(1 << 26)
    return 2 * numbers / (4 * large.numel()) * seconds_of(large.sum, 5)


def privacy(voters: int, vocabulary: int) -> float:
    """Accounting and noise of one private token: paying, a run of the sparse vector, a selection."""
    ceiling = Budget(1000.0, 1e-5)
    filter_ = PrivacyFilter(MemoryLedger(ceiling, simulation=False), ceiling, "q")
    votes = Private([7] * voters, REPLACE)
    sparse, selection = SparseVector.calibrated(1.0, voters // 2, REPLACE), ExponentialMechanism(vocabulary, 2.0)

    def token() -> None:
        run = filter_.start(sparse, votes)
        run.ask(votes.map(lambda vote: vote == 3))
        filter_.release(selection, votes)

    return seconds_of(token, 20)


def time_decoding(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How fast the voters decode, against two simpler ways and against its own floor, in one run.

        lock-step       one batch, one KV cache, the public part of the prompts fed once (what discreet does)
        generate        one call of the library's generate() for each voter
        anew            every prompt run again from its start for every token
        floor           one batched prefill and one batched decode step for each token, measured alone
        arithmetic      the prefill's products with the model's weights, at the machine's best rate for such
                        products
        bytes           weights, and keys and values, read once for a step at the machine's best rate for reading

    32 tokens is the longest answer unless told otherwise. The two simpler ways use the library's own attention. The
    voters' documents are made up; the time does not depend on what they say.
    """
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--device", default="auto")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    model = load_model(model_name(given.model), given.device)
    texts = [f"{document.text} {document.text}" for document in documents(given.voters)]  # as long as a real note
    laid = layout(model, QUESTION, max_tokens=given.tokens)
    prompts = [*(laid.prompt(model.encode(text)) for text in texts), laid.prompt()]
    word = model.encode(" word")[0]
    lockstep(model, texts, 2)  # warm up
    ours = seconds_of(lambda: lockstep(model, texts, given.tokens), 3)
    prefill, step = floor(model, laid, prompts, given.tokens)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    library = copy.deepcopy(model._model)
    library.set_attn_implementation("sdpa")
    generated = seconds_of(lambda: one_by_one(library, model.pad_token, laid, prompts[:-1], given.tokens))
    again = anew(library, word, laid, prompts[:-1], given.tokens)
    noise = privacy(given.voters, model.vocabulary_size)
    alone = prefill + (given.tokens - 1) * step
    rows = {
        "lock-step, seconds": ours,
        "prefill alone, seconds": prefill,
        "step alone, seconds": step,
        "lock-step / floor": ours / alone,
        "one generate() a voter / lock-step": generated / ours,
        "every prompt anew / lock-step": again / ours,
        "prefill / arithmetic": prefill / arithmetic(model._model, laid, prompts),
        "step / bytes": step / reading(model._model, laid, prompts, given.tokens),
        "accounting and noise of a private token, ms": noise * 1000,
        "the same, of an answer with 8 of them": 8 * noise / ours,
        "peak memory, GiB": peak,
    }
    print(
        f"{given.voters} voters and the public prompt, {given.tokens} tokens, shared {len(laid.shared)}, own "
        f"{len(prompts[0].tokens)} tokens; {model.name}, {torch.get_num_threads()} threads, {model._model.device}\n"
    )
    write_table(["measured", "value"], ([name, f"{value:.3g}"] for name, value in rows.items()), given.csv)
    print(json.dumps(rows))


ACCURACY = ("setting", "answers", "right", "released", "right, less the default's")
SECONDS = ("setting", "answers", "seconds", "default's / these", "these / plain RAG's", "tokens fed", "peak GiB")
DEFAULT, RAG_NAME, READ = "default", "plain RAG", "votes by what was read"
USUAL = (0, 1, 2, 3, 4)
LIGHTEST_FIRST = (4, 10, 9, 7, 3, 2, 1, 6, 8, 5, 0)
"""All settings, in about the order of the memory that they take."""
FEWEST_VOTERS, MOST_VOTERS = 10, 20


class CountingModel(WrappedModel):
    """A model that counts the tokens that it is fed: those of prompts, and those of answers."""

    fed = 0

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> Decoding:
        """Begin a batch, and count the tokens of its prompts."""
        self.fed += len(shared) + sum(len(prompt.tokens) for prompt in prompts)
        return self._model.start(shared, prompts, max_tokens)

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Write answers, and count the tokens of prompts and of all steps but the last."""
        self.fed += len(shared) + sum(len(prompt.tokens) + max_tokens - 1 for prompt in prompts)
        return write_answers(self._model, shared, prompts, max_tokens, all_steps=all_steps)


def voters_by_epsilon(price: float, budget: Budget) -> int:
    """Return the fewest voters of which 60 % release an answer nine times in ten, between 10 and 20: public arithmetic.

    They are dealt the nearest units, and the leader's law selects.
    """
    inner, rounds = MuRAGAda(all_vote=False, epsilon=price).count_votes(budget, VOCABULARY)
    return min(max(inner.units_needed(rounds), FEWEST_VOTERS), MOST_VOTERS)


def all_settings(given: argparse.Namespace, budget: Budget) -> list[tuple[str, Algorithm]]:
    """Return all settings with their names, by number."""
    window = Consensus(passage_tokens=given.passage)
    short = Consensus(passage_tokens=given.passage, max_tokens=given.tokens)
    voters = voters_by_epsilon(given.price, budget)
    few = Consensus(voters=voters)
    light = Consensus(voters=voters, passage_tokens=given.window, max_tokens=given.tokens)
    lightest = Consensus(voters=voters, passage_tokens=given.passage, max_tokens=given.tokens)
    named = f"{voters} voters at epsilon {given.price:g}"
    return [
        (DEFAULT, MuRAGAda()),
        (f"passages of {given.passage}", MuRAGAda(inner=window)),
        (f"and at most {given.rows} rows", MuRAGAda(inner=window, rows=given.rows)),
        (f"and answers of {given.tokens}", MuRAGAda(inner=short, rows=given.rows)),
        (READ, MuRAGAda(inner=Consensus(readings=True))),
        (f"answers of {given.tokens} alone", MuRAGAda(inner=Consensus(max_tokens=given.tokens))),
        (f"passages of {given.window} alone", MuRAGAda(inner=Consensus(passage_tokens=given.window))),
        (f"{named} alone", _dealt(few, given.price)),
        (f"epsilon {given.price:g} alone", MuRAGAda(epsilon=given.price)),
        (f"{named}, passages of {given.window}, answers of {given.tokens}", _dealt(light, given.price)),
        (f"{named}, passages of {given.passage}, answers of {given.tokens}", _dealt(lightest, given.price)),
    ]


def _dealt(inner: Consensus, price: float) -> MuRAGAda:
    return MuRAGAda(inner=inner, all_vote=False, epsilon=price)


def settings(given: argparse.Namespace, budget: Budget, order: Sequence[int] = ()) -> dict[str, Algorithm]:
    """Return the settings that were asked for, by number or in `order`."""
    made = all_settings(given, budget)
    return dict(made[number] for number in order or range(len(made)) if number in given.settings)


def write_accuracy(vault: Vault, questions: list[Question], given: argparse.Namespace) -> None:
    """Print the accuracy of each setting, and its difference from the default's."""
    table, model = TableWriter(ACCURACY, given.csv), CachingModel(vault.model)
    before: list[list[float]] = []
    for name, algorithm in settings(given, vault.ledger.budget).items():
        groups = run_answers(vault, questions, [algorithm], given.seeds, model=model)[algorithm]
        right = [[float(one.correct) for one in group] for group in groups]
        before = before or right
        released = statistics.fmean(one.released for group in groups for one in group)
        less = [[a - b for a, b in zip(now, then, strict=True)] for now, then in zip(right, before, strict=True)]
        shown = ["{:.2f} ± {:.2f}".format(*mean_and_margin(each)) for each in (right, less)]
        table.write([name, str(sum(map(len, right))), shown[0], f"{released:.2f}", shown[1] if name != DEFAULT else ""])


def write_seconds(vault: Vault, questions: list[Question], given: argparse.Namespace) -> None:
    """Print processor time, tokens and memory of each setting, and of plain RAG."""
    table, model = TableWriter(SECONDS, name_part(given.csv, "seconds")), CountingModel(vault.model)
    timed = {RAG_NAME: RAG(), **settings(given, vault.ledger.budget, LIGHTEST_FIRST)}
    vault.simulate(questions[0].question, RAG(), model=model)  # warm up
    taken: dict[str, list[float]] = {name: [] for name in timed}
    fed: dict[str, list[int]] = {name: [] for name in timed}
    peak: dict[str, float] = {}
    for number, question in enumerate(questions):
        for name, algorithm in timed.items():
            before, begun = model.fed, time.process_time()
            asked = model if algorithm.needs_model else None
            vault.simulate(question.question, algorithm, noise=InsecureSeededNoise(number), model=asked)
            taken[name].append(time.process_time() - begun)
            fed[name].append(model.fed - before)
            peak.setdefault(name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
    for name in (RAG_NAME, *settings(given, vault.ledger.budget)):
        faster = [then / now for then, now in zip(taken[DEFAULT], taken[name], strict=True)]
        slower = [now / plain for now, plain in zip(taken[name], taken[RAG_NAME], strict=True)]
        cells = [statistics.median(one) for one in (taken[name], faster, slower)]
        shown = [f"{cells[0]:.1f}", f"{cells[1]:.1f}", f"{cells[2]:.1f}"]
        table.write([name, str(len(questions)), *shown, f"{statistics.median(fed[name]):,.0f}", f"{peak[name]:.2f}"])


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose questions and settings."""
    parser.add_argument("vault", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--timed", type=int, default=3, help="questions whose every row is computed; 0 for none")
    parser.add_argument("--passage", type=int, default=64)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--window", type=int, default=96, help="tokens of a passage in settings 6 and 9")
    parser.add_argument("--price", type=float, default=2.5, help="epsilon of a question in settings 7 to 10")
    parser.add_argument(
        "--settings",
        type=int,
        nargs="+",
        choices=range(len(LIGHTEST_FIRST)),
        help="which settings; 0 is the default, and must be there",
    )


def time_answers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How fast one answer is, and how often it is right, with shorter passages, fewer rows and shorter answers.

    The first table has the accuracy of simulated answers with seeded noise: today's default (`murag-ada`, at the
    price that follows from the vault's grant), and the faster settings. A difference is one of the same questions.
    Rows with equal tokens are computed once. The second table has answers in which every row is computed, one after
    the other for each question: medians of seconds of processor time, and of the tokens that were fed; the peak of
    memory until then, of the fast settings first. Plain RAG is the non-private baseline. All is in one warm
    process.

    The settings, by number:

        0  the default
        1  passages of --passage tokens
        2  and at most --rows rows
        3  and answers of --tokens
        4  votes by what was read: no model is asked; needs a vault that was read (`discreet code`)
        5  answers of --tokens, and no other change
        6  passages of --window tokens, and no other change
        7  voters by epsilon: the nearest units are dealt to 10 to 20 voters, at the price --price
        8  the default at the price --price, to tell the effect of the price from that of the voters
        9  the changes of 5, 6 and 7 together
        10 the same with passages of --passage tokens

    Without --settings it is 0 to 3, and 4 for a vault that was read. The number of voters by epsilon is public: the
    fewest of which 60 % release an answer nine times in ten at that price. The question costs --price, and not a
    part of a grant.
    """
    add_answer_options(parser)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    vault = open_vault(given.vault, given.model)
    complete = vault.components.readings.complete
    given.settings = given.settings or list(USUAL if complete else USUAL[:-1])
    if 0 not in given.settings:
        parser.error("without setting 0, the default, there is nothing to compare with")
    if 4 in given.settings and not complete:
        parser.error(f"setting 4 needs a vault that was read: discreet code --statements {given.vault}")
    if given.limit:
        write_accuracy(vault, read_questions(given.questions, given.limit), given)
    if given.timed:
        print()
        write_seconds(vault, read_questions(given.questions, given.timed), given)
