"""LlamaIndex asks a vault: python llamaindex_engine.py FOLDER, or a URL with the key in DISCREET_KEY."""

import sys

from discreet.adapters import open_source
from discreet.adapters.llamaindex import DiscreetQueryEngine

engine = DiscreetQueryEngine(open_source(sys.argv[1]))

for question in ("How many patients have numb thumbs?", "Which patient has numb thumbs?"):
    response = engine.query(question)
    print(f"{response.metadata['status']}: {response}")
    print(f"  source nodes: {len(response.source_nodes)}; paid: epsilon {response.metadata['epsilon']:.3g}")
