import pytest

from discreet.generation.loading import load_model
from discreet.generation.transformers_model import TransformersModel


@pytest.fixture(scope="session")
def smollm() -> TransformersModel:
    """The packaged model, as it is used."""
    return load_model()
