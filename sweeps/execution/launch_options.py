"""The options of a launch, for the command line and for Python."""

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    get_type_hints,
)

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from capsmodel.spelling import unknown
from sweeps.execution.plan.changes import Changes
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import shortened
from sweeps.storage.locations import resolve_storage

if TYPE_CHECKING:
    from sweeps.execution.engine.capacity import Resources
    from sweeps.execution.plan.definition import Launchable

_Options = ParamSpec("_Options")
_Returned = TypeVar("_Returned", covariant=True)
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_RENAMED = {"fresh": "retrain"}
Gpus = float | Literal["auto"] | None
"""GPUs of each trial; None takes one where there is one."""
AUTO_IS_LOCAL = (
    "that shares the GPUs of one machine by memory: on a cluster give a number, such as 0.25 for "
    "four trials on each GPU"
)
SMALL_STATE_BYTES = 20 * 10**6
"""The largest state of a trial that is kept unless a launch says otherwise."""
_LARGEST_SHARE = 1000
_LONGEST_INPUT = 100  # that an error repeats
_LONGEST_SECONDS = 10_000_000_000  # about as long as a timer of the system may run


class LaunchOptions(Changes):
    """The options of a launch: the only declaration of names, values, defaults and meanings.

    The keyword arguments of `sweeps.plan`, `sweeps.run` and `sweeps.plan_seeds`, and the options of
    the command line, are made from it.

    Attributes:
        time_limit_seconds: Ends the launch after this time, as Ctrl-C does.
        budget_epochs: Ends it too, but running trials train to their end.
        reports: The folder in which reports/<sweep>/ is written.
        notify: A command that is split as a shell does and run without one, on the machine of the
            launch. It is stored nowhere.
    """

    cpus_per_trial: Annotated[int, Field(ge=1)] = Field(
        default=1, description="CPU cores and threads of each trial."
    )
    gpus_per_trial: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] | None = (
        Field(
            default=None,
            description="GPUs of each trial; 0.25: four share one; auto: as many share each of "
            "this machine's as its memory takes [default: 1 if Ray sees one, else 0].",
        )
    )
    max_concurrent: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Maximum number of concurrent trials [default: as many as fit]."
    )
    time_limit_seconds: Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)] | None = Field(
        default=None, description="End after this time, as Ctrl-C does: 90s, 30m, 2h, 1h30m."
    )
    budget_epochs: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="Start no new trial once this launch has trained so many epochs.",
    )
    warm_start: str | None = Field(
        default=None,
        description="Start a search with this sweep's best points in the search space.",
    )
    gradient_checkpointing: bool = Field(
        default=False,
        description="Trade time for memory, with the same results; not a setting of the trials.",
    )
    keep_weights: str = Field(
        default="all", description="Weights to keep when the sweep has ended."
    )
    keep_state: bool | None = Field(
        default=None,
        description="Keep what a longer training goes on from [default: up to 20 MB per trial].",
    )
    address: str | None = Field(
        default=None, description="Address of a running Ray cluster [default: start Ray here]."
    )
    share: Annotated[float, Field(gt=0, le=_LARGEST_SHARE, allow_inf_nan=False)] = Field(
        default=1.0,
        description="Weight of this launch in a cluster that others use too: 2 gets twice as much.",
    )
    engine: Literal["ray", "inline"] = Field(
        default="ray",
        description="ray, or inline: in this process, for debuggers and profilers.",
    )
    evaluations_only: bool = Field(
        default=False, description="Make evaluations that are missing, and train nothing."
    )
    retrain: bool = Field(
        default=False, description="Archive the trained cells, and train all of them again."
    )
    replace: bool = Field(
        default=False,
        description="Allow this launch to leave out cells of the sweep; their records stay.",
    )
    storage: str | Path | None = Field(
        default=None, description="Storage folder [default: ./capsweep-store]."
    )
    tracking_uri: str | None = Field(
        default=None,
        description="MLflow tracking store [default: the SQLite file in the storage folder].",
    )
    reports: str | Path = Field(
        default="reports", description="Folder in which the sweep's report gets its own folder."
    )
    only: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Of a sweep across data sets, this data set alone; repeatable.",
    )
    notify: str | None = Field(
        default=None,
        repr=False,  # it may hold a token
        description="Command to run once at the end, with a line of JSON on its standard input.",
    )

    @field_validator("gpus_per_trial")
    @classmethod
    def _whole_above_one(cls, gpus: Gpus) -> Gpus:
        if isinstance(gpus, float) and gpus > 1 and not gpus.is_integer():
            raise ValueError("above 1 it must be a whole number, and below 1 trials share a GPU")
        return gpus

    @field_validator("address")
    @classmethod
    def _cluster_has_no_packing(cls, address: str | None, info: ValidationInfo) -> str | None:
        if address is not None and info.data.get("gpus_per_trial") == "auto":
            raise ValueError(f"gpus_per_trial is auto, and {AUTO_IS_LOCAL}")
        return address

    @field_validator("address")
    @classmethod
    def _address_leads_somewhere(cls, address: str | None) -> str | None:
        if address is not None and not address.strip():
            raise ValueError(
                "it is to be HOST:PORT, ray://HOST:PORT or auto; left out, Ray starts here"
            )
        return address

    @field_validator("engine")
    @classmethod
    def _inline_is_here(cls, engine: str, info: ValidationInfo) -> str:
        if engine == "inline" and info.data.get("address") is not None:
            raise ValueError("it trains in this process: leave the address out")
        if engine == "inline" and info.data.get("gpus_per_trial") == "auto":
            raise ValueError("it trains one trial at a time: leave gpus_per_trial out, not auto")
        return engine

    @property
    def most_state_bytes(self) -> int | None:
        """The largest state of a trial that is kept for longer trainings; None for any size."""
        return {True: None, False: 0, None: SMALL_STATE_BYTES}[self.keep_state]

    @property
    def trains_here(self) -> bool:
        """Whether trials train in the process of the launch."""
        return self.engine == "inline"

    @property
    def resources(self) -> "Resources":
        """The resources of each trial."""
        from sweeps.execution.engine.capacity import Resources  # here: the command line waits

        gpus = self.gpus_per_trial
        return Resources(
            self.cpus_per_trial,
            gpus,
            1 if self.trains_here else self.max_concurrent,
            self.address,
            gpu_memory=resolve_storage(self.storage).gpu_memory if gpus == "auto" else None,
            checkpointing=self.gradient_checkpointing,
        )


class LaunchFunction(Protocol[_Options, _Returned]):
    """A function of a sweep whose keyword arguments are the options of a launch."""

    def __call__(
        self, sweep: "Launchable", *args: _Options.args, **options: _Options.kwargs
    ) -> _Returned:
        """Call it."""
        ...


def takes_options(
    declared: Callable[_Options, LaunchOptions],
) -> Callable[[Callable[..., _Returned]], LaunchFunction[_Options, _Returned]]:
    """Return what gives a function the options as keyword arguments, for editors and callers."""
    del declared  # for its types alone
    return with_keyword_options


def with_keyword_options(function: Callable[..., _Returned]) -> Callable[..., _Returned]:
    """Return a function with a keyword argument for each option, in place of its `options`.

    Raises:
        BadInput: When it is called, naming the argument that was probably meant.
    """
    own = [*inspect.signature(function).parameters.values()][:-1]
    types = get_type_hints(LaunchOptions)
    declared = [
        inspect.Parameter(name, kind=_KEYWORD, default=field.default, annotation=types[name])
        for name, field in LaunchOptions.model_fields.items()
    ]

    signature = inspect.Signature([*own, *declared])

    @functools.wraps(function)
    def with_options(*args: Any, **arguments: Any) -> _Returned:
        for name in arguments:
            if name in _RENAMED:
                raise BadInput(f"The option '{name}' is now called '{_RENAMED[name]}'.")
            if name not in signature.parameters:
                raise BadInput(unknown("option", name, signature.parameters))
        own_arguments = {
            each.name: arguments.pop(each.name) for each in own if each.name in arguments
        }
        return function(*args, **own_arguments, options=options_of(arguments))

    with_options.__signature__ = signature  # type: ignore[attr-defined]
    return with_options


def options_of(arguments: Mapping[str, Any]) -> LaunchOptions:
    """Validate a launch's arguments, name -> value.

    Raises:
        BadInput: In one sentence, naming the first that is not valid.
    """
    from capsmodel.settings.messages import allowed
    from capsmodel.settings.plain import plain

    try:
        return LaunchOptions.model_validate(plain(dict(arguments)))
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        name = str(detail["loc"][0])
        if name not in LaunchOptions.model_fields:
            raise BadInput(unknown("option", name, LaunchOptions.model_fields)) from error
        requirement = allowed(LaunchOptions.model_fields[name])
        given = shortened(repr(detail["input"]), _LONGEST_INPUT)
        if detail["type"] == "value_error":
            requirement = str(detail["msg"]).removeprefix("Value error, ")
            raise BadInput(f"{name} is {given}, but {requirement}.") from error
        raise BadInput(f"{name} must be {requirement}, got {given}.") from error
