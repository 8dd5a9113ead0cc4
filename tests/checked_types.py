"""Which modules' signatures are checked in every test, found by reading them."""

from pathlib import Path

_ROOT = Path(__file__).parents[1]


def modules_with_shapes() -> list[str]:
    """Return every module that states shapes of tensors."""
    return [
        ".".join(path.relative_to(_ROOT).with_suffix("").parts)
        for package in ("capsmodel", "search_spaces", "sweeps")
        for path in sorted((_ROOT / package).rglob("*.py"))
        if "from jaxtyping import" in path.read_text(encoding="utf-8")
    ]
