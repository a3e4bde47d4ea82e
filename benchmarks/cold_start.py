"""Whole processes: importing, and importing, building a 2-layer MLP and taking one step. CPU time.

`warm disk cache` runs after a process that filled the cache; the others have it off.
"""

import json
import os
import subprocess
import sys
import tempfile

KIND = "process"
PROGRAMS = {
    "import": "import {m}, {m}.numpy",
    "un-jitted step": "{model}\nstep = lambda p: update(p, vg(p)[1])\nprint(step(params)[0][1])",
    "jitted step": "{model}\nstep = {m}.jit(lambda p: update(p, vg(p)[1]))\nprint(step(params)[0][1])",
}
PROGRAMS["jitted step, warm disk cache"] = PROGRAMS["jitted step"]
MODEL = """
import {m} as J, {m}.numpy as np, numpy as onp
import {m}
r = onp.random.RandomState(0)
params = [(np.array(r.randn(16, 16).astype('float32')), np.array(r.randn(16).astype('float32')))
          for _ in range(2)]
x, y = np.array(r.randn(4, 16).astype('float32')), np.array(r.randn(4, 16).astype('float32'))
def loss(params):
    h = x
    for w, b in params:
        h = np.tanh(np.dot(h, w) + b)
    return np.mean((h - y) ** 2)
vg = J.value_and_grad(loss)
def update(params, grads):
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, grads)]
"""
TARGETS = {
    "import": 4, "un-jitted step": 4, "jitted step": 2, "jitted step, warm disk cache": 3,
}  # fmt: skip


def environment(peer: str, cache: str) -> dict[str, str]:
    """Environment variables: a disk cache in `cache`, or none for ''."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or peer == "weft"}
    env["WEFT_CACHE_DIR"] = cache
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    if cache:
        env["JAX_COMPILATION_CACHE_DIR"] = cache
        env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        env["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    return env


def measure(python: str, peer: str, name: str) -> dict[str, float]:
    """Milliseconds of CPU and wall time of a process, and its peak memory in MB."""
    program = PROGRAMS[name].replace("{model}", MODEL).replace("{m}", peer)
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache") if "warm" in name else ""
        env = environment(peer, cache)
        if cache:
            subprocess.run([python, "-c", program], env=env, check=True, capture_output=True)
        script = (
            "import resource, subprocess, sys, time, json\n"
            "t = time.perf_counter()\n"
            "subprocess.run([sys.executable, '-c', sys.argv[1]], check=True, stdout=subprocess.DEVNULL)\n"
            "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(json.dumps({'cpu': (u.ru_utime + u.ru_stime) * 1e3,"
            " 'wall': (time.perf_counter() - t) * 1e3, 'memory': u.ru_maxrss / 1024}))"
        )
        done = subprocess.run(
            [python, "-c", script, program], env=env, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"cold_start: {peer}: {name}\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


