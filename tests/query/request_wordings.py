"""Wordings of requests by analysts of a hospital, a bank and a law firm, each with its parts."""

from discreet.query.requests import Request

FIELDS = ("ward", "age", "branch", "fee", "length_of_stay", "lawyer")

COUNTS: tuple[tuple[str, str, Request], ...] = (
    ("", "How many patients have Winter Hand?", Request("count", condition="Winter Hand")),
    ("patient", "How many patients with Winter Hand were given cold tea?", Request("count", "Winter Hand", "cold tea")),
    ("", "In how many notes is fever mentioned?", Request("count", condition="fever")),
    ("client", "Number of clients without a contract", Request("count", condition="contract", negated=True)),
    ("patient", "Count the patients treated with warm oil.", Request("count", condition="warm oil")),
    ("patient", "How many patients are there?", Request("count")),
    ("patient", "How many patients are there with swollen toes?", Request("count", condition="swollen toes")),
    ("patient", "how mny patiens have  Zonkitis ?!", Request("count", condition="Zonkitis")),
    ("patient", "HOW MANY PATIENTS HAD CHILLS AT NOON", Request("count", condition="CHILLS AT NOON")),
    ("patient", "How many patients over 60 fell out of bed?", Request("count", "over 60", "fell out of bed")),
    (
        "patient",
        "How many patients with Paper Skin did not recover?",
        Request("count", "Paper Skin", "recover", negated=True),
    ),
    (
        "patient",
        "How many patients with Marsh Fever never had chills?",
        Request("count", "Marsh Fever", "chills", negated=True),
    ),
    (
        "patient",
        "How many patients were admitted since March 2024?",
        Request("count", condition="admitted", since="2024-03"),
    ),
    (
        "patient",
        "Hello, can you tell me how many cases of Red Echo we have seen? Thanks!",
        Request("count", condition="Red Echo"),
    ),
    ("patient", "For how many patients was amber wraps prescribed?", Request("count", condition="amber wraps")),
    ("customer", "How many customers who took out a loan defaulted?", Request("count", "took out a loan", "defaulted")),
    ("customer", "How many female customers hold a savings account?", Request("count", "female", "savings account")),
    (
        "customer",
        "How many customers have no savings account",
        Request("count", condition="savings account", negated=True),
    ),
    ("borrower", "what's the total number of borrowers in arrears?", Request("count", condition="arrears")),
    ("client", "How many of our clients lost their case?", Request("count", condition="lost their case")),
    ("client", "How many letters mention “force majeure”?", Request("count", condition="force majeure")),
    (
        "client",
        "How many clients haven't paid their invoice?",
        Request("count", condition="paid their invoice", negated=True),
    ),
    ("party", "How many parties settled out of court?", Request("count", condition="settled out of court")),
    ("patient", "How many patients had nausea and a headache?", Request("count", condition="nausea and a headache")),
    (
        "employee",
        "How many employees with a company car have filed an expense claim since Q1 2023?",
        Request("count", "company car", "filed an expense claim", since="2023-01"),
    ),
    (
        "patient",
        "How many patients treated by Dr Keller had complications?",
        Request("count", "treated by Dr Keller", "complications"),
    ),
    (
        "patient",
        "How many patients that have Winter Hand also have Summer Foot?",
        Request("count", "Winter Hand", "Summer Foot"),
    ),
    ("patient", "How many patients who smoke have a cough?", Request("count", "smoke", "cough")),
    ("patient", "How many people in the data smoke?", Request("count", condition="smoke")),
    ("client", "How many clients are we suing?", Request("count", condition="suing")),
    ("patient", "Roughly how many patients on metformin have nausea?", Request("count", "metformin", "nausea")),
    ("patient", "How many patients out of those with fever had chills?", Request("count", "fever", "chills")),
    (
        "patient",
        "What's the number of notes with a mention of sepsis?",
        Request("count", condition="mention of sepsis"),
    ),
    ("patient", "How many of the patients admitted in 2023 died?", Request("count", "admitted in 2023", "died")),
)
SHARES: tuple[tuple[str, str, Request], ...] = (
    (
        "patient",
        "What share of patients with Winter Hand had swollen toes?",
        Request("share", "Winter Hand", "swollen toes"),
    ),
    ("patient", "How common is Winter Hand?", Request("share", condition="Winter Hand")),
    (
        "patient",
        "How often do patients with Winter Hand get swollen toes?",
        Request("share", "Winter Hand", "swollen toes"),
    ),
    ("", "What percent of people got cold tea?", Request("share", condition="cold tea")),
    ("patient", "What % of patients with Glass Knee have a limp?", Request("share", "Glass Knee", "limp")),
    ("patient", "what is the proprtion of patients with a weak grip", Request("share", condition="weak grip")),
    (
        "patient",
        "What is the share of pale ears among patients with Paper Skin?",
        Request("share", "Paper Skin", "pale ears"),
    ),
    ("patient", "How often is Zonkitis diagnosed?", Request("share", condition="Zonkitis")),
    (
        "patient",
        "How often are headaches reported in patients with Lantern Eye?",
        Request("share", "Lantern Eye", "headaches"),
    ),
    (
        "patient",
        "Which percentage of the patients was not treated with salt steam?",
        Request("share", condition="salt steam", negated=True),
    ),
    ("patient", "In what share of notes is penicillin mentioned?", Request("share", condition="penicillin")),
    (
        "patient",
        "How high is the percentage of women with Glass Knee who had surgery?",
        Request("share", "women with Glass Knee", "surgery"),
    ),
    (
        "customer",
        "How large is the share of customers without an overdraft?",
        Request("share", condition="overdraft", negated=True),
    ),
    (
        "customer",
        "What fraction of customers in Leeds cancelled their card?",
        Request("share", "Leeds", "cancelled their card"),
    ),
    ("customer", "how frequent is card fraud among customers abroad?", Request("share", "abroad", "card fraud")),
    ("client", "What is the prevalence of late payment?", Request("share", condition="late payment")),
    ("client", "Percentage of clients who lost an appeal", Request("share", condition="lost an appeal")),
    ("client", "How likely are clients with a settlement to return?", Request("share", "settlement", "return")),
    (
        "patient",
        "How common is it for patients with Winter Hand to have numb thumbs?",
        Request("share", "Winter Hand", "numb thumbs"),
    ),
    (
        "customer",
        "How common is it that customers overdraw their account?",
        Request("share", condition="overdraw their account"),
    ),
    ("patient", "Among patients with Winter Hand, what share had fever?", Request("share", "Winter Hand", "fever")),
    (
        "patient",
        "In what percentage of cases does Winter Hand lead to surgery?",
        Request("share", "Winter Hand", "surgery"),
    ),
    ("patient", "How often does fever occur in Winter Hand?", Request("share", "Winter Hand", "fever")),
    ("patient", "Share of women among patients with Winter Hand", Request("share", "Winter Hand", "women")),
)
LISTS: tuple[tuple[str, str, Request], ...] = (
    (
        "patient",
        "What are the most common symptoms of Winter Hand?",
        Request("list", "Winter Hand", attribute="symptoms"),
    ),
    ("", "List the symptoms of Zonkitis.", Request("list", "Zonkitis", attribute="symptoms")),
    (
        "",
        "Which treatments are given for Zonkitis, and how often?",
        Request("list", "Zonkitis", attribute="treatments"),
    ),
    ("", "Top 5 diagnoses", Request("list", attribute="diagnoses", most=5)),
    ("", "Name three symptoms of Zonkitis", Request("list", "Zonkitis", attribute="symptoms", most=3)),
    ("patient", "What do patients complain of most often?", Request("list", attribute="complaints")),
    (
        "patient",
        "What do patients with Red Echo complain about most?",
        Request("list", "Red Echo", attribute="complaints"),
    ),
    ("", "Which symptoms does Zonkitis have?", Request("list", "Zonkitis", attribute="symptoms")),
    ("", "what symptms do patients with zonkitis have", Request("list", "zonkitis", attribute="symptoms")),
    ("patient", "Please give me a list of diseases.", Request("list", attribute="diseases")),
    ("patient", "What are the 10 most frequently prescribed drugs?", Request("list", attribute="drugs", most=10)),
    (
        "patient",
        "Which symptoms are most common in patients with Marsh Fever?",
        Request("list", "Marsh Fever", attribute="symptoms"),
    ),
    (
        "customer",
        "Most common complaints of customers with a mortgage?",
        Request("list", "mortgage", attribute="complaints"),
    ),
    ("customer", "TOP TEN REASONS FOR CHARGEBACKS", Request("list", "CHARGEBACKS", attribute="REASONS", most=10)),
    ("customer", "Which fees are most often disputed?", Request("list", attribute="fees")),
    (
        "client",
        "List the five most common grounds for dismissal",
        Request("list", "dismissal", attribute="grounds", most=5),
    ),
    (
        "client",
        "What are the commonest outcomes of clients with an appeal?",
        Request("list", "appeal", attribute="outcomes"),
    ),
    ("client", "Rank the causes of delay by frequency", Request("list", "delay", attribute="causes")),
    (
        "patient",
        "Which five symptoms are most common in Winter Hand?",
        Request("list", "Winter Hand", attribute="symptoms", most=5),
    ),
    (
        "customer",
        "Which products do customers with a mortgage buy most often?",
        Request("list", "mortgage", attribute="products"),
    ),
    (
        "patient",
        "Which treatments have patients with Winter Hand received, and how often?",
        Request("list", "Winter Hand", attribute="treatments"),
    ),
    ("customer", "What complaints come up most often?", Request("list", attribute="complaints")),
    (
        "patient",
        "What are the side effects of ginger gloves, and how common are they?",
        Request("list", "ginger gloves", attribute="side effects"),
    ),
    ("patient", "Which symptoms are typical of Winter Hand?", Request("list", "Winter Hand", attribute="symptoms")),
    (
        "patient",
        "What are the most frequent reasons for admission among patients over 80?",
        Request("list", "over 80", attribute="reasons for admission"),
    ),
    (
        "patient",
        "List the drugs for Winter Hand with their frequencies",
        Request("list", "Winter Hand", attribute="drugs"),
    ),
)
COMPARISONS: tuple[tuple[str, str, Request], ...] = (
    (
        "patient",
        "Is fever more common among patients with Winter Hand than with Summer Foot?",
        Request("compare", condition="fever", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "",
        "Compare Winter Hand and Summer Foot by treatment",
        Request("compare", attribute="treatment", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "",
        "How does the share of fever differ between Winter Hand and Summer Foot?",
        Request("compare", condition="fever", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "patient",
        "Are men more often allergic to dust than women?",
        Request("compare", condition="allergic to dust", groups=("men", "women")),
    ),
    (
        "patient",
        "compare patients with Glass Knee and patients with Red Echo by age",
        Request("compare", attribute="age", groups=("Glass Knee", "Red Echo")),
    ),
    (
        "patient",
        "Is Winter Hand more common than Summer Foot?",
        Request("compare", groups=("Winter Hand", "Summer Foot")),
    ),
    ("patient", "Fever in men vs. women", Request("compare", condition="Fever", groups=("men", "women"))),
    (
        "patient",
        "Is the median age higher for Winter Hand than for Summer Foot?",
        Request("compare", attribute="age", groups=("Winter Hand", "Summer Foot"), statistic="median"),
    ),
    (
        "patient",
        "Do patients with Glass Knee fall more often than patients with Feather Bone?",
        Request("compare", condition="fall", groups=("Glass Knee", "Feather Bone")),
    ),
    (
        "customer",
        "Are customers with a mortgage more likely to default than customers with a credit card?",
        Request("compare", condition="default", groups=("mortgage", "credit card")),
    ),
    (
        "customer",
        "What is the difference in the share of late payments between Leeds and York?",
        Request("compare", condition="late payments", groups=("Leeds", "York")),
    ),
    (
        "customer",
        "COMPARE LEEDS, YORK AND BATH BY BRANCH!",
        Request("compare", attribute="BRANCH", groups=("LEEDS", "YORK", "BATH")),
    ),
    ("customer", "Is card fraud or phishing more frequent?", Request("compare", groups=("card fraud", "phishing"))),
    (
        "client",
        "Which is more frequent: mediation or litigation?",
        Request("compare", groups=("mediation", "litigation")),
    ),
    (
        "client",
        "How do tenants and landlords differ in legal costs?",
        Request("compare", attribute="legal costs", groups=("tenants", "landlords")),
    ),
    (
        "client",
        "Compare the share of settlements between tenants and landlords",
        Request("compare", condition="settlements", groups=("tenants", "landlords")),
    ),
    (
        "client",
        "Are appeals less frequent in clients with a settlement than in clients without a settlement?",
        Request("compare", condition="appeals", groups=("settlement", "without settlement")),
    ),
    (
        "customer",
        "Are complaints more common in Leeds or in York?",
        Request("compare", condition="complaints", groups=("Leeds", "York")),
    ),
    (
        "patient",
        "How much more common is fever in men than in women?",
        Request("compare", condition="fever", groups=("men", "women")),
    ),
    (
        "patient",
        "Winter Hand vs Summer Foot by age",
        Request("compare", attribute="age", groups=("Winter Hand", "Summer Foot")),
    ),
    (
        "patient",
        "Who has fever more often, men or women?",
        Request("compare", condition="fever", groups=("men", "women")),
    ),
    (
        "patient",
        "Compare patients in ward 3 with patients in ward 5 in terms of length of stay",
        Request("compare", attribute="length of stay", groups=("ward 3", "ward 5")),
    ),
    (
        "patient",
        "Do older patients fall more often than younger patients?",
        Request("compare", condition="fall", groups=("older", "younger")),
    ),
)
TRENDS: tuple[tuple[str, str, Request], ...] = (
    (
        "",
        "Has Winter Hand become more frequent since March 2024?",
        Request("trend", condition="Winter Hand", since="2024-03"),
    ),
    ("", "How many cases of Winter Hand by month?", Request("trend", condition="Winter Hand", by="month")),
    ("", "Fever per year", Request("trend", condition="Fever", by="year")),
    (
        "patient",
        "How many patients with Glass Knee had fever per quarter since 2020-01-15?",
        Request("trend", "Glass Knee", "fever", by="quarter", since="2020-01-15"),
    ),
    ("patient", "Is Copper Lung getting more common?", Request("trend", condition="Copper Lung")),
    ("patient", "How has the share of patients with fever changed over time?", Request("trend", condition="fever")),
    ("patient", "What share of patients had falls in each ward?", Request("trend", condition="falls", by="ward")),
    ("patient", "monthly number of patients with Marsh fever", Request("trend", condition="Marsh fever", by="month")),
    (
        "patient",
        "Have infections increased since 1 May 2023?",
        Request("trend", condition="infections", since="2023-05-01"),
    ),
    ("patient", "How many patients by ward?", Request("trend", by="ward")),
    (
        "customer",
        "Number of  customers with an overdraft , by branch",
        Request("trend", condition="overdraft", by="branch"),
    ),
    ("customer", "HAS PHISHING BECOME LESS COMMON?", Request("trend", condition="PHISHING")),
    (
        "customer",
        "Are complaints about fees on the rise since 2022?",
        Request("trend", condition="complaints about fees", since="2022"),
    ),
    ("client", "Show me the trend of arbitration over the years", Request("trend", condition="arbitration", by="year")),
    (
        "client",
        "How did the number of appeals develop since 31.12.2019?",
        Request("trend", condition="appeals", since="2019-12-31"),
    ),
    (
        "client",
        "how many clients without a contract per lawyer",
        Request("trend", condition="contract", by="lawyer", negated=True),
    ),
    (
        "patient",
        "Has fever become more frequent among patients with Winter Hand?",
        Request("trend", "Winter Hand", "fever"),
    ),
    ("patient", "Are there more cases of Winter Hand than last year?", Request("trend", condition="Winter Hand")),
    ("patient", "How many falls were there each month?", Request("trend", condition="falls", by="month")),
    ("patient", "Trend of the median age", Request("trend", attribute="age", statistic="median")),
)
TYPICAL: tuple[tuple[str, str, Request], ...] = (
    (
        "patient",
        "What is the average age of patients with Winter Hand?",
        Request("typical", "Winter Hand", attribute="age", statistic="mean"),
    ),
    ("patient", "How old are patients with Winter Hand typically?", Request("typical", "Winter Hand", attribute="age")),
    ("", "median length of stay", Request("typical", attribute="length of stay", statistic="median")),
    ("", "quartiles of the price", Request("typical", attribute="price", statistic="quartiles")),
    ("patient", "What is the medain age?", Request("typical", attribute="age", statistic="median")),
    (
        "patient",
        "How long do patients with Clock Sleep stay on average?",
        Request("typical", "Clock Sleep", attribute="stay", statistic="mean"),
    ),
    ("patient", "How old are the patients?", Request("typical", attribute="age")),
    (
        "patient",
        "On average, how old are women with Glass Knee?",
        Request("typical", "women with Glass Knee", attribute="age", statistic="mean"),
    ),
    (
        "patient",
        "How long is the stay of patients with Red Echo usually?",
        Request("typical", "Red Echo", attribute="stay"),
    ),
    (
        "patient",
        "WHAT IS THE MEDIAN AGE OF PATIENTS WITH GLASS KNEE",
        Request("typical", "GLASS KNEE", attribute="AGE", statistic="median"),
    ),
    (
        "customer",
        "What is the range of the balance of customers with an overdraft?",
        Request("typical", "overdraft", attribute="balance", statistic="range"),
    ),
    (
        "customer",
        "average fee for customers without a salary account",
        Request("typical", "without salary account", attribute="fee", statistic="mean"),
    ),
    ("customer", "What's the typical loan amount?", Request("typical", attribute="loan amount")),
    ("customer", "How much do customers pay on average?", Request("typical", attribute="pay", statistic="mean")),
    (
        "client",
        "Quartiles of the fee for clients with an appeal?",
        Request("typical", "appeal", attribute="fee", statistic="quartiles"),
    ),
    ("client", "What is the mean fee by lawyer?", Request("typical", attribute="fee", by="lawyer", statistic="mean")),
    ("patient", "How old is the average patient?", Request("typical", attribute="age", statistic="mean")),
    (
        "patient",
        "What's the median waiting time in ward 3?",
        Request("typical", "ward 3", attribute="waiting time", statistic="median"),
    ),
    (
        "customer",
        "How much does a customer with a mortgage pay on average?",
        Request("typical", "mortgage", attribute="pay", statistic="mean"),
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


DIFFERENCES: tuple[tuple[str, str, Request], ...] = (
    ("patient", "How many more patients have fever than chills?", Request("difference", groups=("fever", "chills"))),
    (
        "patient",
        "How many more patients have Winter Hand than have Glass Knee?",
        Request("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "How many more patients with Winter Hand have numb thumbs than a weak grip?",
        Request("difference", "Winter Hand", groups=("numb thumbs", "weak grip")),
    ),
    (
        "patient",
        "How many fewer patients have Winter Hand than Glass Knee?",
        Request("difference", groups=("Glass Knee", "Winter Hand")),
    ),
    (
        "patient",
        "How many more patients with Winter Hand than with Glass Knee are there?",
        Request("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "How many more cases of Winter Hand are there than cases of Glass Knee?",
        Request("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "Are there more patients with Winter Hand than with Glass Knee?",
        Request("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "Do more patients have Winter Hand than Glass Knee?",
        Request("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    (
        "patient",
        "What is the difference between the number of patients with Winter Hand and the number of patients with fever?",
        Request("difference", groups=("Winter Hand", "fever")),
    ),
    (
        "patient",
        "What's the difference in the number of patients with Winter Hand and Glass Knee?",
        Request("difference", groups=("Winter Hand", "Glass Knee")),
    ),
    ("", "how many mroe patients have fever than chills ?!", Request("difference", groups=("fever", "chills"))),
    (
        "customer",
        "How many more customers have a loan than a savings account?",
        Request("difference", groups=("loan", "savings account")),
    ),
    ("client", "How many more letters mention rent than wages?", Request("difference", groups=("rent", "wages"))),
    (
        "patient",
        "How many more patients were treated with warm oil than with cold tea?",
        Request("difference", groups=("warm oil", "cold tea")),
    ),
)

NEGATIONS: tuple[tuple[str, str, Request], ...] = (
    (
        "patient",
        "How many patients with Winter Hand do NOT have numb thumbs?",
        Request("count", "Winter Hand", "numb thumbs", negated=True),
    ),
    (
        "patient",
        "How many of the patients with Winter Hand lack numb thumbs?",
        Request("count", "Winter Hand", "numb thumbs", negated=True),
    ),
    (
        "patient",
        "What percentage of patients with Winter Hand are without numb thumbs?",
        Request("share", "Winter Hand", "numb thumbs", negated=True),
    ),
)
