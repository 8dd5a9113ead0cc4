"""Sentences about importances: what they are, what they do not see, and why there are none."""

from collections.abc import Iterator

from sweeps.aggregation.rendering.table import MINUS
from sweeps.aggregation.sensitivity.importance import NUM_HALVES, NUM_SHUFFLES
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.records.plain_text import one_line

_SILENCES = {
    "few": f"fewer than {FEWEST_TRIALS} counted trials",
    "equal results": "all results equal",
    "one value": "the same value in all counted trials",
}


def importance_notes(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield them in the order of the columns."""
    yield from silence_notes(sensitivity)
    if not any(setting.fanova for setting in sensitivity.settings):
        return
    yield (
        "Importance: the share of the differences between trials (their variance, as a random "
        "forest models it) that goes back to this setting alone, by fANOVA, less what its shadows "
        f"get: copies whose values are shuffled among the trials, {NUM_SHUFFLES} times. In "
        "brackets a 95 % band: the spread of the shadows, and what the share varies among "
        f"{NUM_HALVES} random halves of the trials beyond that. Bold: above the shadows, by Holm "
        "over all settings (p < .05). A setting whose band touches 0 cannot be told from one "
        "without effect. Weak effects come out smaller than they are."
    )
    yield (
        "Importance counts what a setting does by itself. Settings that act only together, where "
        "each helps or harms depending on the other, stand in the table of pairs: an importance "
        "near 0 does not show that a setting can be left out."
    )
    yield (
        "PED-ANOVA, a second opinion: how differently the setting is chosen in the best trials, as "
        "a share of the sum over all settings, less the same for shadows. It finds what is strong, "
        "but mostly does not tell a weak setting from one without effect."
    )
    yield (
        "Rank correlation (Spearman), of numbers only, with its 95 % interval: "
        f"{MINUS}1 where the objective always falls as the setting grows, +1 where it always "
        "rises, near 0 where the best lies in the middle or nothing changes. Bold: it leaves out "
        "0 also as one of all settings."
    )
    yield from _conditional_notes(sensitivity)


def silence_notes(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield which settings have no importance, and why."""
    for silence, words in _SILENCES.items():
        names = [
            one_line(setting.dimension.name)
            for setting in sensitivity.settings
            if setting.silence == silence
        ]
        if len(names) == len(sensitivity.settings):
            yield f"No importance is given: {words}. See the means by value."
        elif names:
            yield f"No importance is given for {', '.join(names)}: {words}."


def _conditional_notes(sensitivity: Sensitivity) -> Iterator[str]:
    counted = len(sensitivity.sample.values)
    if any(len(setting.trials) < counted for setting in sensitivity.settings):
        yield (
            "A setting that only some trials have (n of all counted) is held against the others "
            "among those trials alone, so its importance is a share of their differences and "
            "does not compare with those of settings that all have."
        )
