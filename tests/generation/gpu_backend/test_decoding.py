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

from discreet.errors import DiscreetError, UsageError
from discreet.generation.model import Logits, Prompt, ScoredDecoding
from discreet.generation.torch_backend.decoding import LockstepDecoding
from discreet.generation.torch_backend.row_check import Shape
from discreet.generation.torch_backend.transformers_model import TransformersModel
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


def test_one_head_of_keys_may_serve_all_heads_of_queries() -> None:
    """More queries a row than a block of queries that read the shared part together."""
    model = make(num_attention_heads=24, num_key_value_heads=1)
    expected = logits(LockstepDecoding(model, SHARED, prompts(), len(SAID)))
    assert np.abs(read(LlamaDecoder(model), prompts()) - expected).max() < 1e-4 * np.abs(expected).max()


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


def test_joining_weights_leaves_the_library_as_it_was() -> None:
    model = make()
    before = logits(LockstepDecoding(model, SHARED, prompts(), len(SAID)))
    LlamaDecoder(model)
    assert logits(LockstepDecoding(model, SHARED, prompts(), len(SAID))).tobytes() == before.tobytes()


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


def test_memory_is_kept_only_for_batches_that_fit() -> None:
    shape = Shape(rows=4, shared=19, length=21, steps=3)
    memory = BatchMemory(shape, 1, 2, 4, torch.zeros(1))
    assert memory.fits(shape)
    assert memory.fits(Shape(4, 40, 21, 2))  # there is room for 128 tokens
    assert not memory.fits(Shape(4, 50, 21, 3))
    assert not memory.fits(Shape(5, 19, 21, 3))
    assert not memory.fits(Shape(4, 19, 21, 4))


def test_longer_sequences_have_no_room() -> None:
    decoder = LlamaDecoder(make())
    assert decoder.has_room(Shape(4, 19, 460, 32))
    assert not decoder.has_room(Shape(4, 19, 462, 32))  # 513 positions of 512
    assert not decoder.has_room(Shape(4, 19, 492, 1))  # the check takes two steps
    assert not decoder.has_room(Shape(200, 19, 460, 32))  # too many tokens for one pass


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


class OtherLinear(torch.nn.Linear):
    """A product of another kind, as those of quantized weights."""


def test_other_products_are_left_to_the_library() -> None:
    other, wide = make(), make()
    other.model.layers[0].mlp.up_proj = OtherLinear(24, 40, bias=False)
    wide.model.layers[0].mlp.up_proj.double()
    assert not loading.find_obstacle(make())
    assert loading.find_obstacle(other)
    assert loading.find_obstacle(wide)


def test_a_sliding_window_is_left_to_the_library() -> None:
    assert loading.find_obstacle(make("Mistral", sliding_window=8))


def test_a_model_of_another_kind_is_left_to_the_library() -> None:
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=WORDS, n_embd=24, n_layer=1, n_head=6))
    assert loading.find_obstacle(model)
    assert loading.open_decoder(model) is None


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


def test_a_large_mean_of_the_logits_hides_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logits of a real model have a mean that is large beside their differences."""

    class Raised(FusedDecoding):
        def logits(self) -> Logits:
            return super().logits() + np.float32(1000)

    class RaisedPlain(LockstepDecoding):
        def logits(self) -> Logits:
            return super().logits() + np.float32(1000)

    monkeypatch.setattr("discreet_lab.gpu_decoder.decoder.FusedDecoding", Raised)
    monkeypatch.setattr("discreet.generation.torch_backend.decoding.LockstepDecoding", RaisedPlain)
    model = make()
    decoder = LlamaDecoder(model)
    assert loading.agrees(model, decoder, USUAL)
    forget_to_rotate(decoder, monkeypatch)
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


def test_each_shape_is_checked_once_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Shape] = []

    def check(_: Any, __: int, shape: Shape) -> bool:
        checked.append(shape)
        return shape.rows != 4

    monkeypatch.setattr(decoder_module, "has_independent_rows", check)
    decoder = LlamaDecoder(make())
    model = TransformersModel("m", make(), Tokenizer(), decoder=decoder)
    for rows in (3, 3, 2, 4):
        started = model.start(SHARED, prompts(1) * rows, 2)
        assert isinstance(started, FusedDecoding) == (rows != 4)
    assert [shape.rows for shape in checked] == [3, 2, 4]
    assert isinstance(model.start((3,) * 500, prompts(2), 2), LockstepDecoding)  # too long


class Tokenizer:
    """As little as a model needs that gets token ids."""

    chat_template, eos_token_id, pad_token_id = "", 0, 0


class Told:
    """A forward pass whose rows depend on each other or not, on any processor."""

    def __init__(self, rows: Sequence[Prompt], dependent: bool) -> None:
        self._rows, self._dependent, self._appended = rows, dependent, list[int]()

    def append(self, token: int) -> None:
        self._appended.append(token)

    def logits(self) -> Logits:
        tokens = np.array([[*prompt.tokens, *self._appended] for prompt in self._rows])
        own: Logits = (tokens @ np.arange(1, tokens.shape[1] + 1))[:, None].astype(np.float32)
        return own + np.float32(self._dependent) * own[:1] * np.float32(1e-4)


@pytest.mark.parametrize("dependent", [False, True])
def test_library_is_checked_at_each_shape_too(monkeypatch: pytest.MonkeyPatch, dependent: bool) -> None:
    model, started = TransformersModel("m", make(), Tokenizer()), list[int]()

    def start(shared: Sequence[int], rows: Sequence[Prompt], most: int) -> Any:
        started.append(len(rows))
        return Told(rows, dependent)

    monkeypatch.setattr(model, "_start_plain", start)
    for shape in (USUAL, Shape(2, 17, 18, 2)):
        for _ in range(2):
            if dependent:
                said = f"public rows depend on each other in a batch of {shape.rows} rows of 18 tokens"
                with pytest.raises(DiscreetError, match=said):
                    model._check_shape(shape)
            else:
                model._check_shape(shape)
    # What was found sound, in four batches, is not computed again. What is refused is refused each time, after two.
    assert started == [USUAL.rows] * 4 + [2] * 4


def test_no_weight_is_held_twice() -> None:
    model = make()
    layer = LlamaDecoder(model)._layers[0]
    attention, feed = model.model.layers[0].self_attn, model.model.layers[0].mlp
    assert attention.q_proj.weight.data_ptr() == layer.joint.data_ptr()
    assert feed.gate_proj.weight.data_ptr() == layer.opening.data_ptr()


def test_each_row_needs_a_token() -> None:
    decoding = FusedDecoding(LlamaDecoder(make()), (3,), prompts(2), 1)
    with pytest.raises(UsageError, match="1 tokens for 2 rows"):
        decoding.append_each([1])


@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU is here")
def test_a_recorded_step_changes_no_bit() -> None:
    decoder = LlamaDecoder(make())
    read(decoder, prompts())  # computed, recorded and replayed
    replayed = read(decoder, prompts(seed=1))
    assert replayed.tobytes() == read(LlamaDecoder(make()), prompts(seed=1)).tobytes()
