"""Guess the language of a text from its letters and its most frequent words, without a model or a network."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")

# Frequent words of each language. In a comparison of two languages, their common words are ignored.
_COMMON = {
    "en": "a about an and are at be been by can could did do does for from had has have her his how i if in is it its "
    "many me most much my of on or our she should that the their them there these they this to was we were what when "
    "where which who whom whose why will with would you your",
    "de": "aber auf aus bei beim bin das dem den der dies diese diesem dieser du durch ein eine einem einen einer "
    "eines es für gegen geht gibt haben hat hilft hilfts ich ihr im ist kann kein keine leidet mein meine meiner "
    "mit nach nicht oder ohne sind über und vom von wann warum was welche welchem welchen welcher welches wenn wer "
    "werden wie wieviele wird wo wofür wogegen womit wurde wurden zu zum zur nenne liste viele patienten",
    "fr": "au aux avec ce ces cette chez comment contre dans de des du elle est et été il je la le les leur mais mes "
    "nous on où par pour pourquoi quand que quel quelle quelles quels qui quoi sans se ses son sont sur un une "
    "vous combien",
    "es": "al cada como cómo con contra cuál cuáles cuándo cuántas cuántos de del dónde el en es esta este fue ha hay "
    "la las los más para pero por qué quién quiénes se sin son su sus tiene tienen tratamiento un una y",
    "it": "al alla anche che chi col come con contro cosa da dal dalla dei del della delle di dove e ed gli ha il "
    "la le lo nel nella per perché quale quali quando quanti quante sono sul un una",
    "pt": "ao as com como contra da das de do dos é em e foi mais na nas no nos o os ou para pelo por qual quais "
    "quando quantos quantas que quem são se sem seu sua tem um uma",
    "nl": "aan als bij dat de deze dit door een en er het hoe hoeveel ik in is kan met naar niet of om op te tegen tot "
    "uit van voor waar waarom wanneer wat welke werd wie worden zijn zonder",
    "pl": "co czy dla do gdzie i ile jak jaka jaki jakie jest jeśli kiedy kto który która które lub ma na nie od po "
    "przez przy się są to w z za że",
    "tr": "bir bu çok da de en gibi hangi hastalığın için ile kaç kadar kim mi mı mu mü nasıl ne neden nedir nerede "
    "olan var ve veya yok",
    "sv": "av att den det där där en ett för från hur hur har i inte kan med men när och om på som till vad var varför "
    "vem vid vilka vilken vilket är",
    "da": "af at den der det du en er et for fra har hvad hvem hvilken hvilke hvilket hvor hvordan hvorfor hvornår i "
    "ikke kan med når og om på som til ved",
    "cs": "a ale by co do jak jaká jaké jaký je jsou kde kdo kdy kolik na nebo o od po pro proč při s se u v z za že",
}
_SCRIPTS = {"ru": "CYRILLIC", "uk": "CYRILLIC", "bg": "CYRILLIC", "el": "GREEK", "ar": "ARABIC", "he": "HEBREW"}
_SCRIPTS |= {"zh": "CJK", "ja": "CJK", "ko": "HANGUL", "hi": "DEVANAGARI", "th": "THAI"}
_KNOWN = _COMMON.keys() | _SCRIPTS.keys()


def is_foreign(text: str, language: str) -> bool:
    """Return whether a text is clearly in another language than this one.

    In doubt, return False: a few words of another language, a name, or a text without frequent words are no sign.

    Args:
        text: a question.
        language: the code of a language, such as "en". For an unknown code and for "", the result is False.
    """
    if language not in _KNOWN:
        return False
    words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
    if _other_script(text, language):
        return True
    if language not in _COMMON:
        return False
    return any(_is_rather(other, language, words, 2 if text.isascii() else 1) for other in _COMMON if other != language)


def _is_rather(other: str, language: str, words: Sequence[str], least: int) -> bool:
    """Return whether at least `least` words are of the other language, and more than twice those of this one."""
    theirs = sum(word in _only(other, language) for word in words)
    own = sum(word in _only(language, other) for word in words)
    return theirs > 2 * own and theirs >= least


def _other_script(text: str, language: str) -> bool:
    """Return whether most letters are of another script."""
    letters = [letter for letter in text if letter.isalpha()]
    wanted = _SCRIPTS.get(language, "LATIN")
    return sum(_is_of(letter, wanted) for letter in letters) * 2 < len(letters)


def _is_of(letter: str, script: str) -> bool:
    name = unicodedata.name(letter, "")
    return name.startswith(script) or (script == "CJK" and name.startswith(("HIRAGANA", "KATAKANA")))


@cache
def _words(language: str) -> frozenset[str]:
    return frozenset(_COMMON[language].split())


@cache
def _only(one: str, other: str) -> frozenset[str]:
    """Return the frequent words of one language that are not frequent in the other."""
    return _words(one) - _words(other)
