"""`capsweep cluster init aws` and `destroy` on an emulated account, in its first seconds too."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import boto3
import pytest

from sweeps.cli import aws_cluster
from sweeps.remote.aws import account as account_module
from sweeps.remote.aws import plan as plan_module
from sweeps.remote.aws.policies import SPOT_ROLE, head_policy
from sweeps.remote.aws.settings import SHIPPED_IDS, ClusterSettings
from tests.cluster.emulated_ec2 import EmulatedAccount, emulated_account, why_no_ec2
from tests.pages import ROOT
from tests.sweeps.cli.shell import Shell

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(why_no_ec2()), reason=why_no_ec2()),
]
INIT = ("cluster", "init", "aws", "--ssh-from", "198.51.100.7/32", "--yes")
DESTROY = ("cluster", "destroy", "cluster.yaml", "--records-too", "--yes")
MAKES = re.compile(r":(Create|Put|Add|Authorize|Delete|Remove|Terminate)")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatedAccount]:
    with emulated_account(tmp_path_factory.mktemp("account"), unsteady=True) as account:
        yield account


@pytest.fixture
def account(
    served: EmulatedAccount, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> EmulatedAccount:
    served.reset()
    for name, value in served.variables.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    made = account_module.Account
    monkeypatch.setattr(aws_cluster, "Account", lambda session: made(session, 60.0, 0.001))
    return served


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(ROOT / "cluster.yaml", folder)
    return Shell(folder, monkeypatch, capsys)


def given(shell: Shell, *arguments: str) -> str:
    """Give a command and return what it prints."""
    answer = shell(*arguments)
    assert answer.code == 0, answer.out + answer.err
    return answer.out


def kinds(account: EmulatedAccount) -> dict[str, int]:
    """Return how many of each kind an account has, without AWS's own role."""
    counts = {kind: len(names) for kind, names in account.resources().items()}
    counts["roles"] -= SPOT_ROLE in account.resources()["roles"]
    return counts


def changes(account: EmulatedAccount, since: int = 0) -> list[str]:
    """Return the calls that may have changed an account."""
    calls = account.calls()[since:]
    return [call.action for call in calls if MAKES.search(call.action) and not call.dry_run]


def test_a_cluster_is_made_found_again_and_deleted(account: EmulatedAccount, shell: Shell) -> None:
    before, path = account.resources(), shell.folder / "cluster.yaml"
    shipped = path.read_text()

    planned = given(shell, *INIT[:-1], "--dry-run")
    assert not changes(account)
    assert path.read_text() == shipped
    assert "to be made  EFS disk capsweep" in planned
    assert "spot machines like g5.xlarge: 16 vCPUs are needed, 64 allowed" in planned
    assert "of the other rights it is not known until tried" in planned

    made = given(shell, *INIT)
    assert set(planned.splitlines()) <= set(made.splitlines())  # the same plan
    assert re.search(r"^From then on the head costs about \$0\.21 an hour", made, re.MULTILINE)
    assert not SHIPPED_IDS.items() & ClusterSettings(path).values.items()
    token = Path.home() / ".ray" / "auth_token"
    assert token.stat().st_mode & 0o777 == 0o600
    check = given(shell, *INIT)
    assert "WRONG" not in check
    assert "not checked" not in check

    there, since = account.resources(), len(account.calls())
    again = given(shell, *INIT)
    assert "to be made" not in again
    assert not changes(account, since)
    assert account.resources() == there
    for kind in ("security_groups", "file_systems", "access_points", "instance_profiles"):
        new = there[kind].keys() - before[kind].keys()
        tags = [there[kind][name].get("Tags") for name in new]
        assert [{"Key": "capsweep-cluster", "Value": "capsweep"} in tag for tag in tags] == [True]

    deleted = given(shell, *DESTROY)
    assert "delete  EFS disk capsweep with all records, 0 GB" in deleted
    assert "Not asked, so no copy of the records is made." in deleted
    after = account.resources()
    assert after["roles"].pop(SPOT_ROLE)
    assert after == before
    values, old = ClusterSettings(path).values, SHIPPED_IDS
    assert all(values[name] == old[name] for name in ("security_group", "disk", "access_point"))


def test_the_disk_stays_with_its_records_and_is_found_again(
    account: EmulatedAccount, shell: Shell
) -> None:
    given(shell, *INIT)
    (disk,) = account.resources()["file_systems"]
    kept = given(shell, "cluster", "destroy", "cluster.yaml", "--yes")
    assert kept.splitlines()[-1].startswith("Of 'capsweep' in us-west-2 the disk stays with all")
    assert f"stays   EFS disk capsweep ({disk}) with all records" in kept
    assert kinds(account)["mount_targets"] == kinds(account)["instance_profiles"] == 0
    again = given(shell, "cluster", "destroy", "cluster.yaml", "--yes")
    assert again.startswith("Of 'capsweep' in us-west-2 the disk stays with all records: ")
    given(shell, *INIT)
    assert [*account.resources()["file_systems"]] == [disk]
    assert ClusterSettings(shell.folder / "cluster.yaml").values["disk"] == disk
    given(shell, *DESTROY)
    assert not account.resources()["file_systems"]


class Killed(BaseException):
    """The process ends here."""


def kill_after(monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
    """Have the process end after so many calls that change the account; return their names."""
    made: list[str] = []
    original = boto3.Session.client

    def after_call(model: Any, **_: object) -> None:
        if MAKES.search(f":{model.name}"):
            made.append(model.name)
            if len(made) == number:
                raise Killed

    def client(session: boto3.Session, *names: Any, **more: Any) -> Any:
        built = original(session, *names, **more)
        built.meta.events.register("after-call", after_call)
        return built

    monkeypatch.setattr(boto3.Session, "client", client)
    return made


def killed_after_each(
    shell: Shell, arguments: tuple[str, ...], check: Callable[[int], None]
) -> int:
    """Kill a command after each of its calls that change something; return how many it makes."""
    number = 0
    while True:
        number += 1
        with pytest.MonkeyPatch.context() as patch:
            kill_after(patch, number)
            try:
                given(shell, *arguments)
            except Killed:
                check(number)
            else:
                return number - 1


def test_init_that_is_killed_after_any_call_goes_on_and_doubles_nothing(
    account: EmulatedAccount, shell: Shell
) -> None:
    path = shell.folder / "cluster.yaml"
    shipped = path.read_text()
    given(shell, *INIT)
    whole, text = kinds(account), path.read_text()
    account.reset()
    path.write_text(shipped)

    def goes_on(number: int) -> None:
        given(shell, *INIT)
        assert kinds(account) == whole, number
        assert len(path.read_text()) == len(text)
        account.reset()
        path.write_text(shipped)

    assert killed_after_each(shell, INIT, goes_on) >= 12


def test_destroy_that_is_killed_after_any_call_goes_on_and_leaves_nothing(
    account: EmulatedAccount, shell: Shell
) -> None:
    before = kinds(account)
    given(shell, *INIT)

    def goes_on(number: int) -> None:
        given(shell, *DESTROY)
        assert kinds(account) == before, number
        given(shell, *INIT)

    assert killed_after_each(shell, DESTROY, goes_on) >= 10
    assert kinds(account) == before


# What is refused.


class Refusal(NamedTuple):
    """A wrong input.

    Attributes:
        sentence: A part of the answer.
        arguments: Of `init aws`.
        variables: Of the environment.
        spoil: Makes the account or the file wrong.
    """

    sentence: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
    spoil: Callable[[EmulatedAccount, Path], object] = lambda account, path: None


def client(account: EmulatedAccount, service: str) -> Any:
    return boto3.Session("other", "none", region_name="us-west-2").client(
        service, endpoint_url=account.url
    )


def has_no_public_subnet(account: EmulatedAccount, _: Path) -> None:
    ec2 = client(account, "ec2")
    for subnet in ec2.describe_subnets()["Subnets"]:
        ec2.modify_subnet_attribute(
            SubnetId=subnet["SubnetId"], MapPublicIpOnLaunch={"Value": False}
        )


def has_no_network(account: EmulatedAccount, _: Path) -> None:
    ec2 = client(account, "ec2")
    for subnet in ec2.describe_subnets()["Subnets"]:
        ec2.delete_subnet(SubnetId=subnet["SubnetId"])
    for network in ec2.describe_vpcs()["Vpcs"]:
        ec2.delete_vpc(VpcId=network["VpcId"])


def edited(old: str, new: str) -> Callable[[EmulatedAccount, Path], object]:
    return lambda _, path: path.write_text(path.read_text().replace(old, new))


def foreign_group(account: EmulatedAccount, _: Path) -> None:
    ec2 = client(account, "ec2")
    network = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    ec2.create_security_group(GroupName="capsweep", Description="-", VpcId=network)
    for _ in range(3):  # until it is seen
        ec2.describe_security_groups()


def foreign_disk(account: EmulatedAccount, _: Path) -> None:
    efs = client(account, "efs")
    efs.create_file_system(CreationToken="capsweep")
    for _ in range(5):  # until it is ready too
        efs.describe_file_systems()


def foreign_role(account: EmulatedAccount, _: Path) -> None:
    iam = client(account, "iam")
    iam.create_role(RoleName="capsweep-head", AssumeRolePolicyDocument="{}")
    for _ in range(3):
        iam.list_roles()


REFUSALS = {
    "a provider": Refusal("Unknown provider 'gcp'", ("gcp",)),
    "a region": Refusal("Did you mean 'us-west-2'?", ("--region", "us-wset-2")),
    "a region without the type": Refusal(
        "has m6i.xlarge and g5.xlarge in no common zone", ("--region", "us-west-1")
    ),
    "a machine": Refusal("knows no machine 'g5.xlarg'", ("--gpu-type", "g5.xlarg")),
    "a GPU": Refusal("Did you mean 'A10G'?", ("--gpu-type", "A10")),
    "a machine without a GPU": Refusal("has no GPU of NVIDIA's", ("--gpu-type", "m6i.xlarge")),
    "a machine without a price": Refusal(
        "does not know the price of g5.48xlarge", ("--gpu-type", "g5.48xlarge")
    ),
    "a name": Refusal("--name is 'My cluster'", ("--name", "My cluster")),
    "no workers": Refusal("--workers is 0: give 1 to 100", ("--workers", "0")),
    "addresses": Refusal("--ssh-from is 'home'", ("--ssh-from", "home")),
    "no cluster.yaml": Refusal(
        "cluster.yaml cannot be read (No such file", spoil=lambda _, path: path.unlink()
    ),
    "a file without a line": Refusal(
        "has 0 lines for 'price'", spoil=edited("    price:", "    cost:")
    ),
    "no credentials": Refusal(
        "AWS is not reached: Unable to locate credentials",
        variables={"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
    ),
    "an unknown profile": Refusal(
        "AWS's settings cannot be used", variables={"AWS_PROFILE": "nobody"}
    ),
    "expired credentials": Refusal(
        "AWS refuses the credentials (ExpiredToken): log in again",
        spoil=lambda account, _: account.fail("sts:GetCallerIdentity", "ExpiredToken", "-", 9),
    ),
    "no quota": Refusal(
        "ask AWS for more (Service Quotas), or take --on-demand.",
        spoil=lambda account, _: account.set_quota("L-3819A6DF", 0),
    ),
    "a small quota": Refusal(
        "or give --workers 2.", spoil=lambda account, _: account.set_quota("L-3819A6DF", 8)
    ),
    "no public subnet": Refusal("gives machines a public address", spoil=has_no_public_subnet),
    "no VPC": Refusal("has no default VPC: `aws ec2 create-default-vpc", spoil=has_no_network),
    "a group of others": Refusal("has another security group capsweep", spoil=foreign_group),
    "a disk of others": Refusal(
        "has another EFS disk capsweep",
        spoil=foreign_disk,
    ),
    "a role of others": Refusal("has another role capsweep-head", spoil=foreign_role),
    "an image that is gone": Refusal(
        "write ami-0123456789abcdef0 in its place", spoil=edited("ami-0123456789abcdef0", "ami-1")
    ),
    "a profile that is not there": Refusal(
        "no instance profile 'mine'", ("--head-profile", "mine")
    ),
    "no right to make machines": Refusal(
        "You may not call RunInstances (UnauthorizedOperation)",
        spoil=lambda account, _: account.fail("ec2:RunInstances", "UnauthorizedOperation"),
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_what_is_wrong_is_said_before_anything_is_made(
    refusal: Refusal, account: EmulatedAccount, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in refusal.variables.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    refusal.spoil(account, shell.folder / "cluster.yaml")
    before, files = account.resources(), shell.files()
    words = INIT[:2] + refusal.arguments + INIT[3:]
    if refusal.arguments != ("gcp",):
        words = INIT + refusal.arguments
    answer = shell(*words)
    assert answer.code == 2, answer.out + answer.err
    assert answer.err.startswith("capsweep: ")
    assert answer.err.count("\n") == 1, answer.err
    assert refusal.sentence in answer.err
    assert account.resources() == before
    assert shell.files() == files
    assert not (Path.home() / ".ray").exists()


def test_an_address_that_aws_does_not_say_has_to_be_given(
    account: EmulatedAccount, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_module, "_ADDRESS_SERVICE", "http://127.0.0.1:9/")
    sentence = shell.refused("cluster", "init", "aws", "--yes")
    assert "give --ssh-from ADDRESS/32" in sentence
    assert not changes(account)


def test_without_the_right_to_make_roles_the_policy_is_printed(
    account: EmulatedAccount, shell: Shell
) -> None:
    account.fail("iam:CreateRole", "AccessDenied", times=9)
    answer = shell(*INIT)
    assert answer.code == 2
    assert "You may not call CreateRole (AccessDenied)." in answer.err
    assert "then give --head-profile NAME" in answer.err
    policies = answer.out[answer.out.index("{") :].split("Its policy:")
    trust, policy = map(json.loads, policies)
    assert trust["Statement"][0]["Principal"] == {"Service": "ec2.amazonaws.com"}
    assert policy["Statement"][2]["Condition"]["StringEquals"] == {
        "ec2:ResourceTag/ray-cluster-name": "capsweep"
    }
    assert [action for action in changes(account) if "CreateRole" not in action] == []

    iam = client(account, "iam")
    iam.create_instance_profile(InstanceProfileName="lab")
    given(shell, *INIT, "--head-profile", "lab")
    assert "head_profile {Name: lab}" in (shell.folder / "cluster.yaml").read_text()
    given(shell, *DESTROY)
    assert "lab" in account.resources()["instance_profiles"]


def test_a_file_with_other_values_is_left_and_the_difference_is_shown(
    account: EmulatedAccount, shell: Shell
) -> None:
    given(shell, *INIT)
    path = shell.folder / "cluster.yaml"
    (shell.folder / "copy.yaml").write_text(path.read_text())
    before, text = account.resources(), path.read_text()
    answer = shell(*INIT, "--workers", "8", "--gpu-type", "L4")
    assert answer.code == 2
    assert "cluster.yaml says otherwise, and is left as it is: edit its lines" in answer.err
    assert "with all 8 at most $" in answer.out  # the plan is shown all the same
    assert "\n-max_workers: &max_workers 4" in answer.out
    assert "\n+max_workers: &max_workers 8" in answer.out
    assert "\n+    worker_type: &worker_type g6.xlarge" in answer.out
    assert path.read_text() == text
    path.write_text(text.replace("idle_timeout_minutes: 10", "idle_timeout_minutes: 30"))
    assert "to be made" not in given(shell, *INIT)  # an edit elsewhere is no difference
    assert "idle_timeout_minutes: 30" in path.read_text()
    given(shell, *INIT, "--workers", "8", "--name", "big", "--file", "big.yaml")
    values = ClusterSettings(shell.folder / "big.yaml").values
    assert (values["cluster_name"], values["max_workers"]) == ("big", "8")
    assert values["security_group"] not in text
    given(shell, "cluster", "destroy", "big.yaml", "--records-too", "--yes")
    assert account.resources() == before


def test_what_others_use_is_left_and_named(account: EmulatedAccount, shell: Shell) -> None:
    given(shell, *INIT)
    there = account.resources()
    group = ClusterSettings(shell.folder / "cluster.yaml").values["security_group"]
    (disk,) = there["file_systems"]
    ec2, efs = client(account, "ec2"), client(account, "efs")
    image = ClusterSettings(shell.folder / "cluster.yaml").values["image"]
    started = ec2.run_instances(
        ImageId=image, MinCount=1, MaxCount=1, SecurityGroupIds=[group], InstanceType="m6i.large"
    )
    machine = started["Instances"][0]["InstanceId"]
    point = efs.create_access_point(ClientToken="other", FileSystemId=disk)["AccessPointId"]
    for _ in range(3):
        efs.describe_access_points()
    client(account, "iam").attach_role_policy(
        RoleName="capsweep-head",
        PolicyArn=client(account, "iam").create_policy(
            PolicyName="other",
            PolicyDocument=json.dumps(head_policy("other", "us-west-2")),
        )["Policy"]["Arn"],
    )
    out = given(shell, *DESTROY)
    assert f"stays   EFS disk capsweep: access point {point} of others" in out
    assert f"stays   security group capsweep: machine {machine} of others" in out
    assert "stays   role capsweep-head: policy other of others" in out
    after = account.resources()
    assert disk in after["file_systems"]
    assert group in after["security_groups"]
    assert machine in after["instances"]


def test_machines_of_the_cluster_end_and_its_key_pair_goes(
    account: EmulatedAccount, shell: Shell
) -> None:
    given(shell, *INIT)
    values = ClusterSettings(shell.folder / "cluster.yaml").values
    ec2 = client(account, "ec2")
    tags = [{"Key": "ray-cluster-name", "Value": "capsweep"}]
    for security_groups in ([values["security_group"]], []):
        ec2.run_instances(
            ImageId=values["image"],
            MinCount=1,
            MaxCount=1,
            SecurityGroupIds=security_groups,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
    folder = Path.home() / ".ssh"
    folder.mkdir()
    for name in (values["key_name"], "other"):
        made = ec2.create_key_pair(KeyName=name)
        (folder / f"{name}.pem").write_text(made["KeyMaterial"])
    out = given(shell, *DESTROY)
    assert "ended: 2 machines" in out
    assert not account.resources()["instances"]
    assert [*account.resources()["key_pairs"]] == ["other"]
    assert [path.name for path in folder.iterdir()] == ["other.pem"]


def test_nothing_of_a_file_by_hand_is_deleted(account: EmulatedAccount, shell: Shell) -> None:
    foreign_group(account, shell.folder)
    tags = [{"Key": "ray-cluster-name", "Value": "capsweep"}]
    client(account, "ec2").run_instances(
        ImageId=client(account, "ec2").describe_images()["Images"][0]["ImageId"],
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    key = Path.home() / ".ssh" / "capsweep_us-west-2.pem"  # which Ray has made
    key.parent.mkdir()
    key.write_text("-")
    before = account.resources()
    out = given(shell, *DESTROY)
    assert key.exists()
    assert "Nothing that init made for 'capsweep' in us-west-2 is left to pay for." in out
    assert account.resources() == before
    assert not changes(account, len(account.calls()))
    assert "AWS_ENDPOINT_URL" in os.environ


def test_without_a_terminal_nothing_is_made_or_deleted_unasked(
    account: EmulatedAccount, shell: Shell
) -> None:
    assert "add --yes" in shell(*INIT[:-1]).err
    given(shell, *INIT)
    before = account.resources()
    assert "add --yes" in shell(*DESTROY[:-1]).err
    assert account.resources() == before


# What a terminal is asked.


class Terminal:
    """A user at a terminal.

    Attributes:
        asked: The questions so far.
        answers: Beginning of a question -> the answer; any other is answered yes.
        commands: The commands that were run.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
        self.asked: list[str] = []
        self.answers = answers
        self.commands: list[list[str]] = []
        monkeypatch.setattr(aws_cluster.sys, "stdin", SimpleNamespace(isatty=lambda: True))
        monkeypatch.setattr(aws_cluster.typer, "confirm", self._answer)
        monkeypatch.setattr(aws_cluster.typer, "prompt", self._answer)
        monkeypatch.setattr(aws_cluster.subprocess, "run", self._run)

    def _answer(self, question: str, **_: object) -> Any:
        self.asked.append(question)
        return self.answers.get(question.split()[0], True)

    def _run(self, command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        self.commands.append(command[1:])
        return subprocess.CompletedProcess(command, 0)


def test_init_asks_once_and_shows_to_whom_port_22_is_opened(
    account: EmulatedAccount, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(monkeypatch, Make=False)
    assert shell(*INIT[:-1]).code == 1
    assert not changes(account)
    assert terminal.asked == ["Make what is missing, and open port 22 to 198.51.100.7/32?"]
    terminal = Terminal(monkeypatch)
    given(shell, *INIT[:-1])
    given(shell, *INIT[:-1])
    assert len(terminal.asked) == 1


def test_a_network_is_made_after_a_question_of_its_own(
    account: EmulatedAccount, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_no_network(account, shell.folder)
    terminal = Terminal(monkeypatch)
    given(shell, *INIT[:-1])
    assert terminal.asked[0] == "us-west-2 has no default VPC. Make one, with its subnets?"
    assert len(account.resources()["vpcs"]) == 1
    assert "stays   default VPC" in given(shell, *DESTROY)


def test_records_are_offered_a_copy_and_go_only_when_the_name_is_typed(
    account: EmulatedAccount, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(shell, *INIT)
    values = ClusterSettings(shell.folder / "cluster.yaml").values
    tags = [{"Key": "ray-cluster-name", "Value": "capsweep"}]
    client(account, "ec2").run_instances(
        ImageId=values["image"],
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    before = account.resources()
    terminal = Terminal(monkeypatch, All="capswep")
    answer = shell(*DESTROY[:-1])
    assert answer.code == 2
    assert "That is not the cluster's name, so nothing was deleted." in answer.err
    copy = shell.folder / "capsweep-records"
    assert terminal.commands == [["rsync-down", "cluster.yaml", "/mnt/capsweep/", f"{copy}/"]]
    assert account.resources() == before
    Terminal(monkeypatch, All="capsweep", Copy=False)
    given(shell, *DESTROY[:-1])
    assert not account.resources()["file_systems"]


def test_what_was_made_before_a_refusal_is_named_and_the_same_command_goes_on(
    account: EmulatedAccount, shell: Shell
) -> None:
    account.fail("elasticfilesystem:CreateFileSystem", "AccessDeniedException")
    answer = shell(*INIT)
    assert answer.code == 2
    assert "You may not call CreateFileSystem" in answer.err
    assert "Made so far: role capsweep-head, policy capsweep-head, " in answer.err
    assert "The same command goes on." in answer.err
    assert '"elasticfilesystem:CreateFileSystem"' in answer.out  # the policy for an administrator
    given(shell, *INIT)


def test_a_disk_that_stays_in_use_is_not_said_to_be_gone(
    account: EmulatedAccount, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(shell, *INIT)
    monkeypatch.setattr(aws_cluster, "Account", lambda session: account_module.Account(session, 0))
    account.fail("elasticfilesystem:DeleteFileSystem", "FileSystemInUse", times=9)
    out = given(shell, *DESTROY)
    assert "left: EFS disk capsweep. AWS is not ready after 0 s" in out
    assert out.splitlines()[-1].startswith("Of 'capsweep' in us-west-2 the disk stays")
