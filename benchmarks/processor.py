"""How fast this machine multiplies in float32 and in bfloat16, and which of them models compute in here.

    .venv/bin/python -m benchmarks.processor [--size 1024] [--rounds 5] [--threads 1]

Prints billions of operations a second, medians of several rounds, and their ratio.
"""

import argparse
import statistics
import time

import torch

from discreet.numerics.dtype import compute_dtype


def speed(kind: torch.dtype, size: int, rounds: int) -> float:
    """Billions of multiplications and additions a second in a product of two square matrices."""
    matrix = torch.randn(size, size).to(kind)
    taken = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        torch.nn.functional.linear(matrix, matrix)
        taken.append(time.perf_counter() - begun)
    return 2 * size**3 / statistics.median(taken[1:]) / 1e9  # the first round also prepares


def main() -> None:
    """Print the line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    wide, narrow = (speed(kind, given.size, given.rounds) for kind in (torch.float32, torch.bfloat16))
    print(f"float32 {wide:.1f}, bfloat16 {narrow:.1f}: ratio {narrow / wide:.2f}; models compute in {compute_dtype()}")


if __name__ == "__main__":
    main()
