"""Yao and Li: random projection. Its guarantee does not hold (docs/privacy-details.md)."""

from typing import Any

from discreet_lab.bench.table import BenchTable, Data, Paper, Reported

PAPER = Paper(
    "random-projection",
    "Yao and Li",
    "Differentially private retrieval augmented generation with random projection",
    ("GPT-2",),
)
MAILS = "the paper's mails are Enron's; perplexities of two models are not comparable"
SENSITIVE = "without sensitive strings"
"""Our column of the paper's Perp.-Sens."""
_SAME: dict[str, Any] = {
    "sweep": {"epsilon": (5.051,), "weight": (0.1,), "every": (1,)},
    "quick": {"every": (4,)},
    "columns": ("email", "url", "phone", "untargeted", "all", "invented", "perplexity", SENSITIVE),
    "data": Data.MAILS,
    "settings": {"held_out": 20, "parameters": {"max_tokens": 32}},
    "limit": 300,
    "quick_limit": 80,
    "seeds": 1,
}
"""What both tables on mails have."""
ALONE = 3.31
"""The perplexity of GPT-2 without documents, in Section 5.2."""


def _reported(place: str, way: str, alone: str, columns: dict[str, tuple[float, ...]]) -> tuple[Reported, ...]:
    """Return the figures of a table: for each column, without protection, projected, and of DP-RP-G if it has one.

    Args:
        place: the table in the paper.
        way: the way to answer, as our configurations begin.
        alone: our configuration of the model without documents.
        columns: the figures of each column, as ours is called.
    """
    names = ("none", "projection", "dp-rp-g")
    return tuple(
        Reported(
            f"{place}, Enron, GPT-2" if column != "seconds" else f"{place}, RTX 4090",
            column,
            ("configuration",),
            {(f"{way}, {name}",): figure for name, figure in zip(names, figures, strict=False)}
            | ({(alone,): ALONE} if column == "perplexity" else {}),
            Data.MAILS,
        )
        for column, figures in columns.items()
    )


TABLES = (
    BenchTable(
        name="projection-knn-lm",
        paper=PAPER,
        where="Table 1",
        shows="strings that come out of kNN-LM, and perplexity, with k = 64 and lambda = 0.1",
        experiment="knn-lm",
        found="13 links without protection, none projected, 2 of DP-RP-G; perplexity hardly rises with projection.",
        ours=MAILS,
        reported=_reported(
            "Table 1 and Section 5.2",
            "knn-lm",
            "knn-lm, no neighbours",
            {
                "email": (0, 0, 0),
                "url": (13, 0, 2),
                "phone": (0, 0, 0),
                "perplexity": (2.872, 2.89, 2.96),
                SENSITIVE: (2.872, 2.20, 2.89),
                "seconds": (0.793, 0.811),
            },
        ),
        **_SAME,
        work="5 configurations; 300 mails read, 30 prompts each",
    ),
    BenchTable(
        name="projection-prompting",
        paper=PAPER,
        where="Table 2",
        shows="strings that come out of direct prompting, and perplexity, with k = 64",
        experiment="prompting",
        found="36 addresses, 56 links and 125 numbers without protection; 3 links projected.",
        ours=f"{MAILS}; projection changes which passage is read, and hides nothing in it",
        reported=_reported(
            "Table 2 and Section 5.2",
            "prompting",
            "prompting, no documents",
            {
                "email": (36, 0, 0),
                "url": (56, 3, 3),
                "phone": (125, 0, 0),
                "perplexity": (1.58, 2.05, 2.05),
                SENSITIVE: (1.58, 1.06, 1.59),
                "seconds": (2.996, 2.975),
            },
        ),
        **_SAME,
        work="5 configurations; 30 prompts and 20 mails each",
    ),
    BenchTable(
        name="projection-k",
        paper=PAPER,
        where="Section 5.1, k = 64",
        shows="how well nearest neighbours are found by k, and by the epsilon of a sound release",
        experiment="projection",
        sweep={"k": (8, 16, 32, 64, 128, 256), "epsilon": (10.0, 100.0, 1000.0)},
        quick={"k": (16, 64, 256)},
        columns=("found", "kept"),
        found="The paper has no sweep of k, and no sound release.",
        ours="the paper has no figure; 'found' is the share of the nearest 10 documents that hold an answer",
        limit=200,
        quick_limit=24,
        work="6 k, 3 matrices each; no model",
    ),
    BenchTable(
        name="projection-claim",
        paper=PAPER,
        where="Theorem 1 and Section 5.1",
        shows="the claimed epsilon by gamma, Delta and sigma, beside what the same vectors find",
        experiment="claim",
        sweep={"gamma": (1.0,), "Delta": (1.001, 1.1, 2.0), "sigma": (0.01, 0.1, 1.0)},
        quick={"sigma": (0.1, 1.0)},
        columns=("found",),
        found="Epsilon 5.051 at order 99 is claimed for gamma = 1, Delta = 2, k = 64; sigma is said to matter.",
        ours="the claim follows gamma and Delta, and what is found does not; sigma scales all distances alike",
        settings={"k": 64},
        limit=200,
        quick_limit=24,
        work="9 settings, 3 matrices each; no model",
    ),
)
