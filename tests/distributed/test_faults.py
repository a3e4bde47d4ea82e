"""A process dies, hangs, or is not what the others think: they end soon, and say which and why."""

import json
import os
import random
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sampling
from several_processes import free_address, members, processes

LOST = 75
LIMIT = 3.0  # WEFT_FAULT_TIMEOUT in these tests
SLACK = 12.0  # more that a busy machine may take; a hang would be for ever


@pytest.fixture
def start(tmp_path):
    with processes(tmp_path) as start:
        yield start


def running(start, count, *args, **env):
    """Processes that have computed together already."""
    ranks = members(start, "summing.py", count, *args, WEFT_FAULT_TIMEOUT=str(LIMIT), **env)
    for each in ranks:
        each.wait_for("summing")
    return ranks


def all_name(survivors, lost, pid, why=""):
    """Asserts that these processes end in time, and say which one was lost."""
    for each in survivors:
        ended = each.end(LIMIT + SLACK)
        assert ended.status == LOST, ended.err
        assert f"weft: process {lost} (host " in ended.err
        assert f", pid {pid}) is lost: {why}" in ended.err


AT_ONCE = 4  # runs; most of their time is waiting


@pytest.mark.parametrize("first", sampling.some(range(0, 20, AT_ONCE), 1, "killed"))
def test_a_process_killed_at_a_random_moment(tmp_path, first):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for result in [pool.submit(one_killed, tmp_path, first + i) for i in range(AT_ONCE)]:
            result.result()


def one_killed(tmp_path, seed):
    """A run in which a process is killed, perhaps before all have come."""
    draw = random.Random(seed)
    count = draw.randint(2, 4)
    victim = draw.randrange(count)
    delay = draw.uniform(0, 4)
    print(f"seed {seed}: process {victim} of {count} is killed after {delay:.3f} s")
    folder = tmp_path / str(seed)
    folder.mkdir()
    with processes(folder) as start:
        ranks = members(start, "summing.py", count, 100, WEFT_FAULT_TIMEOUT=str(2 * LIMIT))
        time.sleep(delay)
        ranks[victim].popen.kill()
        for rank, each in enumerate(ranks):
            if rank != victim:
                ended = each.end(2 * LIMIT + SLACK)
                assert ended.status in (LOST, 1)
                assert "done" not in ended.out
                last = ended.err.rpartition("weft: " if ended.status == LOST else "Error: ")[2]
                assert f"process {victim} " in last, ended.err


@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_process_is_noticed_at_once(start, victim):
    ranks = members(start, "summing.py", 3, 100)  # with the limits that there are by default
    for each in ranks:
        each.wait_for("summing")
    killed = ranks.pop(victim)
    killed.popen.kill()
    all_name(ranks, victim, killed.pid, "its connection broke")
    for each in ranks:
        assert re.search(r"\n  it was last at \S*summing.py:\d+ in <module>\n", each.err)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_stopped_process(start, victim):
    ranks = running(start, 2, 100)
    os.kill(ranks[victim].pid, signal.SIGSTOP)
    all_name([ranks[1 - victim]], victim, ranks[victim].pid, "it gave no sign of life for 3 s")
    assert "summing.py:" in ranks[1 - victim].err.partition("it was last at ")[2]
    os.kill(ranks[victim].pid, signal.SIGCONT)  # and it doesn't go on alone
    assert ranks[victim].end(LIMIT + SLACK).status == LOST


def test_a_process_that_hangs_in_its_own_code(start):
    ranks = running(start, 2, 100, "1:sleep:5")
    for each in ranks:
        ended = each.end(LIMIT + SLACK)
        assert ended.status == LOST
        assert f"pid {ranks[1].pid}) is lost: it hangs at" in ended.err
        assert "summing.py" in ended.err
        assert "stall_timeout_seconds" in ended.err


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_ends_by_an_exception(start, victim):
    ranks = running(start, 3, 100, f"{victim}:raise:5")
    failed = ranks.pop(victim)
    all_name(ranks, victim, failed.pid, "it ended by ValueError: no more data")
    ended = failed.end(LIMIT + SLACK)
    assert ended.status == 1
    assert ended.err.rstrip().endswith("ValueError: no more data")


def test_a_process_that_crashes(start):
    ranks = running(start, 2, 100, "1:crash:5")
    all_name(ranks[:1], 1, ranks[1].pid, "its connection broke")


def test_a_process_that_leaves_while_others_go_on(start):
    ranks = running(start, 2, 100, "1:exit:5")
    all_name(ranks, 0, ranks[0].pid, "it continues, at ")
    assert "raise shutdown_timeout_seconds" in ranks[0].err


@pytest.mark.parametrize("victim", [0, 1])
def test_a_forked_child_does_not_hide_a_death(start, victim):
    ranks = running(start, 2, 100, f"{victim}:fork:1")
    time.sleep(0.5)
    ranks[victim].popen.kill()
    all_name([ranks[1 - victim]], victim, ranks[victim].pid, "its connection broke")


def test_all_end_well_when_nothing_happens(start):
    for each in running(start, 3, 1):
        ended = each.end()
        assert (ended.status, ended.err) == (0, "")
        assert ended.out.endswith("done after True\n")


def test_ctrl_c_while_a_process_waits_to_leave(start):
    ends = [each.end() for each in members(start, "leaving.py", 2)]
    assert [(end.status, end.out) for end in ends] == [(0, "interrupted\nleft\n"), (0, "left\n")]


# --- before it begins ---


def ranks_told(start, *told, address=None, seconds=1, **env):
    """Processes that were told these (rank, count)."""
    address = address or free_address()
    env = {"WEFT_FAULT_TIMEOUT": "40", "WEFT_COORDINATOR": address} | env
    return [
        start("summing.py", seconds, WEFT_PROCESS_ID=str(r), WEFT_NUM_PROCESSES=str(n), **env)
        for r, n in told
    ]


def refused(each, *texts):
    ended = each.end(20)  # not after the 40 seconds that it would wait for others
    assert ended.status == 1
    for text in texts:
        assert text in ended.err
    assert "Traceback" in ended.err
    return ended.err


def test_processes_that_were_told_different_counts(start):
    for each in ranks_told(start, (0, 3), (1, 2)):
        refused(each, "process 0 expects 3 processes, process 1 (host ", "are 2")


def test_a_process_id_that_two_have(start):
    for each in ranks_told(start, (0, 3), (1, 3), (1, 3)):
        refused(each, "two processes have process_id 1: process 1 (host ", "its own number")


def test_process_id_0_that_two_have(start):
    first, second = ranks_told(start, (0, 2), (0, 2))
    errors = refused(first) + refused(second)
    assert "two processes have process_id 0" in errors
    assert "can't listen at 127.0.0.1:" in errors


def test_a_process_id_that_is_too_large(start):
    (each,) = ranks_told(start, (2, 2))
    refused(each, "WEFT_PROCESS_ID is 2, but WEFT_NUM_PROCESSES says that there are 2 processes")


def test_a_process_too_many(start):
    address = free_address()
    here = ranks_told(start, (0, 2), (1, 2), address=address, seconds=5)
    for each in here:
        each.wait_for("summing")
    (late,) = ranks_told(start, (1, 2), address=address)
    refused(late, "2 processes are here already, so process 1 (host ", f"pid {late.pid}) is one")
    for each in here:  # whom that doesn't trouble
        assert each.end().status == 0


def test_a_taken_port(start):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        (each,) = ranks_told(start, (0, 2), address=address)
        refused(each, f"process 0 can't listen at {address}: Address already in use", "port")
        (each,) = ranks_told(start, (1, 2), address=address, WEFT_FAULT_TIMEOUT="2")
        refused(each, f"the program at {address} does not answer like process 0")


def test_a_process_that_starts_late_enough_to_be_missed(start):
    address = free_address()
    here = ranks_told(start, (0, 3), (2, 3), address=address, WEFT_FAULT_TIMEOUT="2")
    for each in here:
        refused(each, "process 1 of 3 did not come within 2 s", f"pid {here[1].pid})")
    (late,) = ranks_told(start, (1, 3), address=address, WEFT_FAULT_TIMEOUT="1")
    refused(late, f"found no process 0 at {address} within 1 s", "start it")


def test_a_process_that_starts_late_but_in_time(start):
    address = free_address()
    (first,) = ranks_told(start, (1, 2), address=address)
    time.sleep(1)
    (second,) = ranks_told(start, (0, 2), address=address)
    assert [first.end().status, second.end().status] == [0, 0]


def test_what_others_send_to_the_port_is_no_trouble(start):
    address = free_address()
    (first,) = ranks_told(start, (0, 2), address=address)
    for text in (b"GET / HTTP/1.1\r\n\r\n", b'{"hello": 3}\n[]\n', b"\x00" * 5000, b""):
        with connected(address) as stranger:
            stranger.sendall(text)
    (second,) = ranks_told(start, (1, 2), address=address)
    assert [first.end().status, second.end().status] == [0, 0]


def connected(address):
    """A connection to a port where somebody will listen soon."""
    host, port = address.split(":")
    for _ in range(1000):
        try:
            return socket.create_connection((host, int(port)))
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise AssertionError("nobody listens")


def test_a_process_that_dies_while_others_are_awaited(start):
    first, second = ranks_told(start, (0, 3), (1, 3))
    second.wait_for("begins")
    time.sleep(2.0)
    second.popen.kill()
    refused(first, "process 1 (host ", "ended before all processes had come")


def test_a_loss_that_is_told_along_with_the_welcome(tmp_path):
    """On a busy machine both are there when the process looks."""
    first = [0, "here", 1, 2, "", ""]
    messages = [{"welcome": [first, [9, 9, 9, 9], 1, ""]}, {"lost": "process 7", "why": "killed"}]
    with socket.create_server(("127.0.0.1", 0)) as listener, processes(tmp_path) as start:
        address = "127.0.0.1:{1}".format(*listener.getsockname())
        (each,) = ranks_told(start, (1, 2), address=address, WEFT_FAULT_TIMEOUT="9")
        connected, _ = listener.accept()
        with connected:
            assert b'"member"' in connected.recv(1000)
            connected.sendall(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
            ended = each.end(20)
    assert ended.status == LOST
    assert "weft: process 7 is lost: killed" in ended.err


def test_a_process_that_waits_at_its_end_for_one_that_dies(start):
    ranks = members(start, "summing.py", 2, 100, "1:exit:5", WEFT_FAULT_TIMEOUT="30")
    for each in ranks:
        each.wait_for("summing")
    time.sleep(2)
    ranks[0].popen.kill()
    all_name(ranks[1:], 0, ranks[0].pid, "its connection broke")
