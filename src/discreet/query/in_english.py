"""Open questions in German, French and Spanish, made English questions by rules. No model and no document is read.

"Welche Behandlung gibt es bei Winterhand?" makes "What is the treatment for Winterhand?" The packaged model reads
English, and so do the rules for attributes. A subject keeps its words: it is a name, and stands in the texts. So a
question is made only where the rest of it is known, and names a treatment or a symptom. In doubt, none is made.
"""

import re
from functools import lru_cache

from discreet.config import VaultConfig
from discreet.query.languages import is_foreign
from discreet.query.requests import request_of

_TREATMENT = "What is the treatment for {x}?"
_SYMPTOM = "Name one symptom of {x}."
_TREATED = "Is {x} treated with {v}?"
_HELPS = "Does {v} help against {x}?"
_MOST_WORDS = 6
_LONGEST = 300
"""The number of characters of a question, at most. The patterns take long on a longer text, before anything is paid."""
_FLAGS = re.IGNORECASE
_ENDS = " \t\u00a0\u202f?.!,;:\u00bf\u00a1\u2026'\"\u201c\u201d\u201e\u00ab\u00bb"

_FORMS = {
    "de": (
        (
            r"(?:was ist|wie (?:lautet|ist)|nenne(?: mir)?|welches? ist) (?:die|das|eine?|die übliche) "
            r"(?:behandlung|therapie|medikament|heilmittel|mittel) (?:bei|für|gegen|von|der|des) {X}",
            _TREATMENT,
        ),
        (
            r"(?:welche[sn]?|was für eine?) (?:behandlung|therapie|medikamente?|heilmittel|mittel|medizin)(?: "
            r"(?:gibt es|gibt man|hilft|helfen|wird|werden|ist|bekommen|erhalten))?(?: {U})? "
            r"(?:bei|für|gegen|mit) {X}{D}",
            _TREATMENT,
        ),
        (
            r"was (?:hilft|gibt es|gibt man|nimmt man|verschreibt man|verschreiben ärzte|wird) "
            r"(?:bei|gegen|für) {X}{D}",
            _TREATMENT,
        ),
        (r"(?:wie|womit) (?:wird|werden|behandelt man|behandeln ärzte) {X}(?: behandelt)?", _TREATMENT),
        (
            r"(?:nenne?(?: mir)?|was ist|nennen sie(?: mir)?) eine?s? (?:der )?(?:typische[sn]? |häufige[sn]? )?"
            r"(?:symptome?|beschwerden?|anzeichen) (?:von|bei|der|des|für) {X}",
            _SYMPTOM,
        ),
        (r"(?:wird|werden) {X} mit {V} behandelt", _TREATED),
        (r"hilft {V} (?:gegen|bei) {X}", _HELPS),
    ),
    "fr": (
        (
            r"(?:quel(?:le)? est|donnez(?:-moi)?|quels? sont) (?:le|la|un|les) (?:traitements?|thérapies?|remèdes?|"
            r"médicaments?) (?:du|de la|de l'|des|de|d'|pour(?: la| le| l'| les)?|contre(?: la| le| l'| les)?) ?{X}",
            _TREATMENT,
        ),
        (
            r"quel(?:le)?s? (?:traitements?|thérapies?|remèdes?|médicaments?) (?:reçoivent les {U} atteints de|"
            r"(?:est|sont)(?:-il|-elle|-ils)? (?:donnée?s?|prescrite?s?|utilisée?s?|indiquée?s?) (?:contre|pour|en cas "
            r"de)|donne-t-on (?:contre|pour)|pour|contre)(?: la| le| l'| les)? ?{X}",
            _TREATMENT,
        ),
        (
            r"(?:que|qu'est-ce qu'on) (?:prescrit-on|donne-t-on|prescrit|donne) (?:contre|pour|en cas de) {X}",
            _TREATMENT,
        ),
        (r"(?:qu'est-ce qui|qui) aide contre {X}", _TREATMENT),
        (r"comment (?:traite-t-on|soigne-t-on|traiter|soigner) {X}", _TREATMENT),
        (r"comment {X} est-(?:il|elle) (?:traitée?|soignée?)", _TREATMENT),
        (
            r"(?:citez|nommez|donnez|quel est)(?:-moi)? un (?:des )?symptômes?(?: typique| fréquent)? "
            r"(?:du|de la|de l'|des|de|d') ?{X}",
            _SYMPTOM,
        ),
        (r"(?:est-ce que )?{X} est(?:-il|-elle)? (?:traitée?|soignée?) (?:par|avec) {V}", _TREATED),
        (r"(?:est-ce que )?{V} aide(?:-t-il|-t-elle)? contre {X}", _HELPS),
    ),
    "es": (
        (
            r"(?:cuál es|dime|qué es) (?:el|la|un|una) (?:tratamiento|terapia|remedio|medicamento)(?: indicado)? "
            r"(?:del|de la|de|para(?: el| la)?|contra(?: el| la)?) {X}",
            _TREATMENT,
        ),
        (
            r"qué (?:tratamientos?|terapias?|remedios?|medicamentos?)(?: "
            r"(?:se dan?|se recetan?|hay|reciben los {U}|se usan?))? (?:para(?: el| la)?|contra(?: el| la)?|con) {X}",
            _TREATMENT,
        ),
        (r"qué (?:ayuda|se receta|se da|recetan los médicos) (?:contra|para)(?: el| la)? {X}", _TREATMENT),
        (r"cómo se (?:trata|cura) (?:el |la )?{X}", _TREATMENT),
        (
            r"(?:nombra|di|dime|cuál es|cite|nombre) (?:un|uno de los) síntomas?(?: típico| frecuente)? "
            r"(?:del|de la|de) {X}",
            _SYMPTOM,
        ),
        (r"se trata (?:el |la )?{X} con {V}", _TREATED),
        (r"ayuda {V} contra (?:el |la )?{X}", _HELPS),
    ),
}
_PEOPLE = {
    "de": r"(?:(?:die |den |alle )?(?:patient(?:en|innen)?|personen|menschen|leuten?))",
    "fr": r"(?:patiente?s?|personnes|malades)",
    "es": r"(?:pacientes|personas|enfermos)",
}
_DONE = {
    "de": r"(?: (?:gegeben|verordnet|verschrieben|üblich|empfohlen|eingesetzt|verwendet|angezeigt))?",
    "fr": "",
    "es": "",
}
_ARTICLES = {
    "de": r"(?:der|die|das|den|dem|des|eine[rmns]?|ein)\s+",
    "fr": r"(?:le|la|les|une?|du|des)\s+|l'",
    "es": r"(?:el|la|los|las|una?|del)\s+",
}
_POINTING = re.compile(
    r"\b(?:dies\w*|jene\w*|solche\w*|davon|es|sie|ihn|ihm|ce|cet|cette|ces|celle|celui|ça|cela|lui|elle|il|est[ae]s?|"
    r"es[ae]s?|ello|patient\w*|pacientes?|malades?|klient\w*|kund\w*|clientes?|mandant\w*|employé\w*|empleado\w*|"
    r"fräulein|mademoiselle|mlle|m|mr|don|doña|bei|chez|num[eé]ro|número|nummer|ich|mein\w*|mir|mich|mon|ma|mes|mi|mis|"
    r"herrn?|frau|dr|doktor|monsieur|madame|mme|señora?|sra?|und|oder|et|ou|y|o|nicht|kein\w*|ohne|pas|sans|no|sin)\b",
    _FLAGS,
)
"""A pronoun, a person, a denial, or a second subject: no name of what many documents are about."""


def in_english(question: str) -> str:
    """Return the English question that a question in German, French or Spanish makes; "" if the rules make none."""
    if len(question) > _LONGEST:
        return ""
    text = " ".join(question.replace("\u2019", "'").split()).strip(_ENDS)
    for language, forms in _compiled().items():
        for pattern, made in forms:
            found = pattern.fullmatch(text)
            if found and (names := _names(found, language)):
                return made.format(**names)
    return ""


def stand_in(question: str, settings: VaultConfig, language: str) -> str:
    """Return the question that is asked in place of one in another language; the question itself if there is none.

    Args:
        question: the question. One that asks for a statistic is understood in its own language.
        settings: the configuration of the vault.
        language: the code of the language that the model reads; "" for any, so that no question is replaced.
    """
    if language != "en" or request_of(question, settings.unit_field, tuple(settings.fields)):
        return question
    return in_english(question) or question


def _names(found: re.Match[str], language: str) -> dict[str, str]:
    """Return the names in a question; nothing if one of them is no name."""
    names = {part: _bare(said, language) for part, said in found.groupdict().items() if said}
    return names if all(map(_is_name, names.values())) else {}


def _bare(said: str, language: str) -> str:
    people = rf"^{_PEOPLE[language]} (?:mit|avec|con|de|atteints de) "
    return re.sub(rf"^(?:{_ARTICLES[language]})", "", re.sub(people, "", said.strip(_ENDS), flags=_FLAGS), flags=_FLAGS)


def _is_name(text: str) -> bool:
    few = 0 < len(text.split()) <= _MOST_WORDS and not any(map(str.isdigit, text))
    return few and not _POINTING.search(text) and not is_foreign(text, "en")


@lru_cache(1)
def _compiled() -> dict[str, tuple[tuple[re.Pattern[str], str], ...]]:
    def pattern(text: str, language: str) -> re.Pattern[str]:
        parts = {"{X}": r"(?P<x>\S.*?)", "{V}": r"(?P<v>\S.*?)", "{U}": _PEOPLE[language], "{D}": _DONE[language]}
        for name, part in parts.items():
            text = text.replace(name, part)
        return re.compile(text, _FLAGS)

    return {name: tuple((pattern(text, name), made) for text, made in forms) for name, forms in _FORMS.items()}
