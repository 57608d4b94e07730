"""A tiny language model for tests of what surrounds a model."""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from discreet.generation.loading import packaged_model_dir

SIZE, LAYERS = 64, 2
SQUARES = (*(f"self_attn.{name}_proj" for name in "qkvo"), *(f"mlp.{name}_proj" for name in ("gate", "up", "down")))


def save_small_model(folder: Path) -> None:
    """Save a model with random weights and the packaged model's tokenizer. Most tests that name it load no torch."""
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
