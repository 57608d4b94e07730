"""Haystack asks a vault: python haystack_pipeline.py FOLDER, or a URL with the key in DISCREET_KEY."""

import sys

from haystack import Pipeline

from discreet.adapters import open_source
from discreet.adapters.haystack import DiscreetAnswerer

pipeline = Pipeline()
pipeline.add_component("private", DiscreetAnswerer(open_source(sys.argv[1])))

for question in ("How many patients have numb thumbs?", "Which patient has numb thumbs?"):
    answer = pipeline.run({"private": {"query": question}})["private"]["answers"][0]
    print(f"{answer.meta['status']}: {answer.data}")
    print(f"  documents: {len(answer.documents)}; paid: epsilon {answer.meta['epsilon']:.3g}")
