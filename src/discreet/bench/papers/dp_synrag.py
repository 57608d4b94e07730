"""DP-SynRAG: a synthetic corpus, paid once. A summary with the main tables is the source."""

from discreet.bench.table import BenchTable, Paper, Reported

PAPER = Paper(
    "dp-synrag",
    "the authors of DP-SynRAG",
    "Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation",
)
MODEL = "the model has 135 million parameters in place of 2 to 8 billion"
METHOD = "48 tokens in place of 70, hard clusters by default, and votes in place of clipped logits"
_SAME = {"parameters": {"max_tokens": 24}}
_SYNRAG = {"keywords": 8}
_PAPERS = ("dp-synrag", "dp-synrag", _SYNRAG)
_COLUMNS = ("accuracy", "margin")
_MEDICAL = "Main table, Medical Synth, {}, in percent"
_MAIN = {
    "Phi-4-mini": {("non-rag",): 0.0, ("rag",): 87.0, ("dp-synth",): 0.0, ("aug-pe",): 0.0, ("dp-synrag",): 67.26},
    "Llama 3.1 (8B)": {("non-rag",): 0.0, ("rag",): 86.2, ("dp-synth",): 0.0, ("aug-pe",): 0.0, ("dp-synrag",): 61.26},
}
_ABLATION = {("dp-synrag, L = 2",): 67.26, ("without reranking",): 65.92, ("dp-synrag, L = 1",): 42.52}

TABLES = (
    BenchTable(
        name="synrag-main",
        paper=PAPER,
        where="Main table",
        shows="plain RAG over synthetic corpora, against algorithms that pay for each question",
        experiment="corpora",
        sweep={
            "algorithm": ("non-rag", "rag", "consensus", "dp-sparse-vote-rag"),
            "corpus": (
                _PAPERS,
                ("dp-facts", "dp-facts", {}),
                ("dp-synth", "dp-synth", {}),
                ("aug-pe", "aug-pe", {}),
            ),
            "epsilon": (10.0,),
        },
        quick={"corpus": (_PAPERS,), "algorithm": ("non-rag", "rag")},
        columns=_COLUMNS,
        found="DP-SynRAG is far above DP-Synth and Aug-PE, which have 0, and near RAG without privacy.",
        differs=f"{MODEL}; {METHOD}. DP-Facts is ours.",
        reported=tuple(
            Reported(_MEDICAL.format(model), "accuracy", ("corpus",), figures) for model, figures in _MAIN.items()
        ),
        settings=_SAME,
        plugin=True,
        seeds=1,
        work="4 corpora of the whole vault, once each; 40 questions to 8 rows",
    ),
    BenchTable(
        name="synrag-query-time",
        paper=PAPER,
        where="Main table, DP-RAG",
        shows="DP-RAG (Grislain) at epsilon 10 a question, beside a corpus that is paid once",
        experiment="corpora",
        sweep={"algorithm": ("rag", "dp-rag"), "corpus": (_PAPERS,), "epsilon": (10.0,)},
        columns=_COLUMNS,
        found="DP-SynRAG exceeds DP-RAG in most cases, which pays 1000 times as much for 1000 questions.",
        differs=f"{MODEL}; {METHOD}.",
        reported=(
            Reported(
                _MEDICAL.format("Phi-4-mini"), "accuracy", ("corpus",), {("dp-rag",): 59.92, ("dp-synrag",): 67.26}
            ),
            Reported(
                _MEDICAL.format("Llama 3.1 (8B)"), "accuracy", ("corpus",), {("dp-rag",): 48.94, ("dp-synrag",): 61.26}
            ),
        ),
        settings=_SAME,
        quick_limit=2,
        seeds=1,
        work="1 corpus; 40 questions to 2 algorithms, of which dp-rag reads 80 units for each token",
    ),
    BenchTable(
        name="synrag-epsilon",
        paper=PAPER,
        where="Limitations",
        shows="a corpus by epsilon",
        experiment="corpora",
        sweep={"corpus": (_PAPERS,), "epsilon": (3.0, 5.0, 10.0)},
        quick={"epsilon": (10.0,)},
        columns=_COLUMNS,
        found="Utility falls sharply below epsilon 5.",
        differs=f"{MODEL}; {METHOD}.",
        settings=_SAME,
        seeds=1,
        work="3 corpora of the whole vault; 40 questions to each",
    ),
    BenchTable(
        name="synrag-ablation",
        paper=PAPER,
        where="Ablation",
        shows="hard and soft clusters, the order of keywords, and reranking",
        experiment="corpora",
        sweep={
            "corpus": (
                ("dp-synrag, L = 1", "dp-synrag", _SYNRAG),
                ("dp-synrag, L = 2", "dp-synrag", {**_SYNRAG, "overlap": 2}),
                ("rarest keywords first", "dp-synrag", {**_SYNRAG, "first": "rare"}),
                ("without reranking", "dp-synrag", {**_SYNRAG, "rerank": False}),
            ),
            "epsilon": (10.0,),
        },
        quick={"corpus": (("dp-synrag, L = 1", "dp-synrag", _SYNRAG),)},
        columns=_COLUMNS,
        found="Hard clusters are 8 to 32 points worse; without reranking, up to 4 points.",
        differs=f"{MODEL}; {METHOD}. The paper's soft clusters have L = 5. Clusters go by surprisal, not by rarity.",
        reported=(Reported("Ablation, Medical Synth, Phi-4-mini, in percent", "accuracy", ("corpus",), _ABLATION),),
        settings=_SAME,
        seeds=1,
        work="4 corpora of the whole vault; 40 questions to each",
    ),
    BenchTable(
        name="synrag-documents",
        paper=PAPER,
        where="Key findings, rare themes",
        shows="accuracy by the number of documents that hold the answer",
        experiment="corpora",
        sweep={"algorithm": ("rag",), "corpus": (_PAPERS,), "epsilon": (10.0,)},
        columns=_COLUMNS,
        found="Near 0 below 30 documents.",
        differs=f"{MODEL}; {METHOD}.",
        settings={**_SAME, "by_support": (1, 20, 40, 80, 160), "unequal": True},
        quick_limit=12,
        seeds=1,
        work="1 corpus of the whole vault; 40 questions to 2 rows",
    ),
    BenchTable(
        name="synrag-questions",
        paper=PAPER,
        where="Figure 3",
        shows="accuracy by the number of questions that share one budget",
        experiment="questions",
        sweep={
            "algorithm": ("consensus", "dp-sparse-vote-rag"),
            "corpus": (_PAPERS,),
            "number": (1, 10, 100, 1000),
            "epsilon": (10.0,),
        },
        quick={"number": (1, 10), "algorithm": ("consensus",)},
        columns=("epsilon of a question", *_COLUMNS),
        found="Flat for a corpus; DP-RAG is of no use after 20 questions at a total of 20.",
        differs=f"{MODEL}; {METHOD}; other algorithms pay for questions.",
        settings={"parameters": {"max_tokens": 24, "voters": 40}},
        seeds=1,
        plugin=True,
        work="1 corpus of the whole vault; 40 questions at 4 prices to 2 algorithms",
    ),
)
