"""What a page shows: a template with the headers of pages, a price and a receipt in plain words, and snippets."""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.server.front.replies import KeyNumbers, Outcome
from discreet.server.front.routes_models import QuestionEstimate
from discreet.system.words import unit_word

_LARGEST_FACTOR = 1e6
STOPPED = {
    "end": "answered",
    "length": "answered, cut at its longest length",
    "budget": "answered, cut where the budget ended",
    "public": "nothing was released",
    "task": "answered without documents",
}
"""How a question ended, by the receipt's word; an error's code stands for itself."""


def number(value: float) -> str:
    """Return a number with at most four digits."""
    return f"{value:.4g}"


def ended(stopped: str) -> str:
    """Return how a question ended."""
    return STOPPED.get(stopped, stopped.replace("_", " ") or "not settled")


def price_words(found: QuestionEstimate) -> list[str]:
    """Return sentences about the price of a question, from an estimate."""
    unit, key = unit_word(found.unit), found.key
    asked = [f"What is asked: {found.understood}"] if found.understood else []
    if found.free:
        return [*asked, "This question costs nothing.", f"Your key keeps epsilon {number(key.left)}."]
    words = [*asked, f"This question costs any one {unit} at most epsilon {number(found.epsilon_most)}."]
    if found.fits:
        words.append(f"Your key has epsilon {number(key.left)} left, and {number(key.left_after)} afterwards.")
        words.append("What the answer does not use comes back.")
    else:
        words.append(f"Your key cannot pay for it: it has epsilon {number(key.left)} left.")
    return words


def receipt_words(outcome: Outcome, key: KeyNumbers) -> list[str]:
    """Return the receipt of an answer as sentences."""
    unit, receipt = unit_word(outcome.unit), outcome.receipt
    words = []
    if outcome.replayed:
        words.append("You asked this before. This is the same answer, and it was not paid again.")
    if outcome.free or outcome.task:
        words.append("No private document was read, and nothing was paid. The text is the language model's own.")
    elif receipt["payment"] == "nobody":
        words.append("The vault released this answer before, so nothing was paid.")
    else:
        words.append(f"This may have cost any one {unit} at most epsilon {number(outcome.epsilon)}.")
        words.append(_paid_by(receipt["payment"], unit))
        words.append(_odds(outcome.epsilon, outcome.delta, unit))
    words.append(f"Your key has spent epsilon {number(key.spent)} of {number(key.granted)}.")
    if key.more is not None:
        words.append(f"{key.more} more questions fit at the model's price.")
    return [one for one in words if one]


def _paid_by(payment: str, unit: str) -> str:
    if payment.startswith("each"):
        return f"Each {unit} whose documents could have been used was charged, and no other."
    return f"Payment: {payment}." if payment else ""


def _odds(epsilon: float, delta: float, unit: str) -> str:
    factor = math.exp(min(epsilon, 50.0))
    if factor > _LARGEST_FACTOR:
        return ""
    return (
        f"By this answer, the odds of a guess about any one {unit} change at most by the factor {number(factor)}, "
        f"apart from a failure probability of {delta:.2g}."
    )


_QUESTION = "Which disease makes thumbs numb?"


@dataclass(frozen=True)
class Snippet:
    """How a client is connected.

    Attributes:
        name: the client.
        text: what is typed.
        note: what to know about it.
    """

    name: str
    text: str
    note: str = ""


def snippets(address: str, model: str) -> tuple[Snippet, ...]:
    """Return the snippets for a server and a model."""
    base = f"{address}/v1"
    return (
        Snippet(
            "curl",
            f'curl {base}/chat/completions -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n'
            f'  -d \'{{"model": "{model}", "messages": [{{"role": "user", "content": "{_QUESTION}"}}]}}\'',
        ),
        Snippet(
            "openai SDK",
            "import os\nfrom openai import OpenAI\n\n"
            f'client = OpenAI(base_url="{base}", api_key=os.environ["KEY"])\n'
            f'found = client.chat.completions.create(\n    model="{model}",\n'
            f'    messages=[{{"role": "user", "content": "{_QUESTION}"}}],\n)\n'
            'print(found.choices[0].message.content)\nprint(found.usage.model_dump()["discreet"]["receipt"])',
        ),
        Snippet(
            "LangChain",
            "import os\nfrom langchain_openai import ChatOpenAI\n\n"
            f'model = ChatOpenAI(model="{model}", base_url="{base}", api_key=os.environ["KEY"])\n'
            f'print(model.invoke("{_QUESTION}").content)',
            "A stream drops the receipt: read it on the history page.",
        ),
        Snippet(
            "LlamaIndex",
            "import os\nfrom llama_index.llms.openai_like import OpenAILike\n\n"
            f'model = OpenAILike(\n    model="{model}", api_base="{base}", api_key=os.environ["KEY"], '
            "is_chat_model=True\n)\n"
            f'print(model.complete("{_QUESTION}"))',
        ),
        Snippet(
            "Haystack",
            "from haystack.components.generators.chat import OpenAIChatGenerator\n"
            "from haystack.dataclasses import ChatMessage\nfrom haystack.utils import Secret\n\n"
            f'model = OpenAIChatGenerator(\n    model="{model}", api_base_url="{base}", '
            'api_key=Secret.from_env_var("KEY")\n)\n'
            f'print(model.run([ChatMessage.from_user("{_QUESTION}")])["replies"][0].text)',
        ),
        Snippet(
            "llm",
            f"# extra-openai-models.yaml, in the folder that `llm logs path` names\n"
            f'- model_id: {model}\n  model_name: {model}\n  api_base: "{base}"\n  api_key_name: discreet\n\n'
            f"# in a shell\nllm keys set discreet\nllm -m {model} --no-stream '{_QUESTION}'",
        ),
        Snippet(
            "MCP",
            '{"mcpServers": {"discreet": {"type": "http", "url": "' + address + '/mcp",\n'
            '  "headers": {"Authorization": "Bearer ${KEY}"}}}}',
            "Tools: ask, one for each kind of statistic, describe, estimate and budget. The last three are free.",
        ),
    )


HERE = Path(__file__).parent
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    # With "no-referrer" browsers hide the origin of a form, too.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return a page. Every value is escaped."""
    html = _environment().get_template(template).render(values)
    return HTMLResponse(html, status, headers=HEADERS)


def go(path: str) -> Response:
    """Return a redirection, after which the browser's reload sends no form again."""
    return RedirectResponse(path, 303, headers=HEADERS)


@cache
def style() -> str:
    """Return the style sheet."""
    return (HERE / "style.css").read_text(encoding="utf-8")


@cache
def icon() -> str:
    """Return the icon, which browsers ask for with each page."""
    return (HERE / "icon.svg").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "ended": ended}
    return made
