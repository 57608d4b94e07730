"""Neighbouring inputs of Sarus' dp-rag, by its own sum and the library's own filter.

    python -m discreet_lab.experiments.peers.drivers.sarus_pair JOB RESULT

The records nearest to the first question write the first token: with all of them, and without each one in turn. Then
made-up scores: one record for a token that is no better than others. A token's law follows exactly. `delta` is the part
of the law that the claimed epsilon of a token does not cover, and `alone` the probability of tokens that the neighbour
cannot write at all.
"""

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

from discreet_lab.experiments.peers.drivers.job import Job, read_arguments, write_result
from discreet_lab.experiments.peers.drivers.sarus_dp_rag import engine_for

FEW = 3
"""Records near a question about which few speak."""


def gap(one: Any, other: Any, epsilon: float) -> tuple[float, float]:
    """Return the delta of a law against another at `epsilon`, and the probability of what the other cannot write."""
    over = (one - math.exp(epsilon) * other).clamp(min=0).sum()
    return float(over), float(one[other == 0].sum())


def largest(scores: Any, law: Callable[[Any], Any], epsilon: float) -> tuple[float, float]:
    """Return the largest delta and the largest probability alone, over the removal of each record, both ways."""
    import torch

    whole, found = law(scores), []
    for place in range(1, len(scores)):
        less = law(torch.cat((scores[:place], scores[place + 1 :])))
        found += [gap(whole, less, epsilon), gap(less, whole, epsilon)]
    return max(delta for delta, _ in found), max(only for _, only in found)


def made_up(vocabulary: int) -> Any:
    """Return scores without preferences, and those of one record for the last token."""
    import torch

    scores = torch.zeros(2, vocabulary)
    scores[0] -= torch.arange(vocabulary) / vocabulary
    scores[1, -1] = 20.0
    return scores


def scores_of(engine: Any, job: Job, records: list[str]) -> Any:
    """Return the scores of the first token: those of the public prompt, and those with each record."""
    import torch

    model = engine.dp_model
    chats = [job.messages(job.questions[0], record) for record in ["", *records]]
    read = model.tokenizer.apply_chat_template(
        chats, tokenize=True, padding=True, return_tensors="pt", return_dict=True, add_generation_prompt=True
    )
    with torch.no_grad():
        return model.model(**read).logits[:, -1].float()


def main() -> None:
    """Measure, and write."""
    job, result_file = read_arguments(__doc__)
    engine = engine_for(job)
    code: Any = sys.modules["dp_model"]
    filters: Any = importlib.import_module("transformers.generation.logits_process")
    config = engine.dp_generation_config
    add, keep = code.DPLogitsAggregator(config), filters.TopKLogitsWarper(config.top_k)
    records = list(job.retrieved[0])
    scores, epsilon = scores_of(engine, job, records), config.token_epsilon()

    def filtered(given: Any) -> Any:
        return keep(None, add(None, given))[0].softmax(0)

    def unfiltered(given: Any) -> Any:
        return add(None, given)[0].softmax(0)

    measured = []
    for what, these in {
        f"the removal of one of the {len(records)} nearest records, first token": scores,
        f"the removal of one of the {FEW} nearest records, first token": scores[: FEW + 1],
        "the removal of a record for a token, made-up scores": made_up(scores.shape[1]),
    }.items():
        measured.append((f"{what}, the best {config.top_k}", largest(these, filtered, epsilon)))
        measured.append((f"{what}, unfiltered", largest(these, unfiltered, epsilon)))
    longest = max(range(len(records)), key=lambda place: len(records[place]))
    kept = [place for place in range(len(scores)) if place != longest + 1]
    alone = scores_of(engine, job, [record for place, record in enumerate(records) if place != longest])
    moved = float((add(None, scores) - add(None, alone)).abs().max())
    others = float((scores[kept] - alone).abs().max())
    clip = epsilon * config.temperature / 2
    claimed = f"epsilon {epsilon:.3f}, delta 0"
    name = "dp-rag, Sarus"
    rows = [
        {"peer": name, "change": change, "claimed": claimed, "measured": f"delta {delta:.2g}, alone {only:.2g}"}
        for change, (delta, only) in measured
    ] + [
        {
            "peer": name,
            "change": f"the removal of the longest record, which pads the others ({job.dtype})",
            "claimed": f"the sum moves by {clip:.3f}, the others by 0",
            "measured": f"the sum by {moved:.3f}, the others by {others:.3f}",
        },
    ]
    write_result(result_file, {"pairs": rows})


if __name__ == "__main__":
    main()
