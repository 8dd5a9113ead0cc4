"""AWS as it is in its first seconds, counted in requests instead of in seconds.

Moto itself answers without what is still hidden: it is taken out of moto's collections meanwhile.
So an error is moto's, and a list or a filter needs no code here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from aws_request import Answer, Request, refusal
from corrections import profile_of, refused_group, refused_profile
from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.efs.models import efs_backends
from moto.iam.models import iam_backends

_TIMES = 2
_VOLATILE = re.compile(rb'[rR]equestI[dD]>[^<]*|"Timestamp": [\d.]+')
_READ = re.compile(r"(ec2|elasticfilesystem|iam):(Describe|Get|List)(?!Image|InstanceType)")
_NEEDS_A_DISK = ("CreateMountTarget", "CreateAccessPoint")


@dataclass(frozen=True)
class _Thing:
    """Something that can be made.

    Attributes:
        places: Moto's collections that hold it, and under which key; in a list it is its own key.
        disk: The file system or mount target that it is, else None.
    """

    places: Sequence[tuple[Any, Any]]
    disk: Any = None


@dataclass
class _Unsettled:
    """A thing in its first or last seconds.

    Attributes:
        thing: It.
        hidden: How many more reads it is hidden from.
        passing: How many more reads show it in its passing state, "creating" or "deleting".
        settle: Ends that state.
    """

    thing: _Thing
    hidden: int
    passing: int
    settle: Callable[[], None]

    def count(self) -> bool:
        """Count a read, and return whether the thing is still unsettled."""
        if self.hidden:
            self.hidden -= 1
        elif self.passing:
            self.passing -= 1
        is_unsettled = self.hidden + self.passing > 0
        if not is_unsettled:
            self.settle()
        return is_unsettled


class Unsteady:
    """The state of an account that is not steady yet."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Let all that there is have settled, and no request have been refused."""
        self._unsettled: dict[str, _Unsettled] = {}
        self._refused: dict[str, int] = {}

    def answer(self, request: Request, run: Callable[[], Answer]) -> Answer:
        """Answer a request.

        Args:
            request: The request.
            run: Has moto answer it.
        """
        if _READ.match(request.name):
            return self._read(run)
        if request.is_dry_run:
            return run()
        before = _things(request.region)
        answer = self._refusal(request, before) or self._delete_later(request, before) or run()
        self._note(before, _things(request.region))
        if answer.is_error:
            self.let_time_pass()
        elif request.action.startswith("Delete"):
            name, _ = _refused_twice(request)
            self._refused.pop(name, None)
            self._refused.pop(f"{name} ran", None)
        if request.action in ("CreateFileSystem", "CreateMountTarget"):
            body = answer.body.replace(b'State": "available"', b'State": "creating"')
            answer = replace(answer, body=body)
        return answer

    def _note(self, before: dict[str, _Thing], after: dict[str, _Thing]) -> None:
        """Note what a request has made and deleted."""
        for name in after.keys() - before.keys():
            self._unsettled[name] = _new(after[name])
        for name in before.keys() - after.keys():
            self._unsettled.pop(name, None)

    def let_time_pass(self) -> None:
        """Count a read of all that is being deleted: who tries to delete more need not look."""
        self._count([name for name, each in self._unsettled.items() if _is_going(each.thing)])

    def _read(self, run: Callable[[], Answer]) -> Answer:
        """Answer a read without what it would show and what is still hidden."""
        answer = run()
        if not self._unsettled:
            return answer
        everything = [each.thing for each in self._unsettled.values()]
        if _same(_run_without(everything, run), answer):
            return answer
        shown = [
            name
            for name, each in self._unsettled.items()
            if not _same(_run_without([each.thing], run), answer)
        ]
        hidden = [self._unsettled[name].thing for name in shown if self._unsettled[name].hidden]
        answer = _run_without(hidden, run)
        self._count(shown)
        return answer

    def _count(self, names: list[str]) -> None:
        for name in names:
            if not self._unsettled[name].count():
                del self._unsettled[name]

    def _refusal(self, request: Request, things: dict[str, _Thing]) -> Answer | None:
        """Refuse what AWS refuses at first."""
        if request.action in _NEEDS_A_DISK:
            return self._disk_is_not_ready(request)
        name, makes = _refused_twice(request)
        if not makes or not _is_there(request, things):
            return None
        self._refused[name] = self._refused.get(name, 0) + 1
        return makes() if self._refused[name] <= _TIMES else None

    def _disk_is_not_ready(self, request: Request) -> Answer | None:
        name = request.values["FileSystemId"]
        if name not in self._unsettled:
            return None
        self._count([name])
        message = f"File system '{name}' is not available yet."
        return refusal(request, "IncorrectFileSystemLifeCycleState", message)

    def _delete_later(self, request: Request, things: dict[str, _Thing]) -> Answer | None:
        """Have a mount target be deleted only after it was read as "deleting"."""
        name = request.values.get("MountTargetId", "")
        if request.action != "DeleteMountTarget" or name not in things:
            return None
        thing = things[name]
        if not _is_going(thing):
            thing.disk.life_cycle_state = "deleting"
            backend = efs_backends[DEFAULT_ACCOUNT_ID][request.region]
            self._unsettled[name] = _Unsettled(
                thing, 0, _TIMES, lambda: backend.delete_mount_target(name)
            )
        return Answer("204 No Content", [], b"")


def _things(region: str) -> dict[str, _Thing]:
    """Return all that is hidden at first, id -> thing."""
    ec2 = ec2_backends[DEFAULT_ACCOUNT_ID][region]
    efs = efs_backends[DEFAULT_ACCOUNT_ID][region]
    iam = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
    things = {pair.id: _Thing([(ec2.key_pairs, name)]) for name, pair in ec2.key_pairs.items()}
    for groups in ec2.groups.values():
        for name, group in groups.items():
            things[name] = _Thing([(groups, name)])
            rules = group.ingress_rules
            things |= {rule.id: _Thing([(rules, rule)]) for rule in rules}
    for name, disk in efs.file_systems_by_id.items():
        things[name] = _Thing([(efs.file_systems_by_id, name)], disk)
        for zone, target in disk._mount_targets.items():
            places = [(efs.mount_targets_by_id, target.mount_target_id)]
            places += [(disk._mount_targets, zone)]
            things[target.mount_target_id] = _Thing(places, target)
    things |= {name: _Thing([(efs.access_points, name)]) for name in efs.access_points}
    things |= {name: _Thing([(iam.roles, name)]) for name in iam.roles}
    for name, profile in iam.instance_profiles.items():
        things[profile.id] = _Thing([(iam.instance_profiles, name)])
        roles = profile.roles
        things |= {f"{profile.id}/{role.id}": _Thing([(roles, role)]) for role in roles}
    return things


def _new(thing: _Thing) -> _Unsettled:
    if not thing.disk:
        return _Unsettled(thing, _TIMES, 0, lambda: None)
    thing.disk.life_cycle_state = "creating"

    def settle() -> None:
        thing.disk.life_cycle_state = "available"

    return _Unsettled(thing, _TIMES, _TIMES, settle)


def _is_going(thing: _Thing) -> bool:
    return bool(thing.disk) and thing.disk.life_cycle_state == "deleting"


def _refused_twice(request: Request) -> tuple[str, Callable[[], Answer] | None]:
    """Return under which name a request's refusals are counted, and what makes one."""
    values = request.values
    message = "Cannot delete entity, must remove what refers to it first."
    match request.action:
        case "DeleteSecurityGroup":
            group = values.get("GroupId") or values.get("GroupName", "")
            return f"group {group}", lambda: refused_group(request, group)
        case "DeleteRole":
            role = values["RoleName"]
            return f"role {role}", lambda: refusal(request, "DeleteConflict", message)
        case "DeleteInstanceProfile":
            profile = values["InstanceProfileName"]
            return f"profile {profile}", lambda: refusal(request, "DeleteConflict", message)
        case "RunInstances" if profile_of(request):
            # a profile that is made again is unknown again
            return f"profile {profile_of(request)} ran", lambda: refused_profile(request)
    return "", None


def _is_there(request: Request, things: dict[str, _Thing]) -> bool:
    """Whether what a request names is there, so that moto would not refuse it."""
    values, iam = request.values, iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
    if request.action == "RunInstances":
        return True
    if request.action == "DeleteRole":
        return values["RoleName"] in {role.name for role in iam.roles.values()}
    if request.action == "DeleteInstanceProfile":
        return values["InstanceProfileName"] in iam.instance_profiles
    return values.get("GroupId") in things


@contextmanager
def _without(things: Sequence[_Thing]) -> Iterator[None]:
    """Take things out of moto's collections for as long as the block runs."""
    places = [place for thing in things for place in thing.places]
    copies = [(container, container.copy()) for container, _ in places]
    try:
        for container, key in places:
            container.remove(key) if isinstance(container, list) else container.pop(key)
        yield
    finally:
        for container, copied in reversed(copies):
            container.clear()
            container.extend(copied) if isinstance(container, list) else container.update(copied)


def _run_without(things: Sequence[_Thing], run: Callable[[], Answer]) -> Answer:
    with _without(things):
        return run()


def _same(one: Answer, other: Answer) -> bool:
    return one.status == other.status and _VOLATILE.sub(b"", one.body) == _VOLATILE.sub(
        b"", other.body
    )
