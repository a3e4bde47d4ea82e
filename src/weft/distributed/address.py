"""Addresses: a host and a port."""


def split_address(address: str, what: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`.

    Raises: ValueError, which begins with `what`.
    Example:
      >>> split_address("[::1]:80", "here"), split_address("node-1:1234", "here")
      (('::1', 80), ('node-1', 1234))
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{what}: expected host:port, such as 10.0.0.1:1234; got {address!r}")
    return host, int(port)


def joined_address(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """True for an IP address that is reachable from the same machine only."""
    return host.startswith("127.") or host == "::1"
