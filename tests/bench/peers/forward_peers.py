"""Forward passes of Belfry's models beside PyTorch's, on the same weights.

    python3 -m venv venv && venv/bin/pip install torch torchvision safetensors numpy
    venv/bin/python tests/bench/peers/forward_peers.py --bench build/release/tests/bench/model_forward

For each model, Belfry says which variables it has; this script draws them (see draw()), statistics of
batch norm too, and writes them as safetensors from which Belfry predicts. The same numbers go into
the PyTorch module of peer(), and both results are compared: shape, number of parameters, and the
largest difference over the largest element, at most 1e-4. Exit status 1 if a model fails. Beside it
stands how far PyTorch's result is from its own in f64: such weights make some networks enlarge what
is rounded.

A model is a Case and a function that builds its peer.
"""

import argparse
import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import torch
import torchvision
from safetensors.numpy import load_file, save_file

import classifier_peers as images
import encoder_peers as encoders
import gan_peers as gans
import sequence_peers as sequences
import table_peers as tables

TOLERANCE = 1e-4
# A peer's result says something only if the rows of a batch differ by this much of its largest element.
LEAST_SPREAD = 1e-2


@dataclasses.dataclass
class Case:
    name: str
    model: str  # as model_forward calls it
    peer: object
    # Sizes of the feature `image`; or all features, each sizes or a function that draws it.
    features: object
    options: str = "{}"
    parameters: int = 0  # published; 0: not


def below(limit, shape):
    return lambda random: random.integers(0, limit, shape)


def given(*numbers):
    return lambda random: np.array(numbers)


PEOPLE = {"age": lambda random: random.uniform(16, 80, 6).astype(np.float32), "hours": (6, 2),
          "job": below(20, 6), "tags": below(7, (6, 3))}
COLUMNS = {
    "numeric": [{"feature": "age", "mean": 39, "deviation": 14}, {"feature": "hours"}],
    "categorical": [{"feature": "job", "categories": 20}, {"feature": "tags", "categories": 7, "width": 3},
                    {"feature": "age", "boundaries": [18, 30, 65]}],
    "crossed": [{"features": ["job", "age"]}]}
DIGITS = {"image": (4, 32, 32, 1), "label": given(3, 1, 4, 9)}

tv = torchvision.models
CASES = [
    Case("MLP 784-64-32-10", "mlp", images.mlp, (4, 28, 28, 1), '{"hidden": [64, 32]}'),
    Case("LeNet", "lenet", images.lenet, (4, 28, 28, 1), parameters=3_274_634),
    Case("VGG-11", "vgg11", images.vgg(tv.vgg11), (2, 224, 224, 3), parameters=132_863_336),
    Case("VGG-13", "vgg13", images.vgg(tv.vgg13), (2, 224, 224, 3), parameters=133_047_848),
    Case("VGG-16", "vgg16", images.vgg(tv.vgg16), (2, 224, 224, 3), parameters=138_357_544),
    Case("VGG-16, batch norm", "vgg16", images.vgg(tv.vgg16_bn), (2, 224, 224, 3), '{"batch_norm": true}', 138_365_992),
    Case("VGG-19", "vgg19", images.vgg(tv.vgg19), (2, 224, 224, 3), parameters=143_667_240),
    Case("ResNet-18, 32 x 32", "resnet18", images.resnet(tv.resnet18, 2, small=True), (4, 32, 32, 3),
         parameters=11_173_962),
    Case("ResNet-18", "resnet18", images.resnet(tv.resnet18, 2), (2, 224, 224, 3), '{"classes": 1000}', 11_689_512),
    Case("ResNet-34", "resnet34", images.resnet(tv.resnet34, 2), (2, 224, 224, 3), '{"classes": 1000}', 21_797_672),
    Case("ResNet-50", "resnet50", images.resnet(tv.resnet50, 3), (2, 224, 224, 3), parameters=25_557_032),
    Case("MobileNetV2", "mobilenet_v2", images.mobilenet(tv.mobilenet_v2), (2, 224, 224, 3), parameters=3_504_872),
    Case("ResNeSt-50", "resnest50", encoders.resnest(blocks=[3, 4, 6, 3]), (2, 224, 224, 3), parameters=27_483_240),
    Case("ResNeSt, 2 groups, radix 3", "resnest50", encoders.resnest(blocks=[1, 2], radix=3, groups=2), (4, 32, 24, 1),
         '{"blocks": [1, 2], "filters": 12, "radix": 3, "groups": 2, "classes": 5}'),
    Case("Swin-T", "swin_tiny", encoders.swin(blocks=[2, 2, 6, 2], heads=[3, 6, 12, 24], window=7), (2, 224, 224, 3),
         parameters=28_288_354),
    Case("U-Net, ResNeSt", "unet_resnest", encoders.unet_resnest(blocks=[2, 1]), (2, 32, 48, 3),
         '{"blocks": [2, 1], "filters": 16, "decoder_filters": 8}'),
    Case("U-Net, Swin", "unet_swin", encoders.unet_swin(blocks=[2, 2, 1], heads=[2, 4, 8], window=4, patch=2),
         (2, 64, 32, 3), '{"channels": 16, "blocks": [2, 2, 1], "heads": [2, 4, 8], "window": 4, "patch": 2}'),
    Case("U-Net", "unet", encoders.unet, (2, 64, 96, 1), '{"batch_norm": false}', 31_030_593),
    Case("U-Net, batch norm", "unet", encoders.unet, (2, 32, 48, 3), '{"depth": 3, "filters": 16}'),
    Case("U-Net 3-D", "unet3d", encoders.unet, (2, 16, 24, 32, 2), '{"filters": 8}'),
    Case("Acoustic", "acoustic", sequences.acoustic(strides=[2]),
         {"audio": (3, 90, 40), "audio_length": given(90, 31, 64)}),
    Case("Acoustic, strides 2, 3", "acoustic", sequences.acoustic(strides=[2, 3]),
         {"audio": (3, 50, 13), "audio_length": given(50, 1, 37)},
         '{"labels": 10, "filters": [24, 32, 32, 48], "strides": [2, 3], "kernel": 7}'),
    Case("Transformer, tokens", "transformer", sequences.transformer("token", heads=4),
         {"token": below(50, (4, 20)), "length": given(20, 7, 1, 13)}, '{"vocabulary": 50, "lengths": "length"}'),
    Case("Transformer, learned places", "transformer", sequences.transformer("x", heads=6, pool_mean=False),
         {"x": (4, 17, 9)},
         '{"feature": "x", "depth": 3, "width": 48, "heads": 6, "hidden": 100, "learned_positions": true, '
         '"longest": 30, "pool_mean": false, "classes": 5}'),
    Case("Linear", "linear", tables.model(linear=(tables.Linear, COLUMNS)), PEOPLE,
         json.dumps({"columns": COLUMNS})),
    Case("Linear, three classes", "linear",
         tables.model(classes=3, linear=(tables.Linear, COLUMNS)), PEOPLE,
         json.dumps({"columns": COLUMNS, "head": {"name": "multi_class", "classes": 3}})),
    Case("DNN of tables", "dnn", tables.model(deep=(tables.Deep, COLUMNS)), PEOPLE,
         json.dumps({"columns": COLUMNS})),
    Case("Wide and deep", "wide_deep",
         tables.model(wide=(tables.Linear, COLUMNS), deep=(tables.Deep, COLUMNS)), PEOPLE,
         json.dumps({"wide": COLUMNS, "deep": COLUMNS, "hidden": [64, 32]})),
    Case("DCGAN, 64 x 64", "dcgan64", gans.gan(), (4, 64, 64, 3), parameters=3_576_704 + 2_765_568),
    Case("DCGAN, 32 x 32", "dcgan32", gans.gan(), (4, 32, 32, 1)),
    Case("Conditional GAN", "cgan", gans.gan(gans.label, gans.label), DIGITS),
    Case("WGAN-GP", "wgan_gp", gans.gan(), (4, 32, 32, 1)),
    Case("ACGAN", "acgan", gans.gan(gans.label), DIGITS),
    Case("InfoGAN", "infogan", gans.gan(gans.code), (4, 32, 32, 1)),
    Case("CycleGAN, both generators", "cyclegan", gans.cyclegan(reflect=True),
         {"a": (2, 64, 48, 3), "b": (2, 64, 48, 3)}, '{"filters": 64, "blocks": 9}', 2 * 11_378_179),
    Case("CycleGAN, zeros around images", "cyclegan", gans.cyclegan(reflect=False),
         {"a": (2, 32, 32, 1), "b": (2, 24, 24, 3)}, '{"a_channels": 1, "filters": 8, "blocks": 2, "reflect": false}'),
    Case("CycleGAN, discriminator", "patch_discriminator", gans.patch_discriminator, (2, 256, 256, 3),
         parameters=2_764_737),
]


def draw(name, shape, seed):
    """Weights that keep activations about as large as they come in, and statistics that differ from
    channel to channel. Every variable has a generator of its own, of the seed and its name."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    kind = name.rsplit("/", 1)[-1]
    if kind == "moving_variance" or kind == "scale":
        out = random.uniform(0.5, 1.5, shape)
    elif len(shape) > 1:
        alone = len(shape) > 2 and shape[-1] == 1  # each channel by itself
        out = random.standard_normal(shape) * math.sqrt(2 / math.prod(shape[:-2] if alone else shape[:-1]))
    else:
        out = random.standard_normal(shape) * 0.1
    return out.astype(np.float32)


def drawn_inputs(case, seed):
    random = np.random.default_rng([seed, 1])
    features = case.features if isinstance(case.features, dict) else {"image": case.features}
    return {name: what(random) if callable(what) else random.standard_normal(what).astype(np.float32)
            for name, what in features.items()}


def sizes(shapes):
    return "; ".join(" x ".join(map(str, shape)) for shape in shapes)


def model_forward(bench, case, folder, *more):
    command = [bench, "--model", case.model, "--options", case.options, "--input", f"{folder}/input", *more]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(bench, case, seed, folder):
    """Both results, and what is wrong."""
    inputs = drawn_inputs(case, seed)
    save_file(inputs, f"{folder}/input")
    variables, parameters = {}, 0
    for line in model_forward(bench, case, folder).splitlines():
        kind, name, *shape = line.split()
        shape = [int(size) for size in shape]
        variables[name] = draw(name, shape, seed)
        parameters += math.prod(shape) if kind == "parameter" else 0
    save_file(variables, f"{folder}/weights")
    model_forward(bench, case, folder, "--weights", f"{folder}/weights", "--output", f"{folder}/output")
    ours = load_file(f"{folder}/output")

    weights = images.Weights(variables)
    features = {name: torch.from_numpy(array) for name, array in {**ours, **inputs}.items()}
    module, forward = case.peer(weights, features)
    with torch.no_grad():
        module.eval()
        theirs = {name: value.numpy() for name, value in forward(features).items()}
        module.double()
        exact = forward({name: f.double() if f.is_floating_point() else f for name, f in features.items()})

    faults = [f"the peer has no {name}" for name in weights.left]
    peer_parameters = sum(p.numel() for p in module.parameters())
    if parameters != peer_parameters or case.parameters not in (0, parameters):
        faults.append(f"{parameters} parameters, the peer has {peer_parameters}, published {case.parameters}")
    shapes, difference, rounding = [], 0, 0
    for name, theirs_of_name in theirs.items():
        mine, shape = ours[name], theirs_of_name.shape
        shapes.append(shape)
        if mine.shape != shape:
            faults.append(f"{name} is {mine.shape}, the peer's {shape}")
            continue
        largest = np.abs(theirs_of_name).max()
        if not np.abs(theirs_of_name - theirs_of_name[:1]).max() > LEAST_SPREAD * largest:
            faults.append(f"{name} hardly depends on the input")
        difference = max(difference, np.abs(mine - theirs_of_name).max() / largest)
        rounding = max(rounding, np.abs(exact[name].numpy() - theirs_of_name).max() / largest)
    if not difference <= TOLERANCE:
        faults.append(f"differs by more than {TOLERANCE}")
    return parameters, [array.shape for array in inputs.values()], shapes, difference, rounding, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="the program model_forward")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    failed = False
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}\n")
    print("| model | input | output | parameters | difference | PyTorch's rounding | |\n|---|---|---|---|---|---|---|")
    for case in CASES:
        if args.only.lower() not in case.name.lower():
            continue
        with tempfile.TemporaryDirectory() as folder:
            parameters, inputs, outputs, difference, rounding, faults = compare(
                os.path.abspath(args.bench), case, args.seed, folder)
        failed = failed or bool(faults)
        print(f"| {case.name} | {sizes(inputs)} | {sizes(outputs)} | {parameters:,} | {difference:.1e} | "
              f"{rounding:.1e} | {'; '.join(faults) or 'equal'} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
