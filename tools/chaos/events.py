"""How each event is done. Each returns whom it hit, "" where there is nobody to hit as yet."""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

from tools.chaos import event_plan, processes
from tools.chaos.event_plan import Event
from tools.chaos.launches import Launches
from tools.chaos.proxy import Trouble
from tools.chaos.world import World

_REPLACED_AFTER_SECONDS = 10.0
_NODE = "node lost"
_SERVER = "server away"
_Done = Callable[[Event, World, Launches], str]


def do(event: Event, world: World, launches: Launches) -> str:
    """Do an event. Returns whom it hit, "" if it has to wait."""
    return _EVENTS[event.kind](event, world, launches)


def _kill_driver(event: Event, world: World, launches: Launches) -> str:
    del event, world
    return _signalled(launches, signal.SIGKILL)


def _kill_family(event: Event, world: World, launches: Launches) -> str:
    del event, world
    if not launches.driver:
        return ""
    everyone = processes.family(launches.driver.pid)
    processes.kill_all(everyone)
    return f"{len(everyone)} processes"


def _end_driver(event: Event, world: World, launches: Launches) -> str:
    del event, world
    # before that it has no handlers, and Python's own end is as good as a SIGKILL
    return _signalled(launches, signal.SIGTERM) if processes.engines() else ""


def _kill_worker(event: Event, world: World, launches: Launches) -> str:
    del event, launches
    return _killed(world, processes.trainers(world.storage))


def _kill_recorder(event: Event, world: World, launches: Launches) -> str:
    del event, launches
    return _killed(world, processes.recorders())


def _kill_engine(event: Event, world: World, launches: Launches) -> str:
    del event
    return _killed(world, processes.engines()) if launches.driver else ""


def _kill_of_ray(name: str) -> _Done:
    def kill(event: Event, world: World, launches: Launches) -> str:
        del event
        if not launches.driver or not processes.trainers(world.storage):
            return ""
        return _killed(world, processes.below(psutil.Process(launches.driver.pid), name))

    return kill


def _lose_node(event: Event, world: World, launches: Launches) -> str:
    del event, launches
    if _NODE in world.disturbances:
        return ""
    world.nodes.kill_last_worker()
    world.disturb(_NODE, _REPLACED_AFTER_SECONDS, world.nodes.start_worker)
    return "the last node, replaced after 10 s"


def _take_server(event: Event, world: World, launches: Launches) -> str:
    del launches
    if world.is_store_disturbed:
        return ""
    world.server.kill()
    world.disturb(_SERVER, event.seconds, world.server.start)
    return f"for {event.seconds} s"


def _trouble(trouble: Trouble, times: float) -> _Done:
    def begin(event: Event, world: World, launches: Launches) -> str:
        del launches
        if world.is_store_disturbed:
            return ""

        def end() -> None:
            world.proxy.trouble = Trouble.NONE

        world.proxy.trouble = trouble
        world.disturb(event.kind, times * event.seconds, end)
        return f"for {times * event.seconds:.1f} s"

    return begin


def _stop(event: Event, world: World, launches: Launches) -> str:
    if event.kind in world.disturbances or not launches.driver:
        return ""
    groups = {
        "driver": [psutil.Process(launches.driver.pid)],
        "recorder": processes.recorders()[:1],
        "engine": processes.engines()[:1],
        "worker": processes.trainers(world.storage)[:1],
        "node": [] if _NODE in world.disturbances else processes.family(world.nodes.roots[-1]),
    }
    name = world.chance.choice([name for name, members in groups.items() if members])
    _signal_all(groups[name], signal.SIGSTOP)
    world.disturb(event.kind, event.seconds, lambda: _signal_all(groups[name], signal.SIGCONT))
    return f"a {name} for {event.seconds} s"


def _signal_all(victims: list[psutil.Process], number: int) -> None:
    for victim in victims:
        with suppress(psutil.NoSuchProcess):
            victim.send_signal(number)


def _cut_link(event: Event, world: World, launches: Launches) -> str:
    del launches
    assert world.link is not None
    world.link.cut()
    world.disturb(event.kind, event.seconds, world.link.mend)
    return f"of a node for {event.seconds} s"


def _set_clock_back(event: Event, world: World, launches: Launches) -> str:
    del event
    world.clock.set_back()
    return "by an hour" if launches.driver else ""


def _fill_disk(event: Event, world: World, launches: Launches) -> str:
    del launches
    assert world.disk is not None
    world.disk.fill()
    world.disturb(event.kind, event.seconds, world.disk.empty)
    return f"for {event.seconds} s"


def _signalled(launches: Launches, number: int) -> str:
    if not launches.driver:
        return ""
    os.kill(launches.driver.pid, number)
    return f"process {launches.driver.pid}"


def _killed(world: World, among: list[psutil.Process]) -> str:
    if not among:
        return ""
    victim = world.chance.choice(among)
    with suppress(psutil.NoSuchProcess):
        victim.kill()
    return f"process {victim.pid}"


_EVENTS: Mapping[str, _Done] = {
    "driver killed": _kill_driver,
    "driver and all it started killed": _kill_family,
    "driver told to end": _end_driver,
    "worker killed": _kill_worker,
    "recorder killed": _kill_recorder,
    "engine killed": _kill_engine,
    "raylet killed": _kill_of_ray("raylet"),
    "Ray's head killed": _kill_of_ray("gcs_server"),
    _NODE: _lose_node,
    _SERVER: _take_server,
    "server errs": _trouble(Trouble.ERRS, 1),
    "server errs now and then": _trouble(Trouble.ERRS_NOW_AND_THEN, 3),
    "server silent": _trouble(Trouble.SILENT, 1),
    "answers lost": _trouble(Trouble.LOSES_ANSWERS, 3),
    "process stopped": _stop,
    event_plan.LINK_CUT: _cut_link,
    "clock set back": _set_clock_back,
    event_plan.DISK_FULL: _fill_disk,
}
