"""A real Slurm on hosts of one machine: a laptop, a login node with the controller, two nodes."""

import os
import secrets
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.hosts import Hosts, why_no_hosts
from tests.waiting import PATIENCE_SECONDS, wait_until

LAPTOP, LOGIN, NODES = "laptop", "login", ("n1", "n2")
_PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
_SETTINGS = """\
ClusterName=test
SlurmctldHost={login}({address})
AuthType=auth/munge
AuthInfo=cred_expire=5
JobAcctGatherType=jobacct_gather/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
ReturnToService=2
MpiDefault=none
KillWait=5
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL MaxTime=10 State=UP
"""
_CGROUP = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
_MUNGE = """\
mkdir -p /run/munge && chmod 755 /run/munge
cp {key} /run/munge-key && chown root /run/munge-key && chmod 600 /run/munge-key
exec munged --force --key-file=/run/munge-key --log-file=/run/munge/log --pid-file=/run/munge/pid \
  --seed-file=/run/munge/seed --socket=/run/munge/munge.socket.2
"""


def why_no_slurm() -> str:
    """Return why Slurm cannot be started here, "" if it can."""
    return why_no_hosts(*_PROGRAMS)


class Slurm:
    """A running Slurm.

    Attributes:
        hosts: The machines.
        shared: A folder that all of them see but the laptop, as far as a user knows.
    """

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.shared = hosts.folder / "shared"
        self._folder = hosts.folder / "slurm"
        for folder in (self.shared, self._folder / "state"):
            folder.mkdir(parents=True)
        self._write_settings()

    def start(self) -> None:
        """Start munge on all hosts, the controller and the nodes; wait until these are idle."""
        key = self._folder / "key"
        key.write_bytes(secrets.token_bytes(128))
        for name in (LOGIN, *NODES):
            self.on(name, "bash", "-c", _MUNGE.format(key=key))
        self.on(LOGIN, "slurmctld", "-i")
        for name in NODES:
            self.on(name, "slurmd", "-N", name)
        exports = "".join(f"export {variable}\n" for variable in self._environment[1:])
        (self.hosts.root(LOGIN) / ".profile").write_text(exports)
        wait_until(lambda: self.on(LOGIN, "sinfo", "-h", "-o", "%T").strip() == "idle")

    def run(
        self, *command: str, host: str = LOGIN, timeout: float = PATIENCE_SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on a host, on the login node in the shared folder; return how it ended."""
        if host == LAPTOP:
            return self.hosts.run(host, *command, timeout=timeout)
        folder = str(self.shared)
        return self.hosts.run(host, *self._environment, *command, folder=folder, timeout=timeout)

    def capsweep(self, *arguments: str, host: str = LOGIN) -> str:
        """Run capsweep on a host, where it has to succeed, and return what it prints."""
        ended = self.run("capsweep", *arguments, host=host)
        assert ended.returncode == 0, (arguments, ended.stdout + ended.stderr)
        return ended.stdout

    def on(self, name: str, *command: str) -> str:
        """Return what a command on a host prints, which has to succeed."""
        ended = self.hosts.run(name, *self._environment, *command)
        assert ended.returncode == 0, (command, ended.stdout + ended.stderr)
        return ended.stdout

    @property
    def _environment(self) -> Sequence[str]:
        data = os.environ.get("CAPSWEEP_DATA")
        variables = [f"SLURM_CONF={self._folder / 'slurm.conf'}"]
        return ("env", *variables, *[f"CAPSWEEP_DATA={data}"] * bool(data))

    def _write_settings(self) -> None:
        nodes = (
            f"NodeName={name} NodeAddr={self.hosts.address(name)} CPUs=2 RealMemory=4000"
            for name in NODES
        )
        settings = _SETTINGS.format(
            login=LOGIN,
            address=self.hosts.address(LOGIN),
            folder=self._folder,
            nodes="\n".join(nodes),
        )
        (self._folder / "slurm.conf").write_text(settings)
        (self._folder / "cgroup.conf").write_text(_CGROUP)


@contextmanager
def running_slurm(*shared: Path) -> Generator[Slurm]:
    """Yield a Slurm while the block runs.

    Args:
        shared: Folders that all hosts see, besides the repository's.
    """
    with Hosts([LAPTOP, LOGIN, *NODES], shared) as hosts:
        slurm = Slurm(hosts)
        slurm.start()
        yield slurm
