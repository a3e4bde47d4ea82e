"""Two processes that compute together, on this machine."""

import os
import socket
import subprocess
import sys
import textwrap

import pytest

from weft.runtime import distributed
from weft.runtime.failures import PlatformError

WORKER = """
    import sys
    import numpy as np
    from weft import runtime
    from weft.runtime import distributed
    rank, address = int(sys.argv[1]), sys.argv[2]
    service = distributed.start_service(address, 2, heartbeat_timeout=10) if rank == 0 else None
    me = distributed.connect(address, rank, 2, init_timeout=60, heartbeat_timeout=10)
    assert distributed.connection() is me
    me.put(f"from {rank}", f"hello from {rank}")
    print(me.get(f"from {1 - rank}", 30))
    print(runtime.process_index(), runtime.process_count())
    print(runtime.device_count(), runtime.local_device_count(), len(runtime.local_devices()))
    print([d.process_index for d in runtime.devices()])
    f32 = np.dtype("f4")
    d = runtime.default_device()
    text = '''func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.add %a, %a : tensor<2xf32>
      return %0 : tensor<2xf32> }'''
    program = runtime.compile_text(text, [((2,), f32)], d)
    (out,) = program.execute([runtime.put(np.full(2, 1 + rank, f32), d)])
    print(runtime.to_host(out, (2,), f32))
    print(me.exchange(f"done {rank}"))
    try:
        me.get("nothing", 0.2)
    except TimeoutError as error:
        print(error)
    me.exchange(f"end {rank}", "end")
    print(me.exchange(f"end {rank}", "end"))  # called again, as after Ctrl-C
    distributed.disconnect()
    if service is not None:
        sys.stdin.read()  # ends when the other process has ended
        service.shutdown()
"""


def free_address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


def test_two_processes(tmp_path):
    address = free_address()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "XLA_", "TF_"))}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), "WEFT_CPU_DEVICES": "2"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WORKER), str(rank), address],
            env=env,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [worker.communicate(timeout=100) for worker in reversed(workers)]
    finally:
        for worker in workers:
            worker.kill()
    for rank, (out, err) in enumerate(reversed(outputs)):
        lines = [line for line in out.splitlines() if not line.startswith("[Gloo]")]
        assert lines == [
            f"hello from {1 - rank}",
            f"{rank} 2",
            "4 2 2",
            "[0, 0, 1, 1]",
            f"[{2 + 2 * rank}. {2 + 2 * rank}.]",
            "['done 0', 'done 1']",
            "get('nothing'): other processes did not come within 0.2 s",
            "['end 0', 'end 1']",
        ], out + err


def test_a_wrong_number_of_a_process():
    with pytest.raises(ValueError, match="process 2 is not one of 2"):
        distributed.connect("127.0.0.1:1", 2, 2)


def test_connecting_after_devices_were_opened(device):
    with pytest.raises(PlatformError, match="devices are open already"):
        distributed.connect("127.0.0.1:1", 0, 2)
    assert distributed.connection() is None
    distributed.disconnect()
