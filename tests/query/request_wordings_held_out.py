"""Sixty questions that were written before the rules, each with the request that it is."""

from discreet.query.requests import Wording

PATIENTS = "patient"
CUSTOMERS = "customer"
CLIENTS = "client"
FIELDS = ("ward", "age", "branch", "fee")

HELD_OUT: tuple[tuple[str, str, Wording | None], ...] = (
    # count
    (PATIENTS, "how many patients got amber wraps", Wording("count", condition="amber wraps")),
    (
        PATIENTS,
        "How many women with Glass Knee were readmitted?",
        Wording("count", "women with Glass Knee", "readmitted"),
    ),
    (PATIENTS, "What is the number of patients who had a fever?", Wording("count", condition="fever")),
    (
        CUSTOMERS,
        "How many of our customers have closed their account?",
        Wording("count", condition="closed their account"),
    ),
    (CUSTOMERS, "number of customers with a mortgage", Wording("count", condition="mortgage")),
    (CUSTOMERS, "How many custmers complained about hidden fees?", Wording("count", condition="hidden fees")),
    (
        CLIENTS,
        "How many clients do not have a power of attorney?",
        Wording("count", condition="power of attorney", negated=True),
    ),
    (CLIENTS, "Could you count the clients who lost an appeal?", Wording("count", condition="lost an appeal")),
    (CLIENTS, 'In how many letters is "force majeure" mentioned??', Wording("count", condition="force majeure")),
    # share
    (
        PATIENTS,
        "What percentage of patients with Marsh Fever has damp hair?",
        Wording("share", "Marsh Fever", "damp hair"),
    ),
    (
        PATIENTS,
        "How common are blue fingertips among patients with Copper Lung?",
        Wording("share", "Copper Lung", "blue fingertips"),
    ),
    (PATIENTS, "how often do patients with Paper Skin develop pale ears?", Wording("share", "Paper Skin", "pale ears")),
    (PATIENTS, "WHAT SHARE OF PATIENTS HAS A FEVER", Wording("share", condition="FEVER")),
    (
        CUSTOMERS,
        "What proportion of customers with a credit card missed a payment?",
        Wording("share", "credit card", "missed a payment"),
    ),
    (CUSTOMERS, "Which fraction of our customers uses the app?", Wording("share", condition="app")),
    (
        CUSTOMERS,
        "What percent of customers without savings have an overdraft?",
        Wording("share", "without savings", "overdraft"),
    ),
    (CLIENTS, "How frequently is arbitration mentioned in the letters?", Wording("share", condition="arbitration")),
    (
        CLIENTS,
        "What is the percentage of clients that were not reimbursed?",
        Wording("share", condition="reimbursed", negated=True),
    ),
    # list
    (PATIENTS, "What are the five most frequent diagnoses?", Wording("list", attribute="diagnoses", most=5)),
    (
        PATIENTS,
        "Name the side effects of willow bark baths.",
        Wording("list", "willow bark baths", attribute="side effects"),
    ),
    (
        PATIENTS,
        "Top ten complaints of patients with Red Echo",
        Wording("list", "Red Echo", attribute="complaints", most=10),
    ),
    (
        PATIENTS,
        "Which treatments are most often prescribed for Silver Stomach?",
        Wording("list", "Silver Stomach", attribute="treatments"),
    ),
    (
        CUSTOMERS,
        "Give me the 3 most common reasons for closing an account",
        Wording("list", "closing an account", attribute="reasons", most=3),
    ),
    (CUSTOMERS, "What do customers complain about most?", Wording("list", attribute="complaints")),
    (CLIENTS, "Please list the types of contract.", Wording("list", "contract", attribute="types")),
    (CLIENTS, "What are the most common grounds for appeal?", Wording("list", "appeal", attribute="grounds")),
    # compare
    (
        PATIENTS,
        "Is fever more frequent in patients with Marsh Fever than in patients with Glass Knee?",
        Wording("compare", condition="fever", groups=("Marsh Fever", "Glass Knee")),
    ),
    (
        PATIENTS,
        "Compare Marsh Fever, Glass Knee and Red Echo by length of stay",
        Wording("compare", attribute="length of stay", groups=("Marsh Fever", "Glass Knee", "Red Echo")),
    ),
    (
        PATIENTS,
        "Are women more often readmitted than men?",
        Wording("compare", condition="readmitted", groups=("women", "men")),
    ),
    (
        CUSTOMERS,
        "Do customers with a mortgage complain about fees more often than customers with a savings plan?",
        Wording("compare", condition="fees", groups=("mortgage", "savings plan")),
    ),
    (
        CUSTOMERS,
        "Which is more common, card fraud or cheque fraud?",
        Wording("compare", groups=("card fraud", "cheque fraud")),
    ),
    (
        CLIENTS,
        "How does the share of settlements differ between tenants and landlords?",
        Wording("compare", condition="settlements", groups=("tenants", "landlords")),
    ),
    (CLIENTS, "Compare tenants with landlords", Wording("compare", groups=("tenants", "landlords"))),
    (
        CLIENTS,
        "Is mediation less common among tenants than among landlords?",
        Wording("compare", condition="mediation", groups=("tenants", "landlords")),
    ),
    # trend
    (
        PATIENTS,
        "Has Marsh Fever become less common since 2021?",
        Wording("trend", condition="Marsh Fever", since="2021"),
    ),
    (
        PATIENTS,
        "Number of patients with Glass Knee per quarter",
        Wording("trend", condition="Glass Knee", by="quarter"),
    ),
    (PATIENTS, "How many patients had falls by ward?", Wording("trend", condition="falls", by="ward")),
    (PATIENTS, "Is Lantern Eye on the rise?", Wording("trend", condition="Lantern Eye")),
    (
        CUSTOMERS,
        "How has the number of complaints about fees changed since January 2023?",
        Wording("trend", condition="complaints about fees", since="2023-01"),
    ),
    (CUSTOMERS, "Card fraud by month", Wording("trend", condition="Card fraud", by="month")),
    (CUSTOMERS, "Are overdrafts increasing?", Wording("trend", condition="overdrafts")),
    (
        CLIENTS,
        "What is the trend of data protection claims over the years?",
        Wording("trend", condition="data protection claims", by="year"),
    ),
    # typical
    (
        PATIENTS,
        "What's the median age of patients with Copper Lung?",
        Wording("typical", "Copper Lung", attribute="age", statistic="median"),
    ),
    (
        PATIENTS,
        "How old are the patients with Feather Bone on average?",
        Wording("typical", "Feather Bone", attribute="age", statistic="mean"),
    ),
    (
        PATIENTS,
        "Average length of stay in patients with Clock Sleep",
        Wording("typical", "Clock Sleep", attribute="length of stay", statistic="mean"),
    ),
    (
        PATIENTS,
        "What age do patients with Velvet Tongue typically have?",
        Wording("typical", "Velvet Tongue", attribute="age"),
    ),
    (CUSTOMERS, "quartiles of the fee", Wording("typical", attribute="fee", statistic="quartiles")),
    (
        CUSTOMERS,
        "What is the mean loan amount of customers with a mortgage?",
        Wording("typical", "mortgage", attribute="loan amount", statistic="mean"),
    ),
    (
        CLIENTS,
        "In what range are the fees of clients with an appeal?",
        Wording("typical", "appeal", attribute="fees", statistic="range"),
    ),
    # none
    (PATIENTS, "How long does Marsh Fever last?", None),
    (PATIENTS, "How many willow bark baths a week are needed?", None),
    (PATIENTS, "How often must charcoal tea be drunk?", None),
    (PATIENTS, "Which patients have Marsh Fever?", None),
    (PATIENTS, "What is the usual treatment for Glass Knee?", None),
    (CUSTOMERS, "What is the interest rate of a mortgage?", None),
    (CUSTOMERS, "Is there a fee for closing an account?", None),
    (CUSTOMERS, "What is the difference between a debit card and a credit card?", None),
    (CLIENTS, "How many days does a client have for an appeal?", None),
    (CLIENTS, "Summarise the letters about arbitration.", Wording("summary", "arbitration")),
    (CLIENTS, "Who are the clients with an appeal?", None),
)
