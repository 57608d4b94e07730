"""Engines: what computes a language model beside this process's own torch.

openai:URL#NAME   a server that speaks OpenAI's protocol (`remote.openai_model`)
vllm:NAME         vLLM in this process, on a GPU (`vllm_model`)
"""

from collections.abc import Callable

from discreet.generation.model import Completer
from discreet.generation.remote.openai_address import OpenAIAddress
from discreet.generation.remote.openai_model import open_openai
from discreet.generation.vllm_model import check_vllm, open_vllm

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


def open_engine(name: str) -> Completer:
    """Return the model of this name, opened by its engine."""
    engine, _, argument = name.partition(":")
    return ENGINES[engine](argument)
