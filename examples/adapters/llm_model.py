"""llm asks a vault: python llm_model.py FOLDER, or a URL with the key in DISCREET_KEY."""

import sys

import llm

where = sys.argv[1]
options = {"url": where} if where.startswith("http") else {"vault": where}
model = llm.get_model("discreet")

response = model.prompt("How many patients have numb thumbs?", **options)
print(response.text())
print(f"  paid: epsilon {response.response_json['epsilon']:.3g}")
try:
    model.prompt("Which patient has numb thumbs?", **options).text()
except llm.ModelError as refusal:
    print(f"refused: {refusal}")
