"""TensorFlow reads what write_tensorflow.cpp wrote, and its own Estimator trains what that reads back."""
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(Path(__file__).parent.parent / "bench" / "peers"))

import numpy as np
import tensorflow as tf
import tensorflow_checkpoint
from safetensors.numpy import load_file

tf.get_logger().setLevel("ERROR")
folder = sys.argv[1]
reader, arrays = tf.train.load_checkpoint(f"{folder}/ours"), load_file(f"{folder}/ours.safetensors")
assert len(arrays) == 44 and sorted(reader.get_variable_to_shape_map()) == sorted(arrays)
for name, array in arrays.items():
    theirs = np.asarray(reader.get_tensor(name))
    assert theirs.dtype == array.dtype and np.array_equal(theirs, array), name
tensorflow_checkpoint.train(folder)
