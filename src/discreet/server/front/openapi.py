"""What the server's own description says of the bodies that the front parses itself, and of its replies."""

from typing import Any

_STRING: dict[str, Any] = {"type": "string"}
_CHOICES: dict[str, Any] = {"type": "array", "items": _STRING, "minItems": 2, "maxItems": 64}
_CONTENT: dict[str, Any] = {
    "anyOf": [
        _STRING,
        {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "text"],
                "properties": {"type": {"const": "text"}, "text": _STRING},
            },
        },
    ]
}
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {"role": {"enum": ["system", "developer", "user", "assistant"]}, "content": _CONTENT},
}
_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {"type": "string", "description": "VAULT or VAULT:PRESET"},
        "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
        "stream": {"type": "boolean"},
        "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
        "max_tokens": {"type": "integer", "minimum": 1},
        "max_completion_tokens": {"type": "integer", "minimum": 1},
        "stop": {"anyOf": [_STRING, {"type": "array", "items": _STRING, "maxItems": 4}]},
        "response_format": {"type": "object"},
        "structured_outputs": {"type": "object", "properties": {"choice": _CHOICES}},
        "guided_choice": _CHOICES,
        "discreet": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "epsilon": {"type": "number", "exclusiveMinimum": 0},
                "choices": _CHOICES,
                "anew": {"type": "boolean"},
                "follow_up": {
                    "enum": ["as-is", "condense"],
                    "description": "Whether the public model rewrites the last message with the earlier ones, for free",
                },
            },
        },
    },
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error", "discreet"],
    "properties": {
        "error": {"type": "object", "required": ["message", "type", "code", "param"]},
        "discreet": {"type": "object", "required": ["asked", "left", "would_fit"]},
    },
}
_JSON_ERROR = {"description": "An error of the table.", "content": {"application/json": {"schema": _ERROR}}}
ERRORS = dict.fromkeys(("400", "401", "402", "403", "404", "408", "413", "422", "429", "500", "503"), _JSON_ERROR)

_REQUEST = {"required": True, "content": {"application/json": {"schema": _BODY}}}
CHAT: dict[str, Any] = {
    "requestBody": _REQUEST,
    "parameters": [
        {"name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string", "maxLength": 200}}
    ],
    "responses": {
        "200": {
            "description": "A chat completion, or a stream of its chunks.",
            "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {"schema": _STRING}},
        },
        **ERRORS,
    },
}
ESTIMATE: dict[str, Any] = {
    "requestBody": _REQUEST,
    "responses": {
        "200": {
            "description": "What the question would cost at most.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
        **ERRORS,
    },
}


def replies(description: str, *errors: str, status: str = "200") -> dict[str, Any]:
    """Return the replies of a route that answers with a JSON object: also the errors that every route of a key has."""
    content = {"application/json": {"schema": {"type": "object"}}}
    found: dict[str, Any] = {status: {"description": description, "content": content}}
    return {"responses": found | {code: ERRORS[code] for code in ("401", *errors, "500", "503")}}


RECEIPTS: dict[str, Any] = {
    "parameters": [
        {
            "name": "limit",
            "in": "query",
            "required": False,
            "schema": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
        {"name": "before", "in": "query", "required": False, "schema": _STRING},
    ],
    **replies("Receipts, the newest first.", "400"),
}
READY: dict[str, Any] = {
    "responses": {
        status: {"description": description, "content": {"application/json": {"schema": {"type": "object"}}}}
        for status, description in (("200", "Questions are answered."), ("503", "They are not, or not yet."))
    }
}
