"""One individual is one unit, however the name is spelled; two names stay two where the rule says so."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.store.documents import canonical_unit

ALIKE = [
    (
        "Ada Lind",
        " ada  LIND\n",
        "Ada\u00a0Lind",
        "Ada Lind\u200b",
        "\ufeffAda Lind",
        "A\u00adda Lind",
        "Ａｄａ Ｌｉｎｄ",
    ),
    ("Μαΐα Ρούσου", "Μαΐα Ρούσου".upper(), "Μαΐα Ρούσου".lower(), unicodedata.normalize("NFD", "Μαΐα Ρούσου")),
    ("Zoë", "Zoe\u0308", "ZOË", "ZOE\u0308"),
    ("Straße", "STRASSE", "STRAẞE"),
    ("Οδυσσεύς", "ΟΔΥΣΣΕΎΣ"),
    ("7", "7.0", "7.00", "7.", "+7", "+7.0", " 7 ", "７", "7\u200b.0"),
    ("0", "0.0", "-0", "+0.00"),
    ("-7", "-7.0", "\u2064-7"),
    ("007", '="007"', '＝"007"'),
    ("7", '="7"', '="7.0"', '="\u200b7"'),
    ("渡邉", "渡邉\U000e0101"),
]
APART = [
    ("7", "007"),
    ("7", "-7"),
    ("7", "7.5"),
    ("7.5", "7.50"),
    ("7", "7 0"),
    ("70", "7.0"),
    ("1.0.0", "1"),
    ("Ada", "Adá"),
    ("Μαΐα Ρούσου", "ΜΑΪΑ ΡΟΥΣΟΥ"),  # capitals as Greek writes them, without accents: another name
    ("Ada Lind", "AdaLind"),
]
names = st.text(st.one_of(st.characters(), st.sampled_from('="7.0+- \u200bΪ́ΐͅẞİıſﬃ\u0301\u0345\u00ad')), max_size=12)


@pytest.mark.parametrize("names", ALIKE)
def test_spellings_of_one_name_are_one_unit(names: tuple[str, ...]) -> None:
    assert len({canonical_unit(name) for name in names}) == 1


@pytest.mark.parametrize(("one", "other"), APART)
def test_names_that_differ_stay_apart(one: str, other: str) -> None:
    assert canonical_unit(one) != canonical_unit(other)


@given(names)
@example("\u0345\u0301")
def test_a_name_that_is_spelled_so_is_spelled_so_again(name: str) -> None:
    spelled = canonical_unit(name)
    assert canonical_unit(spelled) == spelled
    assert spelled == " ".join(spelled.split())
    assert all(unicodedata.category(char) != "Cf" for char in spelled)
