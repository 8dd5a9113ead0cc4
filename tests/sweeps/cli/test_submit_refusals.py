"""Wrong inputs of submit and cluster that are refused before another machine is asked."""

import pytest

from tests.cluster.refusals import Wrong
from tests.sweeps.cli.shell import Shell

SUBMIT = "capsweep submit quickstart --yes"
_TO = "capsweep submit quickstart --name refused --yes --to slurm"
_JOB = f"{_TO} --time 10m --cpus-per-node 1"
WRONG = (
    Wrong(_TO, "Slurm needs the time of a job: give --time, such as --time 4h."),
    Wrong(f"{_TO} --time 2m", "--time takes at least 5 minutes, got 2 minutes"),
    Wrong(f"{_TO} --time soon", "--time takes 4h, 1h30m, 04:00:00, 1-12:00:00 or a number of"),
    Wrong(f"{_TO} --time 0-0:00", "--time takes at least 5 minutes, got 0 minutes"),
    Wrong(f"{_JOB} --nodes 0", "--nodes must be an integer at least 1, got 0"),
    Wrong(f"{_JOB} --gpus-per-node=-1", "--gpus-per-node must be an integer at least 0"),
    Wrong(f"{_JOB} --attempts 0", "--attempts must be an integer at least 1"),
    Wrong(f"{_JOB} --to slrum", "Unknown scheduler 'slrum'. Did you mean 'slurm'?"),
    Wrong(f"{_JOB} --address http://h:8265", "--address is for Ray alone: leave it out"),
    Wrong(
        "capsweep submit quickstart --on m.txt --nodes 2", "Only Slurm and Kubernetes take --nodes"
    ),
    Wrong("capsweep submit quickstart --on m.txt -- --qos=x", "Only Slurm takes what follows --"),
    Wrong(f"{_JOB} digits", "'digits' is one word too many: options of sbatch come after --"),
    Wrong(f"{_JOB} --account lab", "give an option of sbatch after --, as in -- --account=lab."),
    Wrong(f"{SUBMIT}", "Where is the cluster? Give --on with its file"),
    Wrong(f"{SUBMIT} --on m.txt --address http://x:1", "Where is the cluster?"),
    Wrong(f"{SUBMIT} --on none.txt", "/none.txt' cannot be read (No such file"),
    Wrong(f"{SUBMIT} --on none.yaml", "/none.yaml' cannot be read (No such file"),
    Wrong(f"{SUBMIT} --on broken.yaml", "broken.yaml is not valid YAML"),
    Wrong(f"{SUBMIT} --on aws.yaml", "has no head ("),
    Wrong(f"{SUBMIT} --address localhost", "is not the address of Ray's dashboard"),
    Wrong(f"{SUBMIT} --address http://h:8265", "give --storage and --tracking-uri too"),
    Wrong("capsweep submit none.py --yes --on m.txt", "There is no sweep file 'none.py'"),
    Wrong("capsweep submit broken.py --yes --on m.txt", "broken.py is not valid Python"),
    Wrong("capsweep submit beside.py --yes --on m.txt", "imports a neighbouring file ('helpers')"),
    Wrong(f"{SUBMIT} --on m.txt --price=-1", "--price"),
    Wrong("capsweep cluster upp m.txt", "Did you mean 'up'?"),
    Wrong("capsweep cluster up cluster.yaml", "Ray starts and ends the machines of cluster.yaml"),
    Wrong("capsweep stop quickstart --storage none", "There is no storage folder /"),
    Wrong("capsweep report quickstart --storage none", "There is no tracking store at /"),
)
FILES = {
    "m.txt": "storage = /nowhere/store\nhead\nw1 cpus=1",
    "aws.yaml": "provider: {type: aws, region: us-west-2}\nauth: {ssh_user: ubuntu}\n",
    "broken.yaml": "a: [1",
    "broken.py": "SWEEP = (\n",
    "beside.py": "import helpers\n",
    "helpers.py": "",
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.words.removeprefix("capsweep "))
def test_it_is_one_sentence_and_nothing_is_written(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, wrong: Wrong
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for name, text in FILES.items():
        (shell.folder / name).write_text(text)
    assert wrong.sentence in shell.refused(*wrong.words.split()[1:])
