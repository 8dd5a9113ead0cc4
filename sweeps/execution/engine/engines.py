"""The engines that a launch can choose by name."""

from collections.abc import Callable, Mapping

from sweeps.execution.engine.engine import Engine, EngineSetting
from sweeps.execution.engine.inline_engine import InlineEngine
from sweeps.execution.engine.process.ray_engine import RayEngine

EngineMaker = Callable[[EngineSetting], Engine]


def _ray_engine(setting: EngineSetting) -> RayEngine:
    return RayEngine(
        setting.address,
        setting.log,
        setting.say,
        num_ready=setting.num_ready,
        limit=setting.limit,
        share=setting.share,
    )


ENGINES: Mapping[str, EngineMaker] = {"ray": _ray_engine, "inline": InlineEngine}
