"""The check of an account on AWS without one; tests/cluster/test_aws_account.py has it emulated."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from sweeps.remote.aws import check as aws
from sweeps.remote.aws.policies import TRUST, head_policy, user_policy
from sweeps.remote.checked_machine import CheckedMachine
from tests.pages import ROOT

CODES = {"spot": "L-3819A6DF", "on-demand": "L-DB2E81BA"}  # AWS's, of all G and VT machines


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"InstanceMarketOptions": {"MarketType": "spot"}}, "spot"),
        ({"InstanceMarketOptions": {"MarketType": "capacity-block"}}, "on-demand"),
        ({}, "on-demand"),
    ],
)
def test_spot_machines_need_the_quota_of_spot_machines_and_others_that_of_on_demand_ones(
    options: dict[str, Any], kind: str
) -> None:
    def get_service_quota(ServiceCode: str, QuotaCode: str) -> dict[str, Any]:  # noqa: N803 - AWS's
        assert ServiceCode == "ec2"
        return {"Quota": {"Value": 8.0 if CODES[kind] == QuotaCode else 0.0}}

    types = {"InstanceTypes": [{"VCpuInfo": {"DefaultVCpus": 4}}]}
    clients = {
        "ec2": SimpleNamespace(describe_instance_types=lambda **_: types),
        "service-quotas": SimpleNamespace(get_service_quota=get_service_quota),
    }
    workers = [({"InstanceType": "g5.xlarge", **options}, 2)]
    account: Any = SimpleNamespace(client=clients.get, workers=workers)
    checked = CheckedMachine("AWS")
    aws._check_quotas(account, checked)
    assert checked == CheckedMachine("AWS", right=[f"quota of {kind} machines"])


def test_the_page_has_the_policies_that_init_prints() -> None:
    blocks = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "aws.md").read_text(), re.DOTALL)
    policies = [policy("capsweep", "us-west-2") for policy in (head_policy, user_policy)]
    assert [json.loads(block) for block in blocks] == [TRUST, *policies]
