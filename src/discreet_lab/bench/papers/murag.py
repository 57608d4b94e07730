"""MuRAG and MuRAG-Ada: one budget of each unit for many questions."""

from discreet_lab.bench.table import PRECISION, TOP_K_RELEASE, BenchTable, Data, Paper, Reported

PAPER = Paper(
    "murag",
    "Wu, Wang and Wang",
    "Beyond Per-Question Privacy: Multi-Query Differential Privacy for RAG Systems",
    ("OPT 1.3B", "Pythia 1.4B", "Mistral 7B"),
    embedder="DPR",
    questions=100,
)
PRICE = "a Renyi filter for each unit adds up"
SHARED = {"parameters": {"max_tokens": 16}, "inner": "consensus"}
_COLUMNS = ("accuracy", "precision", "unpaid")
_NQ, _TRIVIA, _CHATDOCTOR, _MQUAKE = "Natural Questions", "Trivia", "ChatDoctor", "MQuAKE"
_PRECISION = {
    (_NQ, Data.KNOWLEDGE): (0.788, 0.926, 0.994),
    (_TRIVIA, Data.KNOWLEDGE): (0.722, 0.946, 0.996),
    (_CHATDOCTOR, Data.DIALOGUES): (0.133, 0.672, 0.712),
    (_MQUAKE, Data.CHAINS): (0.176, 0.407, 0.435),
}
"""Table 1: of MuRAG, of MuRAG-Ada, and of MuRAG-Ada with the top K released without privacy."""

TABLES = (
    BenchTable(
        name="murag-epsilon",
        paper=PAPER,
        where="Figure 2",
        shows="accuracy against the budget of a unit, by whole answers and by tokens, M = 1",
        experiment="stream",
        sweep={
            "algorithm": ("non-rag", "rag", "vote-rag", "naive-multi-rag", "murag", "murag-ada"),
            "inner": ("consensus", "dp-sparse-vote-rag"),
            "voters": (40,),
            "uses": (1,),
            "epsilon": (2.0, 5.0, 10.0, 20.0),
        },
        quick={"inner": ("consensus",), "epsilon": (10.0,)},
        columns=_COLUMNS,
        found="Both exceed Non-RAG at epsilon 10; the naive algorithm needs more than 1000. MuRAG is better on "
        "independent questions, MuRAG-Ada on dependent ones.",
        ours=f"{PRICE}; whole answers (consensus) are ours, tokens are the paper's",
        settings=SHARED,
        limit=100,
        quick_limit=6,
        seeds=1,
    ),
    BenchTable(
        name="murag-precision",
        paper=PAPER,
        where="Table 1",
        shows="share of the nearest documents that can still pay, M = 1",
        experiment="stream",
        sweep={"algorithm": ("murag", "murag-ada"), "voters": (50,), "uses": (1,), "epsilon": (10.0,)},
        quick={"voters": (30,)},
        columns=(PRECISION, "precision", "accuracy"),
        found="MuRAG-Ada has the higher precision on all four data sets, by most on dependent questions.",
        ours=f"{PRICE}; units that take part vote, and need not be the nearest",
        reported=tuple(
            Reported(
                f"Table 1, {name}",
                PRECISION,
                ("algorithm",),
                {("murag",): plain, ("murag-ada",): adaptive, (TOP_K_RELEASE,): released},
                data,
            )
            for (name, data), (plain, adaptive, released) in _PRECISION.items()
        ),
        settings={**SHARED, "top_k_release": True},
        limit=100,
        quick_limit=8,
        seeds=1,
    ),
    BenchTable(
        name="murag-uses",
        paper=PAPER,
        where="Figure 3",
        shows="M = 1 against M = 5: precision and accuracy",
        experiment="stream",
        sweep={
            "algorithm": ("murag", "murag-ada"),
            "voters": (40,),
            "uses": (1, 5),
            "epsilon": (5.0, 10.0, 20.0),
        },
        quick={"epsilon": (10.0,)},
        columns=_COLUMNS,
        found="Precision and accuracy rise with M = 5, and so does the total price. M = 1 has the better trade-off.",
        ours=f"{PRICE}; a whole answer needs little epsilon, which favours M = 5",
        settings=SHARED,
        limit=100,
        quick_limit=6,
        seeds=1,
    ),
    BenchTable(
        name="murag-overlap",
        paper=PAPER,
        where="Figure 1",
        shows="in how many questions a document is among the nearest 50",
        experiment="overlap",
        columns=("documents", "share"),
        found="Of independent questions, most documents are near one or two; of dependent ones, many are near several.",
        ours="a model is not asked",
        settings={"nearest": 50, "edges": (1, 2, 3, 5, 10, 20)},
        limit=100,
        quick_limit=24,
        seeds=1,
        work="100 searches",
    ),
    BenchTable(
        name="murag-parameters",
        paper=PAPER,
        where="Section 5, k and epsilon_token",
        shows="votes on tokens by k = 30, 40, 50 and epsilon_token = 0.5, 1, 2",
        experiment="stream",
        sweep={
            "algorithm": ("murag", "murag-ada"),
            "voters": (30, 40, 50),
            "epsilon_token": (0.5, 1.0, 2.0),
            "uses": (1,),
            "epsilon": (10.0,),
        },
        quick={"voters": (30,), "epsilon_token": (1.0, 2.0)},
        columns=_COLUMNS,
        found="The paper reports the best of these for each method, and no figure for each.",
        ours=PRICE,
        settings={**SHARED, "inner": "dp-sparse-vote-rag"},
        limit=100,
        quick_limit=4,
        seeds=1,
    ),
    BenchTable(
        name="murag-reuse",
        paper=PAPER,
        where="Discussion, earlier answers",
        shows="earlier answers used again, M = 5",
        experiment="stream",
        sweep={
            "algorithm": ("murag", "murag-ada"),
            "voters": (40,),
            "uses": (5,),
            "reuse": (False, True),
            "epsilon": (10.0,),
        },
        columns=("accuracy", "precision", "unpaid", "free"),
        found="Proposed, and not measured.",
        ours="the paper has no figure",
        settings={**SHARED, "again": True},
        limit=100,
        quick_limit=6,
        seeds=1,
    ),
)
