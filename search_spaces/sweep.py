"""A sweep: a named set of trials with one purpose."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializeAsAny,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from capsmodel.config import TrainingConfig
from capsmodel.data.user_files import MissingFilesError, missing_files_in
from capsmodel.evaluation import EVALUATIONS, Evaluation
from capsmodel.metrics import Metric
from capsmodel.overrides import with_settings
from capsmodel.settings.measures import declared_metrics
from capsmodel.settings.messages import explain
from capsmodel.settings.parts import OneOf, Part, Settings
from capsmodel.spelling import unknown
from search_spaces.data_set_columns import (
    SEEDS,
    check_arms_of_column,
    check_columns_together,
    check_data_sets,
    check_search_across,
    check_table_of_columns,
    first_seed_of,
)
from search_spaces.plans.base import Arm, Plan, Seed, each_seed_once
from search_spaces.plans.built_in import plan_from_values
from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.plans.designs.factors import FactorDesign
from search_spaces.plans.listed import ListedArms
from search_spaces.plans.path import Path
from search_spaces.plans.path_changes import named_changes
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import BASE, Search
from search_spaces.plans.selection import CHOOSING_SEEDS
from search_spaces.plans.until_decided import SeedsOrLooks, UntilDecided
from search_spaces.sweep_checks import (
    changed_base,
    check_arms_with_splits,
    check_curves,
    check_evaluations,
    check_is_part,
    check_judged_evaluation,
    check_looks,
    check_margins,
    check_parts,
    check_plan_with_splits,
    check_splits,
    check_tables,
)
from search_spaces.tables import (
    CustomTable,
    DataSetsTable,
    FileName,
    PartOfAcross,
    Table,
    column_sweep_name,
    custom_table_classes,
)
from search_spaces.trial_key import trial_key

LONGEST_DESCRIPTION = 2000
_NONE_CONFIRMED: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


class Sweep(Settings):
    """A named set of trials with one purpose: the unit that is launched.

    Attributes:
        name: Name of its records, tables and report folder.
        description: Its purpose, in a sentence or two; without one, a file's docstring gives it.
        base: The training config that the arms change.
        plan: Which arms it has: a design, a search, or a user's plan.
        seeds: Seeds of every arm of a design, or `UntilDecided`; a search holds its seeds itself.
        parts: Classes of the custom parts that the arms and evaluations use.
        tables: Its tables and figures; without any, the default tables of its plan.
        evaluations: Evaluations of every finished trial's network, after its training.
        margin_points: Differences of test errors, in percentage points, that do not matter: arms
            that are shown to differ by less are equivalent. Declare it before you see results.
        split_seeds: Seeds of splits of the training images into training and validation images,
            assigned to `seeds` in turn; without any, all trainings use the split of the base.
        across: Data sets on each of which every arm is trained: name -> what it sets of the base,
            path -> value. It sets its `data` and what has to follow from that; `seeds` gives it
            seeds of its own, in place of `seeds` moved by a number that follows from its name.
        across_table: The table of arms by data sets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: FileName
    description: Annotated[str, StringConstraints(max_length=LONGEST_DESCRIPTION)] = ""
    base: TrainingConfig
    plan: SerializeAsAny[Plan]
    seeds: Annotated[tuple[Seed, ...] | UntilDecided, SeedsOrLooks()] = ()
    parts: tuple[type[Part], ...] = ()
    tables: tuple[Table, ...] = ()
    evaluations: tuple[Annotated[Evaluation, OneOf(EVALUATIONS)], ...] = ()
    margin_points: Annotated[float, Field(gt=0, le=100, strict=True)] | None = None
    split_seeds: tuple[Seed, ...] = ()
    across: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    across_table: DataSetsTable = DataSetsTable()

    @classmethod
    def grid(
        cls,
        *,
        axes: Mapping[str, Sequence[Any]],
        design: type[FactorDesign] = FullFactorial,
        **fields: Any,
    ) -> Self:
        """Return a sweep that varies settings of a base, by default in all combinations.

            axes = {"model.routing.iterations": (1, 3), "loss": ("margin", "spread")}
            Sweep.grid(name="loss_grid", base=BASE, axes=axes, seeds=range(5))

        Args:
            axes: Path of a setting -> its levels.
            design: The class of its plan.
            fields: The other fields of the sweep and of its plan.

        Raises:
            ValueError: If the sweep is not valid.
        """
        if not (isinstance(design, type) and issubclass(design, FactorDesign)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"design must be a class such as FullFactorial, got {design!r}.")
        known = {**cls.model_fields, **design.model_fields}.keys() - {"plan", "factors"}
        for name in fields.keys() - known:
            raise ValueError(unknown("argument of Sweep.grid", name, sorted(known)))
        options = {name: fields.pop(name) for name in design.model_fields if name in fields}
        return cls(plan=design(**{"factors": axes} | options), **fields)

    @classmethod
    def path_to(
        cls,
        *,
        target: Mapping[str, Any],
        base: TrainingConfig,
        choosing_seeds: Sequence[int] = CHOOSING_SEEDS,
        parts: Sequence[type[Part]] = (),
        **fields: Any,
    ) -> Self:
        """Return the path from a base to a target, such as the winner of a search.

            winner = {"model.class_dim": 32, "optimiser.learning_rate": 0.006}
            Sweep.path_to(name="to_winner", base=BASE, target=winner, seeds=range(5))

        A part of another kind is one change with its settings; every other setting is a change.

        Args:
            target: What the target changes of the base, path -> value.
            base: The training config at which the path begins.
            choosing_seeds: Seeds on which changes are tried; none of the sweep's seeds.
            parts: Classes of the custom parts.
            fields: The other fields of the sweep.

        Raises:
            ValueError: If the sweep is not valid.
        """
        if not isinstance(target, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"target must be a dict, path -> value, got {target!r}.")
        changes = named_changes(base, with_settings(base, target, parts))
        if len(changes) < 2:
            named = ", ".join(changes) or "none"
            raise ValueError(f"target must change at least 2 settings of the base, got {named}.")
        plan = Path(changes=changes, choosing_seeds=tuple(choosing_seeds))
        return cls(base=base, plan=plan, parts=tuple(parts), **fields)

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...] | UntilDecided) -> object:
        return seeds if isinstance(seeds, UntilDecided) else each_seed_once(seeds)

    @field_validator("parts", mode="before")
    @classmethod
    def _are_parts(cls, parts: object) -> object:
        for part in parts if isinstance(parts, list | tuple) else ():
            check_is_part(part)
        return parts

    @field_validator("parts")
    @classmethod
    def _kinds_are_new(cls, parts: tuple[type[Part], ...]) -> tuple[type[Part], ...]:
        check_parts(parts)
        return parts

    @field_validator("plan", mode="before")
    @classmethod
    def _plan_by_kind(cls, plan: object) -> object:
        """Return a plan; plain values become the built-in plan of their kind."""
        return plan if isinstance(plan, Plan) else plan_from_values(plan)

    @model_validator(mode="after")
    def _seeds_are_given_once(self) -> Self:
        if looks := self.until_decided:
            check_looks(self, self.plan, self.tables)
            check_margins(looks.margin_points, self.margin_points)
        self.plan.seeds_given(self._declared_seeds)
        return self

    @model_validator(mode="after")
    def _tables_can_be_made(self) -> Self:
        check_tables(self.tables, self.plan, self)
        return self

    @model_validator(mode="after")
    def _evaluations_can_be_made(self) -> Self:
        check_evaluations(self.evaluations, self.parts, self.base.data.task)
        check_curves(self.tables, self.evaluations)
        if looks := self.until_decided:
            check_judged_evaluation(looks.primary_of, self.evaluations)
        return self

    @model_validator(mode="after")
    def _plan_can_be(self) -> Self:
        self.plan.check(self)
        return self

    @model_validator(mode="after")
    def _splits_can_be_dealt(self) -> Self:
        if self.split_seeds:
            check_plan_with_splits(self, self.plan, self.tables)
            check_splits(self.split_seeds, len(self.arm_seeds))
        return self

    @model_validator(mode="after")
    def _columns_can_be(self) -> Self:
        if self.across:
            check_data_sets(self.across, self.name)
            check_search_across(self.plan, self.across)
            if not (columns := self.columns()):
                self.check_files()
            check_columns_together(
                {name: column.base for name, column in columns.items()},
                {name: column.arm_seeds for name, column in columns.items()},
            )
            check_table_of_columns(self.across_table, self.across, self.evaluations)
        elif self.across_table != DataSetsTable():
            raise ValueError("across_table is the table of arms by data sets: give across as well.")
        return self

    def columns(
        self, confirmed: Mapping[str, Mapping[str, Any]] = _NONE_CONFIRMED
    ) -> dict[str, "ColumnSweep"]:
        """Return the sweep of each data set by its name; none without `across`.

        Data sets whose files are missing are left out, see `missing_files`. A search is of the
        first data set; on the others its best arms are compared with the base.

        Args:
            confirmed: Of a search, the arms that it has confirmed: name -> path -> value. Without
                them the sweeps of the other data sets have the base alone.

        Raises:
            ValueError: If that of a data set is not valid.
        """
        columns = self._columns_or_missing_files(confirmed).items()
        return {name: each for name, each in columns if isinstance(each, ColumnSweep)}

    @property
    def missing_files(self) -> dict[str, str]:
        """Data set -> which of its files are missing, of those that cannot be launched for it."""
        columns = self._columns_or_missing_files(_NONE_CONFIRMED).items()
        return {name: str(each) for name, each in columns if isinstance(each, MissingFilesError)}

    def check_files(self, data_sets: Iterable[str] | None = None) -> None:
        """Check that the files of data sets are there.

        Args:
            data_sets: Names of data sets; None for all.

        Raises:
            ValueError: For the first whose files are missing.
        """
        missing = self.missing_files
        for data_set in self.across if data_sets is None else data_sets:
            if data_set in missing:
                raise ValueError(f"Data set '{data_set}': {missing[data_set]}")

    def _columns_or_missing_files(
        self, confirmed: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, "ColumnSweep | MissingFilesError"]:
        columns: dict[str, ColumnSweep | MissingFilesError] = {}
        for data_set in self.across:
            of_search = self._of_search(data_set, confirmed) if columns else {}
            try:
                columns[data_set] = self._column(data_set, of_search)
            except ValueError as error:
                missing = missing_files_in(error)
                if missing is None:
                    raise
                columns[data_set] = missing
        return columns

    def _of_search(
        self, data_set: str, confirmed: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the fields of another data set than a search's own; none of a design."""
        if not isinstance(self.plan, Search):
            return {}
        assert self.plan.confirm is not None  # `check_search_across` has seen to it
        first = first_seed_of(data_set)
        seeds = self.across[data_set].get(SEEDS) or [
            first + seed for seed in self.plan.confirm.seeds
        ]
        plan = ListedArms(arms={BASE: {}, **confirmed}, baseline=BASE)
        return {"plan": plan, "seeds": tuple(seeds), "tables": ()}

    def _column(self, data_set: str, of_search: Mapping[str, Any]) -> "ColumnSweep":
        settings = dict(self.across[data_set])
        seeds = self._seeds_of_column(data_set, settings.pop(SEEDS, None))
        fields = {name: getattr(self, name) for name in Sweep.model_fields}
        try:
            base = with_settings(self.base, settings, self.parts)
            part_of = PartOfAcross(
                sweep=self.name,
                data_set=data_set,
                data_sets=tuple(self.across),
                definition=self._definition,
                images_of=base.data.images_of,
                table=self.across_table,
            )
            fields |= {
                "name": column_sweep_name(self.name, data_set),
                "base": base,
                "seeds": () if self.plan.has_own_seeds else seeds,
                "across": {},
                "across_table": DataSetsTable(),
                "part_of": part_of,
                "settings": settings,
                **of_search,
            }
            return ColumnSweep.model_validate(fields)
        except ValidationError as error:
            raise ValueError(f"Data set '{data_set}': {explain(error)}") from error
        except ValueError as error:
            raise ValueError(f"Data set '{data_set}': {error}") from error

    @property
    def _definition(self) -> str:
        """Hash of the base and of the code of the user's parts, which arms may use."""
        versions = sorted((part.__name__, str(part.protocol_version)) for part in self.parts)
        return hashlib.sha256(f"{trial_key(self.base, 0)} {versions}".encode()).hexdigest()[:20]

    def _seeds_of_column(self, data_set: str, declared: object) -> object:
        first = first_seed_of(data_set)
        if isinstance(self.seeds, UntilDecided):
            if declared is not None:
                raise ValueError(
                    f"The data set '{data_set}' gives '{SEEDS}', and the sweep takes seeds until "
                    f"its verdicts are decided: leave them out."
                )
            return self.seeds.model_copy(update={"first_seed": first + self.seeds.first_seed})
        if declared is not None:
            return tuple(declared) if isinstance(declared, Iterable) else declared
        return tuple(first + seed for seed in self.seeds)

    @property
    def arm_seeds(self) -> tuple[int, ...]:
        """The seeds of every arm: those listed, or those of the plan; with looks, those at most."""
        return self.plan.seeds_given(self._declared_seeds)

    @property
    def _declared_seeds(self) -> tuple[int, ...]:
        return seeds.seeds if isinstance(seeds := self.seeds, UntilDecided) else seeds

    @property
    def until_decided(self) -> UntilDecided | None:
        """Its plan of looks; None where every arm is trained with every seed."""
        return self.seeds if isinstance(self.seeds, UntilDecided) else None

    @property
    def margin(self) -> float | None:
        """The margin of equivalence in percentage points, wherever it is declared."""
        looks = self.until_decided
        return looks.margin_points if looks and looks.margin_points else self.margin_points

    @property
    def splits(self) -> dict[int, int]:
        """Seed -> split seed, assigned in turn; empty if all trainings use the base's split.

        No seed is used on two splits, so trainings on two splits are independent, and each further
        training adds another seed, and another split while there are more.
        """
        return dict(zip(self.arm_seeds, cycle(self.split_seeds), strict=False))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The epoch metrics that its parts declare; a search may use them as objective."""
        return declared_metrics(self.base, self.parts)

    @property
    def custom_tables(self) -> tuple[type[CustomTable], ...]:
        """Classes of the custom tables that it declares."""
        return custom_table_classes(self.tables)

    def arms(self) -> tuple[Arm, ...]:
        """Return the arms of a design, in the order of the tables.

        Raises:
            ValueError: If an arm is not valid, or the plan is a search.
        """
        if self.plan.is_search:
            raise ValueError(
                f"The sweep '{self.name}' is a search: it has no arms but those it will propose."
            )
        return self.initial_arms()

    def initial_arms(self) -> tuple[Arm, ...]:
        """Return the arms that exist before anything runs. A search has none.

        Raises:
            ValueError: If an arm is not valid.
        """
        arms = self.plan.build(self)
        if self.split_seeds:
            check_arms_with_splits(self.base, arms)
        return arms

    def proposed(self, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return an arm that the plan proposes.

        Args:
            name: Its name in tables.
            settings: Path -> value; in a search, name of a dimension -> value.

        Raises:
            ValueError: If the arm is not valid, or all arms are declared in full.
        """
        if self.plan.is_complete_at_start(self):
            raise ValueError(f"The sweep '{self.name}' is a design: its arms are declared in full.")
        return self.plan.arm(self, name, settings)

    def changed(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        seeds: tuple[int, ...] | None = None,
        trials: int | None = None,
        sampler: str | None = None,
        scheduler: Scheduler | str | None = None,
        cost: str | None = None,
    ) -> Self:
        """Return the sweep with its base, name, seeds or search changed.

        Whether the fields of the search go together is checked when it is launched.

        Args:
            settings: Path -> value, applied to the base before the arms are built.
            name: The new name.
            seeds: The new seeds; of a search, those of its proposals.
            trials: The number of proposals of a search.
            sampler: The sampler of a search.
            scheduler: The scheduler of a search, or its kind. If it is the kind that the search
                has, its settings stay.
            cost: The second objective of a search, "none" for none.

        Raises:
            ValueError: If a path does not exist, the arms change it too, so that the new value
                would have no effect, or a design gets an option of a search.
        """
        options = {"trials": trials, "sampler": sampler, "scheduler": scheduler, "cost": cost}
        options_set = {option: value for option, value in options.items() if value is not None}
        base = changed_base(self, self.plan, settings or {})
        _check_options(self.name, self.plan, options_set)
        changes: dict[str, Any] = {
            "name": self.name if name is None else name,
            "plan": self.plan.with_options(seeds, options_set),
            "seeds": () if self.plan.has_own_seeds else seeds or self.seeds,
            "margin_points": self.margin if seeds else self.margin_points,
            "base": base,
        }
        fields = {field: getattr(self, field) for field in type(self).model_fields}
        return type(self).model_validate({**fields, **changes})


class ColumnSweep(Sweep):
    """The sweep of one data set of a sweep across several.

    Attributes:
        part_of: The sweep that it belongs to.
        settings: What the data set sets of that sweep's base: path -> value.
    """

    part_of: PartOfAcross
    settings: dict[str, Any]

    def initial_arms(self) -> tuple[Arm, ...]:
        """Return the arms that exist before anything runs.

        Raises:
            ValueError: If one is not valid, or varies what the data set sets.
        """
        arms = super().initial_arms()
        check_arms_of_column(self.part_of.data_set, self.settings, self.base, arms)
        return arms


def _check_options(name: str, plan: Plan, options: Mapping[str, object]) -> None:
    if refused := [option for option in options if option not in plan.options]:
        raise ValueError(
            f"The sweep '{name}' is a design, whose arms are declared in full: only a search has "
            f"{' and '.join(refused)}."
        )
