"""Libraries can register classes for vmap."""

from weft.compat.names import names_of


def test_classes_are_registered_until_they_are_not():
    class Data:
        pass

    batching = names_of("0.10.2")["jax.interpreters.batching"]
    assert not batching["is_vmappable"](Data())
    batching["register_vmappable"](Data, int, int, None, None, None)
    assert batching["is_vmappable"](Data())
    batching["unregister_vmappable"](Data)
    assert not batching["is_vmappable"](Data())
