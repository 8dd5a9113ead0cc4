"""The check of an account on AWS without one; tests/cluster/test_aws_account.py has it emulated."""

from types import SimpleNamespace
from typing import Any

import pytest

from sweeps.remote.aws import check as aws
from sweeps.remote.cluster import CheckedMachine

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
