"""docs/json.md says what the shapes say."""

import re

from tests.sweeps.cli.json_page import HEADING, PAGE, answers, shapes_page


def test_the_page_is_made_of_the_shapes() -> None:
    _, _, written = PAGE.read_text(encoding="utf-8").partition(HEADING)
    assert written == shapes_page(), "make it anew: python -m tests.sweeps.cli.json_page"


def test_each_answer_has_a_format_of_its_own_with_a_number() -> None:
    formats = [answer.model_fields["format"].default for answer in answers()]
    assert len(set(formats)) == len(formats) >= 8
    assert all(re.fullmatch(r"capsweep\.\w+/\d+", name) for name in formats)
