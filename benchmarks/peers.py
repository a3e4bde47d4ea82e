"""The peers that are measured, each as a namespace with the same names. Knows no question.

`np`, `jit`, `grad`, `value_and_grad`, `make_jaxpr`, `array`, `wait`; torch has eager names only.
"""

import importlib
from types import SimpleNamespace
from typing import Any

PEERS = ("weft", "jax", "torch")


def load(name: str) -> SimpleNamespace:
    """The namespace of a peer; imports it."""
    if name == "torch":
        return _torch()
    package = importlib.import_module(name)
    np = importlib.import_module(f"{name}.numpy")
    return SimpleNamespace(
        name=name,
        np=np,
        jit=package.jit,
        grad=package.grad,
        value_and_grad=package.value_and_grad,
        make_jaxpr=package.make_jaxpr,
        array=np.array,
        wait=package.block_until_ready,
        devices=package.devices,
        getitem=lambda x, i: x[i],
    )


def _torch() -> SimpleNamespace:
    torch = importlib.import_module("torch")
    torch.set_num_threads(2)

    def value_and_grad(loss: Any) -> Any:
        def run(params: Any, *rest: Any) -> Any:
            leaves = [p.detach().requires_grad_() for layer in params for p in layer]
            tree = [leaves[i : i + 2] for i in range(0, len(leaves), 2)]
            value = loss(tree, *rest)
            return value, torch.autograd.grad(value, leaves)

        return run

    return SimpleNamespace(
        name="torch",
        np=SimpleNamespace(
            sin=torch.sin, sum=torch.sum, tanh=torch.tanh, dot=torch.matmul, mean=torch.mean
        ),
        array=lambda x: torch.from_numpy(x.copy()),
        value_and_grad=value_and_grad,
        wait=lambda x: x,
    )
