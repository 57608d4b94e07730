"""The one way to open a language model from a vault's configuration.

A package adds models by an entry point in the group `discreet.models`. The entry point is a factory: a function that
takes the text after the colon of a model's name, and returns a `Completer`. With the entry point `server`, the model
"server:llama" is opened by `factory("llama")`, and the model "server" by `factory("")`. The built-in engines
(`engines.py`) are opened in the same way, and no plug-in can replace them.
"""

from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.generation import loading
from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.engines import is_engine_name, open_engine
from discreet.generation.model import Completer, VotingModel
from discreet.generation.probing import check_row_independence
from discreet.plugins import MODELS, find_names, load_plugin
from discreet.system.progress import stage


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
        return loading.load_model(name)
    with stage("Loading the language model"):
        model = open_engine(name) if is_engine_name(name) else _open_plugin(name)
        check_row_independence(model)
    return adapt_completer(model)


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
