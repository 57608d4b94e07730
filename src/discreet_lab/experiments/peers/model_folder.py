"""The packaged model in a folder that older releases of transformers read, too.

Release 5 writes the base of the rotary embedding into `rope_parameters`, where release 4 does not look for it: it would
take another base, and the model would talk nonsense without an error. The chat template has moved to a file of its own.
"""

import json
from pathlib import Path
from typing import Any

LINKED = ("model.safetensors", "tokenizer.json", "generation_config.json")


def older_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings with those that release 4 reads by other names."""
    rope = config.get("rope_parameters") or {}
    added = {"rope_theta": rope["rope_theta"]} if "rope_theta" in rope else {}
    return config | added | {"torch_dtype": config.get("dtype", "float32")}


def older_tokenizer(config: dict[str, Any], template: str) -> dict[str, Any]:
    """Return a tokenizer's settings with the chat template, and with a class that release 4 has."""
    given = ["input_ids", "attention_mask"]
    return config | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": template,
        "model_input_names": given,
    }


def portable_model(source: Path, target: Path) -> Path:
    """Write a model's folder for any release of transformers. The weights are linked, not copied."""
    target.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if (source / name).exists():
            (target / name).unlink(missing_ok=True)
            (target / name).symlink_to((source / name).resolve())
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    (target / "config.json").write_text(json.dumps(older_config(config)), encoding="utf-8")
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    template = source / "chat_template.jinja"
    text = template.read_text(encoding="utf-8") if template.exists() else settings.get("chat_template", "")
    (target / "tokenizer_config.json").write_text(json.dumps(older_tokenizer(settings, text)), encoding="utf-8")
    return target
