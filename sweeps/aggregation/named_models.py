"""The trained network that a name means: that of a trial, or of a sweep's best trial."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.frames import subject_of
from sweeps.aggregation.trained_models import check_finished, trained_of
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    from capsmodel.training.trained import Trained


class NamedTrial(NamedTuple):
    """A finished trial.

    Attributes:
        why: Why it was chosen of a sweep, a sentence; "" if it was named itself.
    """

    record: TrialRecord
    why: str = ""


def load_model(
    name: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    parts: Sequence[type[Any]] = (),
    device: str = "cpu",
) -> "Trained":
    """Return the trained network of one finished trial, ready to predict.

    Args:
        name: The first characters of its trial key, or the id of its record; or a sweep's name: it
            is then the best arm's trial with the lowest validation error, as `best_configs` has it.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.
        parts: Classes of the user's own parts that its config names.
        device: Where the weights go.

    Raises:
        BadInput: If no trial, or more than one, answers to it, it has not finished, its weights
            were not kept, or the config names a part that is not given.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    return trained_of(named_trial(name, store).record, store, parts=parts, device=device)


def named_trial(name: str, store: RecordStore) -> NamedTrial:
    """Return the finished trial that a name means; of a sweep the best one, by validation alone.

    Args:
        name: A sweep's name, the beginning of a trial key, or the id of a record.
        store: Where the records are.

    Raises:
        BadInput: If there is none, or more than one, or it has not finished.
        StoreUnreachable: If the store does not answer.
    """
    subject = subject_of(name, store)
    if isinstance(subject, TrialRecord):
        check_finished(subject)
        return NamedTrial(subject)
    configs = best_configs(name, store, count=1)
    if not configs:
        raise BadInput(
            f"No trial of the sweep '{name}' has finished, so that it has no network yet: "
            f"{SuggestedCommand('status', name)} shows its progress."
        )
    (best,) = configs
    trial, is_found = best.trials[0], " (not confirmed)" * (not best.is_confirmed)
    why = (
        f"Trial {trial.trial_key} of {name} (arm '{best.arm}', seed {trial.seed}): the best arm by "
        f"mean {best.metric.text}{is_found}, and its trial with the lowest validation error."
    )
    return NamedTrial(store.find(trial.trial_key), why)
