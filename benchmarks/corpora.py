"""Synthetic corpora in simulation, with seeded noise: for benchmarks/synthesis.py to ask.

    .venv/bin/discreet init VAULT --epsilon 1 --delta 1e-5
    .venv/bin/discreet add VAULT DOCUMENTS
    .venv/bin/python -m benchmarks.corpora VAULT FOLDER "NAME [OPTION=VALUE ...]" ... [--seed 0] [--delta 1e-5]

For each setting, FOLDER/NAME.jsonl and its receipt, unless they are there. An option is one of `discreet synthesize`,
its name with underscores: "no-rerank epsilon=10 rerank=False", "random method=dp-synth epsilon=10". Nothing is paid; a
second run of the same vault writes the same texts. (Another vault of the same documents deals units to the subsets of
dp-synth otherwise.)
"""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmarks.models import add_model_option, open_vault

from discreet.cli.parameters import choose_method
from discreet.errors import BadData
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.runner import METHODS
from discreet.vault import Vault
from discreet_lab.bench.experiments.corpora import simulate_corpus


def setting(text: str, delta: float) -> tuple[str, SynthesisAlgorithm[Any]]:
    """Return a name, and the method with the parameters that follow it."""
    name, *options = shlex.split(text)
    values = dict(option.split("=", 1) for option in options)
    method = values.pop("method", next(iter(METHODS)))
    price = {"epsilon": float(values.pop("epsilon", "10")), "delta": delta}
    return name, choose_method(method, [f"{key}={value}" for key, value in values.items()], price)


def make(vault: Vault, parameters: SynthesisAlgorithm[Any], path: Path, seed: int) -> None:
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


def main() -> None:
    """Make them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", nargs="+", metavar="NAME [OPTION=VALUE ...]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delta", type=float, default=1e-5)
    add_model_option(parser)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    vault = open_vault(given.vault, given.model)
    for name, parameters in [setting(text, given.delta) for text in given.settings]:
        if not (given.folder / f"{name}.jsonl").exists():
            make(vault, parameters, given.folder / f"{name}.jsonl", given.seed)


if __name__ == "__main__":
    main()
