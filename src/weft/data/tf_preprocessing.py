"""Functions for `preprocess_fn`, which map (dataset, training) to a data set: no_preprocess,
cifar10_no_augmentation_preprocess, cifar10_augmentation_preprocess,
cifar10_augmentation_flatten_preprocess, downsampled_imagenet_flatten_bare_preprocess,
concat_preprocess, squeeze_targets_preprocess, lm1b_preprocess, wmt_preprocess,
wmt_concat_preprocess, lm_token_preprocessing, filter_dataset_on_len, truncate_dataset_on_len,
pad_dataset_to_length and add_eos_to_output_features.

The functions for tf.data need the package tensorflow.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import option_checks
from ..option_checks import optional

__all__ = [
    "add_eos_to_output_features",
    "cifar10_augmentation_flatten_preprocess",
    "cifar10_augmentation_preprocess",
    "cifar10_no_augmentation_preprocess",
    "concat_preprocess",
    "downsampled_imagenet_flatten_bare_preprocess",
    "filter_dataset_on_len",
    "lm1b_preprocess",
    "lm_token_preprocessing",
    "no_preprocess",
    "pad_dataset_to_length",
    "squeeze_targets_preprocess",
    "truncate_dataset_on_len",
    "wmt_concat_preprocess",
    "wmt_preprocess",
]

Preprocess = Callable[[Any, bool], Any]


def no_preprocess(dataset: Any, training: bool) -> Any:
    """Returns the data set unchanged.

    Args:
      dataset: a data set of tf.data.
      training: not used.
    Returns: the data set.
    Example:
      >>> no_preprocess([1, 2], True)
      [1, 2]
    Source: Trax documentation, `data.tf_inputs.no_preprocess`.
    """
    del training
    return dataset


def _tf(name: str) -> Any:
    return optional("tensorflow", name, "tensorflow")


def cifar10_no_augmentation_preprocess(dataset: Any, training: bool) -> Any:
    """Images as floats from 0 to 1.

    Args:
      dataset: a data set of ({"image": uint8}, target).
      training: not used.
    Returns: a data set of ({"image": float32}, target).
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"image": tf.fill([2, 2, 3], 255)}, 7))
      >>> next(iter(cifar10_no_augmentation_preprocess(dataset, True)))[0]["image"].numpy().max()
      np.float32(1.0)
    Source: Trax documentation, `data.tf_inputs.cifar10_no_augmentation_preprocess`.
    """
    del training
    tf = _tf("cifar10_no_augmentation_preprocess")
    return dataset.map(
        lambda features, targets: (_with(features, image=_scaled(tf, features)), targets)
    )


def _scaled(tf: Any, features: Mapping[str, Any]) -> Any:
    return tf.cast(features["image"], tf.float32) / 255.0


def _with(features: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    return {**features, **changed}


def _augmented(tf: Any, image: Any) -> Any:
    """A window of 32 pixels of an image that was padded to 40, or its mirror image."""
    enlarged = tf.image.resize_with_crop_or_pad(image, 40, 40)
    return tf.image.random_flip_left_right(tf.image.random_crop(enlarged, [32, 32, 3]))


def cifar10_augmentation_preprocess(dataset: Any, training: bool) -> Any:
    """Images as floats from 0 to 1; for training, shifted by up to 4 pixels and flipped at random.

    Args:
      dataset: a data set of ({"image": uint8 [32, 32, 3]}, target).
      training: whether to change images.
    Returns: a data set of ({"image": float32 [32, 32, 3]}, target).
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"image": tf.ones([32, 32, 3], tf.uint8)}, 7))
      >>> next(iter(cifar10_augmentation_preprocess(dataset, True)))[0]["image"].shape
      TensorShape([32, 32, 3])
    Source: Trax documentation, `data.tf_inputs.cifar10_augmentation_preprocess`.
    """
    tf = _tf("cifar10_augmentation_preprocess")

    def change(features: Any, targets: Any) -> Any:
        image = features["image"]
        image = _augmented(tf, image) if training else image
        return _with(features, image=_scaled(tf, {"image": image})), targets

    return dataset.map(change)


def cifar10_augmentation_flatten_preprocess(
    dataset: Any, training: bool, predict_image_train_weight: float = 0.01
) -> Any:
    """Sequences of the bytes of an image and its class, for a language model.

    Args:
      dataset: a data set of ({"image": uint8 [32, 32, 3]}, target).
      training: whether to shift and flip images at random.
      predict_image_train_weight: the weight of the bytes of the image in training. It is 0 in
        evaluation. The weight of the class is 1.
    Returns: a data set of ({"image": int64 [3073], "mask": float32 [3073]}, int64 [3073]).
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"image": tf.ones([32, 32, 3], tf.uint8)}, 7))
      >>> next(iter(cifar10_augmentation_flatten_preprocess(dataset, True)))[1].shape
      TensorShape([3073])
    Source: Trax documentation, `data.tf_inputs.cifar10_augmentation_flatten_preprocess`.
    """
    tf = _tf("cifar10_augmentation_flatten_preprocess")
    weight = predict_image_train_weight if training else 0.0

    def flatten(features: Any, targets: Any) -> Any:
        image = _augmented(tf, features["image"]) if training else features["image"]
        pixels = tf.cast(tf.reshape(image, [-1]), tf.int64)
        label = tf.reshape(tf.cast(targets, tf.int64), [1])
        tokens = tf.concat([pixels, label], axis=0)
        mask = tf.concat([tf.ones_like(pixels, tf.float32) * weight, tf.ones([1])], axis=0)
        return _with(features, image=tokens, mask=mask), tokens

    return dataset.map(flatten)


def downsampled_imagenet_flatten_bare_preprocess(dataset: Any, training: bool) -> Any:
    """Images as sequences of their bytes.

    Args:
      dataset: a data set of {"image": uint8 […]}.
      training: not used.
    Returns: a data set of {"image": int64 [n]}.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors({"image": tf.ones([2, 2, 3], tf.uint8)})
      >>> flat = downsampled_imagenet_flatten_bare_preprocess(dataset, True)
      >>> next(iter(flat))["image"].shape
      TensorShape([12])
    Source: Trax documentation, `data.tf_inputs.downsampled_imagenet_flatten_bare_preprocess`.
    """
    del training
    tf = _tf("downsampled_imagenet_flatten_bare_preprocess")
    return dataset.map(
        lambda features: _with(
            features, image=tf.cast(tf.reshape(features["image"], [-1]), tf.int64)
        )
    )


def concat_preprocess(dataset: Any, training: bool, pad_symbol: int = 0) -> Any:
    """Inputs and targets as one sequence, with a symbol between them.

    Args:
      dataset: a data set of ({"inputs": [m]}, [n]).
      training: not used.
      pad_symbol: the symbol.
    Returns: a data set of ({"inputs": [m + 1 + n]}, [m + 1 + n]).
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"inputs": [5, 6]}, [7]))
      >>> next(iter(concat_preprocess(dataset, True)))[1].numpy()
      array([5, 6, 0, 7], dtype=int32)
    Source: Trax documentation, `data.tf_inputs.concat_preprocess`.
    """
    del training
    tf = _tf("concat_preprocess")

    def join(features: Any, targets: Any) -> Any:
        inputs = features["inputs"]
        symbol = tf.fill([1], tf.cast(pad_symbol, inputs.dtype))
        both = tf.concat([inputs, symbol, tf.cast(targets, inputs.dtype)], axis=0)
        return _with(features, inputs=both), both

    return dataset.map(join)


def squeeze_targets_preprocess(dataset: Any, training: bool) -> Any:
    """Removes the last axis of targets if it has length 1.

    Args:
      dataset: a data set of (features, targets).
      training: not used.
    Returns: a data set.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"inputs": [5, 6]}, [[7], [8]]))
      >>> next(iter(squeeze_targets_preprocess(dataset, True)))[1].numpy()
      array([7, 8], dtype=int32)
    Source: Trax documentation, `data.tf_inputs.squeeze_targets_preprocess`.
    """
    del training
    tf = _tf("squeeze_targets_preprocess")

    def squeeze(features: Any, targets: Any) -> Any:
        is_one = targets.shape.rank and targets.shape[-1] == 1
        return features, tf.squeeze(targets, axis=-1) if is_one else targets

    return dataset.map(squeeze)


def _shorter(name: str, dataset: Any, training: bool, most: int, most_eval: int, also: bool) -> Any:
    """The examples whose targets, and with `also` inputs, have at most some length. A length of 0
    or less sets no bound."""
    tf = _tf(name)
    limit = most if training else most_eval
    if limit <= 0:
        return dataset

    def fits(features: Any, targets: Any) -> Any:
        length = tf.shape(targets)[0]
        if also:
            length = tf.maximum(length, tf.shape(features["inputs"])[0])
        return tf.less(length, limit + 1)

    return dataset.filter(fits)


def lm1b_preprocess(
    dataset: Any, training: bool, max_target_length: int = -1, max_eval_target_length: int = -1
) -> Any:
    """The examples whose targets are not too long.

    Args:
      dataset: a data set of (features, targets [n]).
      training: whether it is for training.
      max_target_length: the largest length for training; 0 or less sets no bound.
      max_eval_target_length: the largest length for evaluation.
    Returns: a data set.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"inputs": [0]}, [1, 2, 3]))
      >>> len(list(lm1b_preprocess(dataset, True, max_target_length=2)))
      0
    Source: Trax documentation, `data.tf_inputs.lm1b_preprocess`.
    """
    limits = max_target_length, max_eval_target_length
    return _shorter("lm1b_preprocess", dataset, training, *limits, also=False)


def wmt_preprocess(
    dataset: Any, training: bool, max_length: int = -1, max_eval_length: int = -1
) -> Any:
    """The examples whose inputs and targets are not too long.

    Args:
      dataset: a data set of ({"inputs": [m]}, targets [n]).
      training: whether it is for training.
      max_length: the largest length for training; 0 or less sets no bound.
      max_eval_length: the largest length for evaluation.
    Returns: a data set.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"inputs": [5, 6]}, [7]))
      >>> len(list(wmt_preprocess(dataset, True, max_length=2)))
      1
    Source: Trax documentation, `data.tf_inputs.wmt_preprocess`.
    """
    limits = max_length, max_eval_length
    return _shorter("wmt_preprocess", dataset, training, *limits, also=True)


def wmt_concat_preprocess(
    dataset: Any, training: bool, max_length: int = -1, max_eval_length: int = -1
) -> Any:
    """Inputs, a 0 and targets as one sequence, with a mask of 1 on the targets.

    Args:
      dataset: a data set of ({"inputs": [m]}, targets [n]).
      training: whether it is for training.
      max_length: the largest length of inputs and of targets for training; 0 or less sets no bound.
      max_eval_length: the same, for evaluation.
    Returns: a data set of ({"inputs": [m + 1 + n], "mask": float32 [m + 1 + n]}, [m + 1 + n]).
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors(({"inputs": [5, 6]}, [7]))
      >>> inputs, targets = next(iter(wmt_concat_preprocess(dataset, True)))
      >>> targets.numpy(), inputs["mask"].numpy()
      (array([5, 6, 0, 7], dtype=int32), array([0., 0., 0., 1.], dtype=float32))
    Source: Trax documentation, `data.tf_inputs.wmt_concat_preprocess`.
    """
    name = "wmt_concat_preprocess"
    dataset = _shorter(name, dataset, training, max_length, max_eval_length, also=True)
    tf = _tf(name)

    def join(features: Any, targets: Any) -> Any:
        inputs = features["inputs"]
        zero = tf.zeros([1], inputs.dtype)
        both = tf.concat([inputs, zero, tf.cast(targets, inputs.dtype)], axis=0)
        zeros = tf.zeros([tf.shape(inputs)[0] + 1])
        mask = tf.concat([zeros, tf.ones_like(targets, tf.float32)], axis=0)
        return _with(features, inputs=both, mask=mask), both

    return dataset.map(join)


def lm_token_preprocessing(dataset: Any, training: bool) -> Any:
    """Sequences of inputs, a 0 and targets, with weights of 1 on the targets.

    Args:
      dataset: a data set of {"inputs": [m], "targets": [n]}.
      training: not used.
    Returns: a data set of dicts "inputs" and "targets" [m + 1 + n], with "mask".
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors({"inputs": [5, 6], "targets": [7]})
      >>> example = next(iter(lm_token_preprocessing(dataset, True)))
      >>> example["inputs"].numpy(), example["mask"].numpy()
      (array([5, 6, 0, 7], dtype=int32), array([0., 0., 0., 1.], dtype=float32))
    Source: Trax documentation, `data.tf_inputs.lm_token_preprocessing`.
    """
    del training
    tf = _tf("lm_token_preprocessing")

    def join(features: Any) -> Any:
        inputs, targets = features["inputs"], features["targets"]
        both = tf.concat([inputs, tf.zeros([1], inputs.dtype), targets], axis=-1)
        mask = tf.concat(
            [tf.zeros([tf.shape(inputs)[0] + 1]), tf.ones_like(targets, tf.float32)], axis=-1
        )
        return _with(features, inputs=both, targets=both, mask=mask)

    return dataset.map(join)


def filter_dataset_on_len(
    dataset: Any,
    training: bool,
    len_map: Mapping[str, tuple[int, int]] | None = None,
    filter_on_eval: bool = False,
) -> Any:
    """The examples whose features have lengths within bounds.

    Args:
      dataset: a data set of dicts.
      training: whether it is for training.
      len_map: a dict from a feature to its smallest and largest length.
      filter_on_eval: whether to filter examples for evaluation too.
    Returns: a data set.
    Raises: ValueError: there is no `len_map`.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors({"inputs": [5, 6, 7]})
      >>> len(list(filter_dataset_on_len(dataset, True, {"inputs": (1, 2)})))
      0
    Source: Trax documentation, `data.tf_inputs.filter_dataset_on_len`.
    """
    name = "filter_dataset_on_len"
    bounds = _checked_len_map(name, len_map)
    if not (training or filter_on_eval):
        return dataset
    tf = _tf(name)
    for key, (least, most) in bounds.items():

        def fits(example: Any, key: str = key, least: int = least, most: int = most) -> Any:
            length = tf.shape(example[key])[0]
            return tf.logical_and(length >= least, length <= most)

        dataset = dataset.filter(fits)
    return dataset


def _checked_len_map(name: str, len_map: Any) -> Any:
    if not isinstance(len_map, Mapping):
        raise option_checks.wrong_type(name, "len_map", "a dict of features", len_map)
    return len_map


def truncate_dataset_on_len(
    dataset: Any,
    training: bool,
    len_map: Mapping[str, int] | None = None,
    truncate_on_eval: bool = False,
) -> Any:
    """Truncates features to a length.

    Args:
      dataset: a data set of dicts.
      training: whether it is for training.
      len_map: a dict from a feature to its largest length.
      truncate_on_eval: whether to truncate examples for evaluation too.
    Returns: a data set.
    Raises: ValueError: there is no `len_map`.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors({"inputs": [5, 6, 7]})
      >>> short = truncate_dataset_on_len(dataset, True, {"inputs": 2})
      >>> next(iter(short))["inputs"].numpy()
      array([5, 6], dtype=int32)
    Source: Trax documentation, `data.tf_inputs.truncate_dataset_on_len`.
    """
    lengths = _checked_len_map("truncate_dataset_on_len", len_map)
    if not (training or truncate_on_eval):
        return dataset
    return dataset.map(
        lambda example: {k: x[: lengths[k]] if k in lengths else x for k, x in example.items()}
    )


def pad_dataset_to_length(
    dataset: Any, training: bool, len_map: Mapping[str, int] | None = None
) -> Any:
    """Pads features with zeros at the end.

    Args:
      dataset: a data set of dicts.
      training: not used.
      len_map: a dict from a feature to its smallest length.
    Returns: a data set.
    Raises: ValueError: there is no `len_map`.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors({"inputs": [5, 6]})
      >>> padded = pad_dataset_to_length(dataset, True, {"inputs": 4})
      >>> next(iter(padded))["inputs"].numpy()
      array([5, 6, 0, 0], dtype=int32)
    Source: Trax documentation, `data.tf_inputs.pad_dataset_to_length`.
    """
    del training
    name = "pad_dataset_to_length"
    lengths = _checked_len_map(name, len_map)
    tf = _tf(name)

    def pad(example: Any) -> Any:
        result = dict(example)
        for key, length in lengths.items():
            more = tf.maximum(length - tf.shape(example[key])[0], 0)
            result[key] = tf.pad(example[key], [[0, more]])
        return result

    return dataset.map(pad)


def add_eos_to_output_features(
    dataset: Any, training: bool, output_features: Sequence[str] | str = "targets", eos: int = 1
) -> Any:
    """Appends the end-of-sequence id to features.

    Args:
      dataset: a data set of dicts.
      training: not used.
      output_features: the names of the features, or one name.
      eos: the end-of-sequence id.
    Returns: a data set.
    Example:
      >>> import tensorflow as tf
      >>> dataset = tf.data.Dataset.from_tensors({"targets": [5, 6]})
      >>> next(iter(add_eos_to_output_features(dataset, True)))["targets"].numpy()
      array([5, 6, 1], dtype=int32)
    Source: Trax documentation, `data.tf_inputs.add_eos_to_output_features`.
    """
    del training
    tf = _tf("add_eos_to_output_features")
    features = [output_features] if isinstance(output_features, str) else list(output_features)

    def append(example: Any) -> Any:
        result = dict(example)
        for key in features:
            result[key] = tf.concat([example[key], tf.cast([eos], example[key].dtype)], axis=0)
        return result

    return dataset.map(append)
