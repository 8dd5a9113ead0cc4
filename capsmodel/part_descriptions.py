"""Descriptions of all parts and their settings, taken from their docstrings."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig
from capsmodel.evaluation import EVALUATIONS, Evaluation
from capsmodel.overrides import family_of
from capsmodel.settings.messages import allowed
from capsmodel.settings.parts import Part, Settings, family_class, home_of, kind_of
from capsmodel.spelling import unknown

_MADE_ALWAYS = " Every trial makes it at its end: a sweep must not declare it."


class PartSetting(NamedTuple):
    """A setting of a part in words.

    Attributes:
        name: Name as in `--set`, below the part's path.
        default: The default as JSON; a part as its kind.
        allowed: Which values it takes.
        meaning: Its description.
    """

    name: str
    default: str
    allowed: str
    meaning: str


class Description(NamedTuple):
    """A part in words.

    Attributes:
        family: Its family.
        kind: Its name there.
        summary: Its description in one sentence.
        source: Where it is from, empty where it has no source of its own.
        difference: How it differs from its source.
        settings: Its settings.
        profiles: Name of a profile -> what it sets, as `--set` would.
        class_name: Name of its class.
        home: The module that it is imported from.
    """

    family: str
    kind: str
    summary: str
    source: str
    difference: str
    settings: tuple[PartSetting, ...]
    profiles: Mapping[str, str]
    class_name: str
    home: str


def described_parts(kind: str | None = None) -> tuple[Description, ...]:
    """Return every built-in part, family by family: of a training, then of evaluations of it.

    Args:
        kind: Only those of this kind or of this family; None for all.

    Raises:
        ValueError: In one sentence, if there is no such kind or family.
    """
    seen = set[type[Part]]()  # several evaluations have settings of one family
    of_evaluations = (part for evaluation in EVALUATIONS for part in _parts_in(evaluation, seen))
    descriptions = tuple(
        _describe(part)
        for part in (*_parts_in(TrainingConfig, set()), *EVALUATIONS, *of_evaluations)
    )
    if kind is None:
        return descriptions
    if chosen := tuple(
        description
        for description in descriptions
        if kind in (description.kind, description.family)
    ):
        return chosen
    names = dict.fromkeys(
        name for description in descriptions for name in (description.family, description.kind)
    )
    raise ValueError(unknown("part", kind, names))


def profiles_of(settings: type[Settings]) -> dict[str, str]:
    """Return the name of each profile and what it sets, written as for `--set`."""
    return {
        name: ", ".join(f"{path}={_as_given(value)}" for path, value in values.items())
        for name, values in settings.profiles.items()
    }


def _as_given(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable_python(value))


def _describe(part: type[Part]) -> Description:
    text = inspect.getdoc(part) or ""
    return Description(
        family=family_class(part).family,
        kind=kind_of(part),
        summary=" ".join(text.partition("\n\n")[0].split()) + _MADE_ALWAYS * _is_made_always(part),
        source=_section("Source", text),
        difference=_section("Difference", text),
        settings=tuple(_setting(part, name) for name in part.model_fields if name != "kind"),
        profiles=profiles_of(part),
        class_name=part.__name__,
        home=home_of(part),
    )


def _is_made_always(part: type[Part]) -> bool:
    return issubclass(part, Evaluation) and part.is_measured_in_training


def _parts_in(settings: type[Settings], seen: set[type[Part]]) -> Iterator[type[Part]]:
    """Yield the members of each family below some settings, then those below the members."""
    below: list[type[Part]] = []
    for name in settings.model_fields:
        one_of = family_of(settings, name)
        for member in one_of.members if one_of else ():
            if member not in seen:
                seen.add(member)
                below.append(member)
                yield member
    for member in below:
        yield from _parts_in(member, seen)


def _setting(part: type[Part], name: str) -> PartSetting:
    field = part.model_fields[name]
    value: Any = field.default
    default = value.kind if isinstance(value, Part) else json.dumps(value)
    texts = [inspect.getdoc(owner) or "" for owner in part.__mro__ if issubclass(owner, Settings)]
    meanings = (_section(f"    {name}", text) for text in texts)
    return PartSetting(name, default, allowed(field), next(filter(None, meanings), ""))


def _section(word: str, text: str) -> str:
    """Return the section of a docstring after a heading, up to the next one or a blank line."""
    start = re.match(" *", word)
    assert start is not None
    following = rf"^{start[0]}[A-Za-z]\w*: "
    match = re.search(rf"^{word}: (.*?)(?={following}|\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def markdown_table(parts: Sequence[Description]) -> str:
    """Return a Markdown table of parts: what each is, where it is from and how it differs."""
    lines = ["| part | what it is | source | difference |", "| :--- | :--- | :--- | :--- |"]
    for part in parts:
        cells = (f"{part.family} `{part.kind}`", part.summary, part.source, part.difference)
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"
