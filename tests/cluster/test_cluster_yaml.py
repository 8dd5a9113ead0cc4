"""cluster.yaml is what `ray up` and EC2 take, as far as can be told without a network."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import boto3
import pytest
import yaml
from botocore.validate import ParamValidator
from jsonschema import ValidationError
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).parents[2]
REFUSALS = (AssertionError, ValueError, ValidationError)
Config = dict[str, Any]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        raise RuntimeError("a socket was opened")

    monkeypatch.setattr(socket.socket, "__init__", refuse)


@pytest.fixture
def config() -> Config:
    return yaml.safe_load((ROOT / "cluster.yaml").read_text(encoding="utf-8"))


def test_ray_and_ec2_take_the_file(config: Config) -> None:
    expect_taken(config)


def test_all_three_kinds_of_machines_are_in_the_file(config: Config) -> None:
    types = config["available_node_types"]
    assert set(types) == {"head", "spot", "on_demand"}
    assert types["spot"]["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
    assert "InstanceMarketOptions" not in types["on_demand"]["node_config"]
    assert types["spot"]["resources"]["GPU"] == types["on_demand"]["resources"]["GPU"] == 1


def test_a_worker_that_no_head_sets_up_ends_itself(config: Config) -> None:
    at_boot = {
        name: machine["node_config"]["UserData"].splitlines()[1:]
        for name, machine in config["available_node_types"].items()
    }
    ends = ["shutdown -h +60"]  # the set-up cancels it: test_end_without_head
    assert at_boot == {"head": [], "spot": ends, "on_demand": ends}


def test_all_that_is_the_users_own_stands_in_the_marked_block() -> None:
    lines = (ROOT / "cluster.yaml").read_text(encoding="utf-8").splitlines()
    start, end = (number for number, line in enumerate(lines) if "=====" in line)
    mine = ("ami-", "sg-", "subnet-", "fs-", "us-west-2", "g5.", "m6i.", "max_spot_workers: &")
    for word in mine:
        places = [number for number, line in enumerate(lines) if word in line]
        assert places, word
        assert all(start < number < end for number in places), word


def test_every_process_of_the_cluster_asks_for_the_token(config: Config) -> None:
    assert config["file_mounts"]["~/.ray/auth_token"] == "~/.ray/auth_token"
    assert "bash ~/capsweep/deploy/prepare_node.sh" in config["setup_commands"]
    assert "RAY_AUTH_MODE=token" in (ROOT / "deploy" / "prepare_node.sh").read_text()
    (start,) = (command for command in config["head_start_ray_commands"] if "ray start" in command)
    assert "--dashboard-host=127.0.0.1" in start


def test_cells_and_data_lie_on_the_shared_disk() -> None:
    script = (ROOT / "deploy" / "prepare_node.sh").read_text(encoding="utf-8")
    for variable in ("CAPSWEEP_STORAGE", "CAPSWEEP_DATA"):
        assert f"{variable}=/mnt/capsweep/" in script


def test_the_settings_command_writes_one_variable_a_line(config: Config) -> None:
    assert "\n" not in config["setup_commands"][0]
    assert config["setup_commands"][0].startswith("printf 'export %s\\n' SHARE=fs-")
    assert config["setup_commands"][0].endswith("&& chmod 600 ~/capsweep-settings.sh")


def misspell_a_key_of_rays(config: Config) -> None:
    config["max_worker"] = 4


def misspell_a_key_of_a_type(config: Config) -> None:
    config["available_node_types"]["spot"]["nodeconfig"] = {}


def misspell_a_key_of_ec2s(config: Config) -> None:
    config["available_node_types"]["spot"]["node_config"]["InstanceTyp"] = "g5.xlarge"


def misspell_a_key_deep_inside(config: Config) -> None:
    disk = config["available_node_types"]["on_demand"]["node_config"]["BlockDeviceMappings"][0]
    disk["Ebs"]["Volumesize"] = 100


def write_a_size_as_text(config: Config) -> None:
    disk = config["available_node_types"]["head"]["node_config"]["BlockDeviceMappings"][0]
    disk["Ebs"]["VolumeSize"] = "100 GB"


def give_the_head_cores(config: Config) -> None:
    config["available_node_types"]["head"]["resources"]["CPU"] = 4


def make_the_head_a_spot_machine(config: Config) -> None:
    head = config["available_node_types"]["head"]["node_config"]
    head["InstanceMarketOptions"] = {"MarketType": "spot"}


def let_ray_guess_the_resources(config: Config) -> None:
    config["available_node_types"]["spot"]["resources"] = {}


def mount_a_missing_file(config: Config) -> None:
    config["file_mounts"]["~/capsweep/gone"] = "gone"


def ask_for_more_than_the_most(config: Config) -> None:
    config["available_node_types"]["spot"]["min_workers"] = 99


def allow_a_type_more_than_the_cluster(config: Config) -> None:
    config["available_node_types"]["spot"]["max_workers"] = config["max_workers"] + 1


def head_of_an_unknown_type(config: Config) -> None:
    config["head_node_type"] = "haed"


def write_minutes_as_text(config: Config) -> None:
    config["idle_timeout_minutes"] = "ten"


def forget_the_security_group(config: Config) -> None:
    del config["available_node_types"]["head"]["node_config"]["SecurityGroupIds"]


@pytest.mark.parametrize(
    "mistake",
    [
        misspell_a_key_of_rays,
        misspell_a_key_of_a_type,
        misspell_a_key_of_ec2s,
        misspell_a_key_deep_inside,
        write_a_size_as_text,
        give_the_head_cores,
        make_the_head_a_spot_machine,
        let_ray_guess_the_resources,
        mount_a_missing_file,
        ask_for_more_than_the_most,
        allow_a_type_more_than_the_cluster,
        head_of_an_unknown_type,
        write_minutes_as_text,
        forget_the_security_group,
    ],
)
def test_a_mistake_in_the_file_is_reported(
    mistake: Callable[[Config], None], config: Config
) -> None:
    mistake(config)
    with pytest.raises(REFUSALS):
        expect_taken(config)


def expect_taken(config: Config) -> None:
    """Check all that Ray and EC2 would refuse, and what they would take but must not be."""
    prepared = prepare_config(config)
    validate_config(prepared)
    types = prepared["available_node_types"]
    head = types[prepared["head_node_type"]]
    assert head["resources"] == {"CPU": 0, "GPU": 0}
    assert head["max_workers"] == 0
    assert "InstanceMarketOptions" not in head["node_config"]
    for remote, local in config["file_mounts"].items():
        assert local.startswith("~") or (ROOT / local).exists(), remote
    for name, machine in types.items():
        marker = {"on_demand"} if name == "on_demand" else set[str]()
        assert set(machine["resources"]) == {"CPU", "GPU"} | marker, name
        assert machine["max_workers"] <= prepared["max_workers"], name
        expect_known_to_ec2(machine["node_config"])


def expect_known_to_ec2(node: Config) -> None:
    """Check that a machine's settings have the names and types of EC2's RunInstances.

    Ray passes them on unseen, except for the subnets, of which it chooses one.
    """
    client = boto3.client(
        "ec2", region_name="us-west-2", aws_access_key_id="none", aws_secret_access_key="none"
    )
    shape = client.meta.service_model.operation_model("RunInstances").input_shape
    settings = {name: value for name, value in node.items() if name != "SubnetIds"}
    report = ParamValidator().validate(settings | {"MinCount": 1, "MaxCount": 1}, shape)
    assert not report.has_errors(), report.generate_report()
    assert {"SubnetIds", "SecurityGroupIds"} <= set(node)
