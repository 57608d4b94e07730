"""The forward pass for a GPU against the library's, and what one row may change: nothing in the bits of another.

Where there is no GPU, Triton's interpreter runs the kernels. It shows their arithmetic, not their speed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import transformers

pytest.importorskip("triton", reason="Triton has no package for this machine")

from discreet.models.lockstep import LockstepDecoding
from discreet.models.protocol import Logits, Prompt, ScoredDecoding
from discreet.models.row_check import Shape
from discreet_lab.gpu_decoder import decoder as decoder_module
from discreet_lab.gpu_decoder import loading
from discreet_lab.gpu_decoder import memory as memory_module
from discreet_lab.gpu_decoder.decoder import FusedDecoding, LlamaDecoder
from discreet_lab.gpu_decoder.memory import BatchMemory

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS, LENGTH = 50, 18
SHARED = tuple(range(3, 20))
SHAPE: dict[str, Any] = {
    **{"vocab_size": WORDS, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 1},
    **{"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 512},
}
SAID = (3, 4)


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short parts have several blocks, and short passes little to fill up."""
    monkeypatch.setattr(memory_module, "_ROUND", 32)
    for name in ("_KEYS", "_QUERIES", "_TOGETHER"):
        monkeypatch.setattr(decoder_module, name, 16)


def make(kind: str = "Llama", **others: Any) -> Any:
    torch.manual_seed(5)
    config = getattr(transformers, f"{kind}Config")(**(SHAPE | others))
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():  # as it comes, a small model says next to nothing
        for weight in model.parameters():
            weight.mul_(3)
    return model.to(DEVICE)


def prompts(rows: int = 3, seed: int = 0) -> list[Prompt]:
    drawn, made = np.random.default_rng(seed), []
    for row in range(rows):
        padding = 8 * row
        tokens = [int(token) for token in drawn.integers(1, WORDS, LENGTH - padding)]
        made.append(Prompt((0,) * padding + tuple(tokens), padding))
    return made


def logits(decoding: ScoredDecoding) -> Logits:
    """Return the logits after the prompts, after each of some tokens, and after a token in place of some."""
    found = [decoding.logits()]
    for token in SAID:
        decoding.append(token)
        found.append(decoding.logits())
    decoding.truncate(1)
    decoding.append(9)
    return np.stack([*found, decoding.logits()])


def read(decoder: LlamaDecoder, rows: Sequence[Prompt], shared: Sequence[int] = SHARED) -> Logits:
    return logits(FusedDecoding(decoder, shared, rows, len(SAID)))


@pytest.mark.parametrize(("kind", "shared"), [("Llama", SHARED), ("Llama", ()), ("Mistral", (3,)), ("Qwen2", SHARED)])
def test_logits_are_those_of_the_library(kind: str, shared: tuple[int, ...]) -> None:
    others: dict[str, Any] = {"sliding_window": None} if kind == "Mistral" else {}
    model = make(kind, num_hidden_layers=2, **others)
    expected = logits(LockstepDecoding(model, shared, prompts(), len(SAID)))
    found = read(LlamaDecoder(model), prompts(), shared)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    assert not loading.find_obstacle(model)


def test_each_row_continues_by_its_own_token() -> None:
    model = make()
    both: list[Any] = [
        LockstepDecoding(model, SHARED, prompts(), 2),
        FusedDecoding(LlamaDecoder(model), SHARED, prompts(), 2),
    ]
    for decoding in both:
        decoding.append_each([7, 2, 9])
    assert np.allclose(both[0].logits(), both[1].logits(), atol=1e-4)
    assert both[0].best().tolist() == both[1].best().tolist() == both[1].logits().argmax(axis=1).tolist()


def test_another_row_and_the_order_change_no_bit() -> None:
    decoder, rows = LlamaDecoder(make()), prompts()
    expected = read(decoder, rows)
    for place in (0, 1):
        exchanged = [*rows[:place], Prompt((0,) * 17 + (7,), 17), *rows[place + 1 :]]
        found = read(decoder, exchanged)
        assert np.delete(found, place, axis=1).tobytes() == np.delete(expected, place, axis=1).tobytes()
    assert read(decoder, rows[::-1])[:, ::-1].tobytes() == expected.tobytes()
    # After a removal, the rows behind move up.
    moved = [*rows[1:], Prompt((0,) * 17 + (7,), 17)]
    assert read(decoder, moved)[:, :-1].tobytes() == expected[:, 1:].tobytes()


def test_a_question_leaves_nothing_to_the_next_one() -> None:
    """The memory is used again; what an earlier, longer question left in it must not be seen."""
    fresh = read(LlamaDecoder(make()), prompts())
    decoder = LlamaDecoder(make())
    read(decoder, [Prompt(tuple(range(1, 25)), 0)] * 3, SHARED * 2)
    kept = decoder._idle[0]
    with torch.inference_mode():  # worse than any question
        kept.memory.keys.fill_(float("nan"))
        kept.memory.values.fill_(float("nan"))
    assert read(decoder, prompts()).tobytes() == fresh.tobytes()
    assert list(decoder._idle) == [kept]


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_act": "gelu"},
        {"mlp_bias": True},
        {"attention_bias": True},  # has a bias of the output, too
        {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}},
        {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5, "rope_theta": 10000.0}},
    ],
)
def test_a_model_with_other_layers_is_left_to_the_library(change: dict[str, Any]) -> None:
    assert loading.find_obstacle(make(**change))


USUAL = Shape(rows=3, shared=17, length=18, steps=2)


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "is_on_gpu", lambda _: True)


def test_public_rows_pass_the_checks(on_gpu: None, capsys: pytest.CaptureFixture[str]) -> None:
    decoder = loading.open_decoder(make(), USUAL)
    assert decoder is not None
    assert decoder.is_checked(USUAL)
    assert capsys.readouterr().err == ""


def ignore_padding(decoder: LlamaDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    def set_batch(self: BatchMemory, shape: Shape, padding: torch.Tensor) -> None:
        self.numbers.copy_(torch.tensor([shape.shared, shape.length, 0]))

    monkeypatch.setattr(BatchMemory, "set_batch", set_batch)


def forget_to_rotate(decoder: LlamaDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_sines", torch.zeros_like(decoder._sines))
    monkeypatch.setattr(decoder, "_cosines", torch.ones_like(decoder._cosines))


Break = Callable[[LlamaDecoder, pytest.MonkeyPatch], None]


@pytest.mark.parametrize("broken", [ignore_padding, forget_to_rotate])
def test_a_forward_pass_of_another_formula_is_noticed(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    decoder = LlamaDecoder(model)
    broken(decoder, monkeypatch)
    assert not loading.agrees(model, decoder, USUAL)


def leak_the_mean(gated: torch.Tensor) -> torch.Tensor:
    return gated + 1e-6 * gated.mean(dim=0)


def leak_the_place(gated: torch.Tensor) -> torch.Tensor:
    """Scale odd places: a turned order of an odd number of rows moves no row to a place of another parity."""
    if len(gated) == USUAL.rows:  # in a step
        gated[1::2] *= 1.001
    return gated


@pytest.mark.parametrize("leak", [leak_the_mean, leak_the_place])
def test_a_forward_pass_whose_rows_depend_on_each_other_is_not_used(
    on_gpu: None,
    leak: Callable[[torch.Tensor], torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    gate = decoder_module._gate
    monkeypatch.setattr(decoder_module, "_gate", lambda joint: leak(gate(joint)))
    assert loading.open_decoder(make(), USUAL) is None
    assert "public rows depend on each other" in capsys.readouterr().err


def test_a_failure_leaves_the_model_to_the_library(
    on_gpu: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("Failed to find C compiler.\nLong text.")

    monkeypatch.setattr(decoder_module, "_gate", fail)
    assert loading.open_decoder(make(), USUAL) is None
    said = capsys.readouterr().err
    assert "RuntimeError: Failed to find C compiler.)" in said
    assert "Long text" not in said
