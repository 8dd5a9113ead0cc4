"""How a sweep is defined, for a page: its arms or its space, its seeds, the base of all."""

from collections.abc import Iterator

from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    integer_cell,
    text_cell,
)
from sweeps.aggregation.tables.departures import departure_sentence
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import ManifestDimension, ManifestSearch
from sweeps.records.plain_text import one_line, shortened
from sweeps.tracking.record_facts import flat_settings

_MOST_ARMS = 30  # of which nobody wants to see more unasked
_LONGEST_VALUE = 200

_ARM_COLUMNS = (
    Column("Arm", ("arm",), align="left"),
    Column("What it changes", ("changes",), align="left"),
    Column("Parameters", ("num_parameters",)),
)
_DIMENSION_COLUMNS = (
    Column("Setting", ("setting",), align="left"),
    Column("Values", ("values",), align="left"),
    Column("Where", ("conditions",), align="left", hide_if_empty=True),
)


def definition_sections(manifest: Manifest) -> Iterator[Section]:
    """Yield what the sweep varies, its arms where these are many, and the base of a design."""
    title = "Definition"
    notes = tuple(_notes(manifest))
    if manifest.search:
        table = _dimensions(manifest.search, title)
        yield Section("definition", "definition", tables=(table,), notes=notes, title=title)
        if manifest.arms:
            drawn = len(manifest.drawn)
            title = f"Proposals ({len(manifest.arms) - drawn})"
            title += f" and random points ({drawn})" * bool(drawn)
            yield _arms(manifest, title, is_folded=True)
        return
    if len(manifest.arms) > _MOST_ARMS:
        yield Section("definition", "definition", notes=notes, title=title)
        yield _arms(manifest, f"Arms ({len(manifest.arms)})", is_folded=True)
    else:
        arms = _arms(manifest, title)
        yield Section("definition", "definition", tables=arms.tables, notes=notes, title=title)
    yield from _base(manifest)


def _arms(manifest: Manifest, title: str, *, is_folded: bool = False) -> Section:
    rows = [
        (
            Cell(_name(arm, manifest), (arm.name,)),
            text_cell(_changes(arm)),
            integer_cell(arm.num_parameters),
        )
        for arm in manifest.arms
    ]
    table = Table("arms", title, _ARM_COLUMNS, tuple(rows))
    return Section("arms", "arms", tables=(table,), title=title, is_folded=is_folded)


def _name(arm: ManifestArm, manifest: Manifest) -> str:
    return one_line(arm.name) + " (baseline)" * (arm.name == manifest.baseline)


def _changes(arm: ManifestArm) -> str:
    settings = flat_settings(arm.changes)
    texts = [f"{path} = {shortened(text, _LONGEST_VALUE)}" for path, text in settings.items()]
    return "; ".join(texts) or "nothing"


def _base(manifest: Manifest) -> Iterator[Section]:
    """Yield all settings of the baseline, once it is chosen."""
    arm = next((arm for arm in manifest.arms if arm.name == manifest.baseline), None)
    if arm is None:
        return
    settings = flat_settings(arm.config)
    title = f"All settings of the baseline ({len(settings)})"
    columns = tuple(Column(words, (words,), align="left") for words in ("Setting", "Value"))
    rows = tuple(
        (text_cell(path), text_cell(shortened(text, _LONGEST_VALUE)))
        for path, text in settings.items()
    )
    table = Table("base", title, columns, rows)
    yield Section("base", "base", tables=(table,), title=title, is_folded=True)


def _dimensions(search: ManifestSearch, title: str) -> Table:
    rows = [
        (text_cell(one.name), text_cell(_values(one)), text_cell(_conditions(one)))
        for one in search.dimensions
    ]
    return Table("definition", title, _DIMENSION_COLUMNS, tuple(rows))


def _values(one: ManifestDimension) -> str:
    if one.kind == "choices":
        return ", ".join(str(choice) for choice in one.choices)
    step = f", in steps of {one.step}" if one.step and one.step > 1 else ""
    return f"{one.low:g} to {one.high:g}{step}{', logarithmic' * one.log}"


def _conditions(one: ManifestDimension) -> str:
    return ", ".join(f"{name} is {kind}" for name, kind in one.conditions.items())


def _notes(manifest: Manifest) -> Iterator[str]:
    if departures := departure_sentence(manifest):
        yield departures
    yield f"Seeds: {_numbers(manifest.seeds)}."
    if manifest.splits:
        splits = tuple(dict.fromkeys(manifest.splits.values()))
        yield f"Split seeds of the data, dealt to the seeds in turn: {_numbers(splits)}."
    if manifest.planned_seeds:
        yield f"Planned were {_numbers(manifest.planned_seeds)}; the others were added later."
    if manifest.margin_points is not None:
        yield (
            f"Differences of test errors within {PLUS_MINUS}{manifest.margin_points:g} percentage "
            f"points do not matter, as declared before the results."
        )
    if manifest.search:
        yield from _search_notes(manifest, manifest.search)
    elif manifest.choosing_seeds:
        yield f"Chosen by validation on the seeds {_numbers(manifest.choosing_seeds)}."
    elif manifest.plan:
        yield f"A plan of the sweep's own file, {manifest.plan.kind}."


def _search_notes(manifest: Manifest, search: ManifestSearch) -> Iterator[str]:
    yield (
        f"A search for a small {manifest.objective.metric.text}{_cost(search)}: sampler "
        f"{search.sampler}, "
        f"scheduler {search.scheduler['kind']}, {len(search.proposals)} of {search.num_trials} "
        f"proposals made, the first {search.num_startup} of them at random."
    )
    if search.limits:
        yield f"All that was proposed keeps the limits: {', '.join(search.limits)}."
    if search.beginning:
        yield f"The search {search.beginning}."
    if search.ending:
        yield f"The search {search.ending}."
    elif search.until:
        yield f"The search ends earlier at: {search.until}."
    if again := search.confirmation:
        best = f"{again.best} of the front" if search.cost else f"The best {again.best}"
        yield f"{best} run again with the fresh seeds {_numbers(again.seeds)}."
        if again.random:
            yield (
                f"So does the best of random points at equal compute, drawn by seed "
                f"{again.random.seed}."
            )


def _cost(search: ManifestSearch) -> str:
    return f" and a small {search.cost.replace('_', ' ')}" if search.cost else ""


def _numbers(seeds: tuple[int, ...]) -> str:
    return shortened(", ".join(str(seed) for seed in seeds), _LONGEST_VALUE)
