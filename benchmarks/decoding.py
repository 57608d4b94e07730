"""How fast the voters decode, against two simpler ways and against its own floor, in one run.

    .venv/bin/python -m benchmarks.decoding [--voters 40] [--tokens 32]

    lock-step       one batch, one KV cache, the public part of the prompts fed once (what discreet does)
    generate        one call of the library's generate() for each voter
    anew            every prompt run again from its start for every token
    floor           one batched prefill and one batched decode step for each token, measured alone
    arithmetic      the prefill's products with the model's weights, at the machine's best rate for such products
    bytes           weights, and keys and values, read once for a step at the machine's best rate for reading

32 tokens is the longest answer unless told otherwise. The two simpler ways use the library's own attention. The
voters' documents are made up; the time does not depend on what they say.
"""

import argparse
import copy
import json
import resource
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.models import add_model_option, model_name
from benchmarks.writing import add_csv_option, write_table

from discreet.demo.corpus import documents
from discreet.generation.loading import load_model
from discreet.generation.model import Prompt
from discreet.generation.prompts import Layout, layout
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.voters import VoterBatch
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.mechanisms.exponential import ExponentialMechanism
from discreet.privacy.mechanisms.sparse_vector import SparseVector
from discreet.privacy.private import Change, Private, Relation

QUESTION = "I have white hands, numb thumbs and a weak grip. What is the disease?"
REPLACE = Change(1, Relation.REPLACE)


def seconds(work: Callable[[], Any], times: int = 1) -> float:
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

    return tokens * statistics.mean([seconds(lambda: step(0)), seconds(lambda: step(tokens - 1))])


def floor(model: TransformersModel, laid: Layout, prompts: list[Prompt], tokens: int) -> tuple[float, float]:
    """A batched prefill, and a batched step in the middle of an answer, each alone."""
    prefill = seconds(lambda: model.start(laid.shared, prompts, tokens), 3)
    decoding = model.start(laid.shared, prompts, tokens)
    word = model.encode(" word")[0]
    return prefill, seconds(lambda: decoding.append(word), tokens)


def arithmetic(model: Any, laid: Layout, prompts: list[Prompt]) -> float:
    """Seconds for the prefill's products with weights, at the best rate of such a product."""
    layers: int = sum(weight.numel() for name, weight in model.named_parameters() if ".layers." in name)
    fed = len(laid.shared) + len(prompts) * len(prompts[0].tokens)
    left, right = torch.ones(1400, 2048, dtype=model.dtype), torch.ones(2048, 2048, dtype=model.dtype)
    rate = 2 * left.numel() * 2048 / seconds(lambda: left @ right, 20)
    return 2 * layers * fed / rate


def reading(model: Any, laid: Layout, prompts: list[Prompt], tokens: int) -> float:
    """Seconds to read once what a step needs."""
    config = model.config
    held: int = len(laid.shared) + len(prompts) * (len(prompts[0].tokens) + tokens)
    numbers: int = sum(weight.numel() for weight in model.parameters())
    numbers += 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * held
    large = torch.ones(1 << 26)
    return 2 * numbers / (4 * large.numel()) * seconds(large.sum, 5)


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

    return seconds(token, 20)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--device", default="auto")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    model = load_model(model_name(given.model), given.device)
    texts = [f"{document.text} {document.text}" for document in documents(given.voters)]  # as long as a real note
    laid = layout(model, QUESTION, max_tokens=given.tokens)
    prompts = [*(laid.prompt(model.encode(text)) for text in texts), laid.prompt()]
    word = model.encode(" word")[0]
    lockstep(model, texts, 2)  # warm up
    ours = seconds(lambda: lockstep(model, texts, given.tokens), 3)
    prefill, step = floor(model, laid, prompts, given.tokens)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    library = copy.deepcopy(model._model)
    library.set_attn_implementation("sdpa")
    generated = seconds(lambda: one_by_one(library, model.pad_token, laid, prompts[:-1], given.tokens))
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


if __name__ == "__main__":
    main()
