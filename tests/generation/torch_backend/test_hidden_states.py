"""States of the packaged model: the same whether fed at once or token by token, and all that logits are made of."""

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.generation.model import ContextModel, Prompt
from discreet.generation.torch_backend.transformers_model import TransformersModel

TEXTS = ["The diagnosis is Flumplenax, as ever.", "The cat sat on the mat.", "No."]


def padded(model: TransformersModel, text: str, length: int = 16) -> Prompt:
    tokens = model.encode(text)[:length]
    return Prompt((model.pad_token,) * (length - len(tokens)) + tuple(tokens), length - len(tokens))


def test_states_lead_to_the_logits_of_the_model(smollm: TransformersModel) -> None:
    assert isinstance(smollm, ContextModel)
    prompts = [padded(smollm, text) for text in TEXTS]
    states = smollm.hidden_states(prompts)
    assert states.shape == (3, 16, smollm.state_size)
    plain = smollm.start((), prompts, 2).logits()
    assert np.abs(smollm.predict(states[:, -1]) - plain).max() < 0.6
    assert (np.argmax(smollm.predict(states[:, -1]), axis=1) == np.argmax(plain, axis=1)).all()


def test_states_of_a_decoding_are_those_of_the_whole_text(smollm: TransformersModel) -> None:
    tokens = smollm.encode(TEXTS[0])
    decoding = smollm.start_with_states([Prompt(tuple(tokens[:4]), 0)], 8)
    whole = smollm.hidden_states([Prompt(tuple(tokens), 0)])[0]
    scale = float(np.linalg.norm(whole, axis=1).mean())
    for place in range(4, len(tokens)):
        assert np.linalg.norm(decoding.states()[0] - whole[place - 1]) < 0.1 * scale
        assert int(decoding.best()[0]) == int(np.argmax(decoding.logits()[0]))
        decoding.append(tokens[place])


@pytest.mark.parametrize("bound", [None, 0.05])
def test_a_model_that_bounds_its_logits_is_refused(bound: float | None) -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    from discreet.generation.torch_backend.hidden_states import check_output

    config = Gemma2Config(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        final_logit_softcapping=bound,
    )
    model = Gemma2ForCausalLM(config)
    if bound is None:
        check_output(model)
    else:
        with pytest.raises(UsageError, match="bounds or scales"):
            check_output(model)
