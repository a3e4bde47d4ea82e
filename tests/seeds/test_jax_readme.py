"""The sample of JAX's README."""

import numpy as onp

import weft.numpy as jnp
from weft import grad, jit, vmap


def predict(params, inputs):
    for W, b in params:
        outputs = jnp.dot(inputs, W) + b
        inputs = jnp.tanh(outputs)  # inputs to the next layer
    return outputs  # no activation on last layer


def loss(params, inputs, targets):
    preds = predict(params, inputs)
    return jnp.sum((preds - targets) ** 2)


def test_gradients_for_each_example():
    grad_loss = jit(grad(loss))  # compiled gradient evaluation function
    perex_grads = jit(vmap(grad_loss, in_axes=(None, 0, 0)))  # fast per-example grads

    rng = onp.random.default_rng(0)
    params = [
        (rng.normal(size=s).astype("f"), rng.normal(size=s[1]).astype("f")) for s in ((4, 3),)
    ]
    inputs, targets = rng.normal(size=(6, 4)).astype("f"), rng.normal(size=(6, 3)).astype("f")
    ((dW, db),) = perex_grads(params, inputs, targets)
    ((W, b),) = params
    residual = 2 * (inputs @ W + b - targets)  # for one layer the gradient is known
    onp.testing.assert_allclose(db, residual, rtol=1e-4, atol=1e-5)
    onp.testing.assert_allclose(dW, inputs[:, :, None] * residual[:, None], rtol=1e-4, atol=1e-5)
    ((total, _),) = grad_loss(params, inputs, targets)
    onp.testing.assert_allclose(dW.sum(0), total, rtol=1e-4, atol=1e-4)


def test_python_loops_branches_recursion_and_closures():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    def looped(x):
        while x < 10:
            x = x * 2
        return x

    scale = 3.0
    assert grad(lambda x: scale * power(x, 4))(2.0) == 3 * 4 * 8
    assert grad(looped)(3.0) == 4.0
    assert grad(grad(grad(lambda x: power(x, 4))))(2.0) == 24 * 2
