"""Weights of others in Belfry: ResNets of torchvision by a map of names, and a checkpoint that an
Estimator of TensorFlow 2.15 has just written. Predictions must agree to 1e-4 of the largest element.

    python3 -m venv venv && venv/bin/pip install torch torchvision safetensors numpy
    python3.11 -m venv tf && tf/bin/pip install tensorflow-cpu==2.15.1 safetensors
    venv/bin/python tests/bench/peers/warm_start_peers.py --tensorflow tf/bin/python \\
        --bench build/release/tests/bench/warm_start_forward

Also reads a checkpoint that `belfry-ckpt convert` (--ckpt) made, with TensorFlow. Exit status 1 if
something differs.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

TOLERANCE = 1e-4

READ_WITH_TENSORFLOW = """
import sys
import numpy as np
import tensorflow as tf
from safetensors.numpy import load_file
reader, arrays = tf.train.load_checkpoint(sys.argv[1]), load_file(sys.argv[2])
assert sorted(reader.get_variable_to_shape_map()) == sorted(arrays)
for name, array in arrays.items():
    theirs = reader.get_tensor(name)
    assert theirs.dtype == array.dtype and np.array_equal(theirs, array), name
print(len(arrays))
"""


def forward(bench, model, source, features, folder):
    save_file(features, f"{folder}/input")
    subprocess.run([bench, "--model", model, "--from", source, "--input", f"{folder}/input",
                    "--output", f"{folder}/output"], check=True, stderr=subprocess.DEVNULL)
    return load_file(f"{folder}/output")["logits"]


def torchvision_case(bench, name, folder):
    from torchvision_state import write_state
    image, theirs = write_state(name, folder)
    return forward(bench, name, f"{folder}/{name}.safetensors", {"image": image}, folder), theirs


def tensorflow_case(bench, python, folder):
    script = os.path.join(os.path.dirname(__file__), "tensorflow_checkpoint.py")
    subprocess.run([python, script, folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    features = load_file(f"{folder}/predictions.safetensors")
    return forward(bench, "tensorflow", folder, features, folder), features["logits"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="the program warm_start_forward")
    parser.add_argument("--ckpt", help="the program belfry-ckpt")
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow 2.15")
    args = parser.parse_args()
    bench = os.path.abspath(args.bench)
    cases = [(name, lambda folder, name=name: torchvision_case(bench, name, folder))
             for name in ("resnet18", "resnet34", "resnet50")]
    if args.tensorflow:
        cases.append(("TensorFlow's Estimator", lambda folder: tensorflow_case(bench, args.tensorflow, folder)))
    failed = False
    print("| source | logits | difference | |\n|---|---|---|---|")
    for name, case in cases:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = case(folder)
        difference = np.abs(ours - theirs).max() / np.abs(theirs).max()
        spread = np.abs(theirs - theirs[:1]).max() / np.abs(theirs).max()
        equal = ours.shape == theirs.shape and difference <= TOLERANCE and spread > 0.01
        failed = failed or not equal
        shape = " x ".join(map(str, theirs.shape))
        print(f"| {name} | {shape} | {difference:.1e} | {'equal' if equal else 'DIFFERENT'} |", flush=True)
    if args.tensorflow and args.ckpt:
        with tempfile.TemporaryDirectory() as folder:
            random = np.random.default_rng(3)
            arrays = {f"layer{i}/kernel": random.standard_normal((i, 7)).astype(np.float32) for i in range(40)}
            arrays |= {"n": np.array(5), "flag": np.array([True, False]), "half": np.ones(3, np.float16)}
            save_file(arrays, f"{folder}/a.safetensors")
            subprocess.run([args.ckpt, "convert", f"{folder}/a.safetensors", f"{folder}/model.ckpt"], check=True,
                           stdout=subprocess.DEVNULL)
            count = subprocess.run([args.tensorflow, "-c", READ_WITH_TENSORFLOW, f"{folder}/model.ckpt",
                                    f"{folder}/a.safetensors"], check=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True).stdout.strip()
            print(f"\nTensorFlow reads all {count} tensors of a converted file.")
    sys.exit(failed)


if __name__ == "__main__":
    main()
