"""A search as it was launched, with its declaration as far as there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from capsmodel.config import TrainingConfig
from capsmodel.settings.kinds import KIND
from capsmodel.settings.profiles import PROFILE
from capsmodel.spelling import unknown
from search_spaces.catalogue import module_of, named_sweeps
from search_spaces.codegen.changes import changes_between, flat
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.sweep import Sweep
from sweeps.execution.plan.definition import sweep_of
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class Searched:
    """A search as it was launched.

    Attributes:
        declared: None where it is known by its records alone.
        source: Text of the user's file that declares it, None for a sweep of the package.
        module: Where that one lies; "" for all others.
    """

    manifest: Manifest
    declared: Sweep | None = None
    source: str | None = None
    module: str = ""

    @property
    def name(self) -> str:
        """Of the search."""
        return self.manifest.sweep

    def config(self, arm: ManifestArm) -> TrainingConfig:
        """Return the configuration that an arm was trained with.

        Raises:
            BadInput: If it has parts of the user's own that are not declared, or are others now.
        """
        parts = self.declared.parts if self.declared else ()
        try:
            return TrainingConfig.model_validate(arm.config, context={"parts": parts})
        except ValidationError as error:
            why = "is not what its file declares" if self.declared else "has parts of a file's own"
            raise BadInput(
                f"'{arm.name}' of '{self.name}' {why}: give the file of the search, as it was "
                f"launched."
            ) from error

    def base(self) -> TrainingConfig:
        """Return the configuration that its proposals change.

        Raises:
            BadInput: If it is not known, or is not what is declared now.
        """
        assert self.manifest.search is not None
        arms = {arm.name: arm for arm in self.manifest.arms}
        own = arms.get(self.manifest.search.base)
        if own is None and self.declared is None:
            raise BadInput(
                f"The records of '{self.name}' do not hold the configuration that it started from, "
                f"as an earlier release made them: give the file of the search."
            )
        base = self.config(own) if own else None
        if self.declared and base:
            changed = flat(changes_between(self.declared.base, base))
            if others := [path for path in changed if not self._is_departure(path)]:
                self.refuse(f"{others[0]} was {changed[others[0]]}")
        return base or self.declared.base  # pyright: ignore[reportOptionalMemberAccess]

    def refuse_other_proposal(self, arm: ManifestArm, base: TrainingConfig) -> None:
        """Refuse an arm that is not what its point of the declared space is over the base.

        Raises:
            BadInput: In one sentence.
        """
        assert self.manifest.search is not None
        if self.declared is None:
            return
        params = {one.arm: one.params for one in self.manifest.search.proposals}
        sweep = self.declared.model_copy(update={"base": base})
        try:
            again = sweep.plan.arm(sweep, arm.name, params.get(arm.name, {})).config
        except ValueError:
            again = None
        if again != self.config(arm):
            self.refuse(f"{arm.name} is no longer what it was")

    def refuse(self, why: str) -> None:
        """Refuse records of a definition that is not the present one.

        Raises:
            BadInput: In one sentence.
        """
        raise BadInput(
            f"'{self.name}' was trained by another definition than the present one ({why}): run "
            f"the present one under a name of its own, or give its file as it was."
        )

    def _is_departure(self, path: str) -> bool:
        """Return whether a launch has changed a setting, not who declares the search."""
        told = (one.removesuffix(f".{KIND}") for one in self.manifest.departures)
        parts = [one.removesuffix(PROFILE).removesuffix(".") for one in told]
        return any(
            not part or is_at_or_below(path, part) or is_at_or_below(part, path) for part in parts
        )


def searched(which: str, store: RecordStore) -> Searched:
    """Return a search that was launched.

    Args:
        which: Its name, or the path of the file that declares it.
        store: Of its records.

    Raises:
        BadInput: If there is none.
        StoreUnreachable: If the tracking store does not answer.
    """
    fields = _declared(which)
    declared = fields.get("declared")
    if declared and not declared.plan.is_search:
        _refuse_design(declared.name)
    name = declared.name if declared else which
    launched = store.sweeps() if store.is_there() else []
    if name not in launched and declared:
        raise BadInput(
            f"The search '{name}' was not run here yet, so there is no winner to go to: run it "
            f"first, capsweep run {which}."
        )
    if name not in launched:
        named = (entry.name for entry in named_sweeps())
        raise BadInput(unknown("sweep", name, dict.fromkeys((*launched, *named))))
    manifest = store.manifest(name)
    if manifest.search is None:
        _refuse_design(name)
    return Searched(manifest, **fields)


def _declared(which: str) -> Mapping[str, Any]:
    if which.endswith(".py") or "/" in which:
        sweep, source, _ = sweep_of(which)
        return {"declared": sweep, "source": source}
    if which in {entry.name for entry in named_sweeps()}:
        return {"declared": sweep_of(which)[0], "module": module_of(which)}
    return {}


def _refuse_design(name: str) -> None:
    raise BadInput(
        f"'{name}' is no search, so it has no winner that a path could lead to: name a search, or "
        f"declare Path(changes=...) in a file of your own."
    )
