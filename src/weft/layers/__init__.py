"""Neural-network layers that are composed by a data stack, over any backend of `fastmath`."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from . import base
    from .base import (
        EMPTY_STATE,
        EMPTY_WEIGHTS,
        GET_STATE_FROM_CACHE,
        GET_WEIGHTS_FROM_CACHE,
        N_WEIGHTS_SHARDS,
        Fn,
        Layer,
        LayerError,
        PureLayer,
        flatten_weights_and_state,
        np_from_file,
        np_to_file,
        shard,
        to_list,
        unflatten_weights_and_state,
        unshard,
        unshard_in_pmap,
    )

__all__ = [
    "EMPTY_STATE",
    "EMPTY_WEIGHTS",
    "GET_STATE_FROM_CACHE",
    "GET_WEIGHTS_FROM_CACHE",
    "N_WEIGHTS_SHARDS",
    "Fn",
    "Layer",
    "LayerError",
    "PureLayer",
    "base",
    "flatten_weights_and_state",
    "np_from_file",
    "np_to_file",
    "shard",
    "to_list",
    "unflatten_weights_and_state",
    "unshard",
    "unshard_in_pmap",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "base": (
            "EMPTY_STATE",
            "EMPTY_WEIGHTS",
            "GET_STATE_FROM_CACHE",
            "GET_WEIGHTS_FROM_CACHE",
            "N_WEIGHTS_SHARDS",
            "Fn",
            "Layer",
            "LayerError",
            "PureLayer",
            "flatten_weights_and_state",
            "np_from_file",
            "np_to_file",
            "shard",
            "to_list",
            "unflatten_weights_and_state",
            "unshard",
            "unshard_in_pmap",
        ),
    },
    with_modules=True,
)
