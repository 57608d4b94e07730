"""The words of German questions for statistics."""

from discreet.query.requests.foreign import Table

GERMAN = Table(
    units=r"patient(?:en|innen)?|personen|menschen|leuten?|fällen?|notizen|berichten?|kunden|mandanten|mitarbeitern?",
    parts={
        "IN": r"(?:bei|von|für|unter|in|mit|der|des)",
        "Q": r"(?:,? (?:mit|die an|(?P<without>ohne)) (?P<who>.+?)(?: leiden| litten)?,?)?",
        "HAVE": r"(?:haben|hatten|hat|leide[nt] an|leide[nt] unter|litten an|klag(?:en|t|ten) über|bekommen|bekamen|"
        r"bekommt|erhalten|erhielten|erhält|nehmen|nahmen|zeigen|zeigten|zeigt|erwähnen|erwähnt|nennen|berichten von)",
        "WAS": r"(?:wird|werden|wurde|wurden|ist|sind|tritt|treten|trat|kommt|kommen|kam)",
        "NOTED": r"(?:(?P<no>nicht) )?(?:erwähnt|diagnostiziert|festgestellt|beobachtet|gefunden|verordnet|genannt|"
        r"berichtet|auf|vor)",
        "PART": r"(?:(?:welche[rn]?|wie (?:hoch|groß) ist der|was ist der|der) )?(?:anteil|prozentsatz)",
        "USUAL": r"(?:im (?:durchschnitt|mittel|median|schnitt)|durchschnittlich|typischerweise|üblicherweise)",
        "MEAN": r"(?P<mean>durchschnittliche|mittlere|typische|mediane)",
        "MORE": r"(?:häufiger|öfter|verbreiteter)",
    },
    patterns={
        "count": (
            r"wie ?viele {U}{Q} {HAVE} (?P<what>.+)",
            r"wie ?viele {U}(?: gibt es| haben wir| sind es)?{Q}(?: gibt es| haben wir)?",
            r"(?:bei|in) wie ?vielen {U}{Q} {WAS} (?P<what>.+?) {NOTED}",
            r"(?:(?:was|wie (?:hoch|groß)) ist )?(?:die )?(?:an)?zahl (?:der|aller|von) {U}{Q},? die (?P<what>.+?) "
            r"(?:haben|hatten|zeigen|bekommen|erhalten)",
            r"(?:(?:was|wie (?:hoch|groß)) ist )?(?:die )?(?:an)?zahl (?:der|aller|von) {U}{Q}",
            r"zähle?n?(?: sie)? (?:die|alle) {U}{Q}",
        ),
        "share": (
            r"{PART} (?:der|aller|von|an) {U}{Q},? die (?P<what>.+?) (?:haben|hatten|zeigen|bekommen|erhalten)",
            r"{PART} (?:der|aller|von|an) {U}{Q} {HAVE} (?P<what>.+)",
            r"{PART} (?:der|aller|von|an) {U}{Q}",
            r"wie ?viel prozent (?:der|aller|von) {U}{Q} {HAVE} (?P<what>.+)",
            r"bei (?:welchem anteil|wie ?viel prozent) der {U}{Q} {WAS} (?P<what>.+?) {NOTED}",
            r"wie (?:häufig|verbreitet) (?:ist|sind|war|waren) (?P<what>.+?)(?: bei (?P<who>.+))?",
            r"wie (?:oft|häufig) haben {U} (?!mit\b|ohne\b|die\b)(?P<what>.+)",
            r"wie (?:oft|häufig) {WAS} (?P<what>.+?)(?: bei (?P<who>.+?))? {NOTED}",
        ),
        "list": (
            r"(?:was|welche[s]?) sind die häufigsten (?P<attr>[\w-]+)(?: {IN} (?P<who>.+))?",
            r"(?:die )?häufigsten? (?P<attr>[\w-]+) {IN} (?P<who>.+)",
            r"welche (?P<attr>[\w-]+) (?:haben|hatten|zeigen|nennen|bekommen|erhalten) (?P<who>.+?)(?: am häufigsten)?",
            r"welche (?P<attr>[\w-]+) (?:sind|treten|kommen|werden) (?:bei (?P<who>.+?) )?am häufigsten(?: auf| vor| "
            r"genannt)?",
            r"welche (?P<attr>[\w-]+) (?:treten|kommen) bei (?P<who>.+?) (?:auf|vor)",
            r"(?:nenne?|liste|zeige?|gib|aufzählung)(?: sie)?(?: mir)?(?: alle| die)?(?: häufigsten)? "
            r"(?P<attr>[\w-]+) {IN} "
            r"(?P<who>.+?)(?: auf)?",
        ),
        "compare": (
            r"(?:ist|sind|war|waren) (?P<what>.+?) {MORE} (?:bei|unter) (?P<a>.+?) als (?:bei|unter) (?P<b>.+)",
            r"(?:ist|sind|war|waren) (?P<what>.+?) (?:bei|unter) (?P<a>.+?) {MORE} als (?:bei|unter) (?P<b>.+)",
            r"(?:kommt|kommen|tritt|treten) (?P<what>.+?) bei (?P<a>.+?) {MORE} (?:vor|auf) als bei (?P<b>.+)",
            r"haben (?P<a>{U} (?:mit|ohne) .+?) {MORE} (?P<what>.+?) als (?P<b>.+)",
            r"vergleiche?(?: sie)? (?:den anteil|die häufigkeit) (?:von|an|der|des) (?P<what>.+?) (?:bei|zwischen) "
            r"(?P<a>.+?) und "
            r"(?:bei )?(?P<b>.+)",
            r"(?:wie )?unterscheidet sich (?:der anteil|die häufigkeit) (?:von|an|der|des) (?P<what>.+?) "
            r"(?:bei|zwischen) (?P<a>.+?) "
            r"und (?P<b>.+)",
        ),
        "trend": (
            r"wie hat sich die (?:an)?zahl der {U}{Q} (?:entwickelt|verändert)",
            r"(?:wie )?(?:ist|die)? ?(?:entwicklung|verlauf) der (?:an)?zahl der {U}{Q}",
            r"(?:hat|haben) (?P<what>.+?) (?:zugenommen|abgenommen)",
            r"(?:wird|werden) (?P<what>.+?) (?:häufiger|seltener)",
            r"(?:ist|sind) (?P<what>.+?) (?:häufiger|seltener) geworden",
        ),
        "typical": (
            r"wie alt (?:sind|waren) {U}{Q} (?P<mean>{USUAL})",
            r"wie alt (?:sind|waren) (?P<mean>{USUAL}) (?:die )?{U}{Q}",
            r"(?:(?:was|wie hoch) ist )?(?:das )?(?P<mean>durchschnitt|median)s(?P<attr>alter) (?:der|von|bei) {U}{Q}",
            r"(?:(?:was|wie hoch) ist )?(?:das )?(?P<mean>median)(?P<attr>alter) (?:der|von|bei) {U}{Q}",
            r"(?:(?:was|wie hoch) (?:ist|sind) )?(?:das |die |der )?{MEAN}[nr]? (?P<attr>[\w-]+) (?:der|von|bei) "
            r"{U}{Q}",
            r"(?:(?:was|wie hoch) (?:ist|sind) )?(?:der |die |das )?(?P<mean>median|mittelwert|quartile) (?:des|der) "
            r"(?P<attr>[\w-]+) (?:der|von|bei) {U}{Q}",
        ),
    },
    articles=r"(?:der|die|das|den|dem|des|ein|eine|einen|einem|einer|eines|alle[nr]?)\s+",
    no=r"(?:keine?[nrms]?|nicht|ohne)\s+",
    without="ohne",
    joins=r"mit|die an",
    by={
        "month": r"(?:pro|je|nach|jeden) monat(?:en)?|monatlich|im monat",
        "quarter": r"(?:pro|je|nach|jedes) quartal(?:en)?|quartalsweise",
        "year": r"(?:pro|je|nach|jedes) jahr(?:en)?|jährlich|im jahr",
    },
    since=r"seit(?: dem jahr| anfang)?",
    months="(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)",
    attributes={
        "symptome": "symptoms",
        "symptomen": "symptoms",
        "beschwerden": "complaints",
        "behandlungen": "treatments",
        "therapien": "treatments",
        "diagnosen": "diagnoses",
        "krankheiten": "diagnoses",
        "medikamente": "medications",
        "nebenwirkungen": "side effects",
        "ursachen": "causes",
        "gründe": "reasons",
        "alter": "age",
        "alters": "age",
    },
    statistics={
        "durchschnitt": "mean",
        "im durchschnitt": "mean",
        "im schnitt": "mean",
        "im mittel": "mean",
        "mittel": "mean",
        "mittlere": "mean",
        "median": "median",
        "im median": "median",
        "quartile": "quartiles",
    },
    vague=r"\b(?:mehr|weniger|öfter|häufiger|seltener|älter|jünger|länger) als\b|\bwie ?viele?\b|\bpro\b|\bseit\b|, "
    r"die\b|"
    r"^(?:es|sie|er|ihn|ihm|ihr|das|dies|diese[rnms]?|jene|davon|dieser krankheit|diese krankheit)$",
    polite=r"bitte|danke|hallo|guten tag|vielen dank|und|(?:können|könnten) sie (?:mir )?sagen|sag mir|weißt du",
)
