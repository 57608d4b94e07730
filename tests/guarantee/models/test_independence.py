"""Row i of a batch is a function of prompt i alone, bit for bit: what every sensitivity rests on."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.models import loading
from discreet.models.completer import WrappedModel
from discreet.models.loading import load_model
from discreet.models.prompts import Layout, layout
from discreet.models.protocol import Decoding, Logits, Prompt, VotingModel
from discreet.models.transformers_model import TransformersModel
from discreet.models.voters import VoterBatch
from discreet.numerics import compute_dtype
from discreet.privacy.private import Change, Private, Relation

QUESTION = "What is the disease?"
DOCUMENTS = [
    f"Patient {name} has white hands and numb thumbs. The diagnosis is Winter Hand." * (1 + number % 3)
    for number, name in enumerate(("Ada Lind", "Bela Voss", "Cora Fink", "Dario Pohl", "Edda Moor", "Fabio Lux"))
]
OTHERS = ["", "No.", "A very long story about nothing at all, told twice. " * 60, "\u2603 <|im_end|> \x00 \u00e9" * 9]

pytestmark = pytest.mark.usefixtures("two_threads")


@pytest.fixture(scope="module", params=["cpu", "cpu, float32", "cuda"])
def model(request: pytest.FixtureRequest) -> Iterator[TransformersModel]:
    import torch

    device, _, kind = request.param.partition(", ")
    if kind and compute_dtype() == torch.float32:
        pytest.skip("it is the default here")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA")
    if not kind:
        yield load_model(device=device)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "compute_dtype", lambda _: getattr(torch, kind))
        yield load_model.__wrapped__(device=device)


def lay_out(model: TransformersModel, documents: Sequence[str]) -> tuple[Layout, list[Prompt]]:
    laid = layout(model, QUESTION, prefix="The", document_tokens=64, max_tokens=8)
    return laid, [*(laid.prompt(model.encode(text)) for text in documents), laid.prompt()]


def logits(model: TransformersModel, shared: Sequence[int], prompts: Sequence[Prompt]) -> list[Logits]:
    decoding = model.start(shared, prompts, 8)
    found = [decoding.logits()]
    for token in model.encode(" disease is called")[:3]:
        decoding.append(token)
        found.append(decoding.logits())
    return found


def logits_of(model: TransformersModel, documents: Sequence[str]) -> list[Logits]:
    laid, prompts = lay_out(model, documents)
    return logits(model, laid.shared, prompts)


@pytest.fixture(scope="module")
def before(model: TransformersModel) -> list[Logits]:
    """What the model says of the documents as they are: it is computed once for all tests."""
    return logits_of(model, DOCUMENTS)


def test_replacing_one_document_changes_no_other_row(model: TransformersModel, before: list[Logits]) -> None:
    for place in (0, len(DOCUMENTS) - 1):
        for other in OTHERS:
            changed = [other if row == place else text for row, text in enumerate(DOCUMENTS)]
            for old, new in zip(before, logits_of(model, changed), strict=True):
                rest = [row for row in range(len(old)) if row != place]
                assert old[rest].tobytes() == new[rest].tobytes()
                assert np.isfinite(new).all()


def test_the_mask_stays_when_no_row_needs_padding(model: TransformersModel) -> None:
    """All documents full, against one that is short: the library would drop the mask in the first case."""
    laid, prompts = lay_out(model, ["word " * 200] * 4)
    full = prompts[:4]
    assert {prompt.padding for prompt in full} == {0}
    short = [*full[:3], laid.prompt(model.encode("No."))]
    for shared in (laid.shared, ()):
        for old, new in zip(logits(model, shared, full), logits(model, shared, short), strict=True):
            assert old[:3].tobytes() == new[:3].tobytes()


def test_rows_that_change_places_take_their_logits_along(model: TransformersModel, before: list[Logits]) -> None:
    laid, prompts = lay_out(model, DOCUMENTS)
    order = [3, 6, 0, 5, 1, 4, 2]
    moved = logits(model, laid.shared, [prompts[row] for row in order])
    for old, new in zip(before, moved, strict=True):
        assert old[order].tobytes() == new.tobytes()


def test_rows_after_truncation_are_those_of_a_new_batch(model: TransformersModel) -> None:
    first, second = model.encode(" disease is called")[:2]
    laid, prompts = lay_out(model, DOCUMENTS)
    straight, back = (model.start(laid.shared, prompts, 8) for _ in range(2))
    straight.append(second)
    back.append(first)
    back.append(first)
    back.truncate(0)
    back.append(second)
    assert straight.logits().tobytes() == back.logits().tobytes()


def test_the_shared_part_fed_once_says_what_it_says_in_every_row(
    model: TransformersModel, before: list[Logits]
) -> None:
    """Up to rounding: feeding it once for all rows is another shape than feeding it in each."""
    laid, prompts = lay_out(model, DOCUMENTS)
    once = before[0]
    bare = [Prompt(prompt.tokens[prompt.padding :], 0) for prompt in prompts]
    for row, prompt in enumerate(bare):
        alone = model.start((), [Prompt((*laid.shared, *prompt.tokens), 0)], 8)
        assert np.abs(alone.logits()[0] - once[row]).max() < 1.0
        assert alone.best()[0] in np.argsort(once[row])[-2:]


def test_a_batch_padded_to_its_longest_prompt_is_caught(smollm: TransformersModel) -> None:
    """The broken twin: with shapes that follow the longest document, other rows' logits change."""

    def padded_to_longest(documents: Sequence[str]) -> list[Prompt]:
        bare = [tuple(smollm.encode(text)) for text in documents]
        longest = max(len(tokens) for tokens in bare)
        return [Prompt((smollm.pad_token,) * (longest - len(t)) + t, longest - len(t)) for t in bare]

    before = logits(smollm, (), padded_to_longest(DOCUMENTS))
    after = logits(smollm, (), padded_to_longest([*DOCUMENTS[:-1], "word " * 300]))
    assert any(old[:-1].tobytes() != new[:-1].tobytes() for old, new in zip(before, after, strict=True))


class EqualRowsOnce(WrappedModel):
    """BROKEN: equal prompts of a batch are computed once. Results are not copied: the test is of the work."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> Decoding:
        """Begin a batch of the different prompts."""
        return self._model.start(shared, list(dict.fromkeys(prompts)), max_tokens)


def fed_shapes(inner: TransformersModel, model: VotingModel, empty: int) -> list[tuple[int, ...]]:
    """Return the shape of each pass that reads the prompts of a question, with so many voters without a document."""
    shares: list[tuple[str, ...]] = [(text,) for text in DOCUMENTS[empty:]] + [()] * empty
    shapes: list[tuple[int, ...]] = []

    def note(_: object, given: tuple[object, ...], named: dict[str, Any]) -> None:
        shapes.append(tuple(named["input_ids"].shape))

    hook = inner._model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        VoterBatch(model, QUESTION, Private(shares, Change(1, Relation.REPLACE)), max_tokens=2).public_token()
    finally:
        hook.remove()
    return shapes


def test_the_work_is_the_same_for_any_number_of_empty_rows(small_model: Path) -> None:
    small = load_model(str(small_model))
    before = fed_shapes(small, small, 0)
    assert sum(rows for rows, _ in before[1:]) > len(DOCUMENTS)
    assert fed_shapes(small, small, 1) == fed_shapes(small, small, len(DOCUMENTS)) == before


def test_empty_rows_that_are_computed_once_are_caught(small_model: Path) -> None:
    """The broken twin: the work counts the voters that have a document, which is private."""
    small = load_model(str(small_model))
    twin = EqualRowsOnce(small)
    assert fed_shapes(small, twin, 1) != fed_shapes(small, twin, 2)
