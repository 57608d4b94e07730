"""MAUVE by the number of texts: whether it shows that two sets of texts differ.

    .venv/bin/pip install mauve-text faiss-cpu
    .venv/bin/python -m benchmarks.mauve_sizes [--texts 40 100 400 2000] [--seeds 4]

Features are drawn from normal distributions of 384 dimensions: twice from one distribution, and from one whose mean is
shifted by 1 in 10 dimensions. MAUVE is 1 for equal distributions. Prints the least and the greatest value over seeds.
"""

import argparse
from importlib import import_module

import numpy as np
from benchmarks.writing import TableWriter, add_csv_option

DIMENSIONS, SHIFTED = 384, 10


def values(texts: int, seed: int) -> tuple[float, float]:
    """MAUVE of equal distributions, and of different ones."""
    mauve = import_module("mauve")  # a package that is not installed with this one
    noise = np.random.default_rng(seed)
    first, same, other = (noise.normal(size=(texts, DIMENSIONS)) for _ in range(3))
    other[:, :SHIFTED] += 1
    found = [mauve.compute_mauve(p_features=first, q_features=one, verbose=False, seed=seed) for one in (same, other)]
    return float(found[0].mauve), float(found[1].mauve)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, nargs="+", default=[40, 100, 400, 2000])
    parser.add_argument("--seeds", type=int, default=4)
    add_csv_option(parser)
    given = parser.parse_args()
    table = TableWriter(["texts in each set", "equal distributions", "different distributions"], given.csv)
    for texts in given.texts:
        found = [values(texts, seed) for seed in range(given.seeds)]
        table.write([str(texts), *(f"{min(column):.2f} to {max(column):.2f}" for column in zip(*found, strict=True))])


if __name__ == "__main__":
    main()
