"""A manifest that was handed over and damaged since: refused each time that it is asked for."""

from pathlib import Path

import pytest

from sweeps.execution.recorder.manifest_file import (
    ManifestReader,
    hand_over,
    manifest_file,
    stored_manifest,
)
from sweeps.records.errors import BadInput
from tests.sweeps.execution.examples import manifest


@pytest.mark.parametrize("left", [b"", b"{}", b"garbage"])
def test_a_damaged_manifest_is_refused_each_time_and_read_again_when_it_is_back(
    tmp_path: Path, left: bytes
) -> None:
    given = manifest()
    hand_over(tmp_path, given)
    path, reader = manifest_file(tmp_path, given.sweep), ManifestReader(tmp_path, given.sweep)
    whole, text = path.read_bytes(), reader.text()

    path.write_bytes(left)
    for asked in (reader, reader, ManifestReader(tmp_path, given.sweep)):
        with pytest.raises(BadInput):
            asked.text()
    assert stored_manifest(tmp_path, given.sweep) is None

    path.write_bytes(whole)
    assert reader.text() == text
