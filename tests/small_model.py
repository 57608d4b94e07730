"""A tiny language model for tests of what surrounds a model."""

from pathlib import Path
from typing import Any


def save_small_model(folder: Path, kind: str = "Llama", **others: Any) -> None:
    """Save a model with random weights and the packaged model's tokenizer, of a class of the transformers library."""
    import torch
    import transformers
    from transformers import AutoTokenizer

    from discreet.generation.loading import packaged_model_dir

    tokenizer = AutoTokenizer.from_pretrained(packaged_model_dir())
    small: dict[str, Any] = dict.fromkeys(("hidden_size", "intermediate_size"), 64)
    small |= dict.fromkeys(("num_hidden_layers", "num_attention_heads"), 2)
    name, many = kind.removesuffix("Text"), {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    config = getattr(transformers, f"{kind}Config")(**many | small | others)
    torch.manual_seed(1)
    getattr(transformers, f"{name}{'LMHeadModel' if name == 'GPT2' else 'ForCausalLM'}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
