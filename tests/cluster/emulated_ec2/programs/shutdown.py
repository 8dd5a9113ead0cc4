"""What happens on EC2 when a machine shuts down: it ends or stops, as it was started to.

python shutdown.py -h now
python shutdown.py -h +MINUTES     once the file TIME_IS_OVER is there, however long that takes
python shutdown.py -c              cancels the one that is to come
"""

import os
import signal
import sys
import time
from pathlib import Path

from machine import client, this_machine

_BEHAVIOUR = "instanceInitiatedShutdownBehavior"
_SCHEDULED = Path("/run/shutdown.pid")


def main(when: str) -> None:
    """Shut this machine down now or later, or cancel that."""
    if when == "-c":
        if _SCHEDULED.exists():
            os.kill(int(_SCHEDULED.read_text()), signal.SIGTERM)
        return
    if when != "now":
        if os.fork():
            return
        _SCHEDULED.write_text(str(os.getpid()))
        while not Path(os.environ["TIME_IS_OVER"]).exists():
            time.sleep(0.1)
    _end()


def _end() -> None:
    """End or stop the machine that this runs on."""
    ec2 = client("ec2")
    name = this_machine()["InstanceId"]
    asked = ec2.describe_instance_attribute(InstanceId=name, Attribute=_BEHAVIOUR)
    if asked["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate":
        ec2.terminate_instances(InstanceIds=[name])
    else:
        ec2.stop_instances(InstanceIds=[name])


if __name__ == "__main__":
    main(sys.argv[-1])
