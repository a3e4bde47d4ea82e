"""Resnet50 and WideResnet: residual networks of convolutions, from images to the logits of classes.

They consist of ConvBlock and IdentityBlock, and of WideResnetBlock and WideResnetGroup.
"""

from collections.abc import Callable, Sequence

from .. import layers as tl, option_checks
from ..layers.activation_fns import Relu
from ..layers.base import Layer
from ..option_checks import checked_mode

__all__ = [
    "ConvBlock",
    "IdentityBlock",
    "Resnet50",
    "WideResnet",
    "WideResnetBlock",
    "WideResnetGroup",
]

Maker = Callable[..., Layer]


def ConvBlock(
    kernel_size: int,
    filters: Sequence[int],
    strides: Sequence[int],
    norm: Maker,
    non_linearity: Callable[[], Layer],
    mode: str = "train",
) -> Layer:
    """A residual block that changes the shape: its shortcut is a convolution too.

    Args:
      kernel_size: height and width of the second of three convolutions; the others have 1.
      filters: the channels of the three convolutions.
      strides: (vertical, horizontal) steps of the first convolution and the shortcut.
      norm: makes a normalization, called as `norm(mode=mode)`.
      non_linearity: makes an activation layer.
      mode: "train", "eval" or "predict".
    Returns: a layer from floats [batch, h, w, c] to [batch, h / strides[0], w / strides[1],
      filters[2]], rounded up.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> from weft import models
      >>> block = models.resnet.ConvBlock(3, (4, 4, 8), (2, 2), tl.BatchNorm, tl.Relu)
      >>> _ = block.init(np.ones((1, 8, 8, 3), np.float32))
      >>> block(np.ones((1, 8, 8, 3), np.float32)).shape
      (1, 4, 4, 8)
    Source: He et al. (2015), arXiv:1512.03385; Trax's module `models.resnet`.
    """
    filters, norm, non_linearity = _checked("ConvBlock", filters, norm, non_linearity, mode)
    shortcut = [tl.Conv(filters[2], (1, 1), strides), norm(mode=mode)]
    main = _bottleneck(kernel_size, filters, strides, norm, non_linearity, mode)
    return tl.Serial(tl.Residual(*main, shortcut=tl.Serial(*shortcut)), non_linearity())


def IdentityBlock(
    kernel_size: int,
    filters: Sequence[int],
    norm: Maker,
    non_linearity: Callable[[], Layer],
    mode: str = "train",
) -> Layer:
    """A residual block that keeps the shape: a `ConvBlock` with an identity as its shortcut.

    Args:
      kernel_size, filters, norm, non_linearity, mode: as for `ConvBlock`; filters[2] is the number
        of channels of the input.
    Returns: a layer from floats [batch, h, w, filters[2]] to the same shape.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> from weft import models
      >>> block = models.resnet.IdentityBlock(3, (4, 4, 8), tl.BatchNorm, tl.Relu)
      >>> _ = block.init(np.ones((1, 8, 8, 8), np.float32))
      >>> block(np.ones((1, 8, 8, 8), np.float32)).shape
      (1, 8, 8, 8)
    Source: He et al. (2015), arXiv:1512.03385; Trax's module `models.resnet`.
    """
    filters, norm, non_linearity = _checked("IdentityBlock", filters, norm, non_linearity, mode)
    main = _bottleneck(kernel_size, filters, (1, 1), norm, non_linearity, mode)
    return tl.Serial(tl.Residual(*main), non_linearity())


def Resnet50(
    d_hidden: int = 64,
    n_output_classes: int = 1001,
    mode: str = "train",
    norm: Maker = tl.BatchNorm,
    non_linearity: Callable[[], Layer] = Relu,
) -> Layer:
    """The residual network of 50 layers, for images of 224 x 224 pixels.

    Args:
      d_hidden: the channels after the first convolution; the last stage has 32 times as many.
      n_output_classes: the number of classes.
      mode: "train", "eval" or "predict".
      norm: makes a normalization, called as `norm(mode=mode)`.
      non_linearity: makes an activation layer.
    Returns: a layer from images [batch, 224, 224, channels] to logits [batch, n_output_classes].
      It ends with means over 7 x 7 positions: images under 193 pixels raise an error, and for
      images of 225 pixels or more the last layer has more weights.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> import math
      >>> from weft import fastmath, shapes
      >>> images = shapes.ShapeDtype((8, 224, 224, 3))
      >>> weights, _ = Resnet50().weights_and_state_signature(images)
      >>> sum(math.prod(w.shape) for w in fastmath.tree_leaves(weights))
      25585641
    Source: He et al. (2015), arXiv:1512.03385; Trax documentation, `models.Resnet50`.
    """
    width = option_checks.whole_number("Resnet50", "d_hidden", d_hidden)
    classes = option_checks.whole_number("Resnet50", "n_output_classes", n_output_classes)
    _, norm, non_linearity = _checked("Resnet50", (1, 1, 1), norm, non_linearity, mode)
    layers = [
        tl.ToFloat(),
        tl.Conv(width, (7, 7), (2, 2), "SAME"),
        norm(mode=mode),
        non_linearity(),
        tl.MaxPool(pool_size=(3, 3), strides=(2, 2)),
    ]
    for factor, step, repeats in ((1, 1, 2), (2, 2, 3), (4, 2, 5), (8, 2, 2)):
        filters = (factor * width, factor * width, 4 * factor * width)
        layers.append(ConvBlock(3, filters, (step, step), norm, non_linearity, mode))
        layers += [IdentityBlock(3, filters, norm, non_linearity, mode) for _ in range(repeats)]
    return tl.Serial(*layers, tl.AvgPool(pool_size=(7, 7)), tl.Flatten(), tl.Dense(classes))


def WideResnetBlock(
    channels: int, strides: Sequence[int] = (1, 1), bn_momentum: float = 0.9, mode: str = "train"
) -> Layer:
    """Two convolutions of 3 x 3, each after a normalization and an activation.

    Args:
      channels: the number of output channels.
      strides: (vertical, horizontal) steps of the first convolution.
      bn_momentum: the weight of the old running statistics at each batch.
      mode: "train", "eval" or "predict".
    Returns: a layer from floats [batch, h, w, c] to [batch, h / strides[0], w / strides[1],
      channels], rounded up.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> from weft import models
      >>> block = models.resnet.WideResnetBlock(8, strides=(2, 2))
      >>> _ = block.init(np.ones((1, 8, 8, 3), np.float32))
      >>> block(np.ones((1, 8, 8, 3), np.float32)).shape
      (1, 4, 4, 8)
    Source: Zagoruyko and Komodakis (2016), arXiv:1605.07146; Trax's module `models.resnet`.
    """
    return tl.Serial(
        tl.BatchNorm(momentum=bn_momentum, mode=mode),
        tl.Relu(),
        tl.Conv(channels, (3, 3), strides, padding="SAME"),
        tl.BatchNorm(momentum=bn_momentum, mode=mode),
        tl.Relu(),
        tl.Conv(channels, (3, 3), padding="SAME"),
    )


def WideResnetGroup(
    n: int,
    channels: int,
    strides: Sequence[int] = (1, 1),
    bn_momentum: float = 0.9,
    mode: str = "train",
) -> Layer:
    """`n` blocks: the first one has a convolution as its shortcut, the others are within one
    residual.

    Args:
      n: the number of blocks.
      channels, strides, bn_momentum, mode: as for `WideResnetBlock`; the strides are those of the
        first block.
    Returns: a layer of the shapes of `WideResnetBlock`.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> from weft import models
      >>> group = models.resnet.WideResnetGroup(2, 8, strides=(2, 2))
      >>> _ = group.init(np.ones((1, 8, 8, 3), np.float32))
      >>> group(np.ones((1, 8, 8, 3), np.float32)).shape
      (1, 4, 4, 8)
    Source: Zagoruyko and Komodakis (2016), arXiv:1605.07146; Trax's module `models.resnet`.
    """
    n = option_checks.whole_number("WideResnetGroup", "n", n)
    first = tl.Residual(
        WideResnetBlock(channels, strides, bn_momentum, mode),
        shortcut=tl.Conv(channels, (3, 3), strides, padding="SAME"),
    )
    further_blocks = [WideResnetBlock(channels, (1, 1), bn_momentum, mode) for _ in range(n - 1)]
    return tl.Serial(first, tl.Residual(*further_blocks)) if further_blocks else tl.Serial(first)


def WideResnet(
    n_blocks: int = 3,
    widen_factor: int = 1,
    n_output_classes: int = 10,
    bn_momentum: float = 0.9,
    mode: str = "train",
) -> Layer:
    """A residual network of few layers with many channels, for images of 32 x 32 pixels.

    Args:
      n_blocks: the blocks in each of the three groups; the network has 6 n_blocks + 2 layers on its
        longest path.
      widen_factor: the groups have 16, 32 and 64 times as many channels.
      n_output_classes: the number of classes.
      bn_momentum: the weight of the old running statistics of `BatchNorm` at each batch.
      mode: "train", "eval" or "predict".
    Returns: a layer from images [batch, 32, 32, channels] to logits [batch, n_output_classes]. It
      ends with means over 8 x 8 positions: images under 29 pixels raise an error, and for images of
      33 pixels or more the last layer has more weights.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> images = np.ones((4, 32, 32, 3), np.float32)
      >>> model = WideResnet(n_blocks=1)
      >>> _ = model.init(images)
      >>> model(images).shape
      (4, 10)
    Source: Zagoruyko and Komodakis (2016), arXiv:1605.07146; Trax documentation,
      `models.WideResnet`.
    """
    n_blocks = option_checks.whole_number("WideResnet", "n_blocks", n_blocks)
    width = 16 * option_checks.whole_number("WideResnet", "widen_factor", widen_factor)
    classes = option_checks.whole_number("WideResnet", "n_output_classes", n_output_classes)
    checked_mode("WideResnet", mode)
    return tl.Serial(
        tl.ToFloat(),
        tl.Conv(16, (3, 3), padding="SAME"),
        WideResnetGroup(n_blocks, width, (1, 1), bn_momentum, mode),
        WideResnetGroup(n_blocks, 2 * width, (2, 2), bn_momentum, mode),
        WideResnetGroup(n_blocks, 4 * width, (2, 2), bn_momentum, mode),
        tl.BatchNorm(momentum=bn_momentum, mode=mode),
        tl.Relu(),
        tl.AvgPool(pool_size=(8, 8)),
        tl.Flatten(),
        tl.Dense(classes),
    )


def _bottleneck(
    kernel_size: int,
    filters: Sequence[int],
    strides: Sequence[int],
    norm: Maker,
    non_linearity: Callable[[], Layer],
    mode: str,
) -> list[Layer]:
    first, second, last = filters
    return [
        tl.Conv(first, (1, 1), strides),
        norm(mode=mode),
        non_linearity(),
        tl.Conv(second, (kernel_size, kernel_size), padding="SAME"),
        norm(mode=mode),
        non_linearity(),
        tl.Conv(last, (1, 1)),
        norm(mode=mode),
    ]


def _checked(
    name: str, filters: Sequence[int], norm: Maker, non_linearity: Callable[[], Layer], mode: str
) -> tuple[tuple[int, ...], Maker, Callable[[], Layer]]:
    checked_mode(name, mode)
    option_checks.function(name, "norm", norm, "norm(mode=...) that makes a layer")
    option_checks.function(name, "non_linearity", non_linearity, "that makes a layer")
    return option_checks.lengths(name, "filters", filters, count=3), norm, non_linearity
