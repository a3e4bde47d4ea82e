"""default_device and transfer_guard, on a CPU that acts as three devices (in processes of their
own, since the number of devices is set once)."""

import os
import subprocess
import sys

import pytest

import weft

HEAD = """
import numpy as onp, weft, weft.numpy as np
d = weft.devices()
def refused(f, *words):
    try: f()
    except RuntimeError as error: assert all(w in str(error) for w in words), error
    else: raise AssertionError("not refused")
x = weft.jit(lambda x: x + 1)(onp.zeros(3, onp.float32))  # in the memory of device 0 only
placed = weft.device_put(onp.ones(3, onp.float32), d[2])
"""

PROGRAMS = {
    "eager, creation and jit": """
with weft.default_device(d[1]):
    made = [np.ones(3), np.array([1., 2., 3.]), np.arange(4), np.zeros(2), np.sin(onp.ones(3)),
            weft.jit(lambda x: x * 2)(onp.ones(3)),
            weft.random.normal(weft.random.PRNGKey(0), (2,)),
            weft.device_put(onp.ones(2)), weft.grad(lambda x: x ** 2)(3.0),
            weft.vmap(np.sin)(onp.ones(2)), weft.jit(weft.grad(np.sin))(1.0)]
for a in made:
    assert (a.device, a.committed) == (d[1], False), a
assert np.ones(3).device is d[0]
assert float(made[8]) == 6.0
""",
    "what is committed stays": """
with weft.default_device(d[1]):
    y = np.ones(3) + placed
    z = weft.jit(lambda x: x + 1)(placed)
assert (y.device, y.committed, z.device) == (d[2], True, d[2])
""",
    "uncommitted results go where they are needed later": """
f = weft.jit(lambda x: x + 1)
with weft.default_device(d[1]):
    y = np.ones(3) * 2
assert y.device is d[1]
for _ in range(3):
    assert ((y + 1).device, f(y).device) == (d[0], d[0])
    assert (y + x).device is (x + y).device is d[0]
    assert (y + placed).device is d[2]
    assert f(y).tolist() == [3.0, 3.0, 3.0]
with weft.default_device(d[2]):
    assert (y + 1).device is f(y).device is d[2]
assert f(x).device is d[0]
""",
    "a part of the key": """
count = []
f = weft.jit(lambda x: count.append(1) or x + 1)
for _ in range(2):
    assert f(1.0).device is d[0]
    with weft.default_device(d[1]): assert f(1.0).device is d[1]
assert len(count) == 2
""",
    "platforms by name, and for all threads": """
import threading
with weft.default_device("cpu:2"): assert np.ones(1).device is d[2]
with weft.default_device("cpu"): assert np.ones(1).device is d[0]
weft.config.update("default_device", d[1])
found = []
t = threading.Thread(target=lambda: found.append((np.ones(2) + 1).device)); t.start(); t.join()
assert found == [d[1]] and (np.ones(2) + 1).device is d[1]
weft.config.update("default_device", None)
assert (np.ones(2) + 1).device is d[0]
try:
    with weft.default_device("cpu:7"): np.ones(1)
except ValueError as error: assert "names no device; there are 3" in str(error)
else: raise AssertionError
""",
    "control flow and donation": """
with weft.default_device(d[1]):
    y = weft.lax.fori_loop(0, 3, lambda i, x: x * 2, np.ones(2))
    z = weft.lax.cond(True, lambda x: x + 1, lambda x: x, np.ones(2))
    a = np.ones(3) + 1
    b = weft.jit(lambda x: x * 2, donate_argnums=0)(a)
assert y.device is z.device is b.device is d[1] and y.tolist() == [8.0, 8.0]
assert a.is_deleted()
""",
    "transfers between devices": """
with weft.transfer_guard("disallow"):
    weft.device_put(x, d[1])                       # asked for
    weft.jit(lambda x: x + 1, device=d[1])(x)
    np.ones(3) + 1.0, weft.jit(np.sin)(onp.ones(2)), np.ones(3) + placed  # of the host's memory
    refused(lambda: x + placed, "implicit transfer of float32[3] from cpu:0 to cpu:2",
            "device_to_device", "fix:")
with weft.transfer_guard("disallow_explicit"):
    refused(lambda: weft.device_put(x, d[1]), "explicit transfer")
with weft.transfer_guard("disallow"):
    onp.asarray(placed), float(placed[0])
with weft.transfer_guard_device_to_device("disallow"):
    refused(lambda: x + placed, "disallow")
    with weft.transfer_guard("allow"):
        x + placed
weft.config.update("transfer_guard", "disallow")
refused(lambda: x + placed, "disallow")
with weft.transfer_guard_device_to_device("allow"):
    x + placed
weft.config.update("transfer_guard", "allow")
x + placed
""",
    "transfers are logged": """
import logging
said = []
logging.getLogger("weft").addHandler(h := logging.Handler())
h.emit = lambda record: said.append(record.getMessage())
with weft.transfer_guard("log"):
    x + placed
    weft.device_put(x, d[1])
assert len(said) == 1
assert "implicit transfer of float32[3] from cpu:0 to cpu:2, at <string>:" in said[0]
with weft.transfer_guard("log_explicit"):
    weft.device_put(x, d[1])
assert len(said) == 2 and "explicit" in said[1]
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_on_three_devices(program):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + PROGRAMS[program]],
        env={**os.environ, "WEFT_CPU_DEVICES": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
def test_transfers_of_an_accelerator(direction, monkeypatch):
    """What the guards say where elements would go to or come from one."""
    from weft.core.aval import aval
    from weft.runtime import transfers

    class Gpu:
        platform = "gpu"

        def __str__(self):
            return "GPU_0"

    known = aval((3,), "float32")
    act = transfers.sending if direction == "host_to_device" else transfers.fetching
    act(known, Gpu())
    with getattr(weft, f"transfer_guard_{direction}")("disallow"):
        with pytest.raises(RuntimeError, match=f"implicit transfer of .*GPU_0.*{direction}"):
            act(known, Gpu())
        with transfers.explicitly():
            act(known, Gpu())
        act(known, weft.devices("cpu")[0])


def test_wrong_values():
    with pytest.raises(ValueError, match="default_device: expected one of devices"):
        weft.default_device(3)
    with pytest.raises(ValueError, match="'disallow_explicit'"):
        weft.config.update("transfer_guard", "never")
