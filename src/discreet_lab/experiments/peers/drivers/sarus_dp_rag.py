"""Answers of Sarus' dp-rag, whose code lies in a folder (`Job.path`); it is no package.

    python -m discreet_lab.experiments.peers.drivers.sarus_dp_rag JOB RESULT [--own-prompt]

What is changed from outside, in this process alone: models lie on the processor in place of "cuda" and compute in the
numbers of ours, the embedder is the packaged one, whose vectors are means of its states, and the epsilon of a token,
which the code searches anew for each question, is searched once. Prompts are ours; `--own-prompt` takes those of the
code. The answers are written twice: as published, and with `top_k=0`, which asks the library not to filter the private
sums to the best 50 tokens.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from discreet_lab.experiments.peers.drivers.job import Job, answer_all, write_result

RETRIEVAL_SHARE = 0.1
"""The part of epsilon for the threshold; the evaluation of the code has 0.5 of 5.5."""


def on_processor(dtype: str) -> None:
    """Load models on the processor where the code asks for "cuda"."""
    import torch
    import transformers

    moved = transformers.BatchEncoding.to

    def to(self: Any, device: Any, *rest: Any, **named: Any) -> Any:
        return moved(self, "cpu" if device == "cuda" else device, *rest, **named)

    transformers.BatchEncoding.to = to
    _load_in(transformers.AutoModel, torch.float32)
    _load_in(transformers.AutoModelForCausalLM, getattr(torch, dtype))


def _load_in(loader: Any, dtype: Any) -> None:
    loaded = loader.from_pretrained

    def from_pretrained(name: str, *_: Any, **__: Any) -> Any:
        return loaded(name, torch_dtype=dtype)

    loader.from_pretrained = from_pretrained


def mean_pooled(store: Any) -> Any:
    """Return a class of the store with the packaged embedder's pooling: the mean of the states of all tokens."""

    class MeanPooled(store):  # type: ignore[misc]
        def encode(self, texts: Any) -> Any:
            import torch

            given = [texts] if isinstance(texts, str) else texts
            parts = []
            for place in range(0, len(given), 64):
                read = self.tokenizer(given[place : place + 64], padding=True, truncation=True, return_tensors="pt")
                with torch.no_grad():
                    states = self.model(**read, return_dict=True).last_hidden_state
                mask = read["attention_mask"].unsqueeze(-1)
                parts.append((states * mask).sum(dim=1) / mask.sum(dim=1))
            vectors = torch.cat(parts)
            return vectors / vectors.norm(dim=1, keepdim=True)

    return MeanPooled


def search_once(config: Any) -> None:
    """Search the epsilon of a token once for equal settings, and compose each epsilon once."""
    search, compose = config.token_epsilon, config.composed_epsilon
    composed: dict[tuple[float, float, int], float] = {}
    known: dict[tuple[float, float, int], float] = {}

    def token_epsilon(self: Any) -> float:
        key = (self.epsilon, self.delta, self.max_new_tokens)
        if key not in known:
            known[key] = search(self)
        return known[key]

    def composed_epsilon(self: Any, epsilon: float) -> float:
        key = (epsilon, self.delta, self.max_new_tokens)
        if key not in composed:
            composed[key] = compose(self, epsilon)
        return composed[key]

    config.token_epsilon, config.composed_epsilon = token_epsilon, composed_epsilon


def engine_for(job: Job) -> Any:
    """Return the peer's engine with all documents."""
    sys.path.insert(0, job.path)
    on_processor(job.dtype)
    code: Any = importlib.import_module("dp_rag_engine")
    search_once(code.DPGenerationConfig)
    code.PUPVectorStore = mean_pooled(code.PUPVectorStore)
    spent = RETRIEVAL_SHARE * job.epsilon
    engine = code.DPRAGEngine(
        pup_vector_store_config=code.PUPVectorStoreConfig(model_id=job.embedder, top_k=job.records, epsilon=spent),
        model_id=job.model,
        dp_generation_config=code.DPGenerationConfig(
            temperature=1.0,
            max_new_tokens=job.tokens,
            alpha=1.0,
            omega=0.01,
            epsilon=job.epsilon - spent,
            delta=job.delta,
        ),
    )
    for document in job.documents:
        engine.add(document)
    return engine


def capped(engine: Any, job: Job) -> float:
    """Return the epsilon where more records pass the threshold than the cap admits.

    Then the removal of one admits another: its weights for a token are replaced, which costs twice as much.
    """
    code: Any = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    common: Any = importlib.import_module("dp_accounting.pld.common")
    token = common.DifferentialPrivacyParameters(epsilon=2 * engine.dp_generation_config.token_epsilon())
    tokens = code.from_privacy_parameters(token).self_compose(job.tokens)
    return float(engine.pup_vector_store.privacy_loss_distribution.compose(tokens).get_epsilon_for_delta(job.delta))


def main() -> None:
    """Answer, and write what the code claims."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--own-prompt", action="store_true")
    given = parser.parse_args()
    job = Job.load(given.job)
    engine = engine_for(job)
    config = engine.dp_generation_config
    engine.pup_vector_store.embeddings()
    assert engine.dp_model.model is not None  # loaded now
    read: list[int] = []

    def answer(_: int, question: str) -> str:
        found = engine.pup_retrieve(question)
        read.append(len(found))
        if given.own_prompt:
            return str(engine.dp_model.dp_chat(found, question, config))
        chats = [job.messages(question, record) for record in ["", *found]]
        return str(engine.dp_model.dp_chat_completion(chats, config)[0])

    published = config.top_k
    result = {
        "answers": answer_all(job, answer),
        "claimed": engine.privacy_loss_distribution.get_epsilon_for_delta(job.delta),
        "capped": capped(engine, job),
        "token_epsilon": config.token_epsilon(),
        "top_k": published,
    }
    write_result(given.result, result)
    config.top_k = 0
    result["unfiltered"] = answer_all(job, answer)
    write_result(given.result, result | {"read": read})


if __name__ == "__main__":
    main()
