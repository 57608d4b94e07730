"""Answers with examples of DP few-shot generation (Tang et al. 2024), whose code lies in a folder; it is no package.

    python -m benchmarks.peers.drivers.few_shot JOB RESULT

The loop that writes an example, its prompts and its noise are the peer's own (`run_exp_movie`), and so is its
accountant. The model is that of the job (`few_shot_model`). The examples are written before any question is asked, and
their cost is paid once for all questions. They are then the record of our prompt, which the same model answers.

Two sets are written: some examples of any document, and one example for each label, if the job has labels. Labels are
public for the peer. Each label has its own documents, so the labels' costs do not add up.
"""

import asyncio
import importlib
import math
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.drivers.few_shot_model import LocalModel
from benchmarks.peers.drivers.job import Job, answer_all, read_arguments, write_result

EXAMPLES = 2
"""Examples of any document: as many as the other peers get in their prompts."""
PROMPTS = 20
"""Private prompts for a token (M), as in its experiments on films; each has one document here (MN = M)."""
LONGEST = 100
"""The longest example in tokens, as in its experiments with news."""
FIELD, ANY = "Topic", "medical record"


def load_code(folder: str) -> Any:
    """Return the peer's module with the loop."""
    sys.path[:0] = [str(Path(folder) / "src"), str(Path(folder) / "lmapi" / "src")]
    return importlib.import_module("dp_few_shot_generation.run_exp_movie")


def claimed(multiplier: float, sampled: float, tokens: int, delta: float) -> float:
    """Return the epsilon that the peer's accountant gives, as `privacy_analysis/subgaussian.py` asks it."""
    package: Any = importlib.import_module("prv_accountant")
    parts: Any = importlib.import_module("prv_accountant.privacy_random_variables")
    one = parts.PoissonSubsampledGaussianMechanism(noise_multiplier=multiplier, sampling_probability=sampled)
    accountant = package.PRVAccountant(
        prvs=[one], max_self_compositions=[tokens], eps_error=0.01, delta_error=delta / 1000
    )
    return float(accountant.compute_epsilon(delta=delta, num_self_compositions=[tokens])[2])


def smallest_multiplier(sampled: float, tokens: int, job: Job) -> float:
    """Return the smallest noise multiplier, in steps of 0.01, for which the peer claims at most the job's epsilon."""
    low, high = 40, 1000
    while low < high:
        middle = (low + high) // 2
        enough = claimed(middle / 100, sampled, tokens, job.delta) <= job.epsilon
        low, high = (low, middle) if enough else (middle + 1, high)
    return low / 100


def noise_scale(multiplier: float) -> float:
    """Return the standard deviation of the noise on a mean of probabilities, as the peer derives it."""
    return math.sqrt(2) / PROMPTS * multiplier


def write_example(code: Any, lm: Any, documents: Any, label: str, scale: float, seed: int) -> str:
    """Return one example, by the peer's loop."""
    import numpy as np

    instruction = f"Given a {FIELD.lower()}, generate a text accordingly.\n\n"
    stop = {lm.encoding.encode_single_token(text) for text in ("\n", "<|endoftext|>", " END")}
    found = asyncio.run(
        code.generate_with_private_prompts(
            documents,
            PROMPTS,
            PROMPTS,
            instruction,
            instruction,
            stop,
            label,
            lm,
            np.random.RandomState(),
            scale,
            FIELD,
            1,
            False,
            True,
            seed,
            max_tokens=LONGEST - 1,
        )
    )
    return str(lm.encoding.decode(found)).rstrip('"').strip()


def documents_of(texts: Sequence[str], label: str) -> Any:
    """Return documents of one label as the peer's loop reads them."""
    datasets: Any = importlib.import_module("datasets")
    return datasets.Dataset.from_list([{"content": text, "label": label} for text in texts])


def write_examples(code: Any, lm: Any, parts: dict[str, Sequence[str]], count: int, job: Job) -> dict[str, Any]:
    """Return `count` examples of each part, whose documents are its own, and what they cost."""
    started = time.process_time()
    sampled = max(PROMPTS / len(texts) for texts in parts.values())
    tokens = count * LONGEST
    multiplier = smallest_multiplier(sampled, tokens, job)
    shown = []
    for label, texts in parts.items():
        documents = documents_of(texts, label)
        for _ in range(count):
            text = write_example(code, lm, documents, label, noise_scale(multiplier), secrets.randbits(31))
            print(f"{label}: {text!r}", flush=True)
            shown.append(text if label == ANY else f"{label}: {text}")
    return {
        "examples": shown,
        "claimed": claimed(multiplier, sampled, tokens, job.delta),
        "multiplier": multiplier,
        "noise": noise_scale(multiplier),
        "sampled": sampled,
        "tokens": tokens,
        "seconds": time.process_time() - started,
    }


def answered(lm: LocalModel, job: Job, examples: Sequence[str]) -> list[dict[str, Any]]:
    """Return the answers of the model that reads the examples."""
    record = "\n".join(examples)
    return answer_all(job, lambda _, question: lm.reply(job.messages(question, record), job.tokens))


def by_label(job: Job) -> dict[str, Sequence[str]]:
    """Return the documents of each label."""
    parts: dict[str, list[str]] = {}
    for text, label in zip(job.documents, job.labels, strict=True):
        parts.setdefault(label, []).append(text)
    return dict(sorted(parts.items()))


def main() -> None:
    """Write examples, answer, and write what the code claims."""
    job, result_file = read_arguments(__doc__)
    code, lm = load_code(job.few_shot_path), LocalModel(job.model, job.dtype)
    result = {}
    if job.labels:
        result["labels"] = write_examples(code, lm, by_label(job), 1, job)
    result["any"] = write_examples(code, lm, {ANY: job.documents}, EXAMPLES, job)
    for one in result.values():
        one["answers"] = answered(lm, job, one["examples"])
    write_result(result_file, result)


if __name__ == "__main__":
    main()
