"""`capsweep cluster init aws` and `destroy`: what they print and ask."""

import json
import subprocess
import sys
from pathlib import Path

import typer

from capsmodel.spelling import unknown
from sweeps.cli.printed_checks import print_checked
from sweeps.cli.terminal import say
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.aws.account import Account, NoRight, in_sentences, session_in
from sweeps.remote.aws.check import check_account
from sweeps.remote.aws.plan import (
    AwsPlan,
    ClusterOptions,
    check_options,
    default_network,
    make_plan,
    region_of,
)
from sweeps.remote.aws.policies import TRUST, head_policy, user_policy
from sweeps.remote.aws.prices import disk_price_text, machine_price_text
from sweeps.remote.aws.removal import Removal, plan_removal
from sweeps.remote.aws.settings import ClusterSettings
from sweeps.remote.cluster_file import aws_cluster
from sweeps.remote.cluster_token import made_token, read_token

_OF_ROLES = ("Role", "InstanceProfile")  # of calls of IAM
_RECORDS = "/mnt/capsweep/"


def init_cluster(options: ClusterOptions, path: Path, *, is_dry_run: bool, is_sure: bool) -> None:
    """Make what a cluster needs on AWS, after a question, and write its file.

    Raises:
        BadInput: If the account cannot have it.
    """
    check_options(options)
    file = ClusterSettings(path)
    account = _account(options, file)
    try:
        with in_sentences():
            _make_network(account, is_asked=not (is_sure or is_dry_run))
            plan = make_plan(account, file, options)
            _print_plan(plan)
            if plan.difference:
                typer.echo(plan.difference, nl=False)
                raise BadInput(
                    f"{path} says otherwise, and is left as it is: edit its lines as above and "
                    f"give `ray up {path}` again, or name a new file by --file, and by --name "
                    f"another cluster."
                )
            if is_dry_run:
                return
            if plan.missing:
                question = f"Make what is missing, and open port 22 to {plan.ssh_from}?"
                _ask(question, is_sure=is_sure)
            plan.carry_out(say)
    except NoRight as error:
        _print_policies(error, options, file, account)
        raise _without_right(error) from error
    if not read_token()[0]:
        made_token()
        say("made: Ray's token, ~/.ray/auth_token, which only you can read")
    _print_result(plan)


def _account(options: ClusterOptions, file: ClusterSettings) -> Account:
    """Return the account in the cluster's region.

    Raises:
        BadInput: If there is no such region.
    """
    session = session_in(None)
    region = region_of(options, file, session.region_name)
    known = session.get_available_regions("ec2")
    if region not in known:
        raise BadInput(unknown("region", region, known))
    return Account(session_in(region))


def _make_network(account: Account, *, is_asked: bool) -> None:
    """Make a default VPC where there is none, after a question of its own.

    Raises:
        BadInput: If it was not asked for.
    """
    if default_network(account):
        return
    if not is_asked or not sys.stdin.isatty():
        raise BadInput(
            f"{account.region} has no default VPC: `aws ec2 create-default-vpc --region "
            f"{account.region}` makes one, which costs nothing, or take another --region."
        )
    _ask(f"{account.region} has no default VPC. Make one, with its subnets?", is_sure=False)
    account.client("ec2").create_default_vpc()
    account.wait(lambda: default_network(account))
    say("made: default VPC")


def _print_plan(plan: AwsPlan) -> None:
    say(f"The cluster '{plan.cluster}' in {plan.account.region}, and its file {plan.file.path}:")
    for line in plan.lines():
        typer.echo(line)


def _print_policies(
    error: NoRight, options: ClusterOptions, file: ClusterSettings, account: Account
) -> None:
    """Print what an administrator has to do, so that it can be copied."""
    name, region = options.name or file.values["cluster_name"], account.region
    if error.operation.endswith(_OF_ROLES):
        typer.echo(f"Instance profile and role '{name}-head', which EC2 may take:")
        typer.echo(json.dumps(TRUST, indent=1))
        typer.echo("Its policy:")
        typer.echo(json.dumps(head_policy(name, region), indent=1))
    else:
        typer.echo("What you need:")
        typer.echo(json.dumps(user_policy(name, region), indent=1))


def _without_right(error: NoRight) -> BadInput:
    if error.operation.endswith(_OF_ROLES):
        return BadInput(
            f"{error} An administrator can make the profile above; then give --head-profile NAME."
        )
    return BadInput(f"{error} An administrator can grant you the policy above.")


def _print_result(plan: AwsPlan) -> None:
    path = plan.file.path
    config = aws_cluster(path)
    assert config is not None
    checked = check_account(config, plan.account)
    print_checked([checked], len(checked.name))
    say(f"Next: ray up {path} --disable-usage-stats")
    head = machine_price_text(plan.settings["head_type"])
    destroy = SuggestedCommand("cluster", "destroy", str(path), "--records-too")
    say(
        f"From then on the head costs {head}, also when idle, until: ray down {path}. The disk "
        f"costs {disk_price_text()}, until: {destroy}."
    )


def _ask(question: str, *, is_sure: bool) -> None:
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise BadInput("There is no terminal to ask in: add --yes to go on without a question.")
    if not typer.confirm(question, default=True):
        raise typer.Exit(1)


# The end.


def destroy_cluster(path: Path, *, with_records: bool, is_dry_run: bool, is_sure: bool) -> None:
    """End a cluster's machines and delete what `init` has made, after a question.

    Raises:
        BadInput: If it has made nothing, or AWS refuses.
    """
    file = ClusterSettings(path)
    account = Account(session_in(file.values["region"]))
    with in_sentences():
        removal = plan_removal(account, file, with_records=with_records)
        if removal.is_empty:
            say(removal.end)
            return
        say(f"The cluster '{file.values['cluster_name']}' in {account.region}:")
        for line in removal.lines():
            typer.echo(line)
        if is_dry_run:
            return
        if not is_sure:
            _ask_for_all(removal)
        elif removal.deletes_records:
            say("Not asked, so no copy of the records is made.")
        removal.carry_out(say)
        say(removal.end)


def _ask_for_all(removal: Removal) -> None:
    """Ask whether to delete it; before records go, offer a copy and have the name typed."""
    _ask("Delete it?", is_sure=False)
    if not removal.deletes_records:
        return
    name, path = removal.file.values["cluster_name"], removal.file.path
    folder = Path(f"{name}-records").absolute()
    if not removal.machines:
        say(f"To keep a copy of the records, answer nothing now and start the head: ray up {path}")
    elif typer.confirm(f"Copy the records to {folder} first?", default=True):
        ray = str(Path(sys.executable).with_name("ray"))
        copied = subprocess.run([ray, "rsync-down", str(path), _RECORDS, f"{folder}/"], check=False)
        if copied.returncode:
            raise BadInput(f"The records were not copied to {folder}, so nothing was deleted.")
    if typer.prompt("All records are deleted. Type the cluster's name") != name:
        raise BadInput("That is not the cluster's name, so nothing was deleted.")
