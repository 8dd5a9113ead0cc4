"""A point of a search's space as a cell of a table."""

import json
from collections.abc import Mapping

from capsmodel.spelling import short_names
from sweeps.aggregation.rendering.table import Cell
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.records.manifest_plan import ManifestSearch, Plain
from sweeps.records.plain_text import one_line


def point_cell(params: Mapping[str, Plain], search: ManifestSearch) -> Cell:
    """Return a point's cell, empty for the base: short names for readers, JSON for programs."""
    names = short_names([dimension.path for dimension in search.dimensions])
    paths = {dimension.name: dimension.path for dimension in search.dimensions}
    text = ", ".join(
        f"{names.get(paths.get(name, name), name)} {value_text(value)}"
        for name, value in params.items()
    )
    return Cell(one_line(text), (json.dumps(dict(params), sort_keys=True),))
