"""What machines and the disk cost on AWS, from a small table of ours: AWS's own is large and slow.

The prices are those of Linux on demand in us-west-2, in US dollars without tax. Other regions cost
up to a half more. Spot machines cost less, and at most this.
"""

from collections.abc import Mapping

PRICES_OF = "2026-06"
_HOURS_OF_MONTH = 730
_DOLLARS_AN_HOUR: Mapping[str, float] = {
    "m6i.large": 0.096,
    "m6i.xlarge": 0.192,
    "m6i.2xlarge": 0.384,
    "g4dn.xlarge": 0.526,
    "g4dn.2xlarge": 0.752,
    "g4dn.12xlarge": 3.912,
    "g5.xlarge": 1.006,
    "g5.2xlarge": 1.212,
    "g5.12xlarge": 5.672,
    "g6.xlarge": 0.8048,
    "g6.2xlarge": 0.9776,
    "g6.12xlarge": 4.6016,
    "g6e.xlarge": 1.861,
    "g6e.2xlarge": 2.24208,
    "p5.4xlarge": 6.88,
}
SMALLEST_WITH: Mapping[str, str] = {
    "T4": "g4dn.xlarge",
    "A10G": "g5.xlarge",
    "L4": "g6.xlarge",
    "L40S": "g6e.xlarge",
    "H100": "p5.4xlarge",
}
"""Name of a GPU -> the smallest machine with one."""
_ADDRESS_AN_HOUR = 0.005  # a public IPv4 address
_GP3_GB_A_MONTH = 0.08
_MACHINES_DISK_GB = 100  # as cluster.yaml says
EFS_GB_A_MONTH = 0.30


def machine_price(machine: str) -> float | None:
    """Return what an hour of a machine costs with its address and disk, None if not known."""
    alone = _DOLLARS_AN_HOUR.get(machine)
    if alone is None:
        return None
    disk = _GP3_GB_A_MONTH * _MACHINES_DISK_GB / _HOURS_OF_MONTH
    return alone + _ADDRESS_AN_HOUR + disk


def machine_price_text(machine: str) -> str:
    """Return what a machine costs in an hour and a month, as a phrase."""
    price = machine_price(machine)
    if price is None:
        return "a price that this release does not know"
    return f"about ${price:.2f} an hour (${price * _HOURS_OF_MONTH:,.0f} a month)"


def disk_price_text() -> str:
    """Return what the shared disk costs, as a phrase."""
    return f"about ${EFS_GB_A_MONTH:.2f} a month for each GB on it"
