"""Proxies that the environment names: none for this machine, and named in errors about others."""

import os
import urllib.request
from ipaddress import ip_address
from urllib.parse import urlsplit

from sweeps.tracking.addresses import public, sqlite_path


def bypass_proxies_on_loopback(address: str) -> None:
    """Have this process reach a server on this machine without a proxy, whatever is set.

    A proxy on another machine would look for the server there, and refuse.
    """
    host = urlsplit(address).hostname or ""
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if _is_loopback(host) and exempt != "*":
        names = [host, f"[{host}]"] if ":" in host else [host]  # requests and urllib differ
        missing = [name for name in names if name not in exempt.split(",")]
        os.environ["no_proxy"] = ",".join([*filter(None, [exempt]), *missing])


def address_and_proxy(address: str) -> str:
    """Return a place as it is shown, with the proxy through which it is asked, if any."""
    parts = urlsplit(address)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    host_and_port = parts.netloc.rpartition("@")[2]
    if not proxy or not parts.hostname or urllib.request.proxy_bypass(host_and_port):
        return str(sqlite_path(address) or public(address))
    return (
        f"{public(address)}, asked through the proxy {public(proxy)} (to ask it directly, add "
        f"{parts.hostname} to no_proxy),"
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
