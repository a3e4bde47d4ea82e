"""Bugs in layers, their checkpoints, and fastmath."""

from planted.record import Mutant

GOLDENS = "tests/layers/goldens"
LAWS = "tests/layers/laws"
REVERSIBLE = "tests/layers/test_reversible.py"
LONG = f"{GOLDENS} -k efficient"
CHUNKED = "tests/layers/research/test_chunked_attention.py"

MUTANTS = (
    # --- long sequences ---
    Mutant(
        "W01", "reversible: the backward pass has the state after the forward pass",
        "layers/reversible.py",
        "layer, state = self._sublayers[0], _replayed(state, new_state)",
        "layer, state = self._sublayers[0], new_state",
        f"{REVERSIBLE} -k before_the_forward",
    ),
    Mutant(
        "W02", "reversible: attention in the backward pass has the state before",
        "layers/reversible.py",
        "                new_state[1],\n                keys[1],",
        "                state[1],\n                keys[1],",
        REVERSIBLE,
    ),
    Mutant(
        "W03", "reversible: keys of the layers are in the wrong order", "layers/reversible.py",
        "return reversed([*rows])",
        "return [(l, w, s, n, k) for (l, w, s, n, _), k in zip(reversed([*rows]), keys)]",
        REVERSIBLE,
    ),
    Mutant(
        "W04", "slices: weights' gradients of the last slice alone",
        "layers/research/sliced_heads.py",
        "weights_grad = _added(weights_grad, weights_grads, slices, None, h)",
        "weights_grad = _put(weights_grad, weights_grads, slices, None, h)",
        LONG,
    ),
    Mutant(
        "W05", "slices: heads before examples", "layers/research/sliced_heads.py",
        "return i // n * self.examples, i % n * self.heads",
        "return i % n * self.examples, i // n * self.heads",
        LONG,
    ),
    Mutant(
        "W06", "chunks: the one after, not before", "layers/research/chunked_attention.py",
        "range(-n_chunks_before, n_chunks_after + 1)",
        "range(-n_chunks_after, n_chunks_before + 1)",
        LONG,
    ),
    Mutant(
        "W07", "padding at position 0 counts", "layers/research/chunked_attention.py",
        "jnp.where(mask, positions, -2 - positions)",
        "jnp.where(mask, positions, -positions)",
        "tests/layers/test_long_masks.py",
    ),
    Mutant(
        "W08", "hidden everywhere: values are summed", "layers/research/chunked_attention.py",
        "weights = jnp.where(is_hidden, weights / total, weights)",
        "weights = weights + 0 * total",
        "tests/layers/test_long_masks.py",
    ),
    Mutant(
        "W09", "rounds share buckets", "layers/research/lsh_attention.py",
        "jnp.arange(self._n_hashes, dtype=jnp.int32)[:, None] * count",
        "jnp.arange(self._n_hashes, dtype=jnp.int32)[:, None] * 0",
        f"{GOLDENS} -k hashing",
    ),
    Mutant(
        "W23", "the rest of the chunks is left out", "layers/research/chunked_attention.py",
        "    if rest:\n", "    if False:\n", CHUNKED,
    ),
    Mutant(
        "W24", "groups of chunks keep their logits", "layers/research/chunked_attention.py",
        "fastmath.map(fastmath.remat(f), tuple(groups))", "fastmath.map(f, tuple(groups))", CHUNKED,
    ),
    Mutant(
        "W25", "a vector and its opposite share buckets", "layers/research/chunked_attention.py",
        "factor // 2 + jnp.argmin(part, axis=-1)", "jnp.argmin(part, axis=-1)", CHUNKED,
    ),
    Mutant(
        "W26", "positions are sorted by bucket only", "layers/research/lsh_attention.py",
        "jnp.sort(length * buckets + jnp.arange(length), axis=-1)",
        "jnp.sort(length * buckets + jnp.arange(length)[::-1], axis=-1)",
        f"{GOLDENS} -k hashing",
    ),
    Mutant(
        "W10", "buckets of the state are hashed anew in the backward pass",
        "layers/research/efficient_attention_base.py",
        "            compute_output=False,\n            update_state=False,",
        "            compute_output=False,\n            update_state=True,",
        f"{REVERSIBLE} -k buckets",
    ),
    Mutant(
        "W11", "decoding: a full memory forgets nothing",
        "layers/research/efficient_attention_base.py",
        "old = fastmath.dynamic_slice_in_dim(old, dropped, mem_len, 1)",
        "old = old[:, :mem_len]",
        LONG,
    ),
    Mutant(
        "W12", "attention by blocks: heads and positions exchanged", "layers/flash_attention.py",
        "return jnp.reshape(jnp.swapaxes(out, 1, 2), inputs[0].shape)",
        "return jnp.reshape(out, inputs[0].shape)",
        "tests/layers/test_flash_attention.py",
    ),
    # --- the layer itself, and combinators ---
    Mutant(
        "W20", "layers with gradients of their own: no restored key", "layers/layer_calls.py",
        "        layer._rng = key\n        put_back(before)",
        "        put_back(before)",
        f"{REVERSIBLE} -k as_it_was",
    ),
    Mutant(
        "W21", "Serial: what a layer gives lies the wrong way round", "layers/serial.py",
        "stack += reversed(y)",
        "stack += y",
        f"{GOLDENS} -k combinators",
    ),
    Mutant(
        "W22", "the first of a layer's keys goes to all", "layers/serial.py",
        "return [keys[i] if a._needs_key else None",
        "return [keys[0] if a._needs_key else None",
        "tests/layers/test_combinators.py -k keys_of_their_own",
    ),
)  # fmt: skip
