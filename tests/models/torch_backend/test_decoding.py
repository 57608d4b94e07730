"""Lock-step decoding against the library's plain forward pass, for models with several kinds of attention."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.models.protocol import Prompt
from discreet.numerics import find_context, find_doubt, find_obstacle
from tests.later import Later

if TYPE_CHECKING:
    import torch
    import transformers

    from discreet.models import lockstep
else:
    torch, transformers = Later("torch"), Later("transformers")
    lockstep = Later("discreet.models.lockstep")

WORDS = 50
LENGTH = 11
SMALL: dict[str, Any] = {"vocab_size": WORDS, "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 3}
HEADS: dict[str, Any] = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4}
Make = Callable[[], Any]


ALIKE: dict[str, Any] = {"num_attention_heads": 6, "num_key_value_heads": 2}
OPT: dict[str, Any] = {"vocab_size": WORDS, "hidden_size": 24, "ffn_dim": 32, "num_hidden_layers": 3}
WINDOW: dict[str, Any] = {"sliding_window": 8}
SOME: dict[str, Any] = WINDOW | {"use_sliding_window": True, "max_window_layers": 1}
MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
FAMILIES: dict[str, Callable[[], tuple[str, dict[str, Any]]]] = {
    "llama": lambda: ("Llama", SMALL | HEADS),
    # Positions that are learned, a head of keys for each of queries.
    "gpt2": lambda: ("GPT2", {"vocab_size": WORDS, "n_embd": 24, "n_layer": 3, "n_head": 6}),
    # Scores that are capped: an attention of the model's own; and layers with a window.
    "gemma2": lambda: ("Gemma2", SMALL | HEADS | WINDOW | {"attn_logit_softcapping": 0.01}),
    # Of an older kind: it takes no attention but its own.
    "falcon": lambda: ("Falcon", {"vocab_size": WORDS, "hidden_size": 24, "num_hidden_layers": 3} | FALCON),
    "opt": lambda: ("OPT", OPT | {"num_attention_heads": 6, "word_embed_proj_dim": 24}),
    "opt-350m": lambda: (
        "OPT",
        OPT | {"num_attention_heads": 6, "word_embed_proj_dim": 12, "do_layer_norm_before": False},
    ),
    "gpt-neox": lambda: ("GPTNeoX", SMALL | {"num_attention_heads": 6}),
    "qwen2": lambda: ("Qwen2", SMALL | ALIKE),
    "qwen2-window": lambda: ("Qwen2", SMALL | ALIKE | SOME),
    "qwen3": lambda: ("Qwen3", SMALL | HEADS),
    "qwen3-window": lambda: ("Qwen3", SMALL | HEADS | SOME),
    "mistral": lambda: ("Mistral", SMALL | HEADS),
    "mistral-window": lambda: ("Mistral", SMALL | HEADS | WINDOW),
    "gemma3": lambda: ("Gemma3", SMALL | HEADS | WINDOW | {"layer_types": MIXED}),
    "phi3": lambda: ("Phi3", SMALL | ALIKE | {"pad_token_id": 0}),
    "phi3-window": lambda: ("Phi3", SMALL | ALIKE | WINDOW | {"pad_token_id": 0}),
}
"""The class of each family, and what its configuration has. Their weights are random."""
FALCON: dict[str, Any] = {"num_attention_heads": 6, "new_decoder_architecture": False}
USUAL = ("llama", "gpt2", "gemma2", "falcon")
"""The families of `make test`; `make long` has all of them."""


def build(family: str, **more: Any) -> Any:
    """Return a model whose weights say something: as it comes, a small model says next to nothing."""
    name, given = FAMILIES[family]()
    config = getattr(transformers, f"{name}{'Text' * (name == 'Gemma3')}Config")(**given | more)
    torch.manual_seed(5)
    suffix = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
    model = getattr(transformers, name + suffix)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)
    return model


@pytest.fixture(params=[pytest.param(one, marks=() if one in USUAL else pytest.mark.long) for one in FAMILIES])
def make(request: pytest.FixtureRequest) -> Make:
    return lambda: build(request.param)


def prompts(rows: int, seed: int = 0) -> list[Prompt]:
    drawn = np.random.default_rng(seed)
    made = []
    for row in range(rows):
        padding = row % 5
        tokens = [int(token) for token in drawn.integers(1, WORDS, LENGTH - padding)]
        made.append(Prompt((0,) * padding + tuple(tokens), padding))
    return made


def plain(model: Any, tokens: Sequence[int]) -> Any:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([list(tokens)])).logits[0, -1].numpy()


@pytest.mark.parametrize("shared", [(), (3, 1, 4, 1, 5, 9)])
def test_every_row_says_what_the_model_says_of_its_whole_text(
    make: Make, shared: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lockstep._BLOCK, "cpu", 3 * LENGTH)
    rows = prompts(7)  # two full blocks, and one that is filled up
    decoding, model = lockstep.LockstepDecoding(make(), shared, rows, 4), make()
    texts = [[*shared, *prompt.tokens[prompt.padding :]] for prompt in rows]
    for said in ([], [7, 2, 9, 1, 1, 6, 3], [8] * 7):
        if said:
            decoding.append_each(said)
            texts = [[*text, token] for text, token in zip(texts, said, strict=True)]
        expected = np.array([plain(model, text) for text in texts])
        assert np.allclose(decoding.logits(), expected, atol=2e-3 * np.abs(expected).max())
        assert (decoding.best() == expected.argmax(axis=1)).all()


def test_a_batch_ends_with_its_room() -> None:
    decoding = lockstep.LockstepDecoding(build("llama"), (3,), prompts(2), 2)
    decoding.append(1)
    decoding.append(1)
    with pytest.raises(UsageError, match="begun for 2 tokens"):
        decoding.append(1)
    decoding.truncate(1)
    decoding.append(1)


def test_context_ends_where_positions_turn_otherwise_or_at_an_unknown_window() -> None:
    assert find_context(transformers.LlamaConfig(max_position_embeddings=512)) == 512
    assert find_context(transformers.MistralConfig(sliding_window=64, max_position_embeddings=512)) == 512
    assert find_context(transformers.Starcoder2Config(sliding_window=64, max_position_embeddings=512)) == 64
    turned = {"rope_type": "longrope", "short_factor": [1.0] * 2, "long_factor": [2.0] * 2, "rope_theta": 10000.0}
    config = transformers.Phi3Config(
        **SMALL | ALIKE,
        max_position_embeddings=512,
        original_max_position_embeddings=64,
        rope_parameters=turned | {"original_max_position_embeddings": 64},
    )
    assert find_context(config) == 64


def test_what_a_configuration_speaks_against_is_refused() -> None:
    assert find_obstacle(transformers.LlamaConfig()) == ""
    assert "experts" in find_obstacle(transformers.MixtralConfig())
    assert "linear_attention" in find_obstacle(transformers.Qwen3NextConfig(num_experts=0))
    assert "encoder" in find_obstacle(transformers.T5Config())
    assert find_doubt(transformers.LlamaConfig()) == ""
    assert "bounds its scores" in find_doubt(transformers.Gemma2Config())
    assert "falcon" in find_doubt(transformers.FalconConfig())


def test_model_of_another_type_is_compared_with_the_library() -> None:
    model = build("falcon")
    lockstep.check_lockstep("falcon", model)
    plain_forward = model.forward

    def one_place_late(*given: Any, **named: Any) -> Any:
        places = named.get("position_ids")
        return plain_forward(*given, **named | ({} if places is None else {"position_ids": places + 1}))

    gpt2 = build("gpt2")
    plain_forward, gpt2.forward = gpt2.forward, one_place_late
    with pytest.raises(UsageError, match="computes other logits than the library"):
        lockstep.check_lockstep("shifted", gpt2)
    gpt2.forward = None
    with pytest.raises(UsageError, match="fails with it"):
        lockstep.check_lockstep("dead", gpt2)


def test_first_of_equal_maxima_is_chosen_where_the_logits_are() -> None:
    """As NumPy chooses it: which of equally likely tokens comes must not depend on the device."""
    draw = np.random.default_rng(1)
    for kind in (torch.float32, torch.bfloat16):
        logits = torch.from_numpy(draw.integers(0, 4, size=(200, 50)).astype(np.float32)).to(kind)
        assert lockstep.first_maxima(logits).tolist() == np.argmax(logits.float().numpy(), axis=1).tolist()
