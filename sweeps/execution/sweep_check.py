"""The check of a sweep before a launch: everything in it is tried once, on a few images.

Each data set is loaded, a user's own class twice, each distinct network takes one training step on
the CPU, is written to a checkpoint, read back and used to predict, and each evaluation looks at a
network. An error names the user's line at which it happened, or the line that returned the wrong
value.
"""

import copy
import json
import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from capsmodel.config import TrainingConfig, build_model, initial_network
from capsmodel.data import DataSet, DataSplits, Images, check_repeatable, facts_of, load_checked
from capsmodel.data.checks import check_declared
from capsmodel.evaluation import Evaluation, UnsuitableNetworkError, checked_findings
from capsmodel.launch_folder import LAUNCH_FOLDER
from capsmodel.metrics import EpochMetrics
from capsmodel.models import ForeignModel, Network
from capsmodel.search_range import Plain
from capsmodel.settings.measures import parts_in
from capsmodel.settings.parts import is_built_in
from capsmodel.training.batch_independence import check_batch_independence, own_judges
from capsmodel.training.learning_rates import check_learning_rates, own_rates
from capsmodel.training.loss_laws import check_loss
from capsmodel.training.trained import Trained
from capsmodel.training.training import Training, check_stopping
from capsmodel.training.unsaved_state import unsaved_state
from search_spaces.data_fingerprint import with_near_duplicates
from search_spaces.plans.search import Search
from search_spaces.space.space import Space
from search_spaces.sweep import Sweep
from search_spaces.sweep_file import run_again
from search_spaces.user_code import (
    Returns,
    UserLine,
    error_text,
    line_in_sweep_file,
    watched_returns,
)
from sweeps.execution.culprit import culprit
from sweeps.execution.epoch_speed import seconds_per_epoch
from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import Launchable, changed_sweep
from sweeps.execution.survey.checked_speeds import checked_timings
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import image_counts_text, listed

_NUM_IMAGES = 8
_NUM_EVALUATED = 64
_MOST_NAMES = 3
_MOST_TIMING_SECONDS = 0.5


class CheckFailed(BadInput):
    """Something in a sweep does not work.

    Attributes:
        line: The user's line at which it happened, if it was one of theirs.
        is_raised: Whether code raised it, and not a check of the results that code gave.
    """

    def __init__(self, failure: str, error: BaseException, line: UserLine | None) -> None:
        self.is_raised = type(error) is not ValueError or line_in_sweep_file(error) is not None
        message = error_text(error).rstrip(".")
        place = f" ({line.file}, line {line.number})" if line and line.file not in message else ""
        is_whole = not failure or message.startswith("The ")
        sentence = f"{message}{place}." if is_whole else f"{failure}: {message}{place}."
        super().__init__(sentence + _remedy(error))
        self.line = line

    @property
    def excerpt(self) -> str:
        """The user's line with those around it, "" if it was none of theirs."""
        return self.line.excerpt() if self.line else ""


def _remedy(error: BaseException) -> str:
    """Return what to do where a file is missing because a trial runs in another folder."""
    if LAUNCH_FOLDER not in os.environ:
        return ""
    cause: BaseException | None = error
    while cause and not isinstance(cause, FileNotFoundError):
        cause = cause.__cause__
    if cause is None or Path(str(cause.filename or "")).is_absolute():
        return ""
    return (
        " A trial runs in a folder of its own, not in that of the launch: give the absolute path."
    )


@dataclass(frozen=True)
class Trying:
    """Something is tried from now on.

    Attributes:
        subject: In words.
    """

    subject: str


@dataclass(frozen=True)
class Tried:
    """Something that works.

    Attributes:
        what: In words.
        seconds: How long it took.
    """

    what: str
    seconds: float


@dataclass(frozen=True)
class Timed:
    """How long an epoch of a network that works takes, roughly, on one thread of the CPU."""

    config: TrainingConfig
    seconds_per_epoch: float


@dataclass(frozen=True)
class Case:
    """Arms whose networks have one shape and the same user parts. The first arm is tried.

    Attributes:
        names: The names of the arms.
        config: The config of the first.
    """

    names: tuple[str, ...]
    config: TrainingConfig

    @property
    def title(self) -> str:
        """The arms in words."""
        more = len(self.names) - _MOST_NAMES
        quoted = ", ".join(f"'{name}'" for name in self.names[:_MOST_NAMES])
        return f"Arm{'s' * (len(self.names) > 1)} {quoted}" + f" and {more} more" * (more > 0)


def loaded_sweep(launchable: Launchable, changes: Changes) -> Sweep:
    """Return a sweep with the changes of a launch; its plan has made its first cells.

    Raises:
        CheckFailed: If its file cannot be run, or its plan fails.
    """
    with _errors("", blames_returns=not changes.settings):
        sweep = changed_sweep(launchable, changes, ()).sweep
        sweep.check_files()
    for each in _sweeps(sweep).values():
        with _errors(f"The plan of '{each.name}' fails"):
            each.initial_arms()
            each.plan.check_all(each)
            each.plan.initial_cells(each)
            each.plan.manifest_fields(each)
    return sweep


def _sweeps(sweep: Sweep) -> Mapping[str, Sweep]:
    """Return the sweep of each data set by its name; "" -> a sweep of one data set."""
    return sweep.columns() or {"": sweep}


def check_import(source: str | None) -> None:
    """Run a sweep's file once more, as the process of a trial does.

    Args:
        source: The text of the file, None for a sweep of the package.

    Raises:
        CheckFailed: If it cannot be run.
    """
    if source is not None:
        with _errors("", blames_returns=False), redirect_stdout(StringIO()):  # printed before
            run_again(source)


def check_sweep(
    sweep: Sweep, *, times: bool = False
) -> Iterator[Trying | Tried | Timed | CheckFailed]:
    """Try everything in a sweep once; yield what is tried, and then whether it works.

    Each line of the user's is named once. What needs something that failed before is left out.
    Nothing is written but a checkpoint in a temporary folder.

    Args:
        sweep: The sweep.
        times: Whether networks are timed, for about half a second.
    """
    lines: set[UserLine] = set()
    for result in _results(sweep, times=times):
        if isinstance(result, CheckFailed) and result.line:
            if result.line in lines:
                continue
            lines.add(result.line)
        yield result


def _results(sweep: Sweep, *, times: bool) -> Iterator[Trying | Tried | Timed | CheckFailed]:
    yield Trying("The networks")
    cases, failures = _cases(sweep)
    yield from failures
    loaded: dict[DataSet, DataSplits] = {}
    for data in dict.fromkeys(case.config.data for case in cases):
        started = time.perf_counter()
        yield Trying(f"Data '{data.kind}'")
        try:
            loaded[data], counts = _loaded(data)
            yield Tried(f"Data '{data.kind}': {counts}", _since(started))
        except CheckFailed as failed:
            yield failed
    loaded_at = time.time()
    networks: list[tuple[Case, Trained, DataSplits]] = []
    working: list[tuple[TrainingConfig, DataSplits]] = []
    for case in cases:
        if (splits := loaded.get(case.config.data)) is None:
            continue
        started = time.perf_counter()
        yield Trying(case.title)
        try:
            trained = _trained(case, splits)
            is_of_new_data = case.config.data not in [known.config.data for known, *_ in networks]
            is_first = is_of_new_data if sweep.across else not networks
            if is_first or isinstance(case.config.model, ForeignModel):
                networks.append((case, trained, splits))
            working.append((case.config, splits))
            yield Tried(f"{case.title}: a step, a checkpoint, a prediction", _since(started))
        except CheckFailed as failed:
            yield failed
    for evaluation in sweep.evaluations if networks else ():
        yield from _tried(evaluation, networks)
    yield from _changing_data(loaded, loaded_at)
    yield from _timed(working) if times else ()


def _timed(networks: Sequence[tuple[TrainingConfig, DataSplits]]) -> Iterator[Timed]:
    """Time an epoch of each network that was not timed before, until half a second is over."""
    started = time.perf_counter()
    for config, splits in networks:
        if _since(started) > _MOST_TIMING_SECONDS:
            return
        if checked_timings({"": config}):
            continue
        seconds = math.nan
        with suppress(CheckFailed), _errors(""):  # own code may not take a batch of this size
            seconds = seconds_per_epoch(config, splits)
        if math.isfinite(seconds):
            yield Timed(config, seconds)


def _tried(
    evaluation: Evaluation, networks: Sequence[tuple[Case, Trained, DataSplits]]
) -> Iterator[Trying | Tried | CheckFailed]:
    """Evaluate each network on a few images."""
    started = time.perf_counter()
    yield Trying(f"Evaluation '{evaluation.kind}'")
    try:
        notes = "".join(_evaluated(evaluation, *network) for network in networks)
        yield Tried(f"Evaluation '{evaluation.kind}'{notes}", _since(started))
    except CheckFailed as failed:
        yield failed


def _changing_data(loaded: Mapping[DataSet, DataSplits], loaded_at: float) -> Iterator[CheckFailed]:
    """Load data of classes of the user's again; yield those that give something else.

    It is done last, in another second of the clock than the first time: a seed may be of it.
    """
    for data, splits in loaded.items():
        if is_built_in(type(data)):
            continue
        time.sleep(max(0.0, math.floor(loaded_at) + 1 - time.time()))
        try:
            with _errors("", blames_returns=False):
                check_repeatable(data, splits)
        except CheckFailed as failed:
            yield failed


@contextmanager
def _errors(
    failure: str,
    *,
    blames_returns: bool = True,
    culprit_of: Callable[[], object] | None = None,
) -> Generator[Returns]:
    """Raise any error in the block as `CheckFailed`, with the user's line.

    Args:
        failure: What does not work, "" if the error says it.
        blames_returns: Whether an error that passed no line of the user's is put down to the last
            one that returned something.
        culprit_of: Does again what may fail in PyTorch, far from the line that is to blame.
    """
    with watched_returns() as returns:
        try:
            yield returns
        except CheckFailed:
            raise
        except BaseException as error:  # whatever the user's code raises
            line = line_in_sweep_file(error)
            if culprit_of and not line and isinstance(error, RuntimeError):
                line = culprit(culprit_of)
            line = line or (returns.last if blames_returns else None)
            raise CheckFailed(failure, error, line) from error


def _since(started: float) -> float:
    return time.perf_counter() - started


# Which arms differ.


def _cases(sweep: Sweep) -> tuple[list[Case], list[CheckFailed]]:
    """Return the arms by the shapes of their networks, and those that cannot be built."""
    names: dict[str, list[str]] = {}
    configs: dict[str, TrainingConfig] = {}
    failures: list[CheckFailed] = []
    for name, config in _configs(sweep):
        try:
            shape = _shape(name, config)
        except CheckFailed as failed:
            # the plan says which points of a space cannot be built
            if failed.line or not isinstance(sweep.plan, Search):
                failures.append(failed)
            continue
        names.setdefault(shape, []).append(name)
        configs.setdefault(shape, config)
    cases = [Case(tuple(names[shape]), config) for shape, config in configs.items()]
    return cases, failures


def _configs(sweep: Sweep) -> Iterator[tuple[str, TrainingConfig]]:
    for data_set, each in _sweeps(sweep).items():
        on = f" on {data_set}" if data_set else ""
        yield from ((f"{name}{on}", config) for name, config in _configs_of_one(each))


def _configs_of_one(sweep: Sweep) -> Iterator[tuple[str, TrainingConfig]]:
    arms = sweep.initial_arms()
    if not arms:
        yield "base", sweep.base
    yield from ((arm.name, arm.config) for arm in arms)
    if isinstance(sweep.plan, Search):
        for name, point in _points(sweep.plan.space):
            yield name, sweep.plan.arm(sweep, name, point).config


def _points(space: Space) -> Iterator[tuple[str, dict[str, Plain]]]:
    """Yield both corners of a space, and a point with each choice of each dimension."""
    size = len(space.dimensions)
    yield "all smallest values", space.at([0.0] * size)
    yield "all largest values", space.at([1.0] * size)
    for place, dimension in enumerate(space.dimensions):
        choices = () if dimension.num_values is None else dimension.values()
        for index, value in enumerate(choices):
            if isinstance(value, str):
                unit = [0.0] * size
                unit[place] = (index + 0.5) / len(choices)
                yield f"{dimension.name}={value}", space.at(unit)


def _shape(name: str, config: TrainingConfig) -> str:
    """Return what decides which code a config runs: kinds, shapes, and settings of own parts."""
    with _errors(f"Arm '{name}' cannot be built"):
        if config.data.is_of_user:
            check_declared(config.data)  # a wrong shape is named before what it does to a network
        tensors = build_model(config).state_dict()
    parts: list[Any] = [
        part.kind if is_built_in(type(part)) else part.model_dump(mode="json")
        for part in parts_in(config)
    ]
    parts += [config.frozen, config.rate_factors]
    if own_rates(config):  # which are of the whole training
        numbers = (config.batch_size, config.stopping.num_epochs)
        parts.append([config.optimiser.model_dump(mode="json"), *numbers])
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    return json.dumps([parts, shapes, config.data.model_dump(mode="json")], sort_keys=True)


# What is tried.


def _loaded(data: DataSet) -> tuple[DataSplits, str]:
    """Return the splits of a data set, and its numbers of images in words."""
    with _errors(f"The data '{data.kind}' cannot be used"):
        data.prepare()
        splits = load_checked(data, "cpu")
        facts = with_near_duplicates(data, splits, facts_of(data, splits))
    return splits, " ".join([f"{image_counts_text(facts.num_images)}.", *facts.notes])


def _few(splits: DataSplits, number: int) -> DataSplits:
    """Return a few images of each split, from all over it."""

    def some(images: Images) -> Images:
        return images.take(torch.linspace(0, len(images) - 1, min(number, len(images))).long())

    return DataSplits(
        train=some(splits.train),
        validation=some(splits.validation),
        test=some(splits.test),
        extra_tests={name: some(images) for name, images in splits.extra_tests.items()},
    )


def _trained(case: Case, splits: DataSplits) -> Trained:
    """Train a step on a few images, save and restore it, and predict."""
    config, few = case.config, _few(splits, _NUM_IMAGES)
    with _errors(f"{case.title} cannot be trained"):
        check_stopping(config, splits.validation)
        check_learning_rates(config, len(splits.train))
    training = _stepped(case, few)
    with _errors(f"{case.title} cannot predict"):
        _check_same_again(training.trained(), few.validation.images)
    with _errors(f"{case.title} cannot be trained"):
        _check_labels_unused(config, training, few.validation)
        training.warnings()
        training.test()
        if names := training.without_optimiser():
            _check_made_when_built(config, names)
            raise ValueError(
                f"The optimiser '{config.optimiser.kind}' does not move {_listed(names)}: hand all "
                f"parameters that build gets to PyTorch's optimiser, with a rate of 0 if need be."
            )
        if names := training.without_gradient():
            raise ValueError(_no_gradient(config, names))
    trained = training.trained()
    _check_files(case, training, few)
    with _errors(f"{case.title} cannot predict"):
        _check_logits(config, trained, few.test.images)
    _check_fewer_images(case, trained, few.test.images)
    with _errors(f"{case.title} cannot be trained"):
        _check_own_loss(config, trained, few.train)
    return trained


def _check_files(case: Case, training: Training, few: DataSplits) -> None:
    """Check that a training goes on from its checkpoint, and predicts with its weights."""
    config, images = case.config, few.test.images
    with _errors(f"{case.title} cannot be saved and restored"), TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.safetensors"
        training.save(path)
        resumed = Training.restore(path, config, 0, data=few)
        training.trained().save(path)
        loaded = Trained.load(path, config, 0)
    with _errors(f"{case.title} cannot predict"):
        lengths = training.trained().predict(images).lengths
        if not torch.equal(lengths, resumed.trained().predict(images).lengths):
            raise ValueError("restored from its checkpoint, it predicts something else")
        if not torch.equal(lengths, loaded.predict(images).lengths):
            raise ValueError("loaded from its weights alone, it predicts something else")
    with _errors(f"{case.title} cannot be resumed", blames_returns=False):
        _check_resumed(training, resumed)


def _stepped(case: Case, few: DataSplits) -> Training:
    """Return a training after a step on a few images."""
    failure = f"{case.title} cannot be trained"

    def step() -> EpochMetrics:
        return next(iter(Training(case.config, seed=0, data=few)))

    with _errors(failure):
        _check_built_again(case.config)
    with _errors(failure, culprit_of=step) as returns:
        training = Training(case.config, seed=0, data=few)
        metrics = next(iter(training))
        numbers = {"loss": metrics.train_loss, "gradient": metrics.health["gradient_norm"]}
        for name, number in numbers.items():
            if not math.isfinite(number):
                error = ValueError(f"the {name} of the first step is {number}")
                raise CheckFailed(failure, error, culprit(step) or returns.not_finite)
    with _errors(failure, blames_returns=False):
        has_own = not all(is_built_in(type(part)) for part in parts_in(case.config))
        moves = _has_gradient(metrics) or any(map(_has_gradient, islice(training, 1)))
        if has_own and not moves:
            raise ValueError(_zero_gradient(case.config))
    return training


def _check_built_again(config: TrainingConfig) -> None:
    """Check that the seed decides the weights with which a module of the user's is built.

    Raises:
        ValueError: If it does not.
    """
    if not isinstance(config.model, ForeignModel):
        return
    first, second = (initial_network(config, 0).state_dict() for _ in range(2))
    for name, value in first.items():
        if not torch.equal(value.nan_to_num(), second[name].nan_to_num()):
            raise ValueError(
                f"The model '{config.model.kind}' starts with another "
                f"'{name.removeprefix('module.')}' when it is built again with the same seed: draw "
                f"from PyTorch's, NumPy's or Python's global generator, and set no seed."
            )


def _check_resumed(unbroken: Training, resumed: Training) -> None:
    """Check that a resumed epoch is that of the unbroken training, for code of the user's.

    Raises:
        ValueError: If it is not, or a network keeps what no checkpoint holds.
    """
    has_own = not all(is_built_in(type(part)) for part in parts_in(unbroken.config))
    if not has_own or unbroken.is_done:
        return
    first, second = (next(iter(training)).train_loss for training in (unbroken, resumed))
    if name := unsaved_state(unbroken.trained().network, resumed.trained().network):
        attribute = name.rpartition(".")[2]
        raise ValueError(
            f"The network keeps '{name}' from call to call, and no checkpoint holds it, so that a "
            f"resumed training would differ: make it a buffer, "
            f"self.register_buffer('{attribute}', torch.tensor(...)), or leave it out."
        )
    if first != second and math.isfinite(first):
        raise ValueError(
            "resumed from its checkpoint, it trains otherwise: a part keeps what no checkpoint "
            "holds, or draws from a generator of its own"
        )


def _check_logits(config: TrainingConfig, trained: Trained, images: Tensor) -> None:
    """Check that a module of the user's does not return probabilities as logits.

    Raises:
        ValueError: If it does.
    """
    if not isinstance(config.model, ForeignModel) or config.model.returns != "logits":
        return
    with torch.no_grad():
        logits = trained.outputs(images).logits
    assert logits is not None
    sums = logits.sum(dim=1)
    if (logits >= 0).all() and torch.allclose(sums, torch.ones_like(sums)):
        raise ValueError(
            f"The model '{config.model.kind}' returns probabilities where logits are expected, of "
            f"which the softmax is taken again: leave out the softmax, or write "
            f"@model(returns='lengths')."
        )


def _check_made_when_built(config: TrainingConfig, names: Sequence[str]) -> None:
    """Check that a module of the user's had weights when it was built.

    Raises:
        ValueError: Naming the first that it had not.
    """
    known = dict(build_model(config).named_parameters())
    if late := [name for name in names if name not in known]:
        raise ValueError(
            f"The model '{config.model.kind}' makes '{late[0].removeprefix('module.')}' in a call, "
            f"where no optimiser sees it: make it in the constructor."
        )


def _has_gradient(metrics: EpochMetrics) -> bool:
    return metrics.health["gradient_norm"] > 0


def _zero_gradient(config: TrainingConfig) -> str:
    return (
        f"The gradient of all weights is exactly 0 in the first steps, so that none moves: look in "
        f"the loss '{config.loss.kind}' and the model '{config.model.kind}' for a factor of 0, a "
        f"clamp that always cuts, and argmax or rounding."
    )


def _check_own_loss(config: TrainingConfig, trained: Trained, images: Images) -> None:
    """Check the order of the values of a user's loss of one class an image."""
    if is_built_in(type(config.loss)) or config.data.task.label_form != "class":
        return
    with torch.no_grad():
        outputs, of_two = (trained.outputs(some) for some in (images.images, images.images[:2]))
    check_loss(config.loss, outputs, of_two)


def _no_gradient(config: TrainingConfig, names: Sequence[str]) -> str:
    return (
        f"The model '{config.model.kind}' has weights without a gradient: {_listed(names)}. No "
        f"step moves them, and no checkpoint restores them: use them, remove them, or make them "
        f"buffers."
    )


def _listed(names: Sequence[str]) -> str:
    return listed([f"'{name}'" for name in names], _MOST_NAMES)


def _check_fewer_images(case: Case, trained: Trained, images: Tensor) -> None:
    """Check that a network with parts of the user's judges an image alone, and as in a batch."""
    if not own_judges(case.config):
        return
    with _errors(f"{case.title} cannot predict half of a batch", blames_returns=False):
        check_batch_independence(trained, images, len(images) // 2)
    with _errors(f"{case.title} cannot predict one image alone", blames_returns=False):
        check_batch_independence(trained, images, 1)


def _check_same_again(trained: Trained, images: Tensor) -> None:
    """Check that a network predicts the same for the same images.

    Raises:
        ValueError: If it does not.
    """
    if not torch.equal(trained.predict(images).lengths, trained.predict(images).lengths):
        raise ValueError(
            "it predicts something else for the same images when it is asked again: a part keeps "
            "what it computed in another call, or draws random numbers outside training"
        )


def _check_labels_unused(config: TrainingConfig, training: Training, images: Images) -> None:
    """Check that a user's model believes the same with the labels and without them.

    Raises:
        ValueError: If it does not.
    """
    if is_built_in(type(config.model)):
        return
    network = training.trained().network
    presented, labels = (
        config.augmentation.plain(images.images),
        config.data.task.drawn(images.labels),
    )
    with torch.inference_mode():
        with_labels, without = (
            network(presented.clone(), known, torch.Generator().manual_seed(0)).lengths
            for known in (labels, None)
        )
    if not torch.allclose(with_labels, without, equal_nan=True):
        raise ValueError(
            f"The model '{config.model.kind}' uses the labels outside training: they may choose "
            f"only what it draws, and are not there when it predicts."
        )
    with torch.inference_mode():
        first, again, of_others = (
            _lengths_in_training(network, presented, known)
            for known in (labels, labels, labels.roll(1, 0))
        )
    if torch.equal(first, again) and not torch.allclose(first, of_others, equal_nan=True):
        raise ValueError(
            f"The model '{config.model.kind}' uses the labels for its lengths in training: they "
            f"may choose only what it draws, and are not there when it predicts."
        )


def _lengths_in_training(network: Network, images: Tensor, labels: Tensor) -> Tensor:
    """Return the lengths of a copy of a network in training, whose draws are the same each time."""
    copied = copy.deepcopy(network).train()
    with torch.random.fork_rng(devices=[]):  # which a user's layer may draw from
        torch.manual_seed(0)
        return copied(images.clone(), labels.clone(), torch.Generator().manual_seed(0)).lengths


def _evaluated(evaluation: Evaluation, case: Case, trained: Trained, splits: DataSplits) -> str:
    """Evaluate a network on a few images; return what is noted of the results, "" if nothing."""
    few = _few(splits, _NUM_EVALUATED)
    with _errors(f"The evaluation '{evaluation.kind}' of {case.title} fails"):
        try:
            findings = checked_findings(evaluation, trained, few)
        except UnsuitableNetworkError as error:
            return f"; not of {case.title}: {str(error).rstrip('.')}"
    if is_built_in(type(evaluation)):
        return ""
    number = len(evaluation.images_of(few))
    shorter = [
        f"images['{name}'] has {len(values)} rows for {number} images, which are taken for those "
        f"of the first ones"
        for name, values in findings.images.items()
        if len(values) < number
    ]
    return "".join(f"; of {case.title}: {note}" for note in shorter[:1])
