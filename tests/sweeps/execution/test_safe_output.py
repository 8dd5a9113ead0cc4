"""Output is written as far as it can be, and dropped from the first error on."""

import io
import os

from sweeps.execution.safe_output import SafeOutput


def test_letters_that_a_stream_does_not_know_are_written_as_escapes() -> None:
    written = io.BytesIO()
    output = SafeOutput(io.TextIOWrapper(written, encoding="ascii"))
    for text in ("first\n", "arm \N{DEGREE SIGN}\n", "last\n"):
        output.write(text)
    output.flush()
    assert written.getvalue() == b"first\narm \\xb0\nlast\n"
    assert output.error is None


def test_from_the_first_error_on_everything_is_dropped() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        output = SafeOutput(stream)
        assert output.write("nobody reads this") == 17
        output.flush()
        assert output.is_unread
        output.writelines(["nor", "this"])
        output.flush()
