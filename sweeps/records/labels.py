"""Tags and note that a launch gives its sweep. They decide nothing, and are in no key."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

_LONGEST_TAG = 100
_LONGEST_NOTE = 2000
_MOST_TAGS = 20
_OF_A_NOTE = str.maketrans("\n\t", "  ")


def _valid_tag(tag: str) -> str:
    if len(tag) > _LONGEST_TAG:
        raise ValueError(f"a tag has at most {_LONGEST_TAG} characters, and this one {len(tag):,}")
    if not tag.isprintable():
        raise ValueError("a tag has neither line breaks nor other control characters")
    if "," in tag:
        raise ValueError("a tag has no comma: give the option once for each tag")
    if not tag.strip():
        raise ValueError("a tag has a letter at least")
    return tag.strip()


def _valid_note(note: str) -> str:
    if len(note) > _LONGEST_NOTE:
        length = f"{len(note):,}"
        raise ValueError(f"a note has at most {_LONGEST_NOTE:,} characters, and this one {length}")
    if not note.translate(_OF_A_NOTE).isprintable():
        raise ValueError("a note has no control characters but line breaks and tabs")
    return note.strip()


def _each_once(tags: tuple[str, ...]) -> tuple[str, ...]:
    different = tuple(dict.fromkeys(tags))
    if len(different) > _MOST_TAGS:
        raise ValueError(f"a sweep has at most {_MOST_TAGS} tags, and these are {len(different):,}")
    return different


Tags = Annotated[tuple[Annotated[str, AfterValidator(_valid_tag)], ...], AfterValidator(_each_once)]
"""A few words each, as a launch gives them."""
Note = Annotated[str, AfterValidator(_valid_note)]
"""Some sentences, as a launch gives them."""
RecordedTags = Annotated[
    tuple[Annotated[str, StringConstraints(max_length=_LONGEST_TAG)], ...],
    Field(max_length=_MOST_TAGS),
]
"""Tags as a store holds them, which anybody may have written."""
RecordedNote = Annotated[str, StringConstraints(max_length=_LONGEST_NOTE)]
"""Likewise a note."""


def tags_text(tags: tuple[str, ...]) -> str:
    """Return tags as people read them, from which a program gets them back: "a, b"."""
    return ", ".join(tags)


def label_sentences(tags: tuple[str, ...], note: str) -> tuple[str, ...]:
    """Return what a report says of a sweep's tags and note, nothing where it has none."""
    said = (f"Tags: {tags_text(tags)}." if tags else "", f"Note: {note}" if note else "")
    return tuple(sentence for sentence in said if sentence)
