"""Arms whose network cannot be built: all are named before anything is trained."""

from collections.abc import Mapping, Sequence

from capsmodel.config import TrainingConfig, why_unbuildable
from capsmodel.spelling import names_by_reason
from search_spaces.plans.base import Arm, Plan

_MOST_NAMED = 20
_SKIP = "skip_unbuildable"


def unbuildable(configs: Mapping[str, TrainingConfig]) -> dict[str, str]:
    """Return the arms whose network cannot be built, name -> reason.

    Args:
        configs: Name of an arm -> its config.
    """
    reasons = {name: why_unbuildable(config) for name, config in configs.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def check_networks(plan: Plan, arms: Sequence[Arm]) -> None:
    """Check that the network of each arm can be built.

    Raises:
        ValueError: If not, with all arms that cannot be, as far as a sentence has room, and why.
    """
    reasons = unbuildable({arm.name: arm.config for arm in arms})
    if not reasons:
        return
    advice = ""
    if _SKIP in type(plan).model_fields and len(reasons) < len(arms):
        advice = f" To train the other {len(arms) - len(reasons)} alone, give {_SKIP}=True."
    if len(reasons) == 1:
        ((name, reason),) = reasons.items()
        raise ValueError(f"Arm '{name}': {reason}{advice}")
    raise ValueError(
        f"The networks of {len(reasons)} of {len(arms)} arms cannot be built: "
        f"{names_by_reason(reasons, _MOST_NAMED)}.{advice}"
    )
