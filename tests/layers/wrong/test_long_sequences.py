"""Wrong uses of reversible layers and of attention over long sequences: each error names the layer,
what came, and the user's line.
"""

import numpy as np
import pytest

from weft import fastmath, layers as tl

X = np.ones((2, 8, 6), np.float32)
KEY = np.array([1, 2], np.uint32)
ROW = np.ones((4, 3), np.float32)


def run(layer, *inputs):
    """Initializes a layer and calls it."""
    x = inputs if len(inputs) > 1 else inputs[0]
    layer.init(x)
    return layer(x)


CASES = {
    "halves of two shapes": (
        lambda: run(tl.ReversibleConcatenatePair(), X, X[..., :3]), "equal shapes"),
    "an input is lost": (lambda: tl.ReversibleSelect([1]), "each of the 2 inputs"),
    "no such input": (lambda: tl.ReversibleSelect([0, 2], n_in=2), "2 inputs"),
    "a negative index": (lambda: tl.ReversibleSelect([-1, 0]), "ReversibleSelect: indices"),
    "another number of elements": (lambda: tl.ReversibleReshape((2, 3), (4,)), "6 elements"),
    "another shape": (
        lambda: run(tl.ReversibleReshape((2, 3), (6,)), X), r"leading lengths \(2, 3\)"),
    "not reversible": (lambda: tl.ReversibleSerial(tl.Dense(3)), "layer 0 is Dense_3"),
    "no layer": (lambda: tl.ReversibleHalfResidual(3), "nonlayer"),
    "attention is no layer": (
        lambda: tl.ReversibleHalfResidual(attention_layer=len), "attention_layer is a layer"),
    "attention without weights": (
        lambda: tl.ReversibleHalfResidual(attention_layer=tl.PureLSHSelfAttention()),
        "PureLSHSelfAttentionWrapper",
    ),
    "reverse alone": (
        lambda: tl.ReversibleHalfResidual(tl.Dense(3)).reverse((X, X)), "use reverse_and_grad"),
    "no reverse": (lambda: tl.ReversibleLayer().reverse(X), "its class must define reverse"),
    "no heads": (lambda: tl.SelfAttention(n_heads=0), "n_heads=0 is at least 1|n_heads"),
    "heads of text": (lambda: tl.SelfAttention(n_heads="2"), "n_heads"),
    "no depth": (lambda: tl.SelfAttention(d_qk=0), "d_qk"),
    "depth of values": (lambda: tl.LSHSelfAttention(d_v=-1), "d_v"),
    "mode": (lambda: tl.SelfAttention(mode="test"), "mode"),
    "dropout of 1": (lambda: tl.SelfAttention(attention_dropout=1.0), "less than 1"),
    "dropout above 1": (lambda: tl.SelfAttention(output_dropout=1.5), "output_dropout"),
    "chunks before what": (lambda: tl.SelfAttention(n_chunks_before=1), "need chunk_len"),
    "chunk of nothing": (lambda: tl.SelfAttention(chunk_len=0), "chunk_len"),
    "parallel": (lambda: tl.SelfAttention(n_heads=4, n_parallel_heads=3), "multiple or a divisor"),
    "slices of batches": (
        lambda: run(tl.SelfAttention(n_heads=2, n_parallel_heads=6), np.ones((4, 8, 6), "f4")),
        "can't be cut in such slices"),
    "not causal": (lambda: tl.SelfAttention(mode="predict", chunk_len=2), "needs causal=True"),
    "no memory": (lambda: tl.SelfAttention(mode="predict", causal=True), "predict_mem_len"),
    "drops more than it has": (
        lambda: tl.SelfAttention(
            mode="predict", causal=True, predict_mem_len=4, predict_drop_len=5),
        "bad predict memory"),
    "masked prediction": (
        lambda: tl.SelfAttention(mode="predict", causal=True, masked=True, chunk_len=2),
        "masked=True has no meaning"),
    "chunks that don't fit": (
        lambda: run(tl.SelfAttention(chunk_len=3), X), "not a multiple of the chunk"),
    "rounds that don't fit": (
        lambda: run(tl.LSHSelfAttention(chunk_len=5), X), "no multiple of chunk_len=5"),
    "odd buckets": (lambda: tl.LSHSelfAttention(n_buckets=3), "even"),
    "odd factor": (lambda: tl.LSHSelfAttention(n_buckets=[4, 3]), "even"),
    "no rounds": (lambda: tl.LSHSelfAttention(n_hashes=0), "n_hashes"),
    "hashed masked prediction": (
        lambda: tl.LSHSelfAttention(mode="predict", causal=True, masked=True), "masked=True has"),
    "hashed prediction of all": (
        lambda: tl.LSHSelfAttention(mode="predict"), "needs causal=True and n_chunks_after=0"),
    "longer than buckets": (
        lambda: run(tl.LSHSelfAttention(chunk_len=2, max_length_for_buckets=4), X),
        "max_length_for_buckets=4"),
    "bias of nothing": (lambda: tl.PureLSHSelfAttention(bias=True), "no weights"),
    "rows of heads": (
        lambda: run(tl.PureLSHSelfAttention(n_heads=2, chunk_len=2), X[:1], X[:1]), "n_heads=2"),
    "causal and masked": (
        lambda: tl.MixedLSHSelfAttention(causal=True, masked=True), "causal=True, masked=True"),
    "neither": (lambda: tl.MixedLSHSelfAttention(), "causal=False, masked=False"),
    "which attention": (lambda: tl.PureLSHSelfAttentionWrapper(), "tl.PureLSHSelfAttention"),
    "format": (
        lambda: tl.PureLSHSelfAttentionWrapper(
            pure_lsh_implementation=tl.PureLSHSelfAttention, weights_format="heads"),
        "weights_format"),
    "four weights": (
        lambda: tl.PureLSHSelfAttentionWrapper(
            pure_lsh_implementation=tl.PureLSHSelfAttention, num_weights=4), "2 or 3"),
    "rotated modules": (
        lambda: tl.PureLSHSelfAttentionWrapper(
            pure_lsh_implementation=tl.PureLSHSelfAttention, weights_format="sparse",
            rotary_position_emb=True), "needs weights_format='model'"),
    "hidden units": (lambda: tl.LSHFF(0, n_buckets=2), "d_ff"),
    "hashes to an odd number": (lambda: tl.hash_vecs(ROW, 3, 1, KEY), "even and positive"),
    "no values": (lambda: tl.attend(ROW, ROW), "no values"),
    "chunks of keys": (lambda: tl.attend(ROW, None, ROW, 2, 1), "kv_chunk_len=1"),
    "one in chunks": (lambda: tl.attend(ROW, ROW, ROW, 2), "or neither"),
    "look around": (lambda: tl.attend(ROW, ROW, ROW, n_chunks_before=1), "need q_chunk_len"),
    "lengths": (lambda: tl.attend(ROW, None, ROW, 3), "not a multiple of the chunk length"),
    "numbers of chunks": (lambda: tl.attend(ROW, ROW, ROW, 2, 4), "as many"),
    "no key": (lambda: tl.attend(ROW, ROW, ROW, dropout=0.5), "random key"),
    "no key for features": (lambda: tl.apply_broadcasted_dropout(ROW, 0.5, None), "random key"),
    "no hooks": (
        lambda: tl.EfficientAttentionBase(1).create_weights_unbatched(None, KEY),
        "its class must define"),
    "nothing asked for": (
        lambda: tl.SelfAttention().forward_and_or_backward(X, (), (), KEY, compute_output=False),
        "neither the output nor"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_says_what_is_wrong(name):
    wrong, text = CASES[name]
    with pytest.raises(Exception, match=text) as caught:
        wrong()
    assert isinstance(caught.value, ValueError | TypeError | NotImplementedError | tl.LayerError)


def test_a_long_call_in_the_midst_of_decoding_gives_no_numbers():
    """What is traced can't raise: NaN, rather than a wrong answer."""
    layer = tl.SelfAttention(
        n_heads=1, d_qk=2, d_v=2, causal=True, mode="predict", predict_mem_len=6, predict_drop_len=2
    )
    layer.init(X)
    assert not np.isnan(np.asarray(layer(X[:, :1]))).any()
    assert np.isnan(np.asarray(fastmath.numpy.asarray(layer(X[:, 1:6])))).all()
