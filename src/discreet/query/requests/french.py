"""The words of French questions for statistics."""

from discreet.query.requests.foreign import Table

FRENCH = Table(
    units=r"patient(?:e)?s?|personnes|gens|cas|notes|dossiers|malades|clients|employés|individus",
    parts={
        "DE": r"(?:de la |de l'|des |du |de |d'|chez (?:les )?|avec |pour |parmi (?:les )?|en cas de )",
        "Q": r"(?:,? (?:avec|ayant|qui ont|présentant|atteint(?:e)?s? (?:de |du |d')|souffrant (?:de |du |d')|"
        r"(?P<without>sans)) ?(?P<who>.+?),?)?",
        "HAVE": r"(?:(?:n'(?P<no>ont|a|avaient) (?:pas|jamais)(?: eu)?)|ont(?: eu| reçu)?|a|avaient|souffre(?:nt)?|"
        r"présente(?:nt|aient)?|prennent|reçoivent|mentionne(?:nt)?|signale(?:nt)?|se plaignent)",
        "NOTED": r"(?:observé|constaté|diagnostiqué|noté|trouvé|mentionné|signalé|prescrit)",
        "PART": r"(?:quelle(?: est la)? (?:proportion|part)|quel(?: est le)? pourcentage|la (?:proportion|part)|"
        r"le pourcentage|pourcentage|proportion)",
        "USUAL": r"(?:en moyenne|en général|habituellement|typiquement)",
        "OFTEN": r"(?:les )?plus (?:fréquent|courant|commun|répandu)e?s?",
        "WITH": r"(?:avec|chez|en cas de|dans|pour|parmi)",
    },
    patterns={
        "count": (
            r"combien de {U}{Q} {HAVE} (?P<what>.+)",
            r"(?:(?:quel est )?(?:le )?nombre (?:de |des )|compte[zr]? les ){U}{Q} qui {HAVE} (?P<what>.+)",
            r"combien (?:(?:y a-t-il|avons-nous|a-t-on|il y a) )?de {U}{Q}",
            r"(?:chez|dans) combien de {U}{Q} a-t-on {NOTED}e?s? (?P<what>.+)",
            r"(?:chez|dans) combien de {U}{Q} (?P<what>.+?) (?:est|sont|a|ont)(?:-(?:il|elle)s?)? (?:été )?{NOTED}e?s?",
            r"(?:quel est )?(?:le )?nombre (?:de |des |total de ){U}{Q}",
            r"compte[zr]? (?:les|tous les) {U}{Q}",
        ),
        "share": (
            r"{PART} (?:de |des ){U}{Q}(?: qui)? {HAVE} (?P<what>.+)",
            r"{PART} (?:de |des ){U}{Q}",
            r"(?:quelle est )?la fréquence {DE}(?P<what>.+?) (?:chez|parmi) (?:les )?{U}{Q}",
            r"(?:quelle est )?la (?:fréquence|prévalence) {DE}(?P<what>.+)",
            r"à quelle fréquence les {U}{Q} ont-(?:ils|elles) (?P<what>.+)",
            r"(?:chez|dans) (?:quelle (?:proportion|part)|quel pourcentage) (?:de |des ){U}{Q} a-t-on {NOTED}e?s? "
            r"(?P<what>.+)",
        ),
        "list": (
            r"quel(?:le)?s sont les (?P<attr>[\w-]+(?: secondaires)?) {OFTEN}(?: {DE}(?P<who>.+))?",
            r"(?:les )?(?P<attr>[\w-]+(?: secondaires)?) {OFTEN} {DE}(?P<who>.+)",
            r"quel(?:le)?s (?P<attr>[\w-]+) (?:ont|présentent|reçoivent|signalent) (?:le plus souvent )?(?P<who>.+)",
            r"quel(?:le)?s sont les (?P<attr>[\w-]+(?: secondaires)?) {DE}(?P<who>.+)",
            r"(?:énum[èé]re|liste|cite|donne|nomme|indique)[zr]?(?:-(?:moi|nous))? (?:tous |toutes )?les "
            r"(?P<attr>[\w-]+)(?: {OFTEN})? "
            r"{DE}(?P<who>.+)",
        ),
        "compare": (
            r"(?P<what>.+?) (?:est|sont)-(?:il|elle|ce)s? plus (?:fréquent|courant|commun)e?s? {WITH} (?P<a>.+?) "
            r"qu(?:e |')"
            r"(?:{WITH} )?(?P<b>.+)",
            r"est-ce que (?P<what>.+?) (?:est|sont) plus (?:fréquent|courant|commun)e?s? {WITH} (?P<a>.+?) qu(?:e "
            r"|'){WITH} (?P<b>.+)",
            r"(?P<a>les {U} .+?) ont-(?:ils|elles) plus souvent (?P<what>.+?) que (?P<b>(?:les {U}|ceux|celles) .+)",
            r"compare[zr]? la (?:proportion|part|fréquence) {DE}(?P<what>.+?) (?:entre|chez|avec) (?P<a>.+?) et "
            r"(?P<b>.+)",
            r"comment la (?:proportion|part|fréquence) {DE}(?P<what>.+?) diffère-t-elle entre (?P<a>.+?) et (?P<b>.+)",
            r"quelle est la différence de (?:proportion|part|fréquence) {DE}(?P<what>.+?) entre (?P<a>.+?) et "
            r"(?P<b>.+)",
        ),
        "trend": (
            r"comment le nombre (?:de |des ){U}{Q} a-t-il (?:évolué|changé)",
            r"(?:quelle est )?(?:l')?évolution du nombre (?:de |des ){U}{Q}",
            r"(?P<what>.+?) a-t-(?:il|elle) (?:augmenté|diminué)",
            r"(?P<what>.+?) (?:est-(?:il|elle)|devient-(?:il|elle)) (?:devenue? )?(?:plus|moins) "
            r"(?:fréquent|courant)e?",
            r"est-ce que (?P<what>.+?) (?:a augmenté|a diminué|devient plus fréquente?)",
        ),
        "typical": (
            r"(?:quel est )?(?:l')?(?P<attr>âge) (?P<mean>moyen|médian|typique) (?:des |de |chez les ){U}{Q}",
            r"quel (?P<attr>âge) ont (?P<mean>{USUAL}) les {U}{Q}",
            r"quel (?P<attr>âge) (?:ont|avaient) les {U}{Q} (?P<mean>{USUAL})",
            r"(?:quelle est |quel est |quels sont )?(?:la |les )?(?P<mean>moyenne|médiane|quartiles) (?:de l'|du |de "
            r"la |des |de )"
            r"(?P<attr>[\w-]+) (?:des |de |chez les ){U}{Q}",
            r"(?:quelle est )?(?:la )?(?P<attr>durée|taille) (?P<mean>moyenne|médiane|typique) (?:des |de |chez les "
            r"){U}{Q}",
        ),
    },
    articles=r"(?:(?:de la|du|des|de|le|la|les|un|une|une?s|tous|toutes)\s+|(?:de l|d|l)'\s?)",
    no=r"(?:pas (?:de |d')?|aucune? |sans )\s*",
    without="sans",
    joins=r"avec|ayant|qui ont|présentant|atteint(?:e)?s? d(?:e|u|')|souffrant d(?:e|u|')",
    by={
        "month": r"par mois|chaque mois|mensuellement|mois par mois",
        "quarter": r"par trimestre|chaque trimestre",
        "year": r"par an|par année|chaque année|annuellement",
    },
    since=r"depuis(?: l'année| le début de| le mois de)?",
    months="(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre)",
    attributes={
        "symptômes": "symptoms",
        "plaintes": "complaints",
        "traitements": "treatments",
        "diagnostics": "diagnoses",
        "maladies": "diagnoses",
        "médicaments": "medications",
        "effets secondaires": "side effects",
        "causes": "causes",
        "raisons": "reasons",
        "âge": "age",
    },
    statistics={"moyen": "mean", "en moyenne": "mean", "médian": "median", "quartiles": "quartiles"},
    vague=r"\b(?:plus|moins) (?:de|que|d')|\bcombien\b|\bpar\b|\bdepuis\b|\bqui\b|"
    r"^(?:il|elle|ils|elles|ça|cela|ceci|eux|lui|cette maladie|ce traitement|ce)$",
    polite=r"s'il (?:vous|te) plaît|merci|bonjour|et|pouvez-vous me dire|dites-moi|dis-moi",
)
