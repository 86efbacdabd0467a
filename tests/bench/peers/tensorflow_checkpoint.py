"""Trains a small Estimator of TensorFlow 2.15 and keeps its newest checkpoint, with features and what
it predicts of them; and writes a checkpoint with tensors of many types. The files in
tests/framework/tensor/tensorflow/ were made so, and warm_start_peers.py does it anew.

    python3.11 -m venv venv && venv/bin/pip install tensorflow-cpu==2.15.1 safetensors
    venv/bin/python tests/bench/peers/tensorflow_checkpoint.py FOLDER
"""

import os
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

v1 = tf.compat.v1


def model_fn(features, labels, mode):
    """A convolution, batch norm, a partitioned embedding and a dense layer."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    x = v1.layers.conv2d(features["image"], 3, 3, strides=2, padding="same", name="conv")
    x = tf.nn.relu(v1.layers.batch_normalization(x, training=training, momentum=0.8, name="norm"))
    table = v1.get_variable("words/table", [7, 2], initializer=v1.random_normal_initializer(),
                            partitioner=v1.fixed_size_partitioner(3))
    words = v1.nn.embedding_lookup(table, features["word"], partition_strategy="div")
    x = tf.concat([v1.layers.flatten(x), words], axis=1)
    logits = v1.layers.dense(x, 4, name="head")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train = v1.train.AdamOptimizer(0.01).minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def write_types(prefix):
    tensors = {name: tf.constant([[0, 1, 2], [3, 4, 5]], getattr(tf, name)) for name in
               ["float64", "float32", "bfloat16", "float16", "int64", "int32", "uint8", "int8", "complex64"]}
    tensors |= {"bool": tf.constant([True, False]), "string": tf.constant(["a", "text"]),
                "empty": tf.zeros([0, 3]), "scalar": tf.constant(-1.5)}
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                      tensors=list(tensors.values()))


def main(folder):
    train(folder)
    write_types(f"{folder}/types")


def train(folder):
    random = np.random.default_rng(1)
    image = random.standard_normal((32, 5, 6, 2)).astype(np.float32)
    word = random.integers(0, 7, 32)
    label = (word + (image.mean((1, 2, 3)) > 0)) % 4
    features = {"image": image, "word": word}
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as model_dir:
        estimator = tf.estimator.Estimator(model_fn, model_dir, tf.estimator.RunConfig(tf_random_seed=1))
        estimator.train(v1.estimator.inputs.numpy_input_fn(features, label, 8, 10, shuffle=False))
        few = {name: array[:5] for name, array in features.items()}
        rows = estimator.predict(v1.estimator.inputs.numpy_input_fn(few, shuffle=False))
        few["logits"] = np.stack([row["logits"] for row in rows])
        for name in os.listdir(model_dir):
            if name.startswith(os.path.basename(estimator.latest_checkpoint()) + ".") and not name.endswith(".meta"):
                shutil.copyfile(f"{model_dir}/{name}", f"{folder}/{name}")
        with open(f"{folder}/checkpoint", "w") as file:
            file.write(f'model_checkpoint_path: "{os.path.basename(estimator.latest_checkpoint())}"\n')
        save_file(few, f"{folder}/predictions.safetensors")
    for name, shape in tf.train.list_variables(folder):
        print(name, shape)


if __name__ == "__main__":
    main(sys.argv[1])
