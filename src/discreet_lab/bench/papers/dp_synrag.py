"""DP-SynRAG: a synthetic corpus, paid once. A summary with the main tables is the source."""

from discreet_lab.bench.table import THE_QUESTIONS, BenchTable, Data, Paper, Reported

PAPER = Paper(
    "dp-synrag",
    "Mori, Kakizaki, Miyagawa and Sakuma",
    "Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation",
    ("Phi-4-mini 3.8B", "Gemma-2 2B", "Llama 3.1 8B"),
)
METHOD = "48 tokens in place of 70, hard clusters by default, and votes in place of clipped logits"
_SAME = {"parameters": {"max_tokens": 24}}
_SYNRAG = {"keywords": 8}
_ONCE = {**_SYNRAG, "overlap": 1}
_SOFT = {**_SYNRAG, "overlap": 5}
_PAPERS = ("dp-synrag", "dp-synrag", _SYNRAG)
_COLUMNS = ("accuracy", "margin")
_MODELS = ("Phi-4-mini", "Gemma-2-2B", "Llama 3.1 (8B)")
_MAIN = {
    ("Medical Synth", Data.PATIENTS): {
        "non-rag": (0.0, 0.0, 0.0),
        "rag": (87.0, 85.2, 86.2),
        "dp-synth": (0.0, 0.0, 0.0),
        "aug-pe": (0.0, 0.0, 0.0),
        "dp-synrag": (67.26, 67.06, 61.26),
        "dp-rag": (59.92, 67.06, 48.94),
    },
    ("MovieLens", Data.FILMS): {
        "rag": (67.8, 54.6, 70.8),
        "dp-synth": (37.6, 16.64, 46.12),
        "aug-pe": (36.16, 26.04, 44.96),
        "dp-synrag": (42.56, 41.08, 54.12),
        "dp-rag": (34.72, 40.48, 56.8),
    },
    ("SearchQA", Data.KNOWLEDGE): {
        "rag": (92.16, 94.12, 95.1),
        "dp-synth": (60.2, 20.2, 40.0),
        "dp-synrag": (89.61, 85.1, 91.18),
        "dp-rag": (85.1, 83.14, 84.9),
    },
}
"""The main table: by data, the figures of each row for each of the models, in percent as printed."""
_FULL, _UNFILTERED, _UNRANKED, _HARD = (
    "dp-synrag, L = 5, filtered",
    "dp-synrag, L = 5",
    "without reranking, L = 5",
    "dp-synrag, L = 1",
)
_ABLATION: dict[tuple[str, str, Data], dict[tuple[str], float]] = {
    ("Medical Synth", "Phi-4-mini", Data.PATIENTS): {
        (_FULL,): 67.26,
        (_UNRANKED,): 65.92,
        (_UNFILTERED,): 66.78,
        (_HARD,): 42.52,
    },
    ("Medical Synth", "Llama 3.1 (8B)", Data.PATIENTS): {
        (_FULL,): 61.26,
        (_UNRANKED,): 57.74,
        (_UNFILTERED,): 52.2,
        (_HARD,): 29.38,
    },
    ("MovieLens", "Llama 3.1 (8B)", Data.FILMS): {
        (_FULL,): 54.12,
        (_UNRANKED,): 53.76,
        (_UNFILTERED,): 45.12,
        (_HARD,): 46.56,
    },
    ("SearchQA", "Gemma-2-2B", Data.KNOWLEDGE): {(_FULL,): 85.1, (_UNRANKED,): 83.73, (_HARD,): 67.06},
}
"""The ablation. Its texts are filtered by their use for the task, except in its row without the self-filter."""


def _reported(*rows: str) -> tuple[Reported, ...]:
    """Return the figures of some rows of the main table, for each data and model."""
    return tuple(
        Reported(
            f"Main table, {data}, {model}",
            "accuracy",
            ("corpus",),
            {(row,): round(figures[row][number] / 100, 4) for row in rows if row in figures},
            kind,
        )
        for (data, kind), figures in _MAIN.items()
        for number, model in enumerate(_MODELS)
    )


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
        found="On Medical Synth DP-Synth and Aug-PE have 0, and DP-SynRAG is 18 to 25 points below plain RAG. "
        "On MovieLens it exceeds them by 5 to 24 points, and on SearchQA it is 3 to 9 below RAG.",
        ours=f"{METHOD}; DP-Facts is ours",
        reported=_reported("non-rag", "rag", "dp-synth", "aug-pe", "dp-synrag"),
        settings=_SAME,
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
        found="DP-SynRAG exceeds DP-RAG in 7 of 9 cases; one is equal, one below. DP-RAG pays for each question, "
        "about 10000, 5000 and 1000 in all on the three data sets.",
        ours=METHOD,
        reported=_reported("rag", "dp-rag", "dp-synrag"),
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
        ours=METHOD,
        settings=_SAME,
        seeds=1,
        work="3 corpora of the whole vault; 40 questions to each",
    ),
    BenchTable(
        name="synrag-ablation",
        paper=PAPER,
        where="Ablation",
        shows="hard and soft clusters, the order of keywords, reranking, and the self-filter",
        experiment="corpora",
        sweep={
            "corpus": (
                (_HARD, "dp-synrag", _ONCE),
                ("dp-synrag, L = 2", "dp-synrag", {**_SYNRAG, "overlap": 2}),
                (_UNFILTERED, "dp-synrag", _SOFT),
                (_FULL, "dp-synrag", {**_SOFT, "task": THE_QUESTIONS}),
                (_UNRANKED, "dp-synrag", {**_SOFT, "rerank": False, "task": THE_QUESTIONS}),
                ("rarest keywords first, L = 1", "dp-synrag", {**_ONCE, "first": "rare"}),
                ("without reranking, L = 1", "dp-synrag", {**_ONCE, "rerank": False}),
            ),
            "epsilon": (10.0,),
        },
        quick={"corpus": ((_HARD, "dp-synrag", _ONCE),)},
        columns=_COLUMNS,
        found="Hard clusters are 8 to 32 points worse; without reranking, up to 4 points; without the filter, up to 9.",
        ours=f"{METHOD}; clusters go by surprisal, not by rarity; the paper's hard clusters are filtered",
        reported=tuple(
            Reported(
                f"Ablation, {data}, {model}",
                "accuracy",
                ("corpus",),
                {row: round(percent / 100, 4) for row, percent in figures.items()},
                kind,
            )
            for (data, model, kind), figures in _ABLATION.items()
        ),
        settings=_SAME,
        seeds=1,
        work="6 corpora of the whole vault; 40 questions to 7 rows",
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
        ours=METHOD,
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
        ours=f"{METHOD}; other algorithms pay for questions",
        settings={"parameters": {"max_tokens": 24, "voters": 40}},
        seeds=1,
        work="1 corpus of the whole vault; 40 questions at 4 prices to 2 algorithms",
    ),
)
