"""A tiny language model for tests of what surrounds a model."""

from pathlib import Path
from typing import Any


def save_small_model(folder: Path) -> None:
    """Save a model with random weights and the packaged model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from discreet.generation.loading import packaged_model_dir

    tokenizer = AutoTokenizer.from_pretrained(packaged_model_dir())
    small: dict[str, Any] = dict.fromkeys(("hidden_size", "intermediate_size"), 64)
    small |= dict.fromkeys(("num_hidden_layers", "num_attention_heads"), 2)
    config = LlamaConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **small)
    torch.manual_seed(1)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
