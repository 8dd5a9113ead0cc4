"""The laws of every part."""

import json

import pytest
from pydantic import ValidationError

from capsmodel.search_range import Choices, search_range
from capsmodel.settings.parts import Part, kind_of


class PartContract:
    """The laws that records and trial keys need of every part."""

    @pytest.fixture
    def part(self) -> Part:
        """Return the part under test; the contract of each family says which."""
        raise NotImplementedError("Override the fixture `part`.")

    def test_it_comes_back_equal_from_json(self, part: Part) -> None:
        """A record holds a part as JSON."""
        assert type(part).model_validate_json(part.model_dump_json()) == part

    def test_its_json_names_its_kind(self, part: Part) -> None:
        """Only the kind distinguishes members of a family."""
        assert json.loads(part.model_dump_json())["kind"] == kind_of(type(part))

    def test_it_has_a_default_for_every_setting(self, part: Part) -> None:
        """A part can be named by its kind alone."""
        assert type(part).model_validate({}).kind == part.kind

    def test_it_cannot_be_changed(self, part: Part) -> None:
        """An arm stays what it was when its key was made."""
        with pytest.raises(ValidationError):
            part.kind = "other"

    def test_it_refuses_settings_that_it_does_not_know(self, part: Part) -> None:
        """A misspelt setting is an error."""
        with pytest.raises(ValidationError):
            type(part).model_validate({"kind": part.kind, "no_such_setting": 1})

    def test_it_takes_the_ends_of_its_search_ranges(self, part: Part) -> None:
        """A value that a search may propose is valid together with the defaults."""
        for field in type(part).model_fields:
            searched = search_range(type(part), field)
            if searched is None:
                continue
            ends = (
                searched.values if isinstance(searched, Choices) else (searched.low, searched.high)
            )
            for value in ends:
                settings = type(part).model_validate({"kind": part.kind, field: value})
                assert getattr(settings, field) == value
