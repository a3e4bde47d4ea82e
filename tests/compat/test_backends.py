"""XLA's clients by platform."""

import weft
from weft.compat import backends


def test_clients_by_platform():
    found = backends.backends()
    assert backends.get_backend("cpu") is found["cpu"] is weft.devices("cpu")[0].client
    assert backends.get_backend() is backends.get_backend(backends.get_backend())
    assert backends.get_backend() in found.values()


def test_the_default_device():
    assert backends.get_default_device() == weft.devices()[0]
    for device in (weft.devices("cpu")[0], "cpu"):
        with weft.default_device(device):
            assert backends.get_default_device() == weft.devices("cpu")[0]
