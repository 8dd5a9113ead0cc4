"""A process that makes evaluations, one trial after the other.

The driver sends jobs as lines of JSON and gets a line for each that is done. An evaluation that
raises ends the process, with a traceback in its log, so that it harms nothing but itself.
"""

import argparse
import sys
from contextlib import redirect_stdout

from sweeps.execution.worker.worker_process import (
    die_with_parent,
    keep_freed_memory,
    prepare_environment,
)

DONE = "done"


def main() -> int:
    """Run jobs until there are no more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--parent", type=int, required=True)
    given = parser.parse_args()
    prepare_environment(given.threads)
    die_with_parent(given.parent)
    keep_freed_memory()
    from sweeps.execution.worker.evaluation import EvaluationJob, run_evaluations

    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # what an evaluation prints is no answer
        for line in sys.stdin:
            run_evaluations(EvaluationJob.model_validate_json(line))
            answers.write(f"{DONE}\n")
            answers.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
