"""Wordings of requests in German, French and Spanish, each with its parts."""

from dataclasses import replace

from discreet.query.requests import Wording

COUNT = Wording("count", condition="Winter Hand")
SHARE = Wording("share", "Winter Hand", "{c}")
COMPARE = Wording("compare", condition="{c}", groups=("Winter Hand", "Glass Knee"))
LIST = Wording("list", "Winter Hand", attribute="symptoms")
TREND = Wording("trend", condition="Winter Hand", by="month")
AGE = Wording("typical", "Winter Hand", attribute="age", statistic="mean")

_DE: tuple[tuple[str, Wording], ...] = (
    ("Wie viele Patienten haben Winter Hand?", COUNT),
    ("Wieviele Patientinnen leiden an Winter Hand?", COUNT),
    ("Wie viele Patienten mit Winter Hand gibt es?", COUNT),
    ("Wie viele Patienten gibt es mit Winter Hand?", COUNT),
    ("Bei wie vielen Patienten wurde Winter Hand diagnostiziert?", COUNT),
    ("In wie vielen Notizen wird Winter Hand erwähnt?", COUNT),
    ("Wie hoch ist die Zahl der Patienten mit Winter Hand?", COUNT),
    ("Zähle die Patienten mit Winter Hand.", COUNT),
    ("Wie viele Patienten haben kein Fieber?", Wording("count", condition="Fieber", negated=True)),
    ("Anzahl der Patienten ohne Fieber", Wording("count", condition="Fieber", negated=True)),
    ("Wie viele Patienten gibt es?", Wording("count")),
    ("Wie viele Patienten mit Winter Hand haben taube Daumen?", Wording("count", "Winter Hand", "taube Daumen")),
    ("Wie viele Patienten ohne Fieber klagen über Schmerzen?", Wording("count", "ohne Fieber", "Schmerzen")),
    ("Wie viele Patienten haben seit 2024 Winter Hand?", replace(COUNT, since="2024")),
    ("Welcher Anteil der Patienten mit Winter Hand hat {c}?", SHARE),
    ("Wie hoch ist der Anteil der Patienten mit Winter Hand, die {c} haben?", SHARE),
    ("Wie viel Prozent der Patienten mit Winter Hand haben {c}?", SHARE),
    ("Wie oft haben Patienten {c}?", Wording("share", condition="{c}")),
    ("Wie häufig kommt {c} bei Winter Hand vor?", SHARE),
    ("Zahl der Patienten mit Winter Hand, die {c} haben", Wording("count", "Winter Hand", "{c}")),
    ("Wie häufig ist {c} bei Winter Hand?", SHARE),
    ("Wie oft wird {c} bei Patienten mit Winter Hand festgestellt?", SHARE),
    ("Wie häufig ist Winter Hand?", Wording("share", condition="Winter Hand")),
    ("Was sind die häufigsten Symptome von Winter Hand?", LIST),
    ("Welche Symptome haben Patienten mit Winter Hand?", LIST),
    ("Welche Symptome treten bei Winter Hand auf?", LIST),
    ("Nenne die Symptome von Winter Hand.", LIST),
    ("Welche Symptome sind bei Winter Hand am häufigsten?", LIST),
    ("Die häufigsten Symptome bei Patienten mit Winter Hand, bitte", LIST),
    ("Ist {c} bei Winter Hand häufiger als bei Glass Knee?", COMPARE),
    ("Ist {c} häufiger bei Winter Hand als bei Glass Knee?", COMPARE),
    ("Tritt {c} bei Winter Hand häufiger auf als bei Glass Knee?", COMPARE),
    ("Haben Patienten mit Winter Hand häufiger {c} als Patienten mit Glass Knee?", COMPARE),
    ("Vergleiche den Anteil von {c} bei Winter Hand und Glass Knee.", COMPARE),
    ("Wie unterscheidet sich der Anteil von {c} zwischen Winter Hand und Glass Knee?", COMPARE),
    ("Wie viele Patienten haben Winter Hand pro Monat?", TREND),
    ("Wie viele Patienten mit Winter Hand gibt es nach Monaten?", TREND),
    ("Zahl der Patienten mit Winter Hand je Monat", TREND),
    ("Wie hat sich die Zahl der Patienten mit Winter Hand entwickelt?", replace(TREND, by="")),
    ("Hat Winter Hand seit März 2024 zugenommen?", replace(TREND, by="", since="2024-03")),
    ("Wird Winter Hand häufiger?", replace(TREND, by="")),
    ("Wie alt sind Patienten mit Winter Hand im Durchschnitt?", AGE),
    ("Wie alt sind im Durchschnitt die Patienten mit Winter Hand?", AGE),
    ("Was ist das Durchschnittsalter der Patienten mit Winter Hand?", AGE),
    ("Wie hoch ist das mittlere Alter der Patienten mit Winter Hand?", AGE),
    ("Was ist das Medianalter der Patienten mit Winter Hand?", replace(AGE, statistic="median")),
    ("Was ist der Median des Alters der Patienten mit Winter Hand?", replace(AGE, statistic="median")),
)
_FR: tuple[tuple[str, Wording], ...] = (
    ("Combien de patients ont Winter Hand ?", COUNT),
    ("Combien de patients souffrent de Winter Hand ?", COUNT),
    ("Combien y a-t-il de patients avec Winter Hand ?", COUNT),
    ("Quel est le nombre de patients atteints de Winter Hand ?", COUNT),
    ("Chez combien de patients a-t-on diagnostiqué Winter Hand ?", COUNT),
    ("Comptez les patients avec Winter Hand.", COUNT),
    ("Combien de patients n'ont pas de fièvre ?", Wording("count", condition="fièvre", negated=True)),
    ("Nombre de patients sans fièvre", Wording("count", condition="fièvre", negated=True)),
    ("Combien de patients avec Winter Hand ont de la fièvre ?", Wording("count", "Winter Hand", "fièvre")),
    ("Combien de patients ont Winter Hand depuis 2024 ?", replace(COUNT, since="2024")),
    ("Quelle proportion des patients avec Winter Hand ont {c} ?", SHARE),
    ("Quel pourcentage de patients atteints de Winter Hand présente {c} ?", SHARE),
    ("À quelle fréquence les patients avec Winter Hand ont-ils {c} ?", SHARE),
    ("Quelle est la fréquence de {c} chez les patients avec Winter Hand ?", SHARE),
    ("Quelle est la part des patients avec Winter Hand qui ont {c} ?", SHARE),
    ("Nombre de patients avec Winter Hand qui ont {c}", Wording("count", "Winter Hand", "{c}")),
    ("Quelle est la prévalence de Winter Hand ?", Wording("share", condition="Winter Hand")),
    ("Quels sont les symptômes les plus fréquents de Winter Hand ?", LIST),
    ("Quels symptômes ont les patients avec Winter Hand ?", LIST),
    ("Quels sont les symptômes de Winter Hand ?", LIST),
    ("Énumérez les symptômes de Winter Hand.", LIST),
    ("Les symptômes les plus courants chez les patients atteints de Winter Hand", LIST),
    ("{c} est-elle plus fréquente avec Winter Hand qu'avec Glass Knee ?", COMPARE),
    (
        "Est-ce que {c} est plus fréquent chez les patients avec Winter Hand que chez les patients avec Glass Knee ?",
        COMPARE,
    ),
    ("Les patients avec Winter Hand ont-ils plus souvent {c} que ceux avec Glass Knee ?", COMPARE),
    ("Compare la proportion de {c} entre Winter Hand et Glass Knee.", COMPARE),
    ("Comment la fréquence de {c} diffère-t-elle entre Winter Hand et Glass Knee ?", COMPARE),
    ("Combien de patients ont Winter Hand par mois ?", TREND),
    ("Combien de patients par mois ont Winter Hand ?", TREND),
    ("Nombre de patients avec Winter Hand chaque mois", TREND),
    ("Comment le nombre de patients avec Winter Hand a-t-il évolué ?", replace(TREND, by="")),
    ("Winter Hand a-t-elle augmenté depuis mars 2024 ?", replace(TREND, by="", since="2024-03")),
    ("Quel est l'âge moyen des patients avec Winter Hand ?", AGE),
    ("Quel âge ont en moyenne les patients avec Winter Hand ?", AGE),
    ("Quel âge ont les patients atteints de Winter Hand en moyenne ?", AGE),
    ("Âge moyen des patients avec Winter Hand", AGE),
    ("Quelle est la médiane de l'âge des patients avec Winter Hand ?", replace(AGE, statistic="median")),
)
_ES: tuple[tuple[str, Wording], ...] = (
    ("¿Cuántos pacientes tienen Winter Hand?", COUNT),
    ("¿Cuántas personas padecen Winter Hand?", COUNT),
    ("¿Cuántos pacientes hay con Winter Hand?", COUNT),
    ("¿Cuál es el número de pacientes con Winter Hand?", COUNT),
    ("¿En cuántos pacientes se diagnosticó Winter Hand?", COUNT),
    ("Cuenta los pacientes con Winter Hand.", COUNT),
    ("¿Cuántos pacientes no tienen fiebre?", Wording("count", condition="fiebre", negated=True)),
    ("Número de pacientes sin fiebre", Wording("count", condition="fiebre", negated=True)),
    ("¿Cuántos pacientes con Winter Hand tienen fiebre?", Wording("count", "Winter Hand", "fiebre")),
    ("¿Cuántos pacientes tienen Winter Hand desde 2024?", replace(COUNT, since="2024")),
    ("¿Qué proporción de los pacientes con Winter Hand tiene {c}?", SHARE),
    ("¿Qué porcentaje de pacientes con Winter Hand presentan {c}?", SHARE),
    ("¿Con qué frecuencia tienen {c} los pacientes con Winter Hand?", SHARE),
    ("¿Con qué frecuencia los pacientes con Winter Hand tienen {c}?", SHARE),
    ("¿Cuál es la frecuencia de {c} en los pacientes con Winter Hand?", SHARE),
    ("Número de pacientes con Winter Hand que tienen {c}", Wording("count", "Winter Hand", "{c}")),
    ("¿Cuál es la prevalencia de Winter Hand?", Wording("share", condition="Winter Hand")),
    ("¿Cuáles son los síntomas más frecuentes de Winter Hand?", LIST),
    ("¿Qué síntomas tienen los pacientes con Winter Hand?", LIST),
    ("¿Cuáles son los síntomas de Winter Hand?", LIST),
    ("Enumera los síntomas de Winter Hand.", LIST),
    ("Los síntomas más comunes en los pacientes con Winter Hand", LIST),
    ("¿Es más frecuente {c} con Winter Hand que con Glass Knee?", COMPARE),
    ("¿Es {c} más frecuente en pacientes con Winter Hand que en pacientes con Glass Knee?", COMPARE),
    ("¿Tienen {c} los pacientes con Winter Hand más a menudo que los pacientes con Glass Knee?", COMPARE),
    ("Compara la proporción de {c} entre Winter Hand y Glass Knee.", COMPARE),
    ("¿Cómo difiere la frecuencia de {c} entre Winter Hand y Glass Knee?", COMPARE),
    ("¿Cuántos pacientes tienen Winter Hand por mes?", TREND),
    ("¿Cuántos pacientes con Winter Hand hay cada mes?", TREND),
    ("Número de pacientes con Winter Hand por mes", TREND),
    ("¿Cómo ha evolucionado el número de pacientes con Winter Hand?", replace(TREND, by="")),
    ("¿Ha aumentado Winter Hand desde marzo 2024?", replace(TREND, by="", since="2024-03")),
    ("¿Cuál es la edad media de los pacientes con Winter Hand?", AGE),
    ("¿Qué edad tienen de media los pacientes con Winter Hand?", AGE),
    ("¿Qué edad tienen los pacientes con Winter Hand en promedio?", AGE),
    ("Edad promedio de los pacientes con Winter Hand", AGE),
    ("¿Cuál es la mediana de la edad de los pacientes con Winter Hand?", replace(AGE, statistic="median")),
)
_CONDITIONS = {"de": "Fieber", "fr": "fièvre", "es": "fiebre"}


def _worded(language: str, wordings: tuple[tuple[str, Wording], ...]) -> list[tuple[str, str, Wording]]:
    thing = _CONDITIONS[language]
    return [
        (language, text.format(c=thing), replace(wanted, condition=wanted.condition.format(c=thing), language=language))
        for text, wanted in wordings
    ]


FOREIGN = [*_worded("de", _DE), *_worded("fr", _FR), *_worded("es", _ES)]
NONE = (
    "Welche Behandlung gibt es bei Zonkitis?",
    "Welcher Patient hat Winter Hand?",
    "Wer hat Winter Hand?",
    "Wie viele Patienten haben mehr als drei Symptome?",
    "Wie viele Patienten haben es?",
    "Wie oft haben Patienten mit Winter Hand Fieber?",  # where does the name end?
    "Wie viele Tabletten nimmt man am Tag?",
    "Wie wird Winter Hand behandelt?",
    "Hat Frau Lind Fieber?",
    "Quel est le traitement de Winter Hand ?",
    "Quel patient a Winter Hand ?",
    "Combien de patients en ont plus de trois ?",
    "Combien de comprimés par jour ?",
    "Comment soigne-t-on Winter Hand ?",
    "¿Cuál es el tratamiento de Winter Hand?",
    "¿Qué paciente tiene Winter Hand?",
    "¿Cuántos pacientes tienen más de tres síntomas?",
    "¿Cuántas pastillas al día?",
    "¿Quién tiene Winter Hand?",
    "¿Cómo se trata Winter Hand?",
)
"""Questions for a fact or a person, and such that no rule may read."""
