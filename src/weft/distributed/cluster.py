"""Reads the number and the coordinator of this process from the environment variables of cluster
schedulers.

Sources: the manual pages of Slurm's `srun` (output environment variables) and of Open MPI's
`mpirun`.
"""

import re
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .connection import joined_address

Environment = Mapping[str, str]

FIRST_PORT, PORTS = 61000, 4000
"""Ports that Linux never assigns automatically; a job takes one of them by its number."""

HIDDEN_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


class ClusterProcess(NamedTuple):
    """This process, as the cluster describes it. Fields that the cluster does not define are
    None."""

    cluster: str
    coordinator: str | None
    num_processes: int
    process_id: int
    local_id: int | None
    """The number of this process among the processes of its host."""
    names: tuple[str, str, str]
    """The variables of the first three."""


def slurm(environment: Environment) -> ClusterProcess | None:
    """A task that `srun` started."""
    if "SLURM_JOB_ID" not in environment or "SLURM_PROCID" not in environment:
        return None
    tasks = _first(environment, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
    nodes = _first(environment, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
    first = expanded(environment[nodes])[0]
    number = _natural_number(environment, "SLURM_JOB_ID")
    if "SLURM_STEP_ID" in environment:
        number += _natural_number(environment, "SLURM_STEP_ID")
    return ClusterProcess(
        "Slurm",
        joined_address(first, FIRST_PORT + number % PORTS),
        _natural_number(environment, tasks),
        _natural_number(environment, "SLURM_PROCID"),
        _natural_number(environment, "SLURM_LOCALID") if "SLURM_LOCALID" in environment else None,
        (nodes, tasks, "SLURM_PROCID"),
    )


def open_mpi(environment: Environment) -> ClusterProcess | None:
    """A rank that Open MPI's `mpirun` started."""
    size, rank, local = (f"OMPI_COMM_WORLD_{name}" for name in ("SIZE", "RANK", "LOCAL_RANK"))
    if size not in environment or rank not in environment:
        return None
    count = _natural_number(environment, size)
    uri = environment.get("OMPI_MCA_orte_hnp_uri", "")
    job = environment.get("PMIX_NAMESPACE") or environment.get("OMPI_MCA_ess_base_jobid") or uri
    host = host_in(uri)
    if not host and environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") == environment[size]:
        host = "127.0.0.1"  # all processes are on this host
    port = FIRST_PORT + zlib.crc32(job.encode()) % PORTS
    return ClusterProcess(
        "Open MPI",
        joined_address(host, port) if host else None,
        count,
        _natural_number(environment, rank),
        _natural_number(environment, local) if local in environment else None,
        ("OMPI_MCA_orte_hnp_uri", size, rank),
    )


DETECTORS: dict[str, Callable[[Environment], ClusterProcess | None]] = {
    "ompi": open_mpi,
    "slurm": slurm,
}
"""The detectors by method. In a Slurm job, `mpirun`'s own variables take precedence."""


def detect(environment: Environment, method: str | None = None) -> ClusterProcess | None:
    """This process according to the first cluster detected; `None` if there is none.

    Args:
      method: 'slurm', 'ompi', 'deactivate', or `None` to try them all.
    Raises: ValueError: an unknown method, or a variable with an invalid value.
    """
    if method not in (None, "deactivate", *DETECTORS):
        names = ", ".join(map(repr, [*sorted(DETECTORS), "deactivate"]))
        raise ValueError(f"initialize: cluster_detection_method is one of {names}; got {method!r}")
    for name, detector in DETECTORS.items():
        if method in (None, name) and (place := detector(environment)):
            return place
    return None


def host_in(uri: str) -> str:
    """The first address in Open MPI's URI of `mpirun`; empty if there is none.

    Example:
      >>> host_in('"917.0;tcp://10.0.0.7,10.1.0.7:34911"'), host_in("917.0;tcp6://[fe80::1]:34911")
      ('10.0.0.7', 'fe80::1')
    """
    _, scheme, tail = uri.strip('"').partition("://")
    hosts, _, _ = tail.partition(";")[0].rpartition(":")
    return hosts.removeprefix("[").removesuffix("]").split(",")[0] if scheme else ""


def expanded(nodes: str) -> list[str]:
    """The hosts of Slurm's list of nodes.

    Raises: ValueError.
    Example:
      >>> expanded("a[01-03,7],b"), expanded("rack[1-2]-n[8-9]")
      (['a01', 'a02', 'a03', 'a7', 'b'], ['rack1-n8', 'rack1-n9', 'rack2-n8', 'rack2-n9'])
    """
    items = re.findall(r"(?:[^][,]|\[[^][]*\])+", nodes)
    hosts = [host for item in items for host in _each(item)]
    if not hosts or ",".join(items) != nodes:
        raise ValueError(f"initialize: expected Slurm's list of nodes, as a[1-4],b; got {nodes!r}")
    return hosts


def _each(item: str) -> list[str]:
    """The hosts of `rack[1-2]-n[08-09]`."""
    start, bracket, tail = item.partition("[")
    if not bracket:
        return [item]
    inside, _, end = tail.partition("]")
    numbers = []
    for part in inside.split(","):
        low, dash, high = part.strip().partition("-")
        if not (low.isdigit() and (high.isdigit() or not dash)):
            raise ValueError(f"initialize: expected Slurm's list of nodes; got {item!r}")
        numbers += [f"{n:0{len(low)}}" for n in range(int(low), int(high or low) + 1)]
    return [start + number + other for number in numbers for other in _each(end)]


def _first(environment: Environment, *names: str) -> str:
    """The first of these variables that is set."""
    for name in names:
        if name in environment:
            return name
    raise ValueError(
        f"initialize: this is a job of Slurm's, but none of {', '.join(names)} is set\n"
        "  fix: start the processes with srun, or give initialize its arguments"
    )


def _natural_number(environment: Environment, name: str) -> int:
    text = environment[name].strip()
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"initialize: {name}: expected a whole number; got {environment[name]!r}")
    return int(text)
