"""What is shown of an address."""

import pytest

from sweeps.records.errors import BadInput
from sweeps.tracking.addresses import check_address, public


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@host/x failed", "https://host/x failed"),
        ("postgresql://u:p@h:5/db at http://a:b@c", "postgresql://h:5/db at http://c"),
        ("sqlite:////tmp/a@b/mlflow.db", "sqlite:////tmp/a@b/mlflow.db"),
        ("no address, me@mail", "no address, me@mail"),
        ("sqlite:////a@b.db", "sqlite:////a@b.db"),
        ("https://me:s@cret@host/x", "https://host/x"),
        ("https://me:se/cr@et@host/x", "https://host/x"),
        ("postgresql://me:se/cret@host:5/db failed", "postgresql://host:5/db failed"),
        ("https://host/x@y", "https://host/x@y"),
    ],
)
def test_credentials_are_taken_out_of_messages(text: str, shown: str) -> None:
    assert public(text) == shown


@pytest.mark.parametrize("address", ["foo://x", "ftp://host/x", "postgresql://host/db", "x"])
def test_what_is_neither_a_file_nor_a_server_is_refused_in_our_words(address: str) -> None:
    with pytest.raises(BadInput, match="is not a tracking store: give sqlite:///PATH or the http"):
        check_address(address)
