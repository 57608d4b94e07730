"""The one way to open a language model from a vault's configuration.

A package adds models by an entry point in the group `discreet.models`. The entry point is a factory: a function that
takes the text after the colon of a model's name, and returns a `Completer`. With the entry point `server`, the model
"server:llama" is opened by `factory("llama")`, and the model "server" by `factory("")`. The built-in engines
(`engines.py`) are opened in the same way, and no plug-in can replace them.
"""

import os

from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.generation import loading
from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.engines import is_engine_name, open_engine
from discreet.generation.model import Completer, VotingModel
from discreet.generation.probing import check_row_independence
from discreet.generation.ray_backend.ray_link import open_shared
from discreet.generation.remote.worker_model import WORKER, WorkerModel
from discreet.plugins import MODELS, find_names, load_plugin
from discreet.system.progress import stage

_RAY = "ray:"
"""What stands before the address of a cluster in the variable of a worker."""


def open_model(config: VaultConfig | str, ray: str = "") -> VotingModel:
    """Return the language model that a configuration names; an adapter if it is a plain completer.

    If the environment names a worker (DISCREET_MODEL_WORKER), or if there is a Ray cluster, the worker or the cluster
    computes the model, and this process loads none.

    Args:
        config: a vault's configuration; or the name of the packaged model, a folder, a model of the hub, or the name
            of an engine or a plug-in, with a colon before its argument.
        ray: the address of a Ray cluster whose workers hold the model, for all processes that ask it; none if empty.

    Raises:
        MissingPart: if a package is not installed.
        UnknownName: if there is no such model.
        UsageError: if the plug-in cannot be loaded or returns no `Completer`, or if a worker has another model.
        DiscreetError: if the model declares independent rows, but its outputs for public prompts depend on each other.
    """
    name = config if isinstance(config, str) else config.model
    if ray:
        return open_shared(name, ray, open_model)
    if not is_plugin_model(name):
        return _at_worker(name) or loading.load_model(name)
    with stage("Loading the language model"):
        model = open_engine(name) if is_engine_name(name) else _open_plugin(name)
        check_row_independence(model)
    return adapt_completer(model)


def _at_worker(name: str) -> VotingModel | None:
    """Return the model of this name from the worker that the environment names; None if it names none."""
    place = os.environ.get(WORKER, "")
    if place.startswith(_RAY):
        return open_shared(name, place.removeprefix(_RAY), open_model)
    return WorkerModel(place, name) if place else None


def find_socket(name: str) -> str:
    """Return the socket of the worker that computes the model of this name; "" if none does."""
    engine, _, argument = name.partition(":")
    if engine == "worker":
        return argument
    place = os.environ.get(WORKER, "")
    return "" if place.startswith(_RAY) or is_plugin_model(name) else place


def find_cluster(name: str) -> str:
    """Return the address of the Ray cluster that the environment names for the model of this name; "" if none does."""
    place = os.environ.get(WORKER, "")
    return place.removeprefix(_RAY) if place.startswith(_RAY) and not is_plugin_model(name) else ""


def is_plugin_model(name: str) -> bool:
    """Return whether an engine or a plug-in opens the model with this name; the packaged model cannot be replaced."""
    return name != loading.PACKAGED and (is_engine_name(name) or _plugin(name) in find_names(MODELS))


def _open_plugin(name: str) -> Completer:
    plugin, argument = _plugin(name), name.partition(":")[2]
    factory = load_plugin(MODELS, plugin, _check_factory)
    assert factory is not None  # `is_plugin_model` found it
    model = factory(argument)
    if not isinstance(model, Completer):
        lacking = [part for part in ("name", "row_independent", "complete") if not hasattr(model, part)]
        raise UsageError(
            f"The plug-in '{plugin}' in {MODELS} returned no language model: {type(model).__name__} has no "
            f"{', '.join(lacking)}. Its package must return a discreet.generation.model.Completer."
        )
    return model


def _plugin(name: str) -> str:
    return name.partition(":")[0]


def _check_factory(factory: object) -> str:
    return "" if callable(factory) else f"it is {type(factory).__name__}, not a function that returns a model."
