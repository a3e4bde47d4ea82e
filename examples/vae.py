"""A variational autoencoder of handwritten digits: images from a few numbers.

An encoder gives mean and deviation of a normal distribution over codes, a decoder the probability
of ink in each pixel. What is maximised is the evidence lower bound: the expected log-likelihood
minus the divergence of the codes from a standard normal (Kingma & Welling, Auto-Encoding
Variational Bayes, 2014).

    python examples/vae.py [--epochs 150] [--picture vae.png]
"""

import argparse
from typing import Any

import numpy as onp
import pictures
import scans

import weft.numpy as np
from weft import grad, jit, lax, nn, random
from weft.experimental import optimizers, stax
from weft.experimental.stax import Dense, FanOut, Flatten, Relu, Softplus

BATCH = 128
CODE = 8

ENCODER_INIT, ENCODE = stax.serial(
    Flatten, Dense(256), Relu, FanOut(2),
    stax.parallel(Dense(CODE), stax.serial(Dense(CODE), Softplus)),
)  # fmt: skip
DECODER_INIT, DECODE = stax.serial(Dense(256), Relu, Dense(64))


def evidence(params: Any, key: Any, images: Any) -> Any:
    """The lower bound on the mean log-likelihood of images whose pixels are ink with the
    probability that is their grey: one code is drawn for each image."""
    encoder, decoder = params
    mean, deviation = ENCODE(encoder, images)
    code = mean + deviation * random.normal(key, mean.shape)
    logits = DECODE(decoder, code)
    pixels = np.reshape(images, logits.shape)
    likelihood = np.sum(pixels * logits - nn.softplus(logits), axis=1)
    divergence = 0.5 * np.sum(mean**2 + deviation**2 - 2 * np.log(deviation) - 1, axis=1)
    return np.mean(likelihood - divergence)


def trained(images: Any, epochs: int, key: Any) -> Any:
    """Parameters after some epochs, each of which is one compiled loop over its batches."""
    opt_init, opt_update, get_params = optimizers.adam(1e-3)
    encoder_key, decoder_key, key = random.split(key, 3)
    params = (ENCODER_INIT(encoder_key, (-1, 8, 8, 1))[1], DECODER_INIT(decoder_key, (-1, CODE))[1])
    count = len(images) // BATCH
    images = np.array(images)

    @jit
    def epoch(number: Any, opt_state: Any) -> Any:
        order_key, noise_key = random.split(random.fold_in(key, number))
        order = random.permutation(order_key, len(images))[: count * BATCH]

        def step(opt_state: Any, batch: Any) -> tuple[Any, None]:
            i, chosen = batch
            params = get_params(opt_state)
            gradient = grad(lambda p: -evidence(p, random.fold_in(noise_key, i), images[chosen]))
            return opt_update(number * count + i, gradient(params), opt_state), None

        batches = np.arange(count), np.reshape(order, (count, BATCH))
        return lax.scan(step, opt_state, batches)[0]

    opt_state = opt_init(params)
    for number in range(epochs):
        opt_state = epoch(number, opt_state)
    return get_params(opt_state)


def drawn(decoder: Any, codes: Any) -> Any:
    """The images of codes, [n, 8, 8]."""
    return np.reshape(nn.sigmoid(DECODE(decoder, codes)), (-1, 8, 8))


def main(epochs: int = 150, picture: str = "vae.png", quick: bool = False) -> tuple[float, float]:
    """Trains; prints and returns the bound on held-out scans, and what it is without a code."""
    data = scans.load()
    key = random.PRNGKey(0)
    params = trained(data.images, 2 if quick else epochs, key)
    bound = float(jit(evidence)(params, key, data.test_images))
    # the best that knows no more than how often each pixel is ink
    p = onp.clip(data.images.reshape(len(data.images), -1).mean(0), 1e-3, 1 - 1e-3)
    pixels = data.test_images.reshape(len(data.test_images), -1)
    without = float((pixels * onp.log(p) + (1 - pixels) * onp.log(1 - p)).sum(1).mean())
    print(f"codes                {CODE} numbers for 64 pixels")
    print(f"evidence bound       {bound:.2f} nats a scan, of scans that were held out")
    print(f"without a code       {without:.2f}: each pixel by its own frequency")

    def draw(figure: Any) -> None:
        codes = random.normal(random.PRNGKey(1), (10, CODE))
        again = drawn(params[1], ENCODE(params[0], data.test_images[:10])[0])
        rows = {"scans": data.test_images[:10, :, :, 0], "decoded": again,
                "new": drawn(params[1], codes)}  # fmt: skip
        places = figure.subplots(len(rows), 10)
        for line, (name, images) in zip(places, rows.items(), strict=True):
            line[0].set_title(name, loc="left", fontsize=8)
            for place, image in zip(line, images, strict=True):
                place.imshow(image, cmap="gray_r")
                place.set_axis_off()

    pictures.save(picture, draw, (8, 3))
    return bound, without


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--picture", default="vae.png", help="'' for none")
    parser.add_argument("--quick", action="store_true", help="two epochs")
    main(**vars(parser.parse_args()))
