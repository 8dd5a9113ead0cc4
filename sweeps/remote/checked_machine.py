"""The result of checking a machine, or an account."""

from dataclasses import dataclass, field


@dataclass
class CheckedMachine:
    """The result of the checks of a machine.

    Attributes:
        name: As its file calls it.
        right: Subjects that are as they have to be.
        wrong: A sentence for each subject that is not: what is wrong, and what to do.
        not_checked: Subjects that could not be checked, and why.
    """

    name: str
    right: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    not_checked: list[str] = field(default_factory=list[str])

    def add(self, subject: str, is_right: bool | None, advice: str = "") -> None:
        """Add the result of a check; `is_right=None` means that it could not be made."""
        if is_right is None:
            self.not_checked.append(subject)
        elif is_right:
            self.right.append(subject)
        else:
            self.wrong.append(advice)
