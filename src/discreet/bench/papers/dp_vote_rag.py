"""Koga, Wu and Chaudhuri: votes on tokens."""

from discreet.bench.table import BenchTable, Data, Paper, Reported

PAPER = Paper(
    "dp-vote-rag",
    "Koga, Wu and Chaudhuri",
    "Privacy-Preserving Retrieval-Augmented Generation with Differential Privacy",
)
MODEL = "the model has 135 million parameters in place of 1 to 8 billion"
PRICE = "a vote is replaced, so the selection costs twice what the paper charges; a Renyi filter adds up"
_VOTERS, _TOTALS = (30, 40, 50), (5.0, 10.0, 20.0, 40.0)
_TABLE_1 = {
    ("dp-vote-rag", 1.0): "0.37 0.40 0.40 0.45 0.49 0.49 0.45 0.49 0.49 0.45 0.49 0.49",
    ("dp-vote-rag", 2.0): "0.25 0.27 0.27 0.42 0.41 0.41 0.51 0.50 0.49 0.51 0.50 0.49",
    ("dp-vote-rag", 5.0): "0.12 0.12 0.12 0.25 0.27 0.27 0.38 0.38 0.38 0.46 0.46 0.44",
    ("dp-sparse-vote-rag", 1.0): "0.28 0.37 0.45 0.28 0.38 0.46 0.28 0.38 0.46 0.28 0.38 0.46",
    ("dp-sparse-vote-rag", 2.0): "0.42 0.45 0.48 0.48 0.55 0.57 0.49 0.57 0.60 0.49 0.57 0.60",
    ("dp-sparse-vote-rag", 5.0): "0.33 0.33 0.34 0.47 0.48 0.49 0.56 0.55 0.55 0.59 0.60 0.61",
}
"""Rows of the paper's Table I: for each total epsilon in turn, the accuracy with 30, 40 and 50 voters."""
TABLE_1 = {
    (name, voters, token, total): float(figure)
    for (name, token), figures in _TABLE_1.items()
    for (total, voters), figure in zip(
        [(total, voters) for total in _TOTALS for voters in _VOTERS], figures.split(), strict=True
    )
}
BEST = {
    (name, total): max(figure for (one, _, _, at), figure in TABLE_1.items() if (one, at) == (name, total))
    for name in ("dp-vote-rag", "dp-sparse-vote-rag")
    for total in _TOTALS
}
"""The best figure of Table I for each algorithm and total epsilon."""

TABLES = (
    BenchTable(
        name="vote-epsilon",
        paper=PAPER,
        where="Figures 3 and 7 to 9",
        shows="accuracy against epsilon, beside the baselines",
        experiment="answers",
        sweep={
            "algorithm": ("non-rag", "vote-rag", "dp-vote-rag", "dp-sparse-vote-rag"),
            "voters": (40,),
            "private_tokens": (4, 8),
            "epsilon": (2.0, 5.0, 10.0, 20.0, 40.0),
        },
        quick={"private_tokens": (4,), "epsilon": (5.0, 20.0)},
        columns=("accuracy", "margin", "tokens", "private tokens"),
        found="DPSparseVoteRAG exceeds Non-RAG mostly from epsilon 10 on, and is better than DPVoteRAG throughout.",
        differs=f"{MODEL}; {PRICE}; the paper takes the best voters and epsilon_token of each epsilon.",
        reported=(Reported("best of Table I (Trivia, OPT 1.3B)", "accuracy", ("algorithm", "epsilon"), BEST),),
        plugin=True,
    ),
    BenchTable(
        name="vote-parameters",
        paper=PAPER,
        where="Table I, and Tables II to XV",
        shows="accuracy by voters (m) and epsilon_token",
        experiment="answers",
        sweep={
            "algorithm": ("dp-vote-rag", "dp-sparse-vote-rag"),
            "voters": _VOTERS,
            "epsilon_token": (1.0, 2.0, 5.0),
            "epsilon": _TOTALS,
        },
        quick={"voters": (30, 40), "epsilon_token": (2.0, 5.0), "epsilon": (20.0,)},
        columns=("accuracy", "margin", "private tokens"),
        found="The best epsilon_token rises with epsilon. More voters help most where epsilon_token is small.",
        differs=f"{MODEL}; {PRICE}; delta 1e-5 in place of 1e-4.",
        reported=(
            Reported(
                "Table I (Trivia, OPT 1.3B)",
                "accuracy",
                ("algorithm", "voters", "epsilon_token", "epsilon"),
                TABLE_1,
            ),
        ),
        plugin=True,
    ),
    BenchTable(
        name="vote-threshold",
        paper=PAPER,
        where="Section IV, tau = m/2",
        shows="accuracy by the threshold of the sparse vector (tau), with 40 voters",
        experiment="answers",
        sweep={
            "algorithm": ("dp-sparse-vote-rag",),
            "threshold": (10, 15, 20, 25, 30),
            "epsilon": (10.0, 20.0),
        },
        quick={"threshold": (10, 20, 30), "epsilon": (20.0,)},
        columns=("accuracy", "margin", "tokens", "private tokens"),
        found="The paper has no sweep; tau is half of the voters.",
        differs=f"{MODEL}; {PRICE}.",
        plugin=True,
    ),
    BenchTable(
        name="vote-ensembles",
        paper=PAPER,
        where="Section IV, m = 10 to 50",
        shows="VoteRAG, the upper bound, by voters",
        experiment="answers",
        sweep={"algorithm": ("vote-rag",), "voters": (10, 20, 30, 40, 50)},
        quick={"voters": (10, 30)},
        columns=("accuracy", "margin", "tokens"),
        found="VoteRAG bounds the private algorithms for each m; the paper has no figure of it by itself.",
        differs=f"{MODEL}. The nearest notes of a patient's disease are the right ones, so few voters are enough.",
        seeds=1,
        plugin=True,
    ),
    BenchTable(
        name="vote-length",
        paper=PAPER,
        where="Figure 5",
        shows="generated tokens by epsilon_token and epsilon, with 50 voters",
        experiment="answers",
        sweep={
            "algorithm": ("dp-vote-rag", "dp-sparse-vote-rag"),
            "voters": (50,),
            "epsilon_token": (1.0, 2.0, 5.0),
            "epsilon": (5.0, 10.0, 20.0, 40.0),
        },
        quick={"voters": (30,), "epsilon_token": (2.0, 5.0), "epsilon": (10.0, 20.0)},
        columns=("tokens", "private tokens"),
        found="DPSparseVoteRAG generates many more tokens than DPVoteRAG at the same price.",
        differs=f"{MODEL}; answers are short, so that many end before the budget does.",
    ),
    BenchTable(
        name="vote-documents",
        paper=PAPER,
        where="Figure 6",
        shows="accuracy by the number of documents that hold the answer",
        experiment="answers",
        sweep={
            "algorithm": ("vote-rag", "dp-vote-rag", "dp-sparse-vote-rag"),
            "voters": (40,),
            "epsilon": (10.0, 20.0),
        },
        quick={"epsilon": (20.0,)},
        columns=("accuracy", "margin"),
        found="Questions with more documents are answered more often.",
        differs=f"{MODEL}; the paper has 20 to 59 documents a question.",
        settings={"by_support": (1, 20, 40, 60), "unequal": True},
        quick_limit=8,
        plugin=True,
    ),
    BenchTable(
        name="vote-membership",
        paper=PAPER,
        where="Figure 4",
        shows="S2MIA: curve of true against false positives, and its area",
        experiment="membership",
        sweep={"target": ("rag", "vote-rag", "dp-sparse-vote-rag"), "epsilon": (10.0,)},
        columns=("area", "low", "high"),
        found="VoteRAG is attacked with an area well above 0.5; DPSparseVoteRAG at epsilon 10 has about 0.5.",
        differs=f"{MODEL}; the same people are tried in one copy of the vault and out of another.",
        data=(Data.FACTS, Data.DIALOGUES),
        settings={"parameters": {"max_tokens": 24, "voters": 10}},
        limit=100,
        quick_limit=8,
        seeds=1,
        plugin=True,
        work="3 targets; 100 people, each in one of two copies",
    ),
    BenchTable(
        name="vote-accounting",
        paper=PAPER,
        where="Section III, the price of an answer",
        shows="private tokens that an epsilon buys, by the paper's accounting, corrected, and ours",
        experiment="tokens",
        sweep={"epsilon_token": (0.5, 1.0, 2.0, 5.0), "epsilon": (1.0, 2.0, 5.0, 10.0, 20.0)},
        columns=("paper", "corrected", "ours"),
        found="The larger of plain and advanced composition; the column 'paper' follows its formula.",
        differs=PRICE + ".",
        data=(Data.NONE,),
        work="none: arithmetic",
    ),
)
