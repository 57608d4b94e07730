"""Answers of InvisibleInk (package `invink`): one text "like" the nearest records, with a question in its prompt.

    python -m discreet_lab.experiments.peers.drivers.invisibleink JOB RESULT

The package writes texts like those that it is given. A question and the records nearest to it make it an answerer, by
its own parameters: the prompts are ours, the question is its description of the data. The seed is drawn for each
question: by default it is 42, and the answer is then a function of the records without noise.
"""

import importlib
import secrets
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from discreet_lab.experiments.peers.drivers.job import Job, answer_all, read_arguments, write_result


def loaded_once(code: Any) -> None:
    """Load model and tokenizer once, not for each question: time is that of an answer.

    The package asks CUDA whether bfloat16 can be computed. The processor can, where ours computes in it.
    """
    import torch

    setattr(torch.cuda, "is_bf16_supported", lambda *_: True)  # noqa: B010
    for name in ("load_hf_model", "load_hf_tokenizer"):
        _remember(code, name)


def _remember(code: Any, name: str) -> None:
    load = getattr(code, name)

    @cache
    def once(*given: Any) -> Any:
        return load(**dict(given))

    setattr(code, name, lambda **given: once(*sorted(given.items())))


def prompts_for(job: Job) -> tuple[str, str]:
    """Return the public prompt and the private one: the package fills in the question, and then the record."""
    shown = "\n\n".join(f"{asked}\n{answer}" for asked, answer in job.examples).replace("{", "{{").replace("}", "}}")
    before, after = (part.replace("{question}", "{0}") for part in (job.before, job.after))
    return f"{shown}\n\n{before}{after}", f"{shown}\n\n{before}{{1}}{after}"


def generate(package: Any, job: Job, question: str, records: Sequence[str], **options: Any) -> Any:
    """Return what the package writes for a question from its records, with one private record in each prompt."""
    public, private = prompts_for(job)
    return package.generate(
        records,
        job.model,
        dataset_desc=question,
        system_prompt=job.system,
        pub_prompt=public,
        prv_prompt=private,
        epsilon=job.epsilon,
        delta=job.delta,
        batch_size=len(records) + 1,
        num=1,
        max_toks=job.tokens,
        dtype=job.dtype,
        device_map=-1,
        allow_download=False,
        **options,
    )


def replaced(accounts: Any, job: Job) -> float:
    """Return the epsilon where the removal of a record admits the next nearest one.

    The mean of clipped logits then changes by twice the clip in parts of the records, so the cost (rho) is four times
    as high.
    """
    rho = accounts.cdp_rho(job.epsilon, job.delta)
    return float(accounts.cdp_eps(4 * rho, job.delta))


def main() -> None:
    """Answer, and write what the package claims."""
    job, result_file = read_arguments(__doc__)
    package = importlib.import_module("invink")
    code: Any = sys.modules["invink.generate"]
    loaded_once(code)
    code.load_hf_model(
        name_or_path=job.model,
        dtype=job.dtype,
        device_map=code.setup_device(-1),
        auth_token=None,
        allow_download=False,
        trust_remote_code=True,
    )
    claimed: list[float] = []

    def answer(place: int, question: str) -> str:
        records = list(job.retrieved[place])
        found = generate(package, job, question, records, random_seed=secrets.randbits(32))
        claimed.append(float(found.epsilon_spent[0]))
        return str(found.texts[0])

    answers = answer_all(job, answer)
    # A shorter answer is said to cost less. The most is what an answer of all tokens costs: the epsilon asked for.
    result = {
        "answers": answers,
        "claimed": job.epsilon,
        "spent": claimed,
        "replaced": replaced(sys.modules["invink.utils"], job),
    }
    write_result(result_file, result)


if __name__ == "__main__":
    main()
