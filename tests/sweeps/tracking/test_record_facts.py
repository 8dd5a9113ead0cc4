"""The facts of a record, as texts that every store can hold."""

import json

from sweeps.tracking.record_facts import flat_settings, warnings_text


def test_more_warnings_than_a_fact_holds_leave_one_that_can_be_read() -> None:
    text = warnings_text(["\u0007" * 150] * 40)
    assert len(text) < 5000
    assert len(json.loads(text)) > 1
    assert warnings_text([]) == ""


def test_a_config_is_flattened_for_browsing() -> None:
    config = {"a": {"kind": "k", "b": [1, 2], "c": {"kind": "z", "d": True}}, "e": "text"}
    assert flat_settings(config) == {
        "a": "k",
        "a.b": "[1, 2]",
        "a.c": "z",
        "a.c.d": "true",
        "e": "text",
    }
