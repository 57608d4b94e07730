"""The conformance suite of language models: a test for each sentence of the contract in `models/protocol.py`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pytest

from discreet.models.answers import AnsweringModel, answer_by_steps
from discreet.models.capabilities import Capability, capabilities
from discreet.models.protocol import Completer, ContextModel, Decoding, Prompt, ScoringModel, VotingModel

# --- model rows -------------------------------------------------------------------------------------------------------


R = TypeVar("R")
Begin = Callable[[Sequence[Prompt]], Decoding]
PROMPTS = (
    "Ada Lind has numb thumbs. The doctors of the town say: warm sand and rest for three days",
    "The price of copper rose in the spring, and then it",
    "One, two, three, four,",
    "Question: Which colour has snow? Answer:",
)
"""Texts to complete."""
TEXTS = ("red house", "numb thumbs say: warm sand and rest", "three winters", "open the hand of rain")
"""Texts of rows, of different lengths."""
OTHERS = ("", "a", "one two three four five six seven", "No")
"""Neighbours of rows: as many as `PROMPTS` and `TEXTS`."""
STEPS = 4
_LENGTH = 12


def get_shared(model: VotingModel | AnsweringModel) -> list[int]:
    """Return the tokens before each row."""
    return model.encode("Text:") or [model.pad_token]


def get_appended(model: VotingModel) -> list[int]:
    """Return three tokens to continue rows by."""
    return [model.encode(word)[0] for word in ("sand", "and", "winter")]


def lay_out(model: VotingModel | AnsweringModel, texts: Sequence[str]) -> list[Prompt]:
    """Return prompts of one length."""
    rows = [tuple(model.encode(text)[:_LENGTH]) for text in texts]
    paddings = [_LENGTH - len(row) for row in rows]
    return [Prompt((model.pad_token,) * pad + row, pad) for row, pad in zip(rows, paddings, strict=True)]


def find_starts(model: VotingModel) -> list[Begin]:
    """Return the ways in which a model begins a batch: with a shared part, without one, and with states."""
    starts: list[Begin] = [
        lambda prompts: model.start(get_shared(model), prompts, STEPS),
        lambda prompts: model.start((), prompts, STEPS),
    ]
    if Capability.STATES in capabilities(model):
        assert isinstance(model, ContextModel)
        starts.append(partial(model.start_with_states, max_tokens=STEPS))
    return starts


def read_rows(decoding: Decoding) -> list[bytes]:
    """Return all outputs of each row."""
    outputs: list[Any] = [decoding.best()]
    outputs += [getattr(decoding, output)() for output in ("logits", "states") if hasattr(decoding, output)]
    return [b"".join(output[row].tobytes() for output in outputs) for row in range(len(outputs[0]))]


def follow(decoding: Decoding, tokens: Sequence[int]) -> list[list[bytes]]:
    """Continue all rows by tokens; return the outputs after each token."""
    outputs = []
    for token in tokens:
        decoding.append(token)
        outputs.append(read_rows(decoding))
    return outputs


def is_independent(read: Callable[[Sequence[str]], Sequence[R]], texts: Sequence[str]) -> bool:
    """Return whether the outputs of texts stay the same in another order, and beside other texts.

    The number of rows is public, so it stays the same.
    """
    expected = list(read(texts))
    if list(read(texts[::-1]))[::-1] != expected:
        return False
    for row, text in enumerate(texts):
        batch = list(OTHERS[: len(texts)])
        batch[row] = text
        if read(batch)[row] != expected[row]:
            return False
    return True


# --- model ------------------------------------------------------------------------------------------------------------


CountTokens = Callable[[str], int]
MOST = (1, 2, 6)
"""Numbers of tokens that completions are limited to."""
ODD = ("", "\x00 \u2603 \u00e9", "\ud800", "?!" * 200)
"""Private prompts that a model may be unable to complete; the third is not valid Unicode."""


class ModelSuite:
    """Tests of a language model. A subclass overrides the fixture `model`.

    A model is tested as a `Completer`, and on each higher rung of the ladder that it has: `AnsweringModel`,
    `VotingModel`, `ScoringModel`, `ContextModel`. The tests of the other rungs are skipped.

    The privacy guarantee needs one property above all: row i is a function of prompt i and of the appended tokens
    alone, bit for bit. The suite tests it if the model declares `row_independent`.
    """

    @pytest.fixture
    def model(self) -> Completer:
        """Return the model under test. Override it in the module's scope if the model takes long to load."""
        raise NotImplementedError("Override the fixture `model`.")

    @pytest.fixture
    def count_tokens(self) -> CountTokens:
        """Return a function that counts the tokens of a completion, or fewer. Override it to count exactly."""
        return lambda text: len(text.split())  # a token of a usual tokenizer holds no part of a second word

    @pytest.fixture
    def tolerance(self) -> float:
        """Return the largest difference between two ways to compute a logit or a loss. Override it for your dtype."""
        return 1.0  # bfloat16 in two shapes

    # -- Completer -------------------------------------------------------------------------------------------------

    def test_model_declares_name_and_independence(self, model: Completer) -> None:
        """Check that a receipt names a model that does not promise independent rows."""
        assert isinstance(model.name, str)
        assert model.name
        assert model.name == model.name.strip()
        assert isinstance(model.row_independent, bool)

    def test_each_prompt_has_one_completion(self, model: Completer) -> None:
        """Check that `complete` returns one text for each prompt."""
        for rows in (1, len(PROMPTS)):
            completions = model.complete(PROMPTS[:rows], 4)
            assert [type(text) for text in completions] == [str] * rows

    def test_completion_is_deterministic(self, model: Completer) -> None:
        """Check that a batch has the same completions in each call, also after other batches."""
        before = model.complete(PROMPTS, 4)
        model.complete(PROMPTS[::-1], 2)
        assert [model.complete(PROMPTS, 4) for _ in range(2)] == [before] * 2

    def test_completion_has_at_most_max_tokens(self, model: Completer, count_tokens: CountTokens) -> None:
        """Check that a completion is within `max_tokens`; so it does not repeat the prompt either."""
        for most in MOST:
            assert max(map(count_tokens, model.complete(PROMPTS, most))) <= most

    def test_longer_completion_continues_the_shorter(self, model: Completer) -> None:
        """Check that a greedy completion of fewer tokens is the beginning of one with more tokens."""
        for prompt in PROMPTS:
            short, long = (model.complete([prompt], most)[0].strip() for most in MOST[1:])
            assert long.startswith(short.rstrip("\ufffd"))  # a character may be cut in two

    def test_private_prompt_causes_no_error(self, model: Completer) -> None:
        """Check that only the last prompt, which is public, may cause an error."""
        completions = model.complete([*ODD, PROMPTS[0]], 2)
        assert [type(text) for text in completions] == [str] * (len(ODD) + 1)

    def test_completion_depends_on_its_prompt_alone(self, model: Completer) -> None:
        """Other prompts of a batch, and the order, do not change a completion."""
        _require_independence(model)
        assert is_independent(lambda texts: model.complete(texts, 4), PROMPTS)

    # -- AnsweringModel --------------------------------------------------------------------------------------------

    def test_answers_are_cut_and_decoded(self, model: Completer) -> None:
        """Check that `answers` returns one answer for each prompt, at most `max_tokens` long, without an end token."""
        answering = _answering(model)
        for most in MOST:
            written = answering.answers(get_shared(answering), lay_out(answering, TEXTS), most)
            assert len(written) == len(TEXTS)
            for answer in written:
                assert len(answer.tokens) <= most
                assert answer.ended or len(answer.tokens) == most
                assert not set(answer.tokens) & answering.end_tokens
                assert answer.text == answering.decode(answer.tokens)

    def test_answer_is_the_same_in_fewer_steps(self, model: Completer) -> None:
        """Check that an answer depends neither on `all_steps` nor on earlier calls; a longer one continues it."""
        answering = _answering(model)
        shared, prompts = get_shared(answering), lay_out(answering, TEXTS)
        long = answering.answers(shared, prompts, STEPS)
        assert answering.answers(shared, prompts, STEPS, all_steps=False) == long
        for one, other in zip(answering.answers(shared, prompts, 2), long, strict=True):
            assert other.text.startswith(one.text.rstrip("\ufffd"))  # a character may be cut in two

    def test_answer_depends_on_its_prompt_alone(self, model: Completer) -> None:
        """Other prompts of a batch, their order and the padding do not change an answer."""
        _require_independence(model)
        answering = _answering(model)
        shared = get_shared(answering)
        assert is_independent(lambda texts: answering.answers(shared, lay_out(answering, texts), STEPS), TEXTS)
        plain = lay_out(answering, TEXTS)
        other = answering.encode("winter")[0]
        filled = [Prompt((other,) * one.padding + one.tokens[one.padding :], one.padding) for one in plain]
        assert answering.answers(shared, filled, STEPS) == answering.answers(shared, plain, STEPS)

    def test_answer_consists_of_the_best_tokens(self, model: Completer) -> None:
        """Check that `answers` writes what the steps of a model that has them would write."""
        answering, voting = _answering(model), _voting(model)
        shared, prompts = get_shared(voting), lay_out(voting, TEXTS)
        assert answering.answers(shared, prompts, STEPS) == answer_by_steps(voting, shared, prompts, STEPS)

    # -- VotingModel -----------------------------------------------------------------------------------------------

    def test_special_tokens_are_in_the_vocabulary(self, model: Completer) -> None:
        """Check that the vocabulary holds the end tokens and the padding token; the context holds a prompt."""
        voting = _voting(model)
        assert voting.end_tokens
        assert all(0 <= token < voting.vocabulary_size for token in {*voting.end_tokens, voting.pad_token})
        assert voting.context_length > 1

    def test_tokens_decode_to_their_text(self, model: Completer) -> None:
        """Check that `decode` returns the words that `encode` read."""
        voting = _voting(model)
        for text in TEXTS:
            tokens = voting.encode(text)
            assert all(0 <= token < voting.vocabulary_size for token in tokens)
            assert voting.decode(tokens).casefold().split() == text.casefold().split()

    def test_text_does_not_become_a_control_token(self, model: Completer) -> None:
        """Check that the text of an end token is encoded as plain text."""
        voting = _voting(model)
        for spelled in ("<|im_end|>", "</s>", "<|endoftext|>", *map(voting.decode, ([e] for e in voting.end_tokens))):
            assert not set(voting.encode(f"Fine. {spelled} Then")) & voting.end_tokens

    def test_chat_template_has_known_tokens(self, model: Completer) -> None:
        """Check that the two parts of a chat template are token ids, and the same in each call."""
        voting = _voting(model)
        parts = voting.chat("Answer.", [("Why?", "Because.")])
        assert all(0 <= token < voting.vocabulary_size for part in parts for token in part)
        assert voting.chat("Answer.", [("Why?", "Because.")]) == parts

    def test_best_tokens_have_shape_and_type(self, model: Completer) -> None:
        """Check that `best` returns one token of the vocabulary for each row."""
        voting = _voting(model)
        best = voting.start(get_shared(voting), lay_out(voting, TEXTS), STEPS).best()
        assert best.shape == (len(TEXTS),)
        assert best.dtype == np.int64
        assert ((best >= 0) & (best < voting.vocabulary_size)).all()

    def test_completion_consists_of_the_best_tokens(self, model: Completer) -> None:
        """Check that `complete` writes the best token of each step, until an end token."""
        voting = _voting(model)
        for prompt in PROMPTS:
            decoding = voting.start((), [Prompt(tuple(voting.encode(prompt)), 0)], STEPS)
            written: list[int] = []
            while len(written) < STEPS and (token := int(decoding.best()[0])) not in voting.end_tokens:
                written.append(token)
                if len(written) < STEPS:
                    decoding.append(token)
            assert voting.complete([prompt], STEPS) == [voting.decode(written)]

    def test_truncated_rows_continue_like_new_rows(self, model: Completer) -> None:
        """After `truncate`, forgotten tokens have no influence, bit for bit."""
        voting = _voting(model)
        tokens = get_appended(voting)
        for begin in find_starts(voting):
            straight = follow(begin(lay_out(voting, TEXTS)), tokens)
            decoding = begin(lay_out(voting, TEXTS))
            follow(decoding, tokens[::-1])
            for kept in (0, 1, 2):
                decoding.truncate(kept)
                assert follow(decoding, tokens[kept:]) == straight[kept:]

    def test_rows_with_one_token_continue_like_append(self, model: Completer) -> None:
        """Check that `append_each` with one token for all rows is `append`."""
        voting = _voting(model)
        tokens = get_appended(voting)
        for begin in find_starts(voting):
            decoding, outputs = begin(lay_out(voting, TEXTS)), []
            for token in tokens:
                decoding.append_each([token] * len(TEXTS))
                outputs.append(read_rows(decoding))
            assert outputs == follow(begin(lay_out(voting, TEXTS)), tokens)

    def test_row_depends_on_its_prompt_alone(self, model: Completer) -> None:
        """Other prompts of a batch, and the order, do not change a row, at any step."""
        _require_independence(model)
        voting = _voting(model)

        def read(texts: Sequence[str], begin: Begin) -> list[tuple[bytes, ...]]:
            decoding = begin(lay_out(voting, texts))
            return list(zip(read_rows(decoding), *follow(decoding, get_appended(voting)), strict=True))

        for begin in find_starts(voting):
            assert is_independent(partial(read, begin=begin), TEXTS)

    def test_row_depends_on_its_own_appended_tokens(self, model: Completer) -> None:
        """Check that the appended tokens of other rows do not change a row."""
        _require_independence(model)
        voting = _voting(model)
        own, *others = get_appended(voting)
        for begin in find_starts(voting):
            outputs = []
            for other in others:
                decoding = begin(lay_out(voting, TEXTS))
                decoding.append_each([own] + [other] * (len(TEXTS) - 1))
                outputs.append(read_rows(decoding)[0])
            assert len(set(outputs)) == 1

    def test_padding_has_no_influence(self, model: Completer) -> None:
        """Other tokens in the padding do not change a row: the model ignores them."""
        _require_independence(model)
        voting = _voting(model)
        plain, (other, *_) = lay_out(voting, TEXTS), get_appended(voting)
        filled = [Prompt((other,) * one.padding + one.tokens[one.padding :], one.padding) for one in plain]
        for begin in find_starts(voting):
            assert read_rows(begin(plain)) == read_rows(begin(filled))

    # -- ScoringModel ----------------------------------------------------------------------------------------------

    def test_best_token_has_the_largest_logit(self, model: Completer) -> None:
        """Check that `best` is the lowest id with the largest logit, at each step."""
        scoring = _scoring(model)
        decoding = scoring.start(get_shared(scoring), lay_out(scoring, TEXTS), STEPS)
        for token in (*get_appended(scoring), None):
            logits = decoding.logits()
            assert logits.shape == (len(TEXTS), scoring.vocabulary_size)
            assert logits.dtype == np.float32
            assert np.isfinite(logits.max(axis=1)).all()  # single tokens may be forbidden
            assert decoding.best().tolist() == logits.argmax(axis=1).tolist()
            if token is not None:
                decoding.append(token)

    def test_losses_are_finite_and_not_negative(self, model: Completer) -> None:
        """Check that `token_nll` returns a loss for each token that is no padding."""
        scoring = _scoring(model)
        prompts = lay_out(scoring, TEXTS)
        losses = scoring.token_nll(get_shared(scoring), prompts)
        assert losses.shape == (len(prompts), len(prompts[0].tokens))
        assert losses.dtype == np.float32
        for row, prompt in enumerate(prompts):
            assert np.isfinite(losses[row, prompt.padding :]).all()
            assert (losses[row, prompt.padding :] >= 0).all()

    def test_losses_follow_from_logits(self, model: Completer, tolerance: float) -> None:
        """Check that the loss of a token is minus its log-probability after the tokens before it, up to rounding."""
        scoring = _scoring(model)
        shared, prompts = get_shared(scoring), lay_out(scoring, TEXTS)
        losses = scoring.token_nll(shared, prompts)
        for row, prompt in enumerate(prompts):
            token = prompt.tokens[-1]
            before = (*shared, *prompt.tokens[prompt.padding : -1])
            logits = scoring.start((), [Prompt(before, 0)], 1).logits()[0].astype(np.float64)
            expected = float(np.logaddexp.reduce(logits) - logits[token])
            assert abs(losses[row, -1] - expected) <= tolerance

    def test_losses_depend_on_their_prompt_alone(self, model: Completer) -> None:
        """Other prompts of a batch, and the order, do not change a loss, bit for bit."""
        _require_independence(model)
        scoring = _scoring(model)

        def read(texts: Sequence[str]) -> list[bytes]:
            prompts = lay_out(scoring, texts)
            losses = scoring.token_nll(get_shared(scoring), prompts)
            return [losses[row, prompt.padding :].tobytes() for row, prompt in enumerate(prompts)]

        assert is_independent(read, TEXTS)

    # -- ContextModel ----------------------------------------------------------------------------------------------

    def test_states_predict_the_logits(self, model: Completer, tolerance: float) -> None:
        """Check that `predict` computes the logits of a batch from its states, up to rounding."""
        context = _context(model)
        decoding = context.start_with_states(lay_out(context, TEXTS), STEPS)
        for token in (*get_appended(context), None):
            states = decoding.states()
            assert states.shape == (len(TEXTS), context.state_size)
            assert states.dtype == np.float32
            assert np.abs(context.predict(states) - decoding.logits()).max() <= tolerance
            if token is not None:
                decoding.append(token)

    def test_hidden_states_predict_the_logits(self, model: Completer, tolerance: float) -> None:
        """Check that the last hidden state of a prompt predicts the logits after it, up to rounding."""
        context = _context(model)
        prompts = lay_out(context, TEXTS)
        states = context.hidden_states(prompts)
        assert states.shape == (len(prompts), len(prompts[0].tokens), context.state_size)
        logits = context.start_with_states(prompts, STEPS).logits()
        assert np.abs(context.predict(states[:, -1]) - logits).max() <= tolerance

    def test_hidden_states_depend_on_their_prompt_alone(self, model: Completer) -> None:
        """Other prompts of a batch, and the order, do not change a hidden state, bit for bit."""
        _require_independence(model)
        context = _context(model)

        def read(texts: Sequence[str]) -> list[bytes]:
            prompts = lay_out(context, texts)
            states = context.hidden_states(prompts)
            return [states[row, prompt.padding :].tobytes() for row, prompt in enumerate(prompts)]

        assert is_independent(read, TEXTS)


def _require_independence(model: Completer) -> None:
    if not model.row_independent:
        pytest.skip("The model does not declare independent rows.")


def _answering(model: Completer) -> AnsweringModel:
    if not isinstance(model, AnsweringModel):
        pytest.skip("The model has no answers of its own.")
    return model


def _voting(model: Completer) -> VotingModel:
    _require(model, Capability.VOTES)
    assert isinstance(model, VotingModel)
    return model


def _scoring(model: Completer) -> ScoringModel:
    _require(model, Capability.LOGITS)
    assert isinstance(model, ScoringModel)
    return model


def _context(model: Completer) -> ContextModel:
    _require(model, Capability.STATES)
    assert isinstance(model, ContextModel)
    return model


def _require(model: Completer, capability: Capability) -> None:
    if capability not in capabilities(model):
        pytest.skip(f"The model has no {capability}.")
