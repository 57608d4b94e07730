"""Wordings for `accuracy wordings`: of the documentation, and such as were written before the rules were read.

`PLAIN` wordings are those of the documentation, or near to them. `HELD_OUT` wordings are what an analyst says: in lower
case, without a question mark, clumsy or polite. They were committed before the rules of `discreet.query` were read, and
did not change afterwards; the rules were then mended for them. `FURTHER` wordings were committed before the rules were
mended, by an author who had read the rules. Two of them counted another thing, and the rules were mended for these
("seen more often in", "compared with"). For the others no rule was mended.

{d}, {e} are diseases, {s}, {r} symptoms, {t}, {u} treatments, {a}, {b}, {c} symptoms of one disease.
"""

Wordings = dict[str, tuple[str, ...]]
"""The wordings of each kind."""

PLAIN: Wordings = {
    "name": (
        "What is the treatment for {d}?",
        "Which treatment do patients with {d} get?",
        "How is {d} treated?",
    ),
    "diagnosis": (
        "I have {a}, {b} and {c}. What is the disease?",
        "Which disease has the symptoms {a}, {b} and {c}?",
    ),
    "choice": (
        "Is {d} treated with {t} or with {u}?",
        "Which is used to treat {d}, {t} or {u}?",
    ),
    "yes/no": (
        "Is {t} used to treat {d}?",
        "Is {d} treated with {t}?",
        "Are patients with {d} given {t}?",
    ),
    "count": (
        "How many patients have {d}?",
        "What is the number of patients with {d}?",
        "Count the patients with {d}.",
    ),
    "share": (
        "What share of patients with {d} have {s}?",
        "What percentage of patients with {d} report {s}?",
        "How often do patients with {d} have {s}?",
    ),
    "comparison": (
        "Is {s} more common with {d} than with {e}?",
        "How does the share of {s} differ between {d} and {e}?",
        "Do patients with {d} have {s} more often than patients with {e}?",
    ),
    "difference": (
        "How many more patients have {s} than {r}?",
        "How many more patients have {s} than have {r}?",
    ),
    "list": (
        "What are the most common symptoms of {d}?",
        "List the symptoms of {d}.",
        "Which symptoms do patients with {d} have?",
    ),
    "top n": (
        "What are the 3 most common symptoms of {d}?",
        "Top 3 symptoms of {d}",
        "List the three most common symptoms of {d}.",
    ),
    "trend": (
        "How many patients with {d} were there by month?",
        "How did the number of patients with {d} change by month?",
    ),
    "typical number": (
        "What is the median age of patients with {d}?",
        "What is the mean age of patients with {d}?",
    ),
    "summary": (
        "Summarise what the notes say about {d}.",
        "Give an overview of what is known about {d}.",
    ),
}
HELD_OUT: Wordings = {
    "name": (
        "how do we usually treat {d}",
        "Could you please tell me what is given for {d}?",
        "what do our patients take against {d}",
        "I'd like to know how {d} gets treated here",
        "treatment of {d}?",
        "{d}: what's the therapy",
        "What would a doctor here prescribe to someone with {d}?",
        "And what helps with {d}, according to the notes?",
    ),
    "diagnosis": (
        "what could it be if someone has {a}, {b} and {c}",
        "A patient has {a}, {b} and {c} - what's the diagnosis?",
        "Please tell me which illness {a}, {b} and {c} point to.",
        "what is wrong with a patient who has {a}, {b} and {c}",
        "{a}, {b}, {c}: which disease?",
    ),
    "choice": (
        "is it {t} or {u} that we give for {d}",
        "Do we treat {d} with {t} or {u}?",
        "{t} or {u} for {d}?",
        "Which one is used for {d}: {t} or {u}?",
        "Please tell me whether {d} is treated with {t} or {u}.",
        "For {d}, do doctors go for {t} or rather for {u}?",
        "what do patients with {d} get, {t} or {u}",
    ),
    "yes/no": (
        "do we give {t} for {d}",
        "{t} is given for {d}, right?",
        "Can you tell me if {d} is treated with {t}?",
        "Would {t} be what patients with {d} get?",
        "Am I right that {d} is treated with {t}?",
        "is {t} the usual therapy in {d} cases",
        "Do the notes say that {t} helps against {d}?",
        "I think {t} is the treatment for {d}. Is that true?",
    ),
    "count": (
        "how many cases of {d} do we have",
        "Can you tell me how many of our patients suffer from {d}?",
        "number of {d} patients",
        "I need the number of people with {d} please",
        "how many people came in with {d}",
        "Please count everyone with {d}.",
        "How big is the group of patients with {d}?",
        "total patients diagnosed with {d}?",
        "how many have got {d}",
    ),
    "share": (
        "what percent of {d} patients have {s}",
        "Out of all patients with {d}, how many percent have {s}?",
        "how frequent is {s} among patients with {d}",
        "Could you tell me the percentage of {d} patients who have {s}?",
        "How common is {s} in patients with {d}?",
        "what part of the people with {d} also have {s}",
        "of those with {d}, what fraction has {s}?",
        "How likely is {s} in a patient with {d}?",
        "roughly what proportion of our {d} patients report {s}",
    ),
    "comparison": (
        "is {s} more frequent in {d} or in {e}",
        "Compare how common {s} is in {d} and in {e}.",
        "who has {s} more often, patients with {d} or patients with {e}?",
        "Does {s} show up more with {d} or with {e}?",
        "Please compare {d} and {e} with regard to {s}.",
        "{s}: {d} vs {e}",
        "Is {s} rarer in {e} than in {d}?",
        "how does {d} compare to {e} when it comes to {s}",
    ),
    "difference": (
        "what is the difference between the number of patients with {s} and with {r}",
        "how many fewer patients have {r} than {s}",
        "By how many patients does {s} exceed {r}?",
        "Are there more patients with {s} than with {r}, and by how many?",
        "How much bigger is the group with {s} than the group with {r}?",
        "how many more people report {s} compared to {r}",
    ),
    "list": (
        "which symptoms do {d} patients have",
        "Can you give me the symptoms of {d}?",
        "what do patients with {d} usually complain about",
        "symptoms of {d}",
        "What are the signs of {d}?",
        "please list everything patients with {d} report",
        "How does {d} show itself?",
        "What symptoms should I expect in a patient with {d}?",
        "tell me the typical symptoms in {d}",
        "I want a list of symptoms for {d}.",
    ),
    "top n": (
        "which three symptoms are most frequent in {d}",
        "give me the three main symptoms of {d} please",
        "the 3 symptoms patients with {d} have most often",
        "Name the three symptoms that come up most with {d}.",
        "What are the three leading complaints in {d}?",
        "three commonest symptoms of {d}?",
    ),
    "trend": (
        "how did the number of patients with {d} develop over the months",
        "{d} cases per month",
        "Show me the monthly number of patients with {d}.",
        "how has {d} changed over time",
        "Is {d} getting more frequent?",
        "Did the number of {d} cases go up during 2025?",
        "number of {d} patients month by month please",
        "Plot {d} over time.",
    ),
    "typical number": (
        "how old are patients with {d}",
        "How old is the typical patient with {d}?",
        "average age {d}",
        "What age are people with {d} on average?",
        "typical age of the {d} patients",
        "around what age do patients have {d}",
        "Can you tell me the usual age of someone with {d}?",
        "at what age do people usually get {d}",
        "Please give the mean age in the {d} group.",
    ),
    "summary": (
        "what do the notes say about {d}",
        "tell me about {d}",
        "short summary on {d} please",
        "What is known about {d} here?",
        "Sum up our {d} cases.",
        "I need a brief overview of the patients with {d}.",
        "What should I know about {d}?",
        "describe the {d} patients",
    ),
}
FURTHER: Wordings = {
    "name": (
        "what's used to treat {d}",
        "Do we have a standard treatment for {d}, and what is it?",
        "which therapy works for {d} in our patients",
        "Someone has {d}. What should they be given?",
        "{d} treatment please",
    ),
    "diagnosis": (
        "Patients with {a}, {b} and {c}: what do they have?",
        "name the disease behind {a}, {b} and {c}",
        "Which condition goes with {a}, {b} and {c}?",
        "if I see {a}, {b} and {c}, what should I think of",
        "What causes {a}, {b} and {c}?",
    ),
    "choice": (
        "{d} - {t} or {u}?",
        "would you give {t} or {u} to a patient with {d}",
        "Is the therapy for {d} {t} or is it {u}?",
        "Did patients with {d} receive {t} or {u}?",
        "Between {t} and {u}, which one treats {d}?",
    ),
    "yes/no": (
        "so {t} is for {d}?",
        "Is it true that {d} is treated with {t}?",
        "Could you check whether {t} is used against {d}?",
        "do {d} patients get {t}",
        "Is {t} really given to people who have {d}?",
    ),
    "count": (
        "how many {d} patients are there",
        "Give me the count of patients with {d}.",
        "How many persons were found to have {d}?",
        "what number of patients has {d}",
        "I'm looking for the number of cases with {d}.",
    ),
    "share": (
        "what's the rate of {s} in {d} patients",
        "In {d}, what share of patients has {s}?",
        "How many percent of the patients with {d} have {s}?",
        "how often does {s} occur in patients with {d}",
        "proportion of {d} patients with {s}?",
    ),
    "comparison": (
        "is {s} seen more often in {d} than in {e}",
        "Which has more {s}, {d} or {e}?",
        "How does {s} differ between {d} and {e}?",
        "compare the frequency of {s} in {d} and {e}",
        "do {d} patients report {s} more than {e} patients",
    ),
    "difference": (
        "how many more have {s} than {r}",
        "What's the difference between the number of people with {s} and those with {r}?",
        "How many more cases of {s} than of {r} are there?",
        "difference in number of patients, {s} minus {r}",
        "How many additional patients have {s} compared with {r}?",
    ),
    "list": (
        "what symptoms come with {d}",
        "Which complaints do people with {d} have?",
        "Show me the symptoms of {d}, please.",
        "common symptoms in {d} patients",
        "what are typical symptoms for {d}",
    ),
    "top n": (
        "what are the top three symptoms in {d}",
        "Which 3 symptoms occur most often in patients with {d}?",
        "Please list the three most frequent symptoms for {d}.",
        "three most common symptoms with {d}",
        "I'd like the 3 most reported symptoms of {d}.",
    ),
    "trend": (
        "how many patients with {d} each month",
        "monthly {d} cases",
        "Show the trend of {d}.",
        "How did {d} cases evolve by month?",
        "are there more and more {d} patients",
    ),
    "typical number": (
        "what's the average age of {d} patients",
        "How old are people who have {d}, on average?",
        "median age with {d}?",
        "Which age is typical for {d}?",
        "I need the mean age of everyone with {d}.",
    ),
    "summary": (
        "summary of {d}",
        "Give me the gist of the notes on {d}.",
        "overview: {d}",
        "Could you summarise {d} for me?",
        "what have we recorded about {d}",
    ),
}
