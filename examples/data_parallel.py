"""The convolutional network of `stax_digits.py`, trained on several devices at once by `pmap`.

Every device has a copy of the parameters and a part of each batch. `psum` averages the gradients,
so that all copies make the same step: the losses are those of one device with the whole batch.

    python examples/data_parallel.py [--devices 4] [--epochs 5]
"""

import argparse
import os

os.environ.setdefault("WEFT_CPU_DEVICES", "4")  # the CPU acts as so many; read by `import weft`

import functools
import time
from typing import Any

import numpy as onp
import scans
from stax_digits import BATCH, MODELS, accuracy

import weft
import weft.numpy as np
from weft import lax, pmap, random, tree_util
from weft.experimental import minmax

INIT, APPLY = MODELS["conv"]
OPT_INIT, OPT_UPDATE = minmax.momentum(step_size=0.05, mass=0.9)


def loss(params: Any, images: Any, labels: Any) -> Any:
    """Cross-entropy."""
    chosen = np.take_along_axis(APPLY(params, images), labels[:, None], axis=1)
    return -np.mean(chosen)


@functools.partial(pmap, axis_name="devices", in_axes=(None, 0, 0, 0))
def step(i: int, opt_state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    """One step on one device, with its part of the batch."""
    params = minmax.get_params(opt_state)
    value, gradient = weft.value_and_grad(loss)(params, images, labels)
    value, gradient = lax.pmean((value, gradient), axis_name="devices")
    return OPT_UPDATE(i, gradient, opt_state), value


def trained(
    data: scans.Scans, devices: list[Any], epochs: int, steps: int | None = None
) -> tuple[Any, list[float]]:
    """Parameters, as they are on the first device, and the losses."""
    count = len(devices)
    _, params = INIT(random.PRNGKey(0), (-1, 8, 8, 1))
    opt_state = weft.device_put_replicated(OPT_INIT(params), devices)
    losses = []
    for i, batch in enumerate(scans.batches(len(data.images), BATCH, epochs)):
        if i == steps:
            break
        parts = batch.reshape(count, BATCH // count)  # a row for each device
        opt_state, value = step(i, opt_state, data.images[parts], data.labels[parts])
        losses.append(float(value[0]))
    return tree_util.tree_map(lambda x: x[0], minmax.get_params(opt_state)), losses


def main(devices: int = 4, epochs: int = 5, quick: bool = False) -> tuple[float, float]:
    """Trains on several devices and on one; prints how far apart the losses are.

    Returns: the test accuracy, and the largest difference of a loss.
    """
    data = scans.load()
    if devices > weft.local_device_count() or BATCH % devices:
        there = weft.local_device_count()
        raise SystemExit(f"{devices} devices: expected a divisor of {BATCH}, of {there} at most")
    begun = time.perf_counter()
    params, losses = trained(data, weft.local_devices()[:devices], epochs, 3 if quick else None)
    seconds = time.perf_counter() - begun
    _, alone = trained(data, weft.local_devices()[:1], epochs, 3 if quick else 20)
    apart = float(onp.max(onp.abs(onp.array(losses[: len(alone)]) - alone)))
    score = accuracy("conv", params, data.test_images, data.test_labels)
    print(f"devices              {devices}, each with {BATCH // devices} of {BATCH} scans a step")
    print(f"training             {len(losses)} steps, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    print(f"from one device's    {apart:.1e} at most, in {len(alone)} steps")
    print(f"test accuracy        {score:.4f}")
    return score, apart


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
