"""The launcher: what it starts, what it says, what it leaves behind."""

import os
import re
import signal
import sys
import time

import pytest
from several_processes import FOLDER, processes

from weft.distributed import supervisor
from weft.distributed.run import environment, main, parsed

SUMMING = FOLDER / "summing.py"


@pytest.fixture
def start(tmp_path):
    with processes(tmp_path) as start:
        yield start


def lines(text, rank):
    """What a process printed. Among it are XLA's own lines, and pieces of them."""
    found = [line for line in text.splitlines() if line.startswith(f"[{rank}] ")]
    return [line.removeprefix(f"[{rank}] ") for line in found]


def pids(launcher, count):
    """The processes' ids, when all are computing."""
    deadline = time.monotonic() + 60
    while True:
        found = dict(re.findall(r"\[(\d)\] summing in (\d+)", launcher.out))
        if len(found) == count:
            return {int(rank): int(pid) for rank, pid in found.items()}
        assert time.monotonic() < deadline, launcher.out + launcher.err
        time.sleep(0.02)


def none_is_left(ids, seconds=15):
    deadline = time.monotonic() + seconds
    while alive := [pid for pid in ids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"left behind: {alive}"
        time.sleep(0.02)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_documented_example_on_two_processes_with_four_devices(start):
    run = start.launch("-n", 2, "--devices-per-process", 4, FOLDER / "two_processes.py").end()
    assert run.status == 0, run.err
    assert "[28 29 30 31]" in lines(run.out, 0)
    assert "[32 33 34 35]" in lines(run.out, 1)


def test_what_processes_tell_each_other(start):
    run = start.launch("-n", 3, "--devices-per-process", 2, FOLDER / "telling.py").end()
    assert run.status == 0, run.err
    for rank in range(3):
        printed = lines(run.out, rank)
        assert "told" in printed
        assert "the seeds differ" in printed
        assert "broadcast_one_to_all: expected one source; got 3, processes [0, 1, 2]" in printed
        for text in (
            "process_allgather: process 1 differs from process 0: it has float64[3] at ['x'], not ",
            "sync_global_devices: process 1 differs from process 0: 'barrier 1', not 'barrier 0'",
            "process 1 differs from process 0: 'process_allgather', not 'sync_global_devices'",
        ):
            assert text in "\n".join(printed)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process(start, victim):
    launcher = start.launch("-n", 3, SUMMING, 100)
    ids = pids(launcher, 3)
    os.kill(ids[victim], signal.SIGKILL)
    ended = launcher.end(20)
    assert ended.status == 128 + signal.SIGKILL
    assert f"run: process {victim} (pid {ids[victim]}) was killed by SIGKILL" in ended.err
    own = f"weft: process {victim} (host "
    assert ended.err.count(own) == 2  # the others say it themselves too
    none_is_left(ids.values())


def test_a_stopped_process(start):
    launcher = start.launch("-n", 2, "--fault-timeout", 2, SUMMING, 100)
    ids = pids(launcher, 2)
    os.kill(ids[1], signal.SIGSTOP)
    ended = launcher.end(30)
    assert ended.status == 75
    assert (
        f"it reported that another process was lost; still there: process 1 (pid {ids[1]})"
        in ended.err
    )
    assert "[0] weft: process 1 (host " in ended.err
    none_is_left(ids.values())


def test_an_exception_in_one_process(start):
    launcher = start.launch("-n", 2, SUMMING, 100, "1:raise:3")
    ended = launcher.end(30)
    assert ended.status == 1
    assert re.search(r"run: process 1 \(pid \d+\) ended with status 1; the others", ended.err)
    assert "[1] ValueError: no more data" in ended.err
    assert "is lost: it ended by ValueError: no more data" in ended.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_launcher_stops_all(start, number):
    launcher = start.launch("-n", 2, SUMMING, 100)
    ids = pids(launcher, 2)
    os.kill(launcher.pid, number)
    ended = launcher.end(20)
    assert ended.status == 128 + number
    assert f"{number.name} arrived: the processes are stopped" in ended.err
    none_is_left(ids.values())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't tell the children")
def test_a_killed_launcher_leaves_nobody_behind(start):
    launcher = start.launch("-n", 2, SUMMING, 100)
    ids = pids(launcher, 2)
    os.kill(launcher.pid, signal.SIGKILL)
    none_is_left(ids.values())


# --- without weft in the processes ---


def ran(capfd, *programs):
    """The status, and the lines of both outputs, of Python programs under the supervisor."""
    children = [
        supervisor.Child(rank, [sys.executable, "-c", program], {"RANK": str(rank)})
        for rank, program in enumerate(programs)
    ]
    began = time.monotonic()
    status = supervisor.run_children(children)
    assert time.monotonic() - began < 30
    out, err = capfd.readouterr()
    return status, sorted(out.splitlines()), err


def test_output_comes_in_whole_lines_with_the_rank(capfd):
    program = "import os, sys; print('a\\nb' + os.environ['RANK'], end='')"
    assert ran(capfd, program, program) == (0, ["[0] a", "[0] b0", "[1] a", "[1] b1"], "")


def test_the_one_that_failed_is_named_and_its_status_is_the_launchers(capfd):
    wait = "import time; time.sleep(100)"
    status, _, err = ran(capfd, wait, "import sys; sys.exit(7)", wait)
    assert status == 7
    assert re.search(r"run: process 1 \(pid \d+\) ended with status 7; the others are", err)


def test_one_that_does_not_listen_to_sigterm_is_killed(capfd, monkeypatch):
    monkeypatch.setattr(supervisor, "SETTLE", 0.5)
    monkeypatch.setattr(supervisor, "GRACE", 0.5)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)"
    status, _, err = ran(capfd, deaf, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert status == 128 + signal.SIGSEGV
    assert "was killed by SIGSEGV" in err


def test_the_supervisor_gives_the_signals_back(capfd):
    before = signal.getsignal(signal.SIGINT)
    ran(capfd, "0")
    assert signal.getsignal(signal.SIGINT) is before


# --- options ---


def test_arguments_after_the_script_are_its_own(capfd, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv[1:])")
    assert main(["-n", "1", str(script), "-n", "5", "--help"]) == 0
    assert capfd.readouterr().out == "[0] ['-n', '5', '--help']\n"


def test_a_module_in_the_place_of_a_script(capfd):
    assert main(["-n", "1", "-m", "platform", "--terse"]) == 0
    assert capfd.readouterr().out.startswith("[0] ")


def test_what_processes_find_in_their_environment():
    options = ["-n", "3", "--devices-per-process", "2", "--fault-timeout", "5"]
    given = parsed([*options, "a.py"])
    assert environment(given, "here:1", 2) == {
        "WEFT_COORDINATOR": "here:1",
        "WEFT_NUM_PROCESSES": "3",
        "WEFT_PROCESS_ID": "2",
        "WEFT_FAULT_TIMEOUT": "5.0",
        "WEFT_CPU_DEVICES": "2",
        "CUDA_VISIBLE_DEVICES": "4,5",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("a.py", "required: -n"),
        ("-n 2", "expected a script, or -m and a module"),
        ("-n 0 a.py", "--processes: expected a number above 0; got 0"),
        ("-n 1 --fault-timeout -1 a.py", "--fault-timeout: expected a number above 0; got -1.0"),
        ("-n x a.py", "invalid int value: 'x'"),
    ],
)
def test_options_that_make_no_sense(options, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(options.split())
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
