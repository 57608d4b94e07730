"""Snippets for programs: how each client is connected. `$KEY` stands for the key, which no page shows."""

from dataclasses import dataclass

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
            "The tools are ask, estimate and budget. Asking pays.",
        ),
    )
