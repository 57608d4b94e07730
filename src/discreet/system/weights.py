"""Weights of models from files that others made: safetensors, or pickled files that hold numbers alone."""

import os
import pickle
from collections.abc import Callable
from typing import Any

from discreet.errors import BadData


def read_weights(from_pretrained: Callable[..., Any], name: str, folder: object, **given: Any) -> Any:
    """Return a model with its weights from safetensors, or else from `pytorch_model.bin`, read as numbers alone.

    Args:
        from_pretrained: the function of the transformers library.
        name: the name of the model, for the error.
        folder: its folder or hub name.
        given: further arguments of the function.

    Raises:
        OSError, ValueError: if there are no weights.
        BadData: if pickled weights hold more than numbers.
    """
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")  # the library would ask the hub to convert them
    try:
        return from_pretrained(folder, use_safetensors=True, **given)
    except OSError as error:
        try:
            return from_pretrained(folder, use_safetensors=False, weights_only=True, **given)
        except OSError:
            raise error from None
        except pickle.UnpicklingError:
            raise BadData(
                f"The weights of '{name}' are pickled (pytorch_model.bin) and hold more than numbers, which could run "
                "code. They were not read. Take the model from its publisher again, or one with safetensors."
            ) from None
