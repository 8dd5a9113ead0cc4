"""A process that speaks as the engine's does, without Ray: each trial is one epoch long.

Its arguments are the trouble that it has, mostly while its second trial runs, and its driver.
"""

import os
import signal
import subprocess
import sys
import time

from capsmodel.metrics import EpochMetrics
from sweeps.execution.channel import Channel, channel_to_parent
from sweeps.execution.engine.engine import EpochEnded, Job, Next, Stop, TrialEnded, TrialStarted
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.process.process_messages import EnginePulse, Finished, Ready, Refused
from sweeps.execution.engine.tune.engine_process import Driver, train_messages
from sweeps.execution.worker.worker_process import die_with_parent

TROUBLE = sys.argv[1]
RESULT = EpochMetrics(epoch=1, train_loss=0.5, validation_loss=0.5, validation_error=0.5)


def main() -> None:
    die_with_parent(int(sys.argv[2]))
    channel = channel_to_parent()
    driver = Driver(channel)
    driver.limit = lambda most: os.write(2, f"at most {most} at once\n".encode())
    driver.receive()
    os.write(2, b"it starts\n")
    if TROUBLE == "refuses":
        channel.send(Refused(sentence="No Ray cluster could be started here: no room"))
        return
    if TROUBLE == "never starts":
        beat(channel)
    if TROUBLE == "breaks at the start":
        raise SystemExit(1)
    ray = subprocess.Popen(["sleep", "600"])
    channel.send(Ready(machines=(Machine(cpus=3),), processes=(ray.pid,)))
    if TROUBLE == "shrinks":
        driver.machines = lambda: (Machine(cpus=1),)
    try:
        for train in train_messages(driver):
            os.write(2, f"it trains {train.num_concurrent} at once\n".encode())
            serve(driver, channel, ray)
            channel.send(Finished())
    except EOFError:
        ray.kill()
        ray.wait()


def serve(driver: Driver, channel: Channel, ray: "subprocess.Popen[bytes]") -> None:
    number = 0
    while (job := driver.next()) is not Next.DONE:
        assert isinstance(job, Job)
        number += 1
        if number == 2 or TROUBLE == "is killed at once":
            channel.send(EnginePulse())
            have_trouble(channel, ray)
        key = job.trial_keys[0]
        driver.tell(TrialStarted(trial_key=key))
        answer = driver.tell(EpochEnded(trial_key=key, result=RESULT))
        if TROUBLE == "is killed after an epoch":
            have_trouble(channel, ray)
        is_stopped = isinstance(answer, Stop)
        failure, reason = (Failure.KILLED, "stopped") if is_stopped else (None, "")
        ended = TrialEnded(trial_key=key, failure=failure, reason=reason)
        driver.tell(ended)
        if TROUBLE == "repeats itself":
            driver.tell(ended)


def have_trouble(channel: Channel, ray: "subprocess.Popen[bytes]") -> None:
    if TROUBLE.startswith("is killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    elif TROUBLE == "breaks":
        raise SystemExit(1)
    elif TROUBLE == "loses ray":
        ray.kill()
        beat(channel)
    elif TROUBLE == "loses the cluster":
        beat(channel, misses=1)
    elif TROUBLE == "falls silent":
        time.sleep(600)


def beat(channel: Channel, misses: int = 0) -> None:
    for turn in range(6000):
        channel.send(EnginePulse(num_misses=misses * turn))
        time.sleep(0.1)


if __name__ == "__main__":
    main()
