"""Graphs, images, rotations, named axes: jraph, dm_pix, e3nn, penzai."""

from typing import Any

import dm_pix
import e3nn_jax as e3nn
import jax
import jax.numpy as jnp
import jraph
from penzai import pz

from .registry import numbers, program


def graph() -> Any:
    return jraph.GraphsTuple(
        nodes=numbers(4, 3),
        edges=numbers(5, 2, seed=1),
        senders=jnp.array([0, 1, 2, 3, 0]),
        receivers=jnp.array([1, 2, 3, 0, 2]),
        n_node=jnp.array([4]),
        n_edge=jnp.array([5]),
        globals=numbers(1, 2, seed=2),
    )


@program
def graph_network() -> Any:
    net = jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, g: jnp.concatenate([e, s, r], -1),
        update_node_fn=lambda n, s, r, g: jnp.tanh(n + r[:, :3]),
        update_global_fn=lambda n, e, g: g + n[:, :2],
    )
    out = jax.jit(net)(graph())
    return out.nodes, out.edges, out.globals


@program
def graph_convolution() -> Any:
    w = numbers(3, 3, seed=5)

    def loss(w: Any) -> Any:
        return jnp.sum(jraph.GraphConvolution(lambda n: n @ w)(graph()).nodes ** 2)

    return jax.grad(loss)(w)


@program
def batched_and_padded_graphs() -> Any:
    both = jraph.batch([graph(), graph()])
    padded = jraph.pad_with_graphs(both, 12, 14, 4)
    return padded.nodes, jraph.get_graph_padding_mask(padded), jraph.unbatch(both)[1].edges


@program
def segments() -> Any:
    data, ids = numbers(6), jnp.array([0, 0, 1, 1, 1, 2])
    return jraph.segment_softmax(data, ids, 3), jraph.segment_mean(data, ids, 3)


@program
def images() -> Any:
    image = jax.nn.sigmoid(numbers(6, 6, 3))
    return (
        dm_pix.adjust_brightness(image, 0.1),
        dm_pix.adjust_hue(image, 0.2),
        dm_pix.gaussian_blur(image, 1.0, 3),
        dm_pix.rgb_to_hsv(image),
        dm_pix.flip_left_right(image),
        dm_pix.ssim(
            image[:, :, :1].repeat(3, 0).repeat(3, 1), image[::-1, :, :1].repeat(3, 0).repeat(3, 1)
        ),
    )


@program
def spherical_harmonics() -> Any:
    x = numbers(4, 3)
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", x, True)
    return harmonics.array, e3nn.tensor_product(harmonics, harmonics).filter("0e + 1e").array


@program
def named_axes() -> Any:
    x = pz.nx.wrap(numbers(2, 3, 4)).tag("batch", "row", "feature")
    w = pz.nx.wrap(numbers(4, seed=1)).tag("feature")
    centered = x - pz.nx.nmap(jnp.mean)(x.untag("row"))
    rows = pz.nx.nmap(jnp.dot)(x.untag("feature"), w.untag("feature"))
    return centered.unwrap("batch", "row", "feature"), rows.unwrap("row", "batch")
