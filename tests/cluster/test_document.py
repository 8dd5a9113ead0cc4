"""The pages on clusters speak of commands and options that there are."""

import json
import re

import pytest

from sweeps.cli.program import command_line
from tests.pages import ROOT, expect_known, page

PAGES = ("cluster", "workstation", "slurm", "own_machines", "aws", "kubernetes")
TEXT = "\n".join(map(page, PAGES))
CONSOLE = "\n".join(re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)).replace("\\\n", " ")


def lines_of(program: str) -> list[str]:
    """Return the arguments of each call of a program in the console blocks."""
    ends = r"(?=['\"#)]|&&|$)"
    return re.findall(rf"(?<![/\w.-]){program} ([a-z].*?)\s*{ends}", CONSOLE, re.MULTILINE)


@pytest.mark.parametrize("line", lines_of("capsweep"))
def test_capsweep_has_the_commands_and_options(line: str) -> None:
    expect_known(command_line(), line)


@pytest.mark.parametrize("line", lines_of("ray"))
def test_ray_has_the_commands_and_options(line: str) -> None:
    from ray.scripts.scripts import cli

    expect_known(cli, line)


def test_there_are_commands_of_both_programs() -> None:
    assert {line.split()[0] for line in lines_of("capsweep")} >= {
        "submit",
        "cluster",
        "status",
        "best",
        "logs",
        "stop",
    }
    assert {line.split()[0] for line in lines_of("ray")} >= {"up", "down"}


def test_the_policy_is_json_and_allows_no_more_than_ec2_under_a_condition() -> None:
    _, policy, _ = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)  # the head's
    for statement in json.loads(policy)["Statement"]:
        assert all(action.startswith("ec2:") for action in statement["Action"])
        assert statement["Condition"]


def test_files_that_are_mentioned_exist() -> None:
    for name in ("deploy/prepare_node.sh", "cluster.yaml", "deploy/kube/cluster.yaml"):
        assert f"`{name}`" in TEXT or f"bash {name}" in TEXT
        assert (ROOT / name).exists()
