"""The marked block of cluster.yaml: its settings are read, compared, and written in their places.

Everything else of the file, edits of the user's too, is left as it is.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder, read_named_file

Values = Mapping[str, str]

_PLACES: Values = {
    "cluster_name": r"^cluster_name: (\S+)",
    "max_workers": r"^max_workers: &max_workers (\d+)",
    "region": r"^  region: (\S+)",
    "key_name": r"^  key_pair: \{key_name: (\S+)\}",
    "image": r"^    image: &image (\S+)",
    "security_group": r"^    security_groups: &security_groups \[(.*?)\]",
    "subnets": r"^    subnets: &subnets \[(.*?)\]",
    "head_profile": r"^    head_profile: &head_profile \{Name: (\S+)\}",
    "head_type": r"^    head_type: &head_type (\S+)",
    "worker_type": r"^    worker_type: &worker_type (\S+)",
    "worker_resources": r"^    worker_resources: &worker_resources \{(.*?)\}",
    "price": r"^    price: (\S+)",
    "max_spot_workers": r"^    max_spot_workers: &max_spot_workers (\d+)",
    "max_on_demand_workers": r"^    max_on_demand_workers: &max_on_demand_workers (\d+)",
    "disk": r"^      SHARE=(\S+)",
    "access_point": r"^      ACCESS_POINT=(\S+)",
}
"""Setting -> pattern of its line, with the value as its group."""
SHIPPED_IDS: Values = {
    "image": "ami-0123456789abcdef0",
    "security_group": "sg-0123456789abcdef0",
    "subnets": "subnet-0123456789abcdef0, subnet-0123456789abcdef1",
    "disk": "fs-0123456789abcdef0",
    "access_point": "fsap-0123456789abcdef0",
}
"""The ids that the shipped file has in place of the user's."""


class ClusterSettings:
    """A cluster.yaml with its marked block.

    Args:
        path: The file; one that is not there is going to be like the cluster.yaml in its folder,
            without the ids of that one's account.

    Attributes:
        path: The file.
        values: Setting -> its value, as the file has it.

    Raises:
        BadInput: If it cannot be read, or lacks a line of the block.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._gone: set[str] = set()
        self._read()

    def _read(self) -> None:
        path = self.path
        shipped = path.with_name("cluster.yaml")
        try:
            is_new = not path.exists() and shipped.exists()
            self._text = read_named_file(shipped if is_new else path).decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise BadInput(
                f"{path} cannot be read ({reason}): give the command in the folder of a checkout, "
                f"which has a cluster.yaml, or name one by --file."
            ) from error
        self.values: Values = {name: self._match(name)[1] for name in _PLACES}
        if is_new:  # of the other, only what the account has is not taken over
            self._text = self.edited(SHIPPED_IDS)
            self.values = {**self.values, **SHIPPED_IDS}

    def _match(self, name: str) -> "re.Match[str]":
        matches = [*re.finditer(_PLACES[name], self._text, re.MULTILINE)]
        if len(matches) != 1:
            raise BadInput(
                f"{self.path} has {len(matches)} lines for '{name}' in its marked block, and not "
                f"one: take the shipped cluster.yaml."
            )
        return matches[0]

    @property
    def is_shipped(self) -> bool:
        """Whether it names nothing that `init` makes; image and subnets may be the user's."""
        return not any(map(self.own_id, ("security_group", "disk", "access_point")))

    def own_id(self, name: str) -> str | None:
        """Return an id that the file has, None if it is the shipped one, or gone."""
        is_absent = self.values[name] == SHIPPED_IDS[name] or name in self._gone
        return None if is_absent else self.values[name]

    def forget(self, name: str) -> None:
        """Take an id that the file has for gone from the account."""
        self._gone.add(name)

    def edited(self, changes: Values) -> str:
        """Return the text of the file with other values."""
        text, spans = self._text, {}
        for name, value in changes.items():
            spans[self._match(name).span(1)] = value
        for (start, end), value in sorted(spans.items(), reverse=True):
            text = text[:start] + value + text[end:]
        return text

    def difference(self, changes: Values) -> str:
        """Return how the file would differ with other values, as `diff -u` shows it."""
        here, there = self._text.splitlines(keepends=True), self.edited(changes)
        name = self.path.name
        lines = difflib.unified_diff(
            here, there.splitlines(keepends=True), name, f"{name} of init", n=0
        )
        return "".join(lines)

    def write(self, changes: Values) -> None:
        """Write other values into the file."""
        text = self.edited(changes)
        if self.path.exists() and text == self._text:
            return
        Folder(self.path.absolute().parent).write(self.path.name, text.encode())
        self._gone.clear()
        self._read()
