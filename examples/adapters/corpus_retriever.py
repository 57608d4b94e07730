"""LangChain retrieves from a released corpus: python corpus_retriever.py CORPUS.jsonl [EMBEDDER]."""

import sys

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.langchain import ReleasedCorpusRetriever
from discreet.errors import DiscreetError

path, embedder = sys.argv[1], (sys.argv[2:] or ["minilm+words"])[0]
try:
    corpus = ReleasedCorpus.read(path, embedder)
except DiscreetError as error:  # a vault, or a file that was not released
    sys.exit(str(error))

for document in ReleasedCorpusRetriever(corpus=corpus, k=2).invoke("What helps against winterhand?"):
    print(document.page_content, document.metadata)
