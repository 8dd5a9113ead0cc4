"""A setting that a plan varies itself, and so cannot be set for all of its arms."""

from dataclasses import dataclass

from search_spaces.space.settings_tree import is_at_or_below

KIND = ".kind"


@dataclass(frozen=True)
class Varied:
    """A path that a plan varies, and who does.

    Attributes:
        who: Varies it, in words.
        advice: What to do instead.
        is_within_kinds: Whether values below a part leave its kind as it is: a kind that is set
            for all stays in arms that change but settings below its part.
    """

    path: str
    who: str
    advice: str
    is_within_kinds: bool = False

    def hides(self, path: str) -> bool:
        """Return whether what is varied would hide a value at a path."""
        if path.endswith(KIND) and self.is_within_kinds:
            return self.path == part_of_kind(path)
        return is_at_or_below(self.path, part_of_kind(path))


def part_of_kind(path: str) -> str:
    """Return the path of the part whose kind a path names, other paths as they are."""
    return path.removesuffix(KIND)
