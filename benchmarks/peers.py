"""The peers that are measured, each as a namespace with the same names. Knows no question.

`np`, `jit`, `grad`, `value_and_grad`, `checkpoint`, `scan`, `array`, `ready` (waits for an array),
`wait` (for a tree of arrays) and `package` itself; PyTorch and NumPy have the eager ones only.
"""

import importlib
from types import SimpleNamespace
from typing import Any


def load(name: str) -> SimpleNamespace:
    """The namespace of a peer; imports it."""
    if name == "torch":
        return _torch()
    if name == "numpy":
        return _numpy()
    if name in ("host", "tensorflow"):  # backends of weft.fastmath; results are there on return
        return SimpleNamespace(name=name, ready=lambda x: x, wait=lambda x: x)
    module = {"newest": "weft", "before": "weft", "flax": "jax", "haiku": "jax"}.get(name, name)
    package = importlib.import_module(module)
    np = importlib.import_module(f"{module}.numpy")
    lax = importlib.import_module(f"{module}.lax")
    return SimpleNamespace(
        name=name,
        package=package,
        np=np,
        jit=package.jit,
        grad=package.grad,
        value_and_grad=package.value_and_grad,
        checkpoint=package.checkpoint,
        scan=lax.scan,
        array=np.array,
        ready=lambda x: x.block_until_ready(),
        wait=package.block_until_ready,
    )


def _numpy() -> SimpleNamespace:
    numpy = importlib.import_module("numpy")
    return SimpleNamespace(
        name="numpy",
        np=numpy,
        array=lambda x: x.copy(),
        ready=lambda x: x,
        wait=lambda x: x,
    )


def _torch() -> SimpleNamespace:
    torch = importlib.import_module("torch")
    # Two threads on two cores wait for each other: sin of 1e4 elements takes 12 ms, not 14 µs.
    torch.set_num_threads(1)

    def value_and_grad(loss: Any) -> Any:
        def run(params: Any, *rest: Any) -> Any:
            leaves = [p.detach().requires_grad_() for layer in params for p in layer]
            value = loss([leaves[i : i + 2] for i in range(0, len(leaves), 2)], *rest)
            return value, torch.autograd.grad(value, leaves)

        return run

    return SimpleNamespace(
        name="torch",
        np=SimpleNamespace(
            sin=torch.sin, sum=torch.sum, tanh=torch.tanh, dot=torch.matmul, mean=torch.mean
        ),
        value_and_grad=value_and_grad,
        array=lambda x: torch.from_numpy(x.copy()),
        ready=lambda x: x,  # on the CPU a result is there when the call returns
        wait=lambda x: x,
    )
