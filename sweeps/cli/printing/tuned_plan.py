"""What `capsweep plan` prints of arms that are tuned before they are compared."""

from typing import TYPE_CHECKING

from rich.console import Console

from sweeps.cli.printing.console import table_of
from sweeps.cli.terminal import plain

if TYPE_CHECKING:
    from sweeps.execution.survey.survey import Survey
    from sweeps.records.manifest_plan import ManifestPlan


def print_tuned(survey: "Survey", plan: "ManifestPlan", out: Console) -> None:
    """Print what is tuned, what that costs every arm, and how far it is."""
    manifest = survey.definition.manifest
    points, choosing = max(map(len, plan.tuned.values())), len(plan.choosing_seeds)
    num_arms, seeds = len(plan.tuned), len(manifest.seeds)
    tunings, compared = num_arms * points * choosing, num_arms * seeds
    out.print(
        f"{survey.name}: {num_arms} arms, each tuned at the same {points} points x {choosing} "
        f"tuning seeds = {tunings} trainings,",
        soft_wrap=True,
    )
    out.print(
        f"then trained as chosen on {seeds} fresh seeds = {compared} more: {tunings + compared} "
        f"in all, {points * choosing + seeds} an arm.",
        soft_wrap=True,
    )
    filled = {cell.cell.arm: 0 for cell in survey.cells}
    for cell in survey.cells:
        filled[cell.cell.arm] += cell.is_filled
    table = table_of("arm", "tunings there", "of", "seeds there", "of", numbers=4)
    for name, tried in plan.tuned.items():
        done = sum(filled.get(one, 0) for one in tried)
        title = plain(name) + " (baseline)" * (name == manifest.baseline)
        row = (done, len(tried) * choosing, filled.get(name, 0), seeds)
        table.add_row(title, *map(str, row))
    out.print(table)
    for path, values in plan.factors.items():
        tried = ", ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values)
        out.print(f"{plain(path)}: {plain(tried)}", soft_wrap=True)
