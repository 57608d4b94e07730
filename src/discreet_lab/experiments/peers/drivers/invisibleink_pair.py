"""Neighbouring inputs of InvisibleInk, by its own functions.

    python -m discreet_lab.experiments.peers.drivers.invisibleink_pair JOB RESULT

First the law of one token, by the package's clip and mean, if a record is removed and the next nearest one takes its
place: made-up logits, one record for a token and the other against it. Then answers with the default seed: the same
records give the same answer, so it has no noise for those who know the seed.
"""

import importlib
import sys
from typing import Any

from discreet_lab.experiments.peers.drivers.invisibleink import generate, loaded_once
from discreet_lab.experiments.peers.drivers.job import Job, read_arguments, write_result

SMALL = 3
"""Records of the answers with the default seed: a few make them short work."""


def log_law(utils: Any, logits: Any, public: Any, clip: float) -> Any:
    """Return the logarithm of a token's law, as the package draws it."""
    from scipy.special import log_softmax

    return log_softmax(utils.difference_clip(logits, public, clip).mean(axis=0))


def spread_of_a_replacement(utils: Any, job: Job) -> tuple[float, float]:
    """Return the range of the log ratio of two laws that a token's cost allows for, and the range that is measured."""
    import numpy as np

    records = job.records
    clip = utils.get_clip(job.epsilon, job.tokens, 1.0, records + 1, job.delta)
    public, others = np.zeros(8), np.zeros((records - 1, 8))
    one = np.array([2 * clip, -2 * clip, *[0.0] * 6])
    laws = [log_law(utils, np.vstack([others, row]), public, clip) for row in (one, -one)]
    ratio = laws[0] - laws[1]
    return 2 * clip / records, float(ratio.max() - ratio.min())


def answer(job: Job, records: list[str]) -> str:
    """Return the answer with the package's default seed."""
    package: Any = importlib.import_module("invink")
    return str(generate(package, job, job.questions[0], records).texts[0])


def main() -> None:
    """Measure, and write."""
    job, result_file = read_arguments(__doc__)
    importlib.import_module("invink")
    loaded_once(sys.modules["invink.generate"])
    claimed, measured = spread_of_a_replacement(sys.modules["invink.utils"], job)
    nearest = list(job.retrieved[0])
    same = [answer(job, nearest[:SMALL]) for _ in range(2)]
    other = answer(job, nearest[1 : SMALL + 1])
    print(same, other, flush=True)
    answers = "the same twice" if same[0] == same[1] else "different"
    without = "another" if other != same[0] else "the same"
    rows = [
        {
            "peer": "InvisibleInk",
            "change": "the removal of a record, whose place the next one takes: one token, made-up logits",
            "claimed": f"log ratios in a range of {claimed:.3f}",
            "measured": f"a range of {measured:.3f}",
        },
        {
            "peer": "InvisibleInk",
            "change": f"the nearest of {SMALL} records, with the default seed",
            "claimed": f"epsilon {job.epsilon:g}, delta {job.delta:g}",
            "measured": f"{answers} with it, {without} without it",
        },
    ]
    write_result(result_file, {"pairs": rows})


if __name__ == "__main__":
    main()
