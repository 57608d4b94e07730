"""A router over declared fields, without a vault."""

from collections.abc import Mapping

from discreet.config import VaultConfig
from discreet.questions.router import Router


def router_of(fields: Mapping[str, str] | None = None) -> Router:
    settings = VaultConfig(
        1, 20.0, 1e-6, "patient", "smollm2-135m", "hashing", log_questions=False, fields=dict(fields or {})
    )
    return Router(settings, "en", None)
