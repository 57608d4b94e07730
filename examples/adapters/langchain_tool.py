"""LangChain asks a vault: python langchain_tool.py FOLDER, or a URL with the key in DISCREET_KEY."""

import sys

from discreet.adapters import open_source
from discreet.adapters.langchain import DiscreetTool

tool = DiscreetTool(source=open_source(sys.argv[1]))

for question in ("How many patients have numb thumbs?", "Which patient has numb thumbs?"):
    # The call that an agent's model makes. `create_agent(model, tools=[tool])` needs nothing else.
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": question}}
    message = tool.invoke(call)
    print(f"{message.status}: {message.content}")
    if message.artifact:  # for the program; the agent's model does not see it
        print(f"  at most epsilon {message.artifact['epsilon']:.3g} for each {message.artifact['unit']}")
