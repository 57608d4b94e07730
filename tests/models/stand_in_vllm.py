"""A stand-in for the package vllm: the classes and fields of its offline interface that the adapter uses.

It repeats the words after `say:`. In place of a word it has a token; its log-probability is a number of the row alone,
unless the class variable `leaks` is set: then it depends on the first row of the batch.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar


class Tokenizer:
    """Words as tokens, with the interface of transformers that is used."""

    chat_template = ""
    eos_token_id = 0
    pad_token_id = None

    def __init__(self) -> None:
        self.words = ["<end>", "\n", *(f"w{number}" for number in range(998))]

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        words = text.replace("\n", " \n ").split(" ")
        for word in words:
            if word and word not in self.words:
                self.words.append(word)
        return {"input_ids": [self.words.index(word) for word in words if word]}

    def decode(self, tokens: list[int], **_: Any) -> str:
        return "".join(f" {self.words[token]}" for token in tokens)


@dataclass
class SamplingParams:
    """How rows are continued."""

    temperature: float
    max_tokens: int
    ignore_eos: bool
    logprobs: int | None
    detokenize: bool


class LLM:
    """An engine. `made` has its arguments, `asked` the lengths of the rows of each batch."""

    leaks: ClassVar[bool] = False
    made: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[list[int]]] = []

    def __init__(self, **named: Any) -> None:
        LLM.made, LLM.asked = named, []
        self.tokenizer = Tokenizer()
        config = SimpleNamespace(
            get_vocab_size=lambda: 5000,
            max_model_len=named["max_model_len"],
            hf_config=SimpleNamespace(eos_token_id=[0]),
        )
        self.llm_engine = SimpleNamespace(model_config=config)

    def get_tokenizer(self) -> Tokenizer:
        return self.tokenizer

    def generate(self, prompts: list[dict[str, list[int]]], how: SamplingParams, use_tqdm: bool) -> list[Any]:
        assert how.temperature == 0
        assert how.ignore_eos
        rows = [prompt["prompt_token_ids"] for prompt in prompts]
        LLM.asked.append([len(row) for row in rows])
        shift = float(sum(rows[0])) if LLM.leaks else 0.0
        return [SimpleNamespace(outputs=[self._continue(row, how, shift)]) for row in rows]

    def _continue(self, row: list[int], how: SamplingParams, shift: float) -> Any:
        words = [self.tokenizer.words[token] for token in row]
        wish = ["nothing", "known"]
        if "say:" in words:
            rest = words[len(words) - words[::-1].index("say:") :]
            wish = rest[: rest.index(".")] if "." in rest else rest
        tokens = [token for word in wish for token in self.tokenizer(word)["input_ids"]]
        tokens = (tokens + [0] + [7] * how.max_tokens)[: how.max_tokens]  # it writes on after its end
        scores = [{token: SimpleNamespace(logprob=-sum(row) / 1e4 - shift)} for token in tokens]
        return SimpleNamespace(token_ids=tokens, logprobs=scores if how.logprobs is not None else None)
