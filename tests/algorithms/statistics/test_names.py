"""Names with marks that would end a sentence."""

import pytest

from discreet.statistics.phrase import Phrase
from discreet.store.unit_records import UnitRecord


@pytest.mark.parametrize("name", ["L.A. Confidential", "Léon: The Professional", "Mrs Doubtfire", "Mrs. Doubtfire"])
def test_name_with_a_mark_inside_is_found(name: str) -> None:
    films = ("Loves: L.A. Confidential; Léon: The Professional; Mrs. Doubtfire; Heat.",)
    assert Phrase(name).holds(UnitRecord(films))
    assert not Phrase(name).holds(
        UnitRecord(("Loves L.A. It is confidential. Léon came. A professional: Doubtfire, too.",))
    )


def test_full_stop_still_ends_a_sentence() -> None:
    assert not Phrase("numb thumbs").holds(UnitRecord(("Her hand is numb. Thumbs are fine.",)))
