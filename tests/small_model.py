"""A tiny language model for tests of what surrounds a model."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from discreet.models.loading import packaged_model_dir

SIZE, LAYERS = 64, 2
SQUARES = (*(f"self_attn.{name}_proj" for name in "qkvo"), *(f"mlp.{name}_proj" for name in ("gate", "up", "down")))


def save_small_model(folder: Path, kind: str = "Llama", **others: Any) -> None:
    """Save a model with random weights and the packaged model's tokenizer. Most tests that name a Llama load no torch.

    Args:
        folder: where it is saved.
        kind: the beginning of a class's name in the transformers library.
        others: further settings of its configuration.
    """
    if kind != "Llama" or others:
        _save_by_library(folder, kind, others)
        return
    from safetensors.numpy import save_file  # the adapters are tested where it is missing

    folder.mkdir(parents=True, exist_ok=True)
    packaged = packaged_model_dir()
    for name in ("chat_template.jinja", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(packaged / name, folder)
    words = json.loads((packaged / "config.json").read_text())["vocab_size"]
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": words, "pad_token_id": 2}
    config |= dict.fromkeys(("hidden_size", "intermediate_size"), SIZE)
    config |= dict.fromkeys(("num_hidden_layers", "num_attention_heads", "num_key_value_heads"), LAYERS)
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens": (words, SIZE), "model.norm": (SIZE,), "lm_head": (words, SIZE)}
    for layer in range(LAYERS):
        shapes |= {f"model.layers.{layer}.{name}": (SIZE, SIZE) for name in SQUARES}
        shapes |= {f"model.layers.{layer}.{name}_layernorm": (SIZE,) for name in ("input", "post_attention")}
    drawn = np.random.default_rng(1)
    weights = {
        f"{name}.weight": np.ones(shape) if len(shape) == 1 else drawn.normal(0, 0.02, shape)
        for name, shape in shapes.items()
    }
    save_file({name: made.astype(np.float32) for name, made in weights.items()}, folder / "model.safetensors")


def _save_by_library(folder: Path, kind: str, others: dict[str, Any]) -> None:
    import torch
    import transformers
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(packaged_model_dir())
    small: dict[str, Any] = dict.fromkeys(("hidden_size", "intermediate_size"), SIZE)
    small |= dict.fromkeys(("num_hidden_layers", "num_attention_heads"), LAYERS)
    name, many = kind.removesuffix("Text"), {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    config = getattr(transformers, f"{kind}Config")(**many | small | others)
    torch.manual_seed(1)
    getattr(transformers, f"{name}{'LMHeadModel' if name == 'GPT2' else 'ForCausalLM'}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
