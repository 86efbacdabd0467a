"""Peers of the classifiers of images, and how layers of PyTorch take Belfry's weights.

A peer is a function of Weights and features. It returns the module, with its weights, and a function
from features to results by name.
"""

import math

import numpy as np
import torch
from torch import nn


class Weights:
    """Belfry's variables by name, to be taken by the layers of a peer, each once."""

    def __init__(self, variables):
        self.left = dict(variables)

    def take(self, name):
        return torch.from_numpy(np.ascontiguousarray(self.left.pop(name)))

    def into(self, layer, scope, flattened=None):
        """The variables under `scope` into a layer. `flattened`: [h, w, c] of the image that a dense
        layer's input was; PyTorch flattens it with channels first."""
        pairs = {}
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            pairs = {"scale": layer.weight, "offset": layer.bias, "moving_mean": layer.running_mean,
                     "moving_variance": layer.running_var}
        elif isinstance(layer, nn.LayerNorm):
            pairs = {"scale": layer.weight, "offset": layer.bias}
        elif isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
            pairs = {"table": layer.weight}
        else:
            kernel = self.left.pop(f"{scope}/kernel")
            if flattened:
                kernel = kernel.reshape(*flattened, -1).transpose(2, 0, 1, 3).reshape(kernel.shape)
            # [..., in, out] is [out, in, ...] in PyTorch; that of transposed convolutions [..., out, in].
            depthwise = getattr(layer, "groups", 1) > 1 and kernel.shape[-1] == 1
            kernel = np.moveaxis(kernel, (-2, -1) if depthwise else (-1, -2), (0, 1))
            self.left[f"{scope}/kernel"] = kernel
            pairs["kernel"] = layer.weight
            if layer.bias is not None:
                pairs["bias"] = layer.bias
        for name, target in pairs.items():
            value = self.take(f"{scope}/{name}")
            assert value.shape == target.shape, f"{scope}/{name}: {value.shape} for {target.shape}"
            with torch.no_grad():
                target.copy_(value)
        return layer


def channels_first(x):
    return x.movedim(-1, 1)


def conv_norm(weights, conv, norm, scope):
    weights.into(conv, scope + "/conv")
    weights.into(norm, scope + "/norm")


def of_images(module, key="logits of probabilities"):
    return module, lambda features: {key: module(channels_first(features["image"]))}


def mlp(weights, features):
    layers, size, number = [], features["image"][0].numel(), 1
    while f"hidden{number}/kernel" in weights.left:
        units = weights.left[f"hidden{number}/kernel"].shape[1]
        layers += [weights.into(nn.Linear(size, units), f"hidden{number}"), nn.ReLU()]
        size, number = units, number + 1
    module = nn.Sequential(*layers, weights.into(nn.Linear(size, 10), "head"))
    return module, lambda f: {"logits of probabilities": module(f["image"].flatten(1))}


def lenet(weights, features):
    h, w, c = features["image"].shape[1:]
    inner = (h // 4, w // 4, 64)
    return of_images(nn.Sequential(
        weights.into(nn.Conv2d(c, 32, 5, padding=2), "conv1"), nn.ReLU(), nn.MaxPool2d(2),
        weights.into(nn.Conv2d(32, 64, 5, padding=2), "conv2"), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        weights.into(nn.Linear(math.prod(inner), 1024), "fc1", flattened=inner), nn.ReLU(),
        weights.into(nn.Linear(1024, 10), "fc2")))


def resnet(make, convolutions, small=False):
    names = ["first", "second", "third"][:convolutions]

    def peer(weights, features):
        module = make(num_classes=weights.left["head/bias"].shape[0])
        if small:
            module.conv1, module.maxpool = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.Identity()
        conv_norm(weights, module.conv1, module.bn1, "stem")
        blocks = [b for stage in (module.layer1, module.layer2, module.layer3, module.layer4) for b in stage]
        for number, block in enumerate(blocks, 1):
            for i, name in enumerate(names, 1):
                conv_norm(weights, getattr(block, f"conv{i}"), getattr(block, f"bn{i}"), f"block{number}/{name}")
            if block.downsample is not None:
                conv_norm(weights, *block.downsample, f"block{number}/shortcut")
        weights.into(module.fc, "head")
        return of_images(module)

    return peer


def vgg(make):
    def peer(weights, features):
        module = make()
        stage, number = 1, 1
        for layer in module.features:
            scope = f"stage{stage}/conv{number}"
            if isinstance(layer, nn.Conv2d):
                weights.into(layer, scope)
            elif isinstance(layer, nn.BatchNorm2d):
                weights.into(layer, scope + "/norm")
            elif isinstance(layer, nn.ReLU):
                number += 1
            else:
                stage, number = stage + 1, 1
        weights.into(module.classifier[0], "hidden1", flattened=(7, 7, 512))
        weights.into(module.classifier[3], "hidden2")
        weights.into(module.classifier[6], "head")
        return of_images(module)

    return peer


def mobilenet(make):
    def peer(weights, features):
        module = make(dropout=0)
        conv_norm(weights, module.features[0][0], module.features[0][1], "stem")
        for number, block in enumerate(list(module.features)[1:-1], 1):
            *units, conv, norm = block.conv
            for unit, name in zip(units, ["widen", "depthwise"][-len(units):]):
                conv_norm(weights, unit[0], unit[1], f"block{number}/{name}")
            conv_norm(weights, conv, norm, f"block{number}/narrow")
        conv_norm(weights, module.features[-1][0], module.features[-1][1], "last")
        weights.into(module.classifier[1], "head")
        return of_images(module)

    return peer
