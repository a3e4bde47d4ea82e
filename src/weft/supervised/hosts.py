"""init_host_and_devices seeds the generators of random numbers, and counts hosts and devices."""

import random as python_random
import sys
from typing import Any

import numpy as onp

from .. import option_checks
from ..experimental.multihost_utils import broadcast_one_to_all
from ..layers.acceleration import checked_device_count
from ..random import PRNGKey
from ..transforms.devices.devices import local_devices, process_count, process_index

__all__ = ["init_host_and_devices"]


def init_host_and_devices(
    n_devices: int | None = None, random_seed: int | None = None
) -> tuple[bool, int, int, Any]:
    """Seeds the generators of random numbers, and counts hosts and devices.

    It seeds Python's `random`, NumPy's global generator, and TensorFlow if it is loaded.

    Args:
      n_devices: number of devices of this process; None for all.
      random_seed: the seed; None draws a new seed for each run, the same in all processes.
    Returns: (whether this is the first process, number of processes, number of devices of this
      process, random key).
    Raises: ValueError: there are fewer devices.
    Example:
      >>> init_host_and_devices(random_seed=1)[:2]
      (True, 1)
    Source: Trax documentation, `supervised.training.init_host_and_devices`.
    """
    n = checked_device_count("init_host_and_devices", n_devices or len(local_devices()))
    hosts = process_count()
    if random_seed is None:
        random_seed = python_random.SystemRandom().randint(0, 2**31 - 1)
        if hosts > 1:  # all processes must initialize the same weights
            random_seed = int(broadcast_one_to_all(onp.int32(random_seed)))
    seed = option_checks.whole_number("init_host_and_devices", "random_seed", random_seed, least=0)
    python_random.seed(seed)
    onp.random.seed(seed % 2**32)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and hasattr(tensorflow, "random"):
        tensorflow.random.set_seed(seed)
    return process_index() == 0, hosts, n, PRNGKey(seed)
