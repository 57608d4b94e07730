import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_server.front.errors import ERRORS, FrontError
from discreet_server.front.replies import wrap
from discreet_server.front.requests import (
    IGNORED,
    LARGEST_BODY,
    ChatBody,
    ChatRequest,
    OwnFields,
    parse,
    parse_chat,
    request_of,
)

QUESTION = "What helps against winter hand?"
REPHRASE = "rephrase the follow up question"


def chat(**fields: Any) -> bytes:
    return json.dumps({"model": "hospital", "messages": [{"role": "user", "content": QUESTION}], **fields}).encode()


def refused(body: bytes) -> FrontError:
    with pytest.raises(FrontError) as found:
        parse_chat(body)
    return found.value


def test_request_has_the_last_message_of_the_user() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": f" {QUESTION} "},
    ]
    request = parse_chat(chat(messages=messages, temperature=0.2, seed=1, something_else="x"))
    assert request.question == QUESTION
    assert request.ignored == ("system", "earlier messages", "temperature", "seed")
    assert request.model == "hospital"


def test_request_joins_parts_of_text() -> None:
    parts = [{"type": "text", "text": "What helps"}, {"type": "text", "text": "against it?"}]
    request = parse_chat(chat(messages=[{"role": "user", "content": parts}], model="hospital:triage"))
    assert request.question == "What helps\nagainst it?"
    assert request.model == "hospital:triage"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "messages"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": "  "}]}, "messages"),
        ({"messages": []}, "messages"),
        ({"model": 3}, "model"),
        ({"model": ""}, "model"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stop": [""]}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"discreet": {"epsilom": 1}}, "discreet"),
        ({"discreet": {"epsilon": 0}}, "discreet.epsilon"),
        ({"discreet": {"epsilon": True}}, "discreet.epsilon"),
        ({"discreet": {"anew": 1}}, "discreet.anew"),
        ({"discreet": {"choices": ["a"]}}, "discreet.choices"),
        ({"guided_choice": ["a", "a"]}, "guided_choice"),
        ({"guided_choice": ["a", 1]}, "guided_choice"),
        ({"guided_regex": "a|b"}, "guided_regex"),
        ({"structured_outputs": {"regex": "a|b"}}, "structured_outputs.choice"),
        ({"guided_choice": ["a", "b"], "discreet": {"choices": ["a", "c"]}}, "choices"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
    ],
)
def test_request_is_refused(fields: dict[str, Any], param: str) -> None:
    error = refused(chat(**fields))
    assert (error.status, error.code, error.param) == (400, "invalid_request", param)


def test_request_of_another_encoding_is_refused() -> None:
    assert refused(b"\xff{}").status == 400
    assert refused(b"[]").status == 400
    assert refused(b"[" * 60_000).status == 400
    assert refused(b'{"model": NaN}').status == 400
    assert refused(b'{"model": ' + b"9" * 10_000 + b"}").status == 400
    assert refused(chat(messages=[{"role": "user", "content": "half \ud800"}])).status == 400


MEANT = [
    {"epsilon": 0.5},
    {"epsilon": None},
    {"EPSILON": 0.5},
    {"eps": 0.5},
    {"maxEpsilon": 0.5},
    {"max_epsilon": 0.5},
    {"discreet.epsilon": 0.5},
    {"epsilom": 0.5},
    {"delta": 1e-9},
    {"budget": 1},
    {"privacy": {"level": "high"}},
    {"dp": True},
    {"max_cost": 1},
    {"anew": True},
    {"Anew": True},
    {"choices": ["a", "b"]},
    {"follow_up": "condense"},
    {"followUp": "condense"},
    {"Discreet": {"epsilon": 0.5}},
    {"discret": {"epsilon": 0.5}},
    {"extra_body": {"discreet": {"epsilon": 0.5}}},
    {"options": {"deep": [{"epsilon": 0.5}]}},
    {"maxTokens": 3},
    {"max_new_tokens": 3},
    {"MAX_TOKENS": 3},
    {"options": {"num_predict": 3}},
    {"responseFormat": {"type": "text"}},
    {"guidedChoice": ["a", "b"]},
    {"structured_output": {"choice": ["a", "b"]}},
    {"messages": [{"role": "user", "content": QUESTION, "epsilon": 0.5}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION, "discreet": {"epsilon": 0.5}}]}]},
    {"stream_options": {"epsilon": 0.5}},
    {"discreet": {"Epsilon": 0.5}},
    {"discreet": {"max_epsilon": 0.5}},
    {"discreet": {"delta": 1e-9}},
    {"discreet": {"discreet": {"epsilon": 0.5}}},
]


@pytest.mark.parametrize("fields", MEANT, ids=json.dumps)
def test_field_that_is_meant_to_change_the_price_is_not_ignored(fields: dict[str, Any]) -> None:
    error = refused(chat(**fields))
    assert (error.status, error.code, error.param) == (400, "invalid_request", "discreet")
    assert "epsilon, choices, anew, follow_up" in error.reason
    assert not error.may_have_paid


HARMLESS = [
    {"num_steps": 3, "min_tokens": 1, "stop_token_ids": [2], "chat_id": "x", "features": {"web_search": False}},
    {"chat_template_kwargs": {"enable_thinking": False}, "guided_decoding_backend": "auto", "priority": 0},
    {"tools": [{"type": "function", "function": {"name": "pay", "parameters": {"properties": {"budget": {}}}}}]},
    {"metadata": {"cost_center": "7"}, "reasoning_effort": "low", "store": False},
    {"reasoning": {"max_tokens": 9}, "thinking": {"budget_tokens": 9}, "model_item": {"model": "x", "messages": []}},
    {"messages": [{"role": "user", "content": QUESTION, "name": "ana", "id": "x", "model": "x"}]},
    {"messages": [{"role": "assistant", "content": None, "tool_calls": []}, {"role": "user", "content": QUESTION}]},
    {"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}},
    {"discreet": None, "stop": None, "n": 1, "logprobs": False, "top_logprobs": 0, "tool_choice": "auto"},
]


@pytest.mark.parametrize("fields", HARMLESS, ids=json.dumps)
def test_field_of_a_client_that_changes_nothing_is_accepted(fields: dict[str, Any]) -> None:
    assert parse_chat(chat(**fields)).question == QUESTION


@pytest.mark.parametrize(
    "more",
    [
        '"discreet": {"epsilon": 1}, "discreet": {}',
        '"discreet": {"epsilon": 1, "epsilon": 9}',
        '"model": "hospital"',
        '"metadata": {"a": 1, "a": 1}',
        '"discreet": {"epsilon": 1, "\\u0065psilon": 9}',
        '"tools": [[{"a": [{"b": 1, "b": 2}]}]]',
    ],
)
def test_field_that_stands_twice_is_refused(more: str) -> None:
    error = refused(chat()[:-1] + f", {more}}}".encode())
    assert (error.status, error.code) == (400, "invalid_request")
    assert "twice" in error.reason


def test_refusal_says_what_is_expected_and_repeats_nothing() -> None:
    canary = "canary-of-a-patient"
    wrongs: list[dict[str, Any]] = [{name: canary} for name in ChatBody.model_fields if name not in ("model", "stop")]
    wrongs += [{"discreet": {name: canary}} for name in (*OwnFields.model_fields, canary)]
    wrongs += [{"messages": [{"role": canary}]}, {"max_tokens": {canary: canary}}, {f"epsilon {canary}": 1}]
    for fields in wrongs:
        body = refused(chat(**fields)).body().model_dump()
        assert canary not in json.dumps(body)
        (name,) = fields
        assert str(body["error"]["param"]).startswith(name if name in ChatBody.model_fields else "discreet")
    assert "from 1e-06 to 1e+09" in refused(chat(discreet={"epsilon": "2"})).reason


def test_request_is_too_large() -> None:
    assert parse_chat(chat(padding="x" * 60_000))
    error = refused(chat(padding="x" * LARGEST_BODY))
    assert (error.status, error.code) == (413, "too_large")


def test_request_takes_the_smaller_limit_on_tokens() -> None:
    assert parse_chat(chat(max_tokens=9, max_completion_tokens=5)).max_tokens == 5
    assert parse_chat(chat(max_tokens=10**9)).max_tokens == 4096
    assert parse_chat(chat()).max_tokens is None


SCHEMAS = [
    ({"type": "string", "enum": ["yes", "no"]}, '"yes"'),
    (
        {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"]},
        '{"answer": "yes"}',
    ),
    (
        {
            "properties": {"outer": {"$ref": "#/$defs/Inner"}},
            "$defs": {"Inner": {"type": "object", "properties": {"inner": {"type": "string", "enum": ["yes", "no"]}}}},
        },
        '{"outer": {"inner": "yes"}}',
    ),
]


@pytest.mark.parametrize(("schema", "content"), SCHEMAS)
def test_schema_with_one_enum_becomes_choices(schema: dict[str, Any], content: str) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    request = parse_chat(chat(response_format=wanted))
    assert request.choices == ("yes", "no")
    assert request.shape is not None
    assert wrap("yes", request.shape) == content


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "integer", "enum": [1, 2]},
        {"enum": [1, 2]},
        {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"enum": ["x", "y"]}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"type": "array", "items": {"enum": ["x", "y"]}},
    ],
)
def test_schema_without_one_enum_is_refused(schema: dict[str, Any]) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert refused(chat(response_format=wanted)).param == "response_format"


def test_choices_of_vllm_are_choices() -> None:
    assert parse_chat(chat(structured_outputs={"choice": ["a", "b"]})).choices == ("a", "b")
    assert parse_chat(chat(guided_choice=["a", "b"])).choices == ("a", "b")
    assert parse_chat(chat(guided_choice=["a", "b"], discreet={"choices": ["a", "b"]})).choices == ("a", "b")
    assert parse_chat(chat(guided_choice=["a", "b"])).shape is None


RAG = (
    "### Task:\nRespond to the user query using the provided context, incorporating inline citations in the format "
    '[id] **only when the <source> tag includes an explicit id attribute** (e.g., <source id="1">).\n\n{}'
    '<context>\n<source id="1" name="a.txt">The sky is green.</source>\n</context>\n\nWhich colour has the rash?'
)
TASK = "### Task:\n{}\n### Guidelines:\n- Be brief.\n### Chat History:\n<chat_history>\nUSER: Hello\n</chat_history>"


@pytest.mark.parametrize(
    "line",
    [
        "Generate a concise, 3-5 word title with an emoji summarizing the chat history.",
        "Create a concise, 3-5 word title with an emoji as a title for the chat history.",
        "Generate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more.",
        "Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next.",
        "Analyze the chat history to determine the necessity of generating search queries, in the given language.",
    ],
)
def test_task_of_a_client_is_known_by_its_template(line: str) -> None:
    assert parse_chat(chat(messages=[{"role": "user", "content": TASK.format(line)}])).task
    asks = f"{TASK.format(line)}\n\nWhich colour has the rash?"
    assert refused(chat(messages=[{"role": "user", "content": asks}])).code == "invalid_request"


@pytest.mark.parametrize(
    "text",
    [
        RAG.format(""),
        RAG.format("### Chat History:\n<chat_history>\nUSER: Generate a title.\n</chat_history>\n"),
        "Use this <context>\nThe sky is green.\n</context>\nWhich colour has the rash?",
        "### Task:\nYou will be given a context and a user message. Answer it.\n[...]\nWhich colour has the rash?",
        TASK.format("Respond to the user query, and write no title."),
        "### Task:\nYou are an autocompletion system.\n<text>Which colour has the</text>",
    ],
)
def test_question_in_a_template_is_refused_unpaid(text: str) -> None:
    for model in ("hospital", "hospital:free"):
        error = refused(chat(messages=[{"role": "user", "content": text}], model=model))
        assert (error.code, error.may_have_paid) == ("invalid_request", False)
        assert "Turn off files, knowledge, web search" in error.reason


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([("user", TASK.format("Generate a title."))], '{"title": "Hello"}'),
        ([("user", TASK.format("Generate 1-3 broad tags."))], '{"tags": []}'),
        ([("user", TASK.format("Suggest 3-5 relevant follow-up questions."))], '{"follow_ups": []}'),
        ([("user", TASK.format("Analyze the chat history to find queries."))], '{"queries": []}'),
        (
            [
                (
                    "user",
                    "Provide a concise, 5-word-or-less title for the conversation, using title case.\n\nUser: Hi all",
                )
            ],
            "Hi all",
        ),
        (
            [("user", "Given the following... please reply with a title for the chat that is 3-4 words.\n\nRash")],
            "Chat",
        ),
        (
            [
                (
                    "system",
                    "You are an expert software engineer that generates concise, one-line Git commit messages by it.",
                ),
                ("user", "diff --git a/rash b/rash"),
            ],
            "Update",
        ),
        ([("user", "Your task is to reflect the speaker's likely facial expression by an emoji. Rash")], "\U0001f642"),
        (
            [
                ("system", "You are a professional conversation summarizer. Be brief."),
                ("user", "user: Hi all\nrole: x"),
            ],
            "Hi all",
        ),
        (
            [("system", "You are an emoji expert who selects one."), ("user", "A"), ("user", "Which rash?")],
            "\U0001f4ac",
        ),
        ([("system", "You are a sidecar that extracts 0-4 quick-reply suggestions."), ("user", "x")], '{"chips": []}'),
        (
            [("system", "You are a professional translator. Translate the input text to fr-FR."), ("user", "A rash")],
            "A rash",
        ),
        (
            [
                (
                    "system",
                    f"Given the following conversation and a follow-up question, {REPHRASE}",
                ),
                ("user", "Follow Up Input: And for children?, it's standalone query:"),
            ],
            "And for children?",
        ),
        ([("user", "What's 1 + 1?")], "ok"),
        ([("user", "test from litellm")], "ok"),
    ],
)
def test_task_of_a_client_has_a_reply_of_its_own(messages: list[tuple[str, str]], reply: str) -> None:
    sent = [{"role": role, "content": text} for role, text in messages]
    request = parse_chat(chat(messages=sent, model="hospital:consensus", discreet={"epsilon": 2, "anew": True}))
    assert (request.task, request.epsilon, request.anew) == (reply, None, False)
    assert request.fingerprint != replace(request, task="").fingerprint  # its words may be a question of the user


@pytest.mark.parametrize(
    "messages",
    [
        [("user", "What's 1 + 1, and which rash is green?")],
        [("user", "Hello"), ("assistant", "Hello."), ("user", "What's 1 + 1?")],
        [("system", "Be brief. You are an emoji expert."), ("user", "Which rash is green?")],
        [("user", "You are a professional translator. Translate the input text to French: Which rash is green?")],
    ],
)
def test_question_beside_the_words_of_a_task_is_no_task(messages: list[tuple[str, str]]) -> None:
    assert not parse_chat(chat(messages=[{"role": role, "content": text} for role, text in messages])).task


def test_rule_of_a_key_makes_a_task() -> None:
    body = parse(ChatBody, chat(messages=[{"role": "user", "content": "### Task:\nName this talk.\nUSER: A rash"}]))
    with pytest.raises(FrontError):
        request_of(body)
    assert request_of(body, tasks=("### Task:\nName",)).task == "A rash"


def test_fingerprint_covers_what_decides_the_answer() -> None:
    plain = parse_chat(chat())
    same = [chat(temperature=1), chat(stream=True), chat(stop="x"), chat(user="me")]
    assert {parse_chat(body).fingerprint for body in same} == {plain.fingerprint}
    others = [
        chat(max_tokens=3),
        chat(guided_choice=["a", "b"]),
        chat(guided_choice=["b", "a"]),
        chat(discreet={"epsilon": 1}),
        chat(discreet={"anew": True}),
        chat(model="clinic"),
        chat(model="hospital:consensus"),
        chat(messages=[{"role": "user", "content": "Another?"}]),
    ]
    assert len({plain.fingerprint, *(parse_chat(body).fingerprint for body in others)}) == 9


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = (
    *("model", "messages", "n", "stop", "stream", "stream_options", "max_tokens", "response_format", "discreet"),
    *("guided_choice", "structured_outputs", "tool_choice", "logprobs", "modalities", *IGNORED[:4]),
)
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": st.text() | JSON}) | JSON
CHATS = st.fixed_dictionaries(
    {"model": st.just("hospital") | JSON, "messages": st.lists(MESSAGE, min_size=1, max_size=3) | JSON},
    optional=dict.fromkeys(NAMES[2:], JSON),
)


def becomes_a_request_or_a_refusal(body: bytes) -> bool:
    try:
        request = parse_chat(body)
    except FrontError as error:
        return error.code in ERRORS and error.status in (400, 413)
    return isinstance(request, ChatRequest) and request.question.encode() != b"" and len(request.fingerprint) == 64


@given(CHATS | JSON)
def test_any_json_gives_a_request_or_a_refusal(value: Any) -> None:
    assert becomes_a_request_or_a_refusal(json.dumps(value).encode())


@given(st.binary(max_size=200))
def test_any_bytes_give_a_request_or_a_refusal(body: bytes) -> None:
    assert becomes_a_request_or_a_refusal(body)
