"""The words of Spanish questions for statistics."""

from discreet.query.requests.foreign import Table

SPANISH = Table(
    units=r"pacientes?|personas|casos|notas|historias|informes|clientes|empleados|individuos|enfermos",
    parts={
        "DE": r"(?:de los |de las |de la |del |de |en los |en las |en la |en |con |entre los |entre )",
        "LOS": r"(?:los |las |todos los |todas las )?",
        "Q": r"(?:,? (?:con|que (?:tienen|tenían|tuvieron|padecen|sufren(?: de)?|presentan)|diagnosticad[oa]s "
        "(?:con|de)|"
        r"(?P<without>sin)) (?P<who>.+?),?)?",
        "HAVE": r"(?:(?P<no>no )?(?:tienen?|tenían?|tuvieron|han tenido|padecen?|sufren?(?: "
        "de)?|presentan?|presentaron|"
        r"toman?|reciben?|recibieron|mencionan?|refieren?))",
        "NOTED": r"se (?:observ|mencion|diagnostic|encontr|registr|describ|report)\w*",
        "PART": r"(?:(?:qué|cuál es (?:la|el)|la|el) )?(?:proporción|porcentaje|parte|fracción)",
        "USUAL": r"(?:de media|en promedio|por término medio|normalmente|típicamente)",
        "MORE": r"más (?:frecuentes?|com(?:ún|unes)|habitual(?:es)?)",
        "OFTEN": r"(?:más a menudo|con más frecuencia|más frecuentemente)",
        "WITH": r"(?:con|en|entre)",
    },
    patterns={
        "count": (
            r"cuánt[oa]s {U}{Q} {HAVE} (?P<what>.+)",
            r"(?:(?:cuál es )?(?:el )?número de |cuenta ){LOS}{U}{Q} que {HAVE} (?P<what>.+)",
            r"cuánt[oa]s {U}(?: hay| tenemos)?{Q}(?: hay| tenemos)?",
            r"en cuánt[oa]s {U}{Q} {NOTED} (?P<what>.+)",
            r"(?:cuál es )?(?:el )?(?:número|total) de {LOS}{U}{Q}",
            r"(?:cuenta|contar|cuente) {LOS}{U}{Q}",
        ),
        "share": (
            r"{PART} de {LOS}{U}{Q}(?: que)? {HAVE} (?P<what>.+)",
            r"{PART} de {LOS}{U}{Q}",
            r"(?:en|para) qué (?:proporción|porcentaje) de {LOS}{U}{Q} {NOTED} (?P<what>.+)",
            r"con qué frecuencia (?:tienen|presentan|padecen) (?P<what>.+?) {LOS}{U}{Q}",
            r"con qué frecuencia {LOS}{U}{Q} {HAVE} (?P<what>.+)",
            r"(?:cuál es )?la (?:frecuencia|prevalencia) de (?P<what>.+?) {WITH} {LOS}{U}{Q}",
            r"(?:cuál es )?la (?:frecuencia|prevalencia) de (?P<what>.+)",
            r"(?:qué tan|cuán) (?:frecuente|común) es (?P<what>.+)",
        ),
        "list": (
            r"cuáles son l[oa]s (?P<attr>[\w-]+(?: secundarios)?) {MORE}(?: {DE}(?P<who>.+))?",
            r"(?:l[oa]s )?(?P<attr>[\w-]+(?: secundarios)?) {MORE} {DE}(?P<who>.+)",
            r"qué (?P<attr>[\w-]+) (?:tienen|presentan|reciben|mencionan) (?:con más frecuencia )?(?P<who>.+)",
            r"cuáles son l[oa]s (?P<attr>[\w-]+(?: secundarios)?) {DE}(?P<who>.+)",
            r"(?:enumera|lista|nombra|dame|di|menciona|indica)r?(?:me)? (?:tod[oa]s )?l[oa]s (?P<attr>[\w-]+)(?: "
            r"{MORE})? {DE}(?P<who>.+)",
        ),
        "compare": (
            r"(?:es|son|era|eran) {MORE} (?P<what>.+?) {WITH} (?P<a>.+?) que {WITH} (?P<b>.+)",
            r"(?:es|son|era|eran) (?P<what>.+?) {MORE} {WITH} (?P<a>.+?) que {WITH} (?P<b>.+)",
            r"tienen (?P<what>.+?) (?P<a>l[oa]s {U} .+?) {OFTEN} que (?P<b>.+)",
            r"tienen (?P<a>l[oa]s {U} .+?) {OFTEN} (?P<what>.+?) que (?P<b>.+)",
            r"compara[r]? la (?:proporción|frecuencia) de (?P<what>.+?) (?:entre|en|con) (?P<a>.+?) y (?P<b>.+)",
            r"cómo (?:difiere|varía) la (?:proporción|frecuencia) de (?P<what>.+?) entre (?P<a>.+?) y (?P<b>.+)",
            r"qué diferencia hay en la (?:proporción|frecuencia) de (?P<what>.+?) entre (?P<a>.+?) y (?P<b>.+)",
        ),
        "trend": (
            r"cómo ha (?:evolucionado|cambiado) el número de {LOS}{U}{Q}",
            r"(?:cuál es )?(?:la )?evolución del número de {LOS}{U}{Q}",
            r"(?:ha|han) (?:aumentado|disminuido) (?P<what>.+)",
            r"se ha(?:n)? vuelto (?:más|menos) frecuentes? (?P<what>.+)",
            r"es cada vez más frecuente (?P<what>.+)",
        ),
        "typical": (
            r"(?:cuál es )?(?:la )?(?P<attr>edad) (?P<mean>media|mediana|promedio|típica) de {LOS}{U}{Q}",
            r"qué (?P<attr>edad) tienen (?P<mean>{USUAL}) {LOS}{U}{Q}",
            r"qué (?P<attr>edad) tienen {LOS}{U}{Q} (?P<mean>{USUAL})",
            r"(?:cuál es |cuáles son )?(?:la |el |los )?(?P<mean>media|mediana|promedio|cuartiles) de (?:la |el |l "
            r")?(?P<attr>[\w-]+) de "
            r"{LOS}{U}{Q}",
            r"(?:cuál es )?(?:la )?(?P<attr>duración|estancia) (?P<mean>media|mediana|promedio) de {LOS}{U}{Q}",
        ),
    },
    articles=r"(?:el|la|los|las|un|una|unos|unas|todos|todas)\s+",
    no=r"(?:no|ningún|ninguna|sin)\s+",
    without="sin",
    joins=r"con|que (?:tienen|tenían|padecen|presentan)|diagnosticad[oa]s (?:con|de)",
    by={
        "month": r"por mes(?:es)?|cada mes|mensualmente|al mes",
        "quarter": r"por trimestres?|cada trimestre",
        "year": r"por años?|cada año|anualmente|al año",
    },
    since=r"desde(?: el año| principios de)?",
    months="(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)",
    attributes={
        "síntomas": "symptoms",
        "quejas": "complaints",
        "tratamientos": "treatments",
        "diagnósticos": "diagnoses",
        "enfermedades": "diagnoses",
        "medicamentos": "medications",
        "efectos secundarios": "side effects",
        "causas": "causes",
        "razones": "reasons",
        "edad": "age",
    },
    statistics={
        "mediana": "median",
        "media": "mean",
        "de media": "mean",
        "promedio": "mean",
        "en promedio": "mean",
        "por término": "mean",
        "cuartiles": "quartiles",
    },
    vague=r"\b(?:más|menos|mayor(?:es)?|menor(?:es)?) (?:de|que)\b|\bcuánt[oa]s\b|\bpor\b|\bdesde\b|\bque\b|"
    r"^(?:él|ella|ellos|ellas|eso|esto|esta enfermedad|ese tratamiento|lo)$",
    polite=r"por favor|gracias|hola|y|(?:puede|podría) decirme|dime",
)
