"""One small program for each client: it defines `ask(text)`, and knows nothing of discreet."""

PACKAGES = {
    "curl": (),
    "openai": ("openai",),
    "langchain": ("langchain-openai",),
    "llama-index": ("llama-index-llms-openai-like",),
    "haystack": ("haystack-ai",),
    "llm": ("llm",),
    "mcp": ("mcp",),
}
"""By client: what is installed into an environment of its own."""

HEAD = """
import json, os, subprocess, sys
BASE, KEY, MODEL = os.environ["BASE"], os.environ["KEY"], os.environ["MODEL"]
"""

TAIL = """
answers = []
for text in json.loads(os.environ["QUESTIONS"]):
    for attempt in range(3):  # a person asks again when a client gives up
        try:
            answers.append(ask(text))
            break
        except Exception as error:
            print(type(error).__name__, file=sys.stderr)
print(json.dumps(answers))
"""

PROGRAMS = {
    "curl": """
def ask(text):
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
    found = subprocess.run(
        ["curl", "-sS", "--fail", "-H", "Authorization: Bearer " + KEY, "-H", "Content-Type: application/json",
         "-d", json.dumps(body), BASE + "/v1/chat/completions"], capture_output=True, check=True)
    return json.loads(found.stdout)["choices"][0]["message"]["content"]
""",
    "openai": """
from openai import OpenAI
client = OpenAI(base_url=BASE + "/v1", api_key=KEY)

def ask(text):
    found = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}])
    return found.choices[0].message.content
""",
    "langchain": """
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model=MODEL, base_url=BASE + "/v1", api_key=KEY)

def ask(text):
    return model.invoke(text).content
""",
    "llama-index": """
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
model = OpenAILike(model=MODEL, api_base=BASE + "/v1", api_key=KEY, is_chat_model=True)

def ask(text):
    return model.chat([ChatMessage(role="user", content=text)]).message.content
""",
    "haystack": """
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
model = OpenAIChatGenerator(model=MODEL, api_base_url=BASE + "/v1", api_key=Secret.from_env_var("KEY"))

def ask(text):
    return model.run([ChatMessage.from_user(text)])["replies"][0].text
""",
    "llm": """
from pathlib import Path
folder = Path(os.environ["HOME"])
os.environ["LLM_USER_PATH"] = str(folder)
name = "discreet-test"
(folder / "extra-openai-models.yaml").write_text(
    f"- model_id: {name}\\n  model_name: '{MODEL}'\\n  api_base: '{BASE}/v1'\\n  api_key_name: discreet\\n")

def ask(text):
    command = [os.path.join(os.path.dirname(sys.executable), "llm"), "-m", name, "--no-stream", "--key", KEY, text]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
""",
    "mcp": """
import asyncio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

async def call(text):
    async with httpx2.AsyncClient(headers={"authorization": "Bearer " + KEY}, timeout=60) as http:
        async with Client(streamable_http_client(BASE + "/mcp", http_client=http)) as client:
            found = await client.call_tool("ask", {"question": text, "model": MODEL})
            if found.is_error:
                raise RuntimeError("the tool failed")
            return found.structured_content["answer"]

def ask(text):
    return asyncio.run(call(text))
""",
}


def program(client: str) -> str:
    """Return the whole program of a client."""
    return HEAD + PROGRAMS[client] + TAIL
