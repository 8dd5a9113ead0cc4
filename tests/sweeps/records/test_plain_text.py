"""Text from records, made fit for people to read."""

import pytest

from sweeps.records.plain_text import duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (42, "42 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (89, "1 min"),
        (418, "7 min"),
        (3569, "59 min"),
        (3599.6, "1 h"),
        (4200, "1 h 10 min"),
        (11235, "3 h 7 min"),
        (24 * 3600 - 20, "1 d"),
        (53 * 3600, "2 d 5 h"),
    ],
)
def test_a_duration_has_the_units_that_it_is_in(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
