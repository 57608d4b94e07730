"""The allow-list of an answer: every field that may leave the keeper, and no other (`Answer.describe`)."""

from discreet.server.wire_fields import (
    either,
    exactly,
    list_of,
    mapping_of,
    number,
    one_of,
    optional,
    record,
    text,
    truth,
    whole,
)

LONGEST_ANSWER = 65_536
"""Characters. No model of a vault writes more than a few thousand tokens."""
_LONGEST_WORD = 200
_LONGEST_REASON = 10_000
_MOST_CHARGES = 10_000
_MOST_TOKENS = 10**6
_MOST_VALUE = 1e300

COST = mapping_of(
    optional(either(number(), text(_LONGEST_REASON))),
    most=8,
    key=one_of("kind", "epsilon", "delta", "rho", "order", "price", "times", "costs"),
)
"""The cost of one charge. A claim has no place here: an algorithm without a guarantee is not served."""

RECEIPT = record(
    {
        "epsilon": optional(number()),
        "delta": optional(number(0.0, 1.0)),
        "relation": text(_LONGEST_WORD),
        "unit": text(_LONGEST_WORD),
        "charges": list_of(
            record(
                {
                    "mechanism": text(_LONGEST_REASON),
                    "change": text(_LONGEST_WORD),
                    "cost": COST,
                    "times": whole(1, _MOST_TOKENS),
                }
            ),
            _MOST_CHARGES,
        ),
        "accountant": text(_LONGEST_WORD),
        "noise": text(_LONGEST_WORD),
        "private": exactly(True),
        "payment": one_of("every unit", "each unit that took part", "nobody"),
        "reused": whole(0, _MOST_TOKENS),
        "each": whole(0, _MOST_TOKENS),
        "public_corpus": text(_LONGEST_WORD),
        "caveat": exactly(""),
        "assumed": list_of(text(_LONGEST_REASON), 32),
    },
    may_lack=frozenset({"assumed"}),
)

FIGURE = record(
    {"name": text(LONGEST_ANSWER), "kind": text(_LONGEST_WORD)}
    | {name: number(-_MOST_VALUE, _MOST_VALUE) for name in ("value", "low", "high")}
)

ANSWER = record(
    {
        "schema": exactly(1),
        "answer": optional(text(LONGEST_ANSWER)),
        "text": text(LONGEST_ANSWER),
        "useless": truth,
        "same_without_documents": truth,
        "stopped": one_of("end", "length", "budget", "undecided", "public"),
        "algorithm": text(_LONGEST_WORD),
        "private": exactly(True),
        "tokens": whole(0, _MOST_TOKENS),
        "private_tokens": whole(0, _MOST_TOKENS),
        "released": list_of(text(LONGEST_ANSWER), 1000),
        "shares": optional(mapping_of(whole(-(2**53), 2**53), 1000, text(LONGEST_ANSWER))),
        "support": optional(
            record(
                {name: whole(-(2**53), 2**53) for name in ("low", "of")}
                | {name: optional(whole(-(2**53), 2**53)) for name in ("count", "high")}
            )
        ),
        "table": list_of(FIGURE, 10_000),
        "receipt": RECEIPT,
        "cost": optional(record({"epsilon": number(), "granted": number(), "uses": optional(whole(0, 10**9))})),
        "remaining": optional(number()),
        "kept": truth,
        "released_at": list_of(text(_LONGEST_WORD), 1000),
        "asked": text(LONGEST_ANSWER),
        "understood": text(LONGEST_ANSWER),
    },
    may_lack=frozenset({"support", "table", "released_at", "asked", "understood"}),
)
