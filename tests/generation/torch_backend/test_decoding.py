"""Lock-step decoding against the library's plain forward pass, for models with several kinds of attention."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.generation.model import Prompt
from discreet.generation.torch_backend.transformers_model import _context
from tests.later import Later

if TYPE_CHECKING:
    import torch
    import transformers

    from discreet.generation.torch_backend import decoding as lockstep
else:
    torch, transformers = Later("torch"), Later("transformers")
    lockstep = Later("discreet.generation.torch_backend.decoding")

WORDS = 50
LENGTH = 11
SMALL: dict[str, Any] = {"vocab_size": WORDS, "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 3}
HEADS: dict[str, Any] = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4}
Make = Callable[[], Any]


def llama() -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, **HEADS))


def gpt2() -> Any:
    """Positions that are learned, a head of keys for each of queries."""
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=WORDS, n_embd=24, n_layer=3, n_head=6))


def gemma2() -> Any:
    """Scores that are capped: an attention of the model's own."""
    return transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**SMALL, **HEADS, attn_logit_softcapping=0.01))


def falcon() -> Any:
    """Of an older kind: it takes no attention but its own."""
    shape: dict[str, Any] = {"vocab_size": WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 6}
    return transformers.FalconForCausalLM(transformers.FalconConfig(**shape, new_decoder_architecture=False))


@pytest.fixture(params=[llama, gpt2, gemma2, falcon])
def make(request: pytest.FixtureRequest) -> Make:
    def made() -> Any:
        torch.manual_seed(5)
        model = request.param().eval()
        with torch.no_grad():  # as it comes, a small model says next to nothing
            for weight in model.parameters():
                weight.mul_(3)
        return model

    return made


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


def test_another_row_changes_no_bit_of_a_row(make: Make) -> None:
    before, changed = prompts(6), prompts(6)
    changed[2] = Prompt((0,) * 10 + (7,), 10)
    found = []
    for rows in (before, changed):
        decoding = lockstep.LockstepDecoding(make(), (3, 1, 4), rows, 4)
        decoding.append(5)
        found.append(np.delete(decoding.logits(), 2, axis=0))
    assert found[0].tobytes() == found[1].tobytes()


def test_a_plain_attention_is_taken_over_and_no_other() -> None:
    taken = {
        make.__name__: lockstep.LockstepDecoding(make(), (3,), prompts(2), 2)._cache.split
        for make in (llama, gpt2, gemma2, falcon)
    }
    assert taken == {"llama": True, "gpt2": True, "gemma2": False, "falcon": False}


def test_a_batch_ends_with_its_room() -> None:
    decoding = lockstep.LockstepDecoding(llama(), (3,), prompts(2), 2)
    decoding.append(1)
    decoding.append(1)
    with pytest.raises(UsageError, match="begun for 2 tokens"):
        decoding.append(1)
    decoding.truncate(1)
    decoding.append(1)


def test_context_of_a_sliding_window_model_is_its_window() -> None:
    assert _context(transformers.MistralConfig(sliding_window=64, max_position_embeddings=512)) == 64
    assert _context(transformers.LlamaConfig(max_position_embeddings=512)) == 512


def test_first_of_equal_maxima_is_chosen_where_the_logits_are() -> None:
    """As NumPy chooses it: which of equally likely tokens comes must not depend on the device."""
    draw = np.random.default_rng(1)
    for kind in (torch.float32, torch.bfloat16):
        logits = torch.from_numpy(draw.integers(0, 4, size=(200, 50)).astype(np.float32)).to(kind)
        assert lockstep.first_maxima(logits).tolist() == np.argmax(logits.float().numpy(), axis=1).tolist()


def _former(input_ids: Any, past_key_values: Any) -> None: ...


def _renamed(input_ids: Any, cache: Any) -> None: ...


@pytest.mark.parametrize("name", ["past_key_values", "cache"])
def test_a_model_takes_the_cache_by_its_own_name(name: str) -> None:
    """transformers renamed the argument in 5.24; both kinds of models are called."""

    model = SimpleNamespace(forward={"past_key_values": _former, "cache": _renamed}[name])
    cache = lockstep.LockstepCache(2, 3, split=True)
    assert cache.given_to(model) == {name: cache, "use_cache": True, "lockstep": cache}
