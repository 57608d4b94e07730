"""vLLM in this process, for whole answers on a GPU: `--model vllm:NAME`.

The row contract needs that a row's answer is a function of its own prompt. vLLM breaks this by scheduling: batches,
caches and kernels that depend on other rows or on earlier questions. So its flags are pinned here, and one question has
the engine alone. All rows of a batch have one public length, and all take a public number of steps, also after their
end token, so no shape depends on a document. Public rows are compared bit for bit when the model is loaded, and a
difference refuses it. vLLM calls its own batch invariance a beta, and the probe covers public rows alone. So the
receipt names the assumption.

This adapter is tested against a stand-in that has vLLM's interface, for vLLM needs a GPU and is installed by no extra
of this package. With vLLM 0.26.0 it ran on one H200 (docs/results/performance.md).
"""

import importlib.util
import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from discreet.errors import EngineFailed, MissingPart, UnknownName, UsageError
from discreet.models.answers import WholeAnswers, Written, complete_greedily, decode_or_empty
from discreet.models.protocol import Prompt
from discreet.models.transformers_model import ChatTokenizer

ENVIRONMENT = {
    "VLLM_BATCH_INVARIANT": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # else a batch is scheduled as its rows arrive
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
"""Set before vLLM is imported. Another value that is set already is refused."""
ROWS, TOKENS, CONTEXT = 64, 65_536, 8_192
"""The most rows of a batch, and the most tokens of its prompts; the longest prompt with its answer."""
FLAGS: dict[str, Any] = {
    "enforce_eager": True,
    "enable_prefix_caching": False,
    "enable_chunked_prefill": False,
    "max_num_seqs": ROWS,
    "max_num_batched_tokens": TOKENS,
    "attention_backend": "TRITON_ATTN",
    "tensor_parallel_size": 1,
    "max_logprobs": 20,
    "seed": 0,
    "disable_log_stats": True,
    "trust_remote_code": False,
}
"""No cache that a question leaves to the next one, no graphs, one GPU; the prompts of a batch are read at once."""
_PROBED, _LENGTH, _STEPS = 41, 200, 12
"""Rows, tokens and steps of the probe: as many rows as a question of 40 voters has."""


class VLLMModel(ChatTokenizer, WholeAnswers):
    """A model in vLLM's offline engine. Rows are token ids; each is continued greedily by a public number of steps.

    Attributes:
        name: the name of the model.
        assumptions: what a guarantee takes for granted; for the receipt.
    """

    row_independent = False

    def __init__(self, name: str, engine: Any, sampling: Any) -> None:
        """Compare public rows.

        Args:
            name: the name of the model.
            engine: an object of vLLM's class LLM, with `FLAGS`.
            sampling: vLLM's class SamplingParams.

        Raises:
            EngineFailed: if a public row depends on the rows beside it.
        """
        self.name, self._engine, self._sampling = name, engine, sampling
        super().__init__(engine.get_tokenizer())
        config = engine.llm_engine.model_config
        self.vocabulary_size, self.context_length = int(config.get_vocab_size()), int(config.max_model_len)
        # Some models name the end of a turn there alone.
        generation: dict[str, Any] = getattr(config, "try_get_generation_config", dict)()
        self.end_tokens = self.find_end_tokens(config.hf_config) | self.find_end_tokens(SimpleNamespace(**generation))
        self.pad_token = self.find_pad_token(self.end_tokens)
        self._filler = self.encode("\n")[-1]
        self.assumptions = (f"vLLM computes each row of the model '{name}' by itself, as it does public rows",)
        self.check_rows()

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt greedily, in a batch of its own."""
        return complete_greedily(self, prompts, max_tokens)

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Return the answer of each row. All steps are computed, also without `all_steps`.

        vLLM has no padding: its place is filled by line breaks, so that the length stays public.
        """
        rows = [[*shared, *(self._filler,) * prompt.padding, *prompt.tokens[prompt.padding :]] for prompt in prompts]
        return [self._cut(tokens, max_tokens) for tokens, _ in self._generate(rows, max_tokens)]

    def _cut(self, tokens: Sequence[int], max_tokens: int) -> Written:
        end = next((place for place, token in enumerate(tokens) if token in self.end_tokens), None)
        own = tuple(tokens[:max_tokens] if end is None else tokens[:end])
        return Written(decode_or_empty(self, own), own, end is not None)

    def _generate(
        self, rows: Sequence[Sequence[int]], max_tokens: int, *, scores: bool = False
    ) -> list[tuple[list[int], tuple[Any, ...]]]:
        """Return the tokens of each row, and the log-probabilities of each step if `scores` is set."""
        how = self._sampling(
            temperature=0.0, max_tokens=max_tokens, ignore_eos=True, logprobs=1 if scores else None, detokenize=False
        )
        at_once = max(1, min(ROWS, TOKENS // max(map(len, rows))))
        results: list[tuple[list[int], tuple[Any, ...]]] = []
        for first in range(0, len(rows), at_once):
            batch = [{"prompt_token_ids": [int(token) for token in row]} for row in rows[first : first + at_once]]
            outputs = self._engine.generate(batch, how, use_tqdm=False)
            if len(outputs) != len(batch):
                raise EngineFailed(f"vLLM returned {len(outputs)} rows for {len(batch)}. Use another version of it.")
            results += [_read(output.outputs[0]) for output in outputs]
        return results

    def check_rows(self) -> None:
        """Compare public rows, bit for bit: twice, beside an exchanged row, in the other order, and moved by one place.

        Raises:
            EngineFailed: if one differs.
        """
        most = min(self.vocabulary_size, 1000)
        rows = [[(7 * row + 3 * place) % most for place in range(_LENGTH)] for row in range(_PROBED)]
        other = [[(11 * place + 5) % most for place in range(_LENGTH)], *rows[1:]]

        def read(batch: Sequence[Sequence[int]]) -> list[tuple[list[int], tuple[Any, ...]]]:
            return self._generate(batch, _STEPS, scores=True)

        expected = read(rows)
        moved = read([*rows[1:], rows[0]])
        moves = [moved[-1], *moved[:-1]] == expected
        if not (moves and read(rows) == expected == read(rows[::-1])[::-1] and read(other)[1:] == expected[1:]):
            raise EngineFailed(
                f"In vLLM a public row of the model '{self.name}' changed with the rows beside it. A document could "
                "change what is said of others, so the model is refused. Use the engine of this package "
                "(the model's folder without 'vllm:'), or another version of vLLM (docs/models.md)."
            )


def _read(completion: Any) -> tuple[list[int], tuple[Any, ...]]:
    """Return the tokens of one row, and for each step its log-probabilities in the order of tokens."""
    steps = tuple(
        tuple(sorted((int(token), float(one.logprob)) for token, one in step.items()))
        for step in completion.logprobs or ()
    )
    return [int(token) for token in completion.token_ids], steps


def open_vllm(argument: str) -> VLLMModel:
    """Return a model in vLLM: a folder, or a name of the hub that is on this machine.

    Raises:
        MissingPart: if vLLM is not installed.
        UsageError: if no model is named, or if the environment contradicts the pinned settings.
        EngineFailed: if rows depend on each other.
    """
    check_vllm(argument)
    if importlib.util.find_spec("vllm") is None:
        raise MissingPart(
            "vLLM is not installed. It needs a GPU: pip install vllm, in an environment of its own. Without one, "
            "leave out 'vllm:' before the model's name."
        )
    for name, value in ENVIRONMENT.items():
        if os.environ.setdefault(name, value) != value:
            raise UsageError(f"{name} is {os.environ[name]}, and must be {value} for independent rows. Unset it.")
    vllm = importlib.import_module("vllm")
    engine = vllm.LLM(model=argument, max_model_len=_context(argument), **FLAGS)
    return VLLMModel(argument, engine, vllm.SamplingParams)


def _context(name: str) -> int:
    """Return the context length of a model, cut to `CONTEXT`."""
    transformers: Any = importlib.import_module("transformers")
    try:
        config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise UnknownName("language model (nor one within reach at that path or hub name)", name, ()) from error
    return min(CONTEXT, int(getattr(config.get_text_config(), "max_position_embeddings", CONTEXT)))


def check_vllm(argument: str) -> None:
    """Check that a model is named.

    Raises:
        UsageError: if none is.
    """
    if not argument:
        raise UsageError("Name the model for vLLM: vllm:/path/of/the/model.")
