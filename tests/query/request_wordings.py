"""Wordings of requests by analysts of a hospital, a bank and a law firm, each with its parts."""

from discreet.query.requests import Wording

FIELDS = ("ward", "age", "branch", "fee", "length_of_stay", "lawyer")

COUNTS: tuple[tuple[str, str, Wording], ...] = (
    ("", "How many patients have Winter Hand?", Wording("count", condition="Winter Hand")),
    ("patient", "How many patients with Winter Hand were given cold tea?", Wording("count", "Winter Hand", "cold tea")),
    ("", "In how many notes is fever mentioned?", Wording("count", condition="fever")),
    ("client", "Number of clients without a contract", Wording("count", condition="contract", negated=True)),
    ("patient", "Count the patients treated with warm oil.", Wording("count", condition="warm oil")),
    ("patient", "How many patients are there?", Wording("count")),
    ("patient", "How many patients are there with swollen toes?", Wording("count", condition="swollen toes")),
    ("patient", "how mny patiens have  Zonkitis ?!", Wording("count", condition="Zonkitis")),
    ("patient", "HOW MANY PATIENTS HAD CHILLS AT NOON", Wording("count", condition="CHILLS AT NOON")),
    ("patient", "How many patients over 60 fell out of bed?", Wording("count", "over 60", "fell out of bed")),
    (
        "patient",
        "How many patients with Paper Skin did not recover?",
        Wording("count", "Paper Skin", "recover", negated=True),
    ),
    (
        "patient",
        "How many patients with Marsh Fever never had chills?",
        Wording("count", "Marsh Fever", "chills", negated=True),
    ),
    (
        "patient",
        "How many patients were admitted since March 2024?",
        Wording("count", condition="admitted", since="2024-03"),
    ),
    (
        "patient",
        "Hello, can you tell me how many cases of Red Echo we have seen? Thanks!",
        Wording("count", condition="Red Echo"),
    ),
    ("patient", "For how many patients was amber wraps prescribed?", Wording("count", condition="amber wraps")),
    ("customer", "How many customers who took out a loan defaulted?", Wording("count", "took out a loan", "defaulted")),
    ("customer", "How many female customers hold a savings account?", Wording("count", "female", "savings account")),
    (
        "customer",
        "How many customers have no savings account",
        Wording("count", condition="savings account", negated=True),
    ),
    ("borrower", "what's the total number of borrowers in arrears?", Wording("count", condition="arrears")),
    ("client", "How many of our clients lost their case?", Wording("count", condition="lost their case")),
    ("client", "How many letters mention “force majeure”?", Wording("count", condition="force majeure")),
    (
        "client",
        "How many clients haven't paid their invoice?",
        Wording("count", condition="paid their invoice", negated=True),
    ),
    ("party", "How many parties settled out of court?", Wording("count", condition="settled out of court")),
    ("patient", "How many patients had nausea and a headache?", Wording("count", condition="nausea and a headache")),
    (
        "employee",
        "How many employees with a company car have filed an expense claim since Q1 2023?",
        Wording("count", "company car", "filed an expense claim", since="2023-01"),
    ),
    (
        "patient",
        "How many patients treated by Dr Keller had complications?",
        Wording("count", "treated by Dr Keller", "complications"),
    ),
    (
        "patient",
        "How many patients that have Winter Hand also have Summer Foot?",
        Wording("count", "Winter Hand", "Summer Foot"),
    ),
    ("patient", "How many patients who smoke have a cough?", Wording("count", "smoke", "cough")),
    ("patient", "How many people in the data smoke?", Wording("count", condition="smoke")),
    ("client", "How many clients are we suing?", Wording("count", condition="suing")),
    ("patient", "Roughly how many patients on metformin have nausea?", Wording("count", "metformin", "nausea")),
    ("patient", "How many patients out of those with fever had chills?", Wording("count", "fever", "chills")),
    (
        "patient",
        "What's the number of notes with a mention of sepsis?",
        Wording("count", condition="mention of sepsis"),
    ),
    ("patient", "How many of the patients admitted in 2023 died?", Wording("count", "admitted in 2023", "died")),
)
SHARES: tuple[tuple[str, str, Wording], ...] = (
    (
        "patient",
        "What share of patients with Winter Hand had swollen toes?",
        Wording("share", "Winter Hand", "swollen toes"),
    ),
    ("patient", "How common is Winter Hand?", Wording("share", condition="Winter Hand")),
    (
        "patient",
        "How often do patients with Winter Hand get swollen toes?",
        Wording("share", "Winter Hand", "swollen toes"),
    ),
    ("", "What percent of people got cold tea?", Wording("share", condition="cold tea")),
    ("patient", "What % of patients with Glass Knee have a limp?", Wording("share", "Glass Knee", "limp")),
    ("patient", "what is the proprtion of patients with a weak grip", Wording("share", condition="weak grip")),
    (
        "patient",
        "What is the share of pale ears among patients with Paper Skin?",
        Wording("share", "Paper Skin", "pale ears"),
    ),
    ("patient", "How often is Zonkitis diagnosed?", Wording("share", condition="Zonkitis")),
    (
        "patient",
        "How often are headaches reported in patients with Lantern Eye?",
        Wording("share", "Lantern Eye", "headaches"),
    ),
    (
        "patient",
        "Which percentage of the patients was not treated with salt steam?",
        Wording("share", condition="salt steam", negated=True),
    ),
    ("patient", "In what share of notes is penicillin mentioned?", Wording("share", condition="penicillin")),
    (
        "patient",
        "How high is the percentage of women with Glass Knee who had surgery?",
        Wording("share", "women with Glass Knee", "surgery"),
    ),
    (
        "customer",
        "How large is the share of customers without an overdraft?",
        Wording("share", condition="overdraft", negated=True),
    ),
    (
        "customer",
        "What fraction of customers in Leeds cancelled their card?",
        Wording("share", "Leeds", "cancelled their card"),
    ),
    ("customer", "how frequent is card fraud among customers abroad?", Wording("share", "abroad", "card fraud")),
    ("client", "What is the prevalence of late payment?", Wording("share", condition="late payment")),
    ("client", "Percentage of clients who lost an appeal", Wording("share", condition="lost an appeal")),
    ("client", "How likely are clients with a settlement to return?", Wording("share", "settlement", "return")),
    (
        "patient",
        "How common is it for patients with Winter Hand to have numb thumbs?",
        Wording("share", "Winter Hand", "numb thumbs"),
    ),
    (
        "customer",
        "How common is it that customers overdraw their account?",
        Wording("share", condition="overdraw their account"),
    ),
    ("patient", "Among patients with Winter Hand, what share had fever?", Wording("share", "Winter Hand", "fever")),
    (
        "patient",
        "In what percentage of cases does Winter Hand lead to surgery?",
        Wording("share", "Winter Hand", "surgery"),
    ),
    ("patient", "How often does fever occur in Winter Hand?", Wording("share", "Winter Hand", "fever")),
    ("patient", "Share of women among patients with Winter Hand", Wording("share", "Winter Hand", "women")),
)
LISTS: tuple[tuple[str, str, Wording], ...] = (
    (
        "patient",
        "What are the most common symptoms of Winter Hand?",
        Wording("list", "Winter Hand", attribute="symptoms"),
    ),
    ("", "List the symptoms of Zonkitis.", Wording("list", "Zonkitis", attribute="symptoms")),
    (
        "",
        "Which treatments are given for Zonkitis, and how often?",
        Wording("list", "Zonkitis", attribute="treatments"),
    ),
    ("", "Top 5 diagnoses", Wording("list", attribute="diagnoses", most=5)),
    ("", "Name three symptoms of Zonkitis", Wording("list", "Zonkitis", attribute="symptoms", most=3)),
    ("patient", "What do patients complain of most often?", Wording("list", attribute="complaints")),
    (
        "patient",
        "What do patients with Red Echo complain about most?",
        Wording("list", "Red Echo", attribute="complaints"),
    ),
    ("", "Which symptoms does Zonkitis have?", Wording("list", "Zonkitis", attribute="symptoms")),
    ("", "what symptms do patients with zonkitis have", Wording("list", "zonkitis", attribute="symptoms")),
    ("patient", "Please give me a list of diseases.", Wording("list", attribute="diseases")),
    ("patient", "What are the 10 most frequently prescribed drugs?", Wording("list", attribute="drugs", most=10)),
    (
        "patient",
        "Which symptoms are most common in patients with Marsh Fever?",
        Wording("list", "Marsh Fever", attribute="symptoms"),
    ),
    (
        "customer",
        "Most common complaints of customers with a mortgage?",
        Wording("list", "mortgage", attribute="complaints"),
    ),
    ("customer", "TOP TEN REASONS FOR CHARGEBACKS", Wording("list", "CHARGEBACKS", attribute="REASONS", most=10)),
    ("customer", "Which fees are most often disputed?", Wording("list", attribute="fees")),
    (
        "client",
        "List the five most common grounds for dismissal",
        Wording("list", "dismissal", attribute="grounds", most=5),
    ),
    (
        "client",
        "What are the commonest outcomes of clients with an appeal?",
        Wording("list", "appeal", attribute="outcomes"),
    ),
    ("client", "Rank the causes of delay by frequency", Wording("list", "delay", attribute="causes")),
    (
        "patient",
        "Which five symptoms are most common in Winter Hand?",
        Wording("list", "Winter Hand", attribute="symptoms", most=5),
    ),
    (
        "customer",
        "Which products do customers with a mortgage buy most often?",
        Wording("list", "mortgage", attribute="products"),
    ),
    (
        "patient",
        "Which treatments have patients with Winter Hand received, and how often?",
        Wording("list", "Winter Hand", attribute="treatments"),
    ),
    ("customer", "What complaints come up most often?", Wording("list", attribute="complaints")),
    (
        "patient",
        "What are the side effects of ginger gloves, and how common are they?",
        Wording("list", "ginger gloves", attribute="side effects"),
    ),
    ("patient", "Which symptoms are typical of Winter Hand?", Wording("list", "Winter Hand", attribute="symptoms")),
    (
        "patient",
        "What are the most frequent reasons for admission among patients over 80?",
        Wording("list", "over 80", attribute="reasons for admission"),
    ),
    (
        "patient",
        "List the drugs for Winter Hand with their frequencies",
        Wording("list", "Winter Hand", attribute="drugs"),
    ),
)
COMPARISONS: tuple[tuple[str, str, Wording], ...] = (
    (
        "patient",
        "Is fever more common among patients with Winter Hand than with Summer Foot?",
        Wording("compare", condition="fever", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "",
        "Compare Winter Hand and Summer Foot by treatment",
        Wording("compare", attribute="treatment", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "",
        "How does the share of fever differ between Winter Hand and Summer Foot?",
        Wording("compare", condition="fever", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "patient",
        "Are men more often allergic to dust than women?",
        Wording("compare", condition="allergic to dust", groups=("men", "women")),
    ),
    (
        "patient",
        "compare patients with Glass Knee and patients with Red Echo by age",
        Wording("compare", attribute="age", groups=("Glass Knee", "Red Echo")),
    ),
    (
        "patient",
        "Is Winter Hand more common than Summer Foot?",
        Wording("compare", groups=("Winter Hand", "Summer Foot")),
    ),
    ("patient", "Fever in men vs. women", Wording("compare", condition="Fever", groups=("men", "women"))),
    (
        "patient",
        "Is the median age higher for Winter Hand than for Summer Foot?",
        Wording("compare", attribute="age", groups=("Winter Hand", "Summer Foot"), statistic="median"),
    ),
    (
        "patient",
        "Do patients with Glass Knee fall more often than patients with Feather Bone?",
        Wording("compare", condition="fall", groups=("Glass Knee", "Feather Bone")),
    ),
    (
        "customer",
        "Are customers with a mortgage more likely to default than customers with a credit card?",
        Wording("compare", condition="default", groups=("mortgage", "credit card")),
    ),
    (
        "customer",
        "What is the difference in the share of late payments between Leeds and York?",
        Wording("compare", condition="late payments", groups=("Leeds", "York")),
    ),
    (
        "customer",
        "COMPARE LEEDS, YORK AND BATH BY BRANCH!",
        Wording("compare", attribute="BRANCH", groups=("LEEDS", "YORK", "BATH")),
    ),
    ("customer", "Is card fraud or phishing more frequent?", Wording("compare", groups=("card fraud", "phishing"))),
    (
        "client",
        "Which is more frequent: mediation or litigation?",
        Wording("compare", groups=("mediation", "litigation")),
    ),
    (
        "client",
        "How do tenants and landlords differ in legal costs?",
        Wording("compare", attribute="legal costs", groups=("tenants", "landlords")),
    ),
    (
        "client",
        "Compare the share of settlements between tenants and landlords",
        Wording("compare", condition="settlements", groups=("tenants", "landlords")),
    ),
    (
        "client",
        "Are appeals less frequent in clients with a settlement than in clients without a settlement?",
        Wording("compare", condition="appeals", groups=("settlement", "without settlement")),
    ),
    (
        "customer",
        "Are complaints more common in Leeds or in York?",
        Wording("compare", condition="complaints", groups=("Leeds", "York")),
    ),
    (
        "patient",
        "How much more common is fever in men than in women?",
        Wording("compare", condition="fever", groups=("men", "women")),
    ),
    (
        "patient",
        "Winter Hand vs Summer Foot by age",
        Wording("compare", attribute="age", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "patient",
        "Who has fever more often, men or women?",
        Wording("compare", condition="fever", groups=("men", "women")),
    ),
    (
        "patient",
        "Compare patients in ward 3 with patients in ward 5 in terms of length of stay",
        Wording("compare", attribute="length of stay", groups=("ward 3", "ward 5")),
    ),
    (
        "patient",
        "Do older patients fall more often than younger patients?",
        Wording("compare", condition="fall", groups=("older", "younger")),
    ),
)
TRENDS: tuple[tuple[str, str, Wording], ...] = (
    (
        "",
        "Has Winter Hand become more frequent since March 2024?",
        Wording("trend", condition="Winter Hand", since="2024-03"),
    ),
    ("", "How many cases of Winter Hand by month?", Wording("trend", condition="Winter Hand", by="month")),
    ("", "Fever per year", Wording("trend", condition="Fever", by="year")),
    (
        "patient",
        "How many patients with Glass Knee had fever per quarter since 2020-01-15?",
        Wording("trend", "Glass Knee", "fever", by="quarter", since="2020-01-15"),
    ),
    ("patient", "Is Copper Lung getting more common?", Wording("trend", condition="Copper Lung")),
    ("patient", "How has the share of patients with fever changed over time?", Wording("trend", condition="fever")),
    ("patient", "What share of patients had falls in each ward?", Wording("trend", condition="falls", by="ward")),
    ("patient", "monthly number of patients with Marsh fever", Wording("trend", condition="Marsh fever", by="month")),
    (
        "patient",
        "Have infections increased since 1 May 2023?",
        Wording("trend", condition="infections", since="2023-05-01"),
    ),
    ("patient", "How many patients by ward?", Wording("trend", by="ward")),
    (
        "customer",
        "Number of  customers with an overdraft , by branch",
        Wording("trend", condition="overdraft", by="branch"),
    ),
    ("customer", "HAS PHISHING BECOME LESS COMMON?", Wording("trend", condition="PHISHING")),
    (
        "customer",
        "Are complaints about fees on the rise since 2022?",
        Wording("trend", condition="complaints about fees", since="2022"),
    ),
    ("client", "Show me the trend of arbitration over the years", Wording("trend", condition="arbitration", by="year")),
    (
        "client",
        "How did the number of appeals develop since 31.12.2019?",
        Wording("trend", condition="appeals", since="2019-12-31"),
    ),
    (
        "client",
        "how many clients without a contract per lawyer",
        Wording("trend", condition="contract", by="lawyer", negated=True),
    ),
    (
        "patient",
        "Has fever become more frequent among patients with Winter Hand?",
        Wording("trend", "Winter Hand", "fever"),
    ),
    ("patient", "Are there more cases of Winter Hand than last year?", Wording("trend", condition="Winter Hand")),
    ("patient", "How many falls were there each month?", Wording("trend", condition="falls", by="month")),
    ("patient", "Trend of the median age", Wording("trend", attribute="age", statistic="median")),
)
TYPICAL: tuple[tuple[str, str, Wording], ...] = (
    (
        "patient",
        "What is the average age of patients with Winter Hand?",
        Wording("typical", "Winter Hand", attribute="age", statistic="mean"),
    ),
    ("patient", "How old are patients with Winter Hand typically?", Wording("typical", "Winter Hand", attribute="age")),
    ("", "median length of stay", Wording("typical", attribute="length of stay", statistic="median")),
    ("", "quartiles of the price", Wording("typical", attribute="price", statistic="quartiles")),
    ("patient", "What is the medain age?", Wording("typical", attribute="age", statistic="median")),
    (
        "patient",
        "How long do patients with Clock Sleep stay on average?",
        Wording("typical", "Clock Sleep", attribute="stay", statistic="mean"),
    ),
    ("patient", "How old are the patients?", Wording("typical", attribute="age")),
    (
        "patient",
        "On average, how old are women with Glass Knee?",
        Wording("typical", "women with Glass Knee", attribute="age", statistic="mean"),
    ),
    (
        "patient",
        "How long is the stay of patients with Red Echo usually?",
        Wording("typical", "Red Echo", attribute="stay"),
    ),
    (
        "patient",
        "WHAT IS THE MEDIAN AGE OF PATIENTS WITH GLASS KNEE",
        Wording("typical", "GLASS KNEE", attribute="AGE", statistic="median"),
    ),
    (
        "customer",
        "What is the range of the balance of customers with an overdraft?",
        Wording("typical", "overdraft", attribute="balance", statistic="range"),
    ),
    (
        "customer",
        "average fee for customers without a salary account",
        Wording("typical", "without salary account", attribute="fee", statistic="mean"),
    ),
    ("customer", "What's the typical loan amount?", Wording("typical", attribute="loan amount")),
    ("customer", "How much do customers pay on average?", Wording("typical", attribute="pay", statistic="mean")),
    (
        "client",
        "Quartiles of the fee for clients with an appeal?",
        Wording("typical", "appeal", attribute="fee", statistic="quartiles"),
    ),
    ("client", "What is the mean fee by lawyer?", Wording("typical", attribute="fee", by="lawyer", statistic="mean")),
    ("patient", "How old is the average patient?", Wording("typical", attribute="age", statistic="mean")),
    (
        "patient",
        "What's the median waiting time in ward 3?",
        Wording("typical", "ward 3", attribute="waiting time", statistic="median"),
    ),
    (
        "customer",
        "How much does a customer with a mortgage pay on average?",
        Wording("typical", "mortgage", attribute="pay", statistic="mean"),
    ),
)
FACTS = (
    "What is the treatment for Zonkitis?",
    "How many days must Blerpox be taken?",
    "How many times a day is Blerpox taken?",
    "How long does Zonkitis last?",
    "How long is the stay of patients with Zonkitis?",
    "What is the heart rate of patients with Zonkitis?",
    "How often should patients take Zibber Drops?",
    "How often do patients with Zonkitis take Blerpox?",
    "What is the most common treatment of Zonkitis?",
    "Which disease is more than a cold?",
    "What does a month of Blerpox cost per year?",
    "What is the dose per month?",
    "How old is Dr Keller?",
    "How many of them have a fever?",
    "Has it become more frequent?",
    "Compare my patients.",
    "Do most patients with Zonkitis have a fever?",
    "Is Zonkitis treated with Blerpox or with Flarglepox?",
    "What is the average lifespan of a basset hound?",
    "How common is it?",
    "What is the difference between Zonkitis and Burpdynia?",
    "How many tablets of Blerpox are needed?",
    "how many episodes are there in the first season?",
    "Does the treatment change after a month?",
    "Why has Zonkitis become more frequent?",
    "When did falls become more frequent?",
    "What was the course of Marsh Fever in 2020?",
    "Has the treatment of Zonkitis changed since 2020?",
    "How often should patients get an MRI?",
    "Which diagnosis does the rash belong to?",
    "Blerpox 3 times per month",
    "What is the average number of visits per patient?",
    "What is the average income in California?",
    "",
    "?",
)


DIFFERENCES: tuple[tuple[str, str, Wording], ...] = (
    ("patient", "How many more patients have fever than chills?", Wording("difference", groups=("fever", "chills"))),
    (
        "patient",
        "How many more patients have Winter Hand than have Glass Knee?",
        Wording("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "How many more patients with Winter Hand have numb thumbs than a weak grip?",
        Wording("difference", "Winter Hand", groups=("numb thumbs", "weak grip")),
    ),
    (
        "patient",
        "How many fewer patients have Winter Hand than Glass Knee?",
        Wording("difference", groups=("Glass Knee", "Winter Hand")),
    ),
    (
        "patient",
        "How many more patients with Winter Hand than with Glass Knee are there?",
        Wording("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "How many more cases of Winter Hand are there than cases of Glass Knee?",
        Wording("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "Are there more patients with Winter Hand than with Glass Knee?",
        Wording("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "Do more patients have Winter Hand than Glass Knee?",
        Wording("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "What is the difference between the number of patients with Winter Hand and the number of patients with fever?",
        Wording("difference", groups=("Winter Hand", "fever")),
    ),
    (
        "patient",
        "What's the difference in the number of patients with Winter Hand and Glass Knee?",
        Wording("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    ("", "how many mroe patients have fever than chills ?!", Wording("difference", groups=("fever", "chills"))),
    (
        "customer",
        "How many more customers have a loan than a savings account?",
        Wording("difference", groups=("loan", "savings account")),
    ),
    ("client", "How many more letters mention rent than wages?", Wording("difference", groups=("rent", "wages"))),
    (
        "patient",
        "How many more patients were treated with warm oil than with cold tea?",
        Wording("difference", groups=("warm oil", "cold tea")),
    ),
)

NEGATIONS: tuple[tuple[str, str, Wording], ...] = (
    (
        "patient",
        "How many patients with Winter Hand do NOT have numb thumbs?",
        Wording("count", "Winter Hand", "numb thumbs", negated=True),
    ),
    (
        "patient",
        "How many of the patients with Winter Hand lack numb thumbs?",
        Wording("count", "Winter Hand", "numb thumbs", negated=True),
    ),
    (
        "patient",
        "What percentage of patients with Winter Hand are without numb thumbs?",
        Wording("share", "Winter Hand", "numb thumbs", negated=True),
    ),
)
