"""vLLM in this process, on a GPU: whether the adapter loads a model, whether rows keep their answers, and the time.

    python -m benchmarks.vllm_rows [--shape 1B] [--rows 41] [--tokenizer FOLDER] [--csv FILE]

It runs in an environment with vLLM, which brings versions of its own of torch and transformers; of discreet it needs no
more than the source (PYTHONPATH=src:.). The weights are random, in the shape of a Llama model, and larger than usual,
so that the answers of rows differ. Any tokenizer will do, for rows are token ids; default: that of the packaged model.

"load" contains the check of public rows with which the adapter refuses a model ("check"). The question has the rows,
tokens and steps of `benchmarks.gpu`; a quarter of the rows have padding. "again", "exchanged", "turned" and "moved"
tell whether the answers of all other rows are equal when the question is asked again, when row 0 is another one, when
the order is turned, and when all rows move by one place. Ends with 1 if one is not.
"""

import argparse
import importlib.metadata
import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu import SHAPES, Question, random_model
from benchmarks.writing import TableWriter, add_csv_option

from discreet.errors import DiscreetError
from discreet.generation.model import Prompt
from discreet.generation.vllm_model import VLLMModel, open_vllm

COLUMNS = (
    *("shape", "device", "vLLM", "load, s", "check, s", "question, ms"),
    *("different answers", "again", "exchanged", "turned", "moved"),
)
_SPREAD = 0.06
"""The standard deviation of a weight. With the usual 0.02, rows hardly differ."""
_WORDS = 32_000
"""Tokens below this are in any tokenizer."""


def save_model(shape: str, tokenizer: Path, folder: Path) -> None:
    """Save a model with random weights, and a tokenizer."""
    import torch

    model = random_model(SHAPES[shape], "cuda" if torch.cuda.is_available() else "cpu")
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.normal_(0, _SPREAD)
    model.save_pretrained(folder)
    for file in tokenizer.iterdir():
        if not (file.suffix == ".safetensors" or file.name in ("config.json", "generation_config.json")):
            shutil.copy(file, folder)
    del model
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def open_timed(folder: Path) -> tuple[VLLMModel, float, float]:
    """Return the model, the seconds of loading it, and those of the check of public rows, which loading contains."""
    begun = time.perf_counter()
    model = open_vllm(str(folder))
    loaded = time.perf_counter() - begun
    begun = time.perf_counter()
    model.check_rows()
    return model, loaded, time.perf_counter() - begun


def compare_rows(model: Any, question: Question) -> tuple[float, int, list[bool]]:
    """Return the milliseconds of a question, the number of different answers, and whether the other rows are equal.

    They are compared with the question asked again, with another row 0, in the other order, and moved by one place.
    """
    words = min(_WORDS, model.vocabulary_size)
    shared = [7 + place % 100 for place in range(question.shared)]
    rows, others = question.prompts(0, words), question.prompts(1, words)
    rows = [row if place % 4 == 0 else Prompt(row.tokens, 0) for place, row in enumerate(rows)]

    def ask(prompts: Sequence[Prompt]) -> list[Any]:
        return model.answers(shared, prompts, question.steps)  # type: ignore[no-any-return]

    expected = ask(rows)
    begun = time.perf_counter()
    again = ask(rows)
    taken = 1000 * (time.perf_counter() - begun)
    exchanged, turned, moved = ask([others[0], *rows[1:]]), ask(rows[::-1]), ask([*rows[1:], rows[0]])
    equal = [again == expected, exchanged[1:] == expected[1:], turned[::-1] == expected]
    equal.append([moved[-1], *moved[:-1]] == expected)
    return taken, len({one.tokens for one in expected}), equal


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a row depends on others or the model is refused, 2 without vLLM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="1B", choices=sorted(SHAPES))
    parser.add_argument("--rows", type=int, default=41)
    parser.add_argument("--tokenizer", type=Path, help="a folder with a tokenizer")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    if importlib.util.find_spec("vllm") is None:
        print("vLLM is not installed, so nothing was measured. It needs a GPU: pip install vllm.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(given.shape, given.tokenizer or _packaged_tokenizer(), folder)
        try:
            model, loaded, checked = open_timed(folder)
        except DiscreetError as error:
            print(error, file=sys.stderr)
            return 1
        taken, different, equal = compare_rows(model, Question(given.rows))
    table = TableWriter(COLUMNS, given.csv)
    told = ["yes" if one else "NO" for one in equal]
    row = (given.shape, _device(), importlib.metadata.version("vllm"), f"{loaded:.1f}", f"{checked:.1f}")
    table.write((*row, f"{taken:.0f}", str(different), *told))
    return 0 if all(equal) else 1


def _packaged_tokenizer() -> Path:
    from discreet.generation.loading import packaged_model_dir

    return packaged_model_dir()


def _device() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"


if __name__ == "__main__":
    sys.exit(main())
