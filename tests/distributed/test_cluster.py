"""Which process this is, as clusters say it: a table of environments."""

import os

import pytest

from weft import distributed
from weft.config import config
from weft.distributed.cluster import detect, expanded
from weft.distributed.connection import split_address
from weft.distributed.membership import settings_from

SLURM = {
    "SLURM_JOB_ID": "4321",
    "SLURM_STEP_ID": "2",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_NODELIST": "login,gpu[07-09]",
    "SLURM_STEP_NODELIST": "gpu[07-09]",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_MCA_orte_hnp_uri": "917504.0;tcp://10.0.0.7,192.168.1.7:41729",
}
ONE_HOST = OPEN_MPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_MCA_orte_hnp_uri": ""}
WEFT = {"WEFT_COORDINATOR": "head:99", "WEFT_NUM_PROCESSES": "3", "WEFT_PROCESS_ID": "2"}


@pytest.fixture
def place(monkeypatch):
    """Sets the environment; weft's own variables as if it had been imported in it."""

    def set_to(environment):
        for name in list(os.environ):
            if name.startswith(("SLURM", "OMPI", "PMIX", "CUDA_", "WEFT_COORD")):
                monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
            if name.startswith("WEFT_"):
                config.update(name.removeprefix("WEFT_").lower(), value)

    yield set_to
    for name in ("coordinator", "num_processes", "process_id"):
        config.update(name, None)


@pytest.mark.parametrize(
    ("environment", "given", "expected"),
    [
        (SLURM, {}, ("gpu07", 61000 + 4323 % 4000, 8, 5, [1])),
        (SLURM | {"SLURM_STEP_NUM_TASKS": "6"}, {}, ("gpu07", 61323, 6, 5, [1])),
        (SLURM | {"CUDA_VISIBLE_DEVICES": "0"}, {}, ("gpu07", 61323, 8, 5, None)),
        (SLURM, {"local_device_ids": 3}, ("gpu07", 61323, 8, 5, [3])),
        (SLURM, {"address": "10.1.1.1:7", "count": 9}, ("10.1.1.1", 7, 9, 5, [1])),
        (SLURM | WEFT, {}, ("head", 99, 3, 2, [1])),
        (OPEN_MPI, {}, ("10.0.0.7", 63153, 4, 3, [1])),
        (ONE_HOST, {}, ("127.0.0.1", 61000, 4, 3, [1])),
        (OPEN_MPI | SLURM, {}, ("10.0.0.7", 63153, 4, 3, [1])),
        (OPEN_MPI | SLURM, {"method": "slurm"}, ("gpu07", 61323, 8, 5, [1])),
        (WEFT, {}, ("head", 99, 3, 2, None)),
        (WEFT, {"rank": 0}, ("head", 99, 3, 0, None)),
        (WEFT, {"rank": 0, "method": "deactivate"}, ("head", 99, 3, 0, None)),
        ({}, {"address": "[::1]:8", "count": 1, "rank": 0}, ("::1", 8, 1, 0, None)),
    ],
)
def test_the_plan(place, environment, given, expected):
    place(environment)
    arguments = {"address": None, "count": None, "rank": None} | given
    assert tuple(settings_from(**arguments)) == expected


@pytest.mark.parametrize(
    ("environment", "given", "texts"),
    [
        ({}, {}, ["no coordinator_address", "nor WEFT_COORDINATOR", "fix: "]),
        ({}, {"address": "a:1"}, ["no num_processes", "nor WEFT_NUM_PROCESSES"]),
        ({}, {"address": "a:1", "count": 2}, ["no process_id", "nor WEFT_PROCESS_ID"]),
        ({}, {"address": "a", "count": 2, "rank": 0}, ["coordinator_address: expected host:port"]),
        ({}, {"address": "a:0", "count": 2, "rank": 0}, ["expected host:port", "got 'a:0'"]),
        ({}, {"address": "a:1", "count": 0, "rank": 0}, ["num_processes: expected at least one"]),
        ({}, {"address": "a:1", "count": 2, "rank": 2}, ["process_id is 2", "num_processes says"]),
        ({}, {"address": "a:1", "count": 2, "rank": -1}, ["process_id is -1"]),
        (WEFT, {"count": 2}, ["WEFT_PROCESS_ID is 2, but num_processes says that there are 2"]),
        (WEFT | {"WEFT_COORDINATOR": "x"}, {}, ["WEFT_COORDINATOR: expected host:port"]),
        (SLURM, {"count": 4}, ["SLURM_PROCID is 5, but num_processes"]),
        (SLURM | {"SLURM_PROCID": "?"}, {}, ["SLURM_PROCID: expected a whole number; got '?'"]),
        (SLURM | {"SLURM_STEP_NODELIST": "a[1-"}, {}, ["Slurm's list of nodes", "got 'a[1-'"]),
        (
            {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
            {},
            ["none of SLURM_STEP_NODELIST", "is set", "srun"],
        ),
        (
            OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": ""},
            {},
            ["no coordinator_address", "WEFT_COORDINATOR", "OMPI_MCA_orte_hnp_uri does not set it"],
        ),
        ({}, {"method": "pbs"}, ["cluster_detection_method is one of", "'pbs'"]),
    ],
)
def test_what_is_missing_or_contradicts_itself(place, environment, given, texts):
    place(environment)
    arguments = {"address": None, "count": None, "rank": None} | given
    with pytest.raises(ValueError, match=r"^initialize: ") as error:
        settings_from(**arguments)
    for text in texts:
        assert text in str(error.value)


def test_a_process_in_no_cluster():
    assert detect({}) is None


@pytest.mark.parametrize(
    ("nodes", "hosts"),
    [
        ("a", ["a"]),
        ("a,b-2", ["a", "b-2"]),
        ("n[1,3-5]", ["n1", "n3", "n4", "n5"]),
        ("n[098-101].cluster", ["n098.cluster", "n099.cluster", "n100.cluster", "n101.cluster"]),
        ("a[1-2]b[3,5],c", ["a1b3", "a1b5", "a2b3", "a2b5", "c"]),
    ],
)
def test_slurms_lists_of_nodes(nodes, hosts):
    assert expanded(nodes) == hosts


def test_ports_of_jobs_are_none_that_the_system_gives_away():
    ports = {planned_port(job) for job in range(0, 100_000, 37)}
    assert min(ports) >= 61000
    assert max(ports) < 65536
    assert len(ports) > 2000


def planned_port(job):
    place = detect(SLURM | {"SLURM_JOB_ID": str(job)})
    return split_address(place.coordinator, "")[1]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5"])
def test_times_that_make_no_sense(seconds):
    with pytest.raises(ValueError, match="heartbeat_timeout_seconds: expected seconds above 0"):
        distributed.initialize("127.0.0.1:1", 1, 0, heartbeat_timeout_seconds=seconds)
    assert not distributed.is_initialized()
