"""Lists, such as "What are the most common symptoms of X?" and "Top 5 diagnoses"."""

import re
from dataclasses import replace

from discreet.query.requests.counts import whom
from discreet.query.requests.phrases import FLAGS, Nouns, phrase
from discreet.query.requests.units import statement
from discreet.query.requests.wording import Wording

_SEVERAL = (
    r"(?:symptoms|signs|complaints|side[- ]effects|complications|risk factors|features|characteristics|examples|kinds|"
    r"types|reasons|causes|genetic changes|diagnoses)"
)
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve fifteen twenty".split()
_VALUES = {name: number for number, name in enumerate(_NUMBERS[:12], 1)} | {"fifteen": 15, "twenty": 20, "dozen": 12}
_N = rf"(?P<n>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_COMMON = r"(?:most (?:common|frequent|often (?:named|mentioned|reported|prescribed|given)|frequently \w+|commonly \w+|"
_COMMON += r"prevalent|typical|widespread)|commonest)"
_FREQUENT = r"(?:most (?:often|frequently|commonly|common|frequent)|and how (?:often|frequently)|by frequency|"
_FREQUENT += r"with (?:their )?(?:frequency|frequencies|counts|numbers|shares)|and how (?:common|frequent)"
_FREQUENT += r"(?= (?:is|are))|most)"
_MAIN = r"(?:main|leading|chief|principal|major|typical|common|usual|possible)"
_OF = r"(?:of|for|in|among|amongst|with|against|from|behind|at|by)"
_SUMMARY = re.compile(r"(?:topic|theme|finding|trend|point|message|pattern)s?", FLAGS)


def listed(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of a list, or None."""
    text, often = _frequency(text)
    shows = re.fullmatch(r"how (?:do|does|did) (?P<who>.+?) (?:show|present|manifest)(?: itself)?", text, FLAGS)
    if shows:
        return _made("symptoms", shows["who"], 0, nouns)
    return _asked(text, nouns) or _which(text, often, nouns) or (_verb(text, nouns) if often else None)


def _frequency(text: str) -> tuple[str, bool]:
    """Return a text without its "most often", and whether it had one."""
    text, times = re.subn(r" (?:usually|typically|mostly)(?= complain\b)", "", text, flags=FLAGS)
    if times:
        return text, True
    found = re.search(rf"[\s,]+{_FREQUENT}(?: (?:is|are|do) (?:each|they)[\w ]*)?$", text, FLAGS)
    return (text[: found.start()], True) if found else (text, False)


_ASKED = (
    r"(?:(?:what|which) (?:are|were) |what're |(?:name|list|give|show|rank|state) (?:me |us )?)?(?:the |our )?"
    rf"(?:top {_N} )?(?:{_N.replace('<n>', '<k>')} )?{_COMMON} (?P<what>.+)",
    rf"(?:(?:what|which) (?:are|were) |(?:name|list|give|show) (?:me |us )?)?(?:the |our )?top[- ]{_N} (?P<what>.+)",
    r"(?:list|enumerate|itemi[sz]e|rank)\s+(?:me |us )?(?:(?:all|of|the|its|some|main|usual|possible) )*"
    rf"(?:{_N} )?(?P<what>.+)",
    r"(?:give|show|write|make|provide|i need|produce)?\s*(?:me |us )?(?:a |the )?(?:full |complete |short |ranked )?"
    r"(?:list|ranking) of\s+(?P<what>.+)",
    rf"(?:name|give|show|state|mention|tell)(?: me| us)? (?:all|some|several|every|{_N})(?: of)?(?: the)? (?P<what>.+)",
    rf"(?:name|give|state)(?: me| us)? (?:the|its|their) (?P<what>(?:\w+ )?{_SEVERAL}\b.*)",
    rf"what(?: are| were|'re) (?:(?:the|possible|common|typical|usual|main|some) )+(?P<what>(?:\w+ )?{_SEVERAL}\b.*)",
    rf"(?:what(?: are| were|'re) |(?:name|give|state)(?: me| us)? )?(?:the )?{_N} {_MAIN} (?P<what>{_SEVERAL} .*)",
    rf"(?:(?:the|{_MAIN}) )*(?P<what>{_SEVERAL} {_OF} .*)",
    r"what(?: are| were|'re) (?:all|some)(?: of)?(?: the)? (?P<what>.+)",
)
_ONE = rf"(?:(?:what|which)(?: is|'s| was) )?(?:the |our )?(?:single )?{_COMMON} (?P<what>[\w-]+)"
"""One value among all units, such as "the most common disease". Voters read the nearest texts, which tell it of a named
thing alone ("the most common treatment of X"); the noisy counts of all large values tell it here."""


def _asked(text: str, nouns: Nouns) -> Wording | None:
    for pattern in _ASKED:
        found = re.fullmatch(pattern, text, FLAGS)
        if found:
            named = found.groupdict()
            request = _of(found["what"], _number(named.get("n") or named.get("k") or ""), nouns)
            if request:
                return request
    one = re.fullmatch(_ONE, text, FLAGS)
    return _of(_plural(one["what"]), 0, nouns) if one else None


def _plural(word: str) -> str:
    if is_plural(word):
        return word
    if word.casefold().endswith("is"):
        return f"{word[:-2]}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word, FLAGS) else f"{word}s"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _VALUES.get(text.casefold(), 0)


def _of(text: str, most: int, nouns: Nouns) -> Wording | None:
    """Return the list of "symptoms of Zonkitis"."""
    found = re.fullmatch(rf"(?P<what>.+?)(?: {_OF} (?P<who>.+))?", text, FLAGS)
    if not found:
        return None
    for split in re.finditer(rf" {_OF} ", found["who"] or "", FLAGS):
        who = found["who"][split.end() :]
        if statement(who, nouns):  # such as "reasons for admission among patients over 80"
            plain = _made(found["what"], who, most, nouns)
            whole = f"{found['what']}{text[found.end('what') : found.start('who') + split.start()]}"
            return plain and replace(plain, attribute=phrase(whole))
    return _made(found["what"], found["who"] or "", most, nouns)


def _made(what: str, who: str, most: int, nouns: Nouns) -> Wording | None:
    attribute = phrase(what)
    if not is_plural(attribute) or _SUMMARY.fullmatch(attribute) or most == 1:
        return None
    head = attribute.split(" ")[-1]
    if re.fullmatch(nouns.counted, head, FLAGS) and not re.fullmatch("complaints", head, FLAGS):
        return None
    return Wording("list", _whom_of(who, nouns), attribute=attribute, most=most)


def _whom_of(text: str, nouns: Nouns) -> str:
    text = re.sub(
        r"\s(?:there|given|prescribed|mentioned|reported|named|used|have|has|report|had|mention|get|got|receive|are|is)$",
        "",
        text,
        flags=FLAGS,
    )
    held = statement(text, nouns)
    if held and not held.said and not held.population:
        return ""
    return whom(text, nouns)


def is_plural(text: str) -> bool:
    """Return whether a phrase ends in a plural."""
    word = text.split(" ")[-1].casefold() if text else ""
    return word in ("criteria", "media", "data") or (word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")))


_OFTEN = re.compile(
    r"(?<=\s)(?:most (?:often|frequently|commonly)\s+|most (?:common|frequent)\s+(?=in|for|among|with)"
    r"|(?<=up )most\s+)",
    FLAGS,
)
_PASSIVE = r"(?:given|prescribed|used|mentioned|reported|recorded|named|seen|observed|found|described|made|raised|"
_PASSIVE += r"chosen|recommended|ordered|applied|\w+ed)"
_THE = rf"(?:name |give |list )?the(?= {_N.replace('<n>', '<m>')} )"
_WHAT = rf"(?:what|which|{_THE}) (?:{_N} )?(?P<what>(?:[\w-]+ ){{0,3}}?[\w-]+s)"
_VERBS = (
    r"(?:have|had|cause|causes|report|reported|get|got|receive|received|show|bring|mention|come with|give|name|buy|"
)
_VERBS += r"use|take|need|ask for|been given|complain of|complain about|suffer from)"
_WHICH = (
    rf"{_WHAT} (?:are|were|have been) {_PASSIVE}",
    rf"{_WHAT} (?:that )?(?:come up|occur|appear|arise|happen)(?: {_OF} (?P<who>.+))?",
    rf"{_WHAT} (?:can|could|may|might|should|would|do) (?:i|we|you|one) (?:expect|see|find|look for) {_OF} (?P<who>.+)",
    rf"{_WHAT} (?:are|were|have been)(?: (?:{_PASSIVE}|typical|common|usual|characteristic))? {_OF} (?P<who>.+)",
    rf"{_WHAT} (?:do|does|did|have|has|can|could|may) (?P<who>.+?) {_VERBS}",
    rf"{_THE} {_N} (?P<what>{_SEVERAL}) (?:that )?(?P<who>.+?) {_VERBS}",
    rf"{_WHAT} (?:cause|lead to|accompany|come with|indicate) (?P<who>.+)",
    rf"{_WHAT} (?:are|were)",
)


def _which(text: str, often: bool, nouns: Nouns) -> Wording | None:
    """Return the list of "Which treatments are given for X, and how often?"."""
    text, times = _OFTEN.subn("", text)
    often = often or times > 0
    there = re.fullmatch(
        r"(?:what|which) (?P<what>(?:\w+ ){1,2})(?:are|were) there(?: (?:of|for|in|with) (?P<who>.+))?", text, FLAGS
    )
    if there:
        return _made(there["what"], there["who"] or "", 0, nouns)
    found = next((one for pattern in _WHICH if (one := re.fullmatch(pattern, text, FLAGS))), None)
    if not found or not (often or re.search(rf"\b{_SEVERAL}$", found["what"], FLAGS)):
        return None
    return _made(found["what"], found.groupdict().get("who") or "", _number(found["n"] or ""), nouns)


_NOUNS = (
    (r"complain(?:s|ed)?(?: (?:of|about))?", "complaints"),
    (r"ask(?:s|ed)? (?:about|for)|request(?:s|ed)?", "requests"),
    (r"suffer(?:s|ed)? from|have|get diagnosed with", "diagnoses"),
    (r"get|receive|are given|take|are treated with|are prescribed", "treatments"),
    (r"die (?:of|from)|died (?:of|from)", "causes of death"),
)


def _verb(text: str, nouns: Nouns) -> Wording | None:
    """Return the list of "What do patients complain of most often?"."""
    found = re.fullmatch(
        r"(?:what|which) (?:do|did|are|were) (?P<who>.+?)(?P<with> (?:with|in|on|aged|who have) .+?)? "
        rf"(?P<verb>{'|'.join(verb for verb, _ in _NOUNS)})",
        text,
        FLAGS,
    )
    if not found or not statement(found["who"], nouns):
        return None
    attribute = next(name for verb, name in _NOUNS if re.fullmatch(verb, found["verb"], FLAGS))
    return Wording("list", _whom_of(f"{found['who']}{found['with'] or ''}", nouns), attribute=attribute)
