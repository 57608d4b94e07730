"""Koga, Wu and Chaudhuri: votes on tokens."""

from discreet_lab.bench.papers.dp_vote_rag_tables import KINDS, PRINTED, TOKENS, TOTALS, VOTERS, choose_best
from discreet_lab.bench.table import BenchTable, Data, Paper, Reported

PAPER = Paper(
    "dp-vote-rag",
    "Koga, Wu and Chaudhuri",
    "Privacy-Preserving Retrieval-Augmented Generation with Differential Privacy",
    ("OPT 1.3B", "OPT 2.7B", "Pythia 1.4B", "GPT2-XL", "Llama 3.2 1B", "Llama 3.1 8B"),
    1e-4,
    "DPR",
    100,
)
PRICE = "a vote is replaced, so the selection costs twice what the paper charges; a Renyi filter adds up"
REPORTED = {name: (figures, KINDS[name[1]]) for name, figures in PRINTED.items()}


def _reported(*keys: str, best: bool = False) -> tuple[Reported, ...]:
    """Return the figures of Tables I to XV; with `best`, the best ones over voters and epsilon_token."""
    return tuple(
        Reported(
            f"{'best of ' if best else ''}Table {number} ({data}, {model})",
            # The paper calls it match accuracy. References of several sentences never match.
            "BERTScore" if kind is Data.DIALOGUES else "accuracy",
            keys,
            choose_best(figures) if best else figures,
            kind,
        )
        for (number, data, model), (figures, kind) in REPORTED.items()
    )


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
        found="DPSparseVoteRAG exceeds Non-RAG mostly from epsilon 10 on. By Tables I to XV, it is better than "
        "DPVoteRAG on Trivia and NQ throughout; on ChatDoctor the two differ by 0.02 at most, in either direction.",
        ours=f"{PRICE}; the paper takes the best voters and epsilon_token of each epsilon",
        reported=_reported("algorithm", "epsilon", best=True),
    ),
    BenchTable(
        name="vote-parameters",
        paper=PAPER,
        where="Table I, and Tables II to XV",
        shows="accuracy by voters (m) and epsilon_token",
        experiment="answers",
        sweep={
            "algorithm": ("dp-vote-rag", "dp-sparse-vote-rag"),
            "voters": VOTERS,
            "epsilon_token": TOKENS,
            "epsilon": TOTALS,
        },
        quick={"voters": (30, 40), "epsilon_token": (2.0, 5.0), "epsilon": (20.0,)},
        columns=("accuracy", "margin", "private tokens"),
        found="On Trivia and NQ the best epsilon_token rises with epsilon; on ChatDoctor nearly all cells are alike. "
        "More voters help most where epsilon_token is small.",
        ours=PRICE,
        reported=_reported("algorithm", "voters", "epsilon_token", "epsilon"),
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
        ours=PRICE,
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
        ours="",
        seeds=1,
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
        ours="an answer may end before its budget does",
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
        ours="the paper has 20 to 59 documents a question",
        settings={"by_support": (1, 20, 40, 60), "unequal": True},
        quick_limit=8,
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
        ours="the same people are tried in one copy of the vault and out of another",
        settings={"parameters": {"max_tokens": 24, "voters": 10}},
        limit=100,
        quick_limit=8,
        seeds=1,
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
        found="The larger of plain and advanced composition; the column 'paper' follows its formula for epsilon. "
        "Its delta, 1e-5 a token and 1e-4 in all, allows ten tokens at most; the column leaves that out.",
        ours=f"{PRICE}; a token of ours needs no delta of its own",
        data=Data.NONE,
        work="none: arithmetic",
    ),
)
