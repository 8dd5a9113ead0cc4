"""What a reader has to know of a fraction or a screen: which effects it cannot tell apart."""

import string
from collections.abc import Iterator

from capsmodel.spelling import short_names
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestDesign
from sweeps.records.plain_text import one_line, shortened

_MOST_CHAINS = 4
_LONGEST = 800
_MAIN_EFFECTS_CLEAR, _PAIRS_CLEAR = 4, 5
_NUMERALS = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII", 9: "IX", 10: "X"}
_LETTERS = string.ascii_uppercase.replace("I", "")


def alias_notes(manifest: Manifest) -> Iterator[str]:
    """Say which part of all combinations a design is, and what it mixes by that."""
    design = manifest.design
    if design is None or design.resolution is None:
        return
    part = (
        f"{len(manifest.arms)} of {2 ** len(design.factors):,} combinations, resolution "
        f"{_NUMERALS.get(design.resolution, design.resolution)}"
    )
    yield (
        f"{part}: {_mixed(design)} Interactions of three and more factors are taken to be nothing."
    )
    if not design.is_partly_aliased and (chains := _chains(design)):
        more = len(chains) - _MOST_CHAINS
        named = "; ".join(chains[:_MOST_CHAINS]) + (f"; and {more} more sums" if more > 0 else "")
        yield shortened(f"Found only as a sum: {named}.", _LONGEST)


def generator_notes(manifest: Manifest) -> Iterator[str]:
    """Say how a fraction was made, with the letters of its factors."""
    design = manifest.design
    if design and design.generators:
        names = short_names(tuple(design.factors)).values()
        letters = ", ".join(
            f"{letter} {one_line(name)}" for letter, name in zip(_LETTERS, names, strict=False)
        )
        generators = ", ".join(map(one_line, design.generators))
        yield shortened(f"Made by {generators}, where the factors are {letters}.", _LONGEST)


def _mixed(design: ManifestDesign) -> str:
    resolution = design.resolution or 0
    if design.is_partly_aliased:
        return (
            "each main effect takes on a part of the interactions of two others, so that an "
            "interaction can pass for a main effect, and none can be found itself."
        )
    if resolution < _MAIN_EFFECTS_CLEAR:
        return (
            "a main effect cannot be told from interactions of two other factors, whatever the "
            "number of seeds."
        )
    if resolution < _PAIRS_CLEAR:
        return (
            "main effects are clear of interactions of two factors, which cannot be told from each "
            "other."
        )
    return "main effects and interactions of two factors are clear of each other."


def _chains(design: ManifestDesign) -> list[str]:
    """Return the sets of effects that are aliased, each once, those of main effects first."""
    names = short_names(tuple(design.factors))
    chains: list[str] = []
    seen: set[str] = set()
    for effect, others in design.aliases.items():
        if effect not in seen:
            seen |= {effect, *others}
            chains.append(" = ".join(_short(one, names) for one in (effect, *others)))
    return chains


def _short(effect: str, names: dict[str, str]) -> str:
    return one_line(" x ".join(names.get(path, path) for path in effect.split(" x ")))
