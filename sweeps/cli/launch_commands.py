"""Commands that survey a launch, or make one."""

from collections.abc import Mapping
from typing import Any

from sweeps.cli.answers.text import JsonOption, answer
from sweeps.cli.command_words import again, program, where
from sweeps.cli.launch_words import RUN_ALONE, launching
from sweeps.cli.launched import launched, leave
from sweeps.cli.options import EffectOption, PowerOption


@launching(without=RUN_ALONE)
def plan(
    sweep: str,
    options: Mapping[str, Any],
    effect: EffectOption = None,
    power: PowerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what `run` would do: cells there, cells to train and why, and an estimate."""
    if effect is not None or power is not None:
        from sweeps.cli.seed_planning import print_planned_seeds

        print_planned_seeds(sweep, options, effect, power, as_json=as_json)
        return
    from sweeps.execution.launch.run import plan as plan_launch

    survey = plan_launch(sweep, **options)
    if as_json:
        from sweeps.cli.answers.launches import plan_answer

        answer(plan_answer(survey))
        return
    from sweeps.cli.printing.plan import print_plan

    print_plan(survey)


@launching()
def run(sweep: str, options: Mapping[str, Any], as_json: JsonOption = False) -> None:
    """Train the cells that are empty, record them in MLflow, rebuild the table."""
    result = launched(sweep, options, is_apart=as_json)
    if as_json:
        from sweeps.cli.answers.launches import run_answer

        answer(run_answer(result, again()))
    else:
        from sweeps.cli.printing.result import print_result

        place = options.get("storage"), options.get("tracking_uri")
        print_result(result, again(), program(), where(*place))
    leave(result.exit_code)
