"""Peers of the networks of GANs, for forward_peers.py: in the form of PyTorch's DCGAN example, and as
Zhu et al., "Unpaired image-to-image translation", 2017, describe theirs.
"""

import torch
from torch import nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, weights, scope):
        super().__init__()
        # A dense layer to 4 x 4 pixels is the example's transposed convolution of one pixel.
        kernel = weights.left[f"{scope}/noise/kernel"]
        self.dense = weights.into(nn.Linear(*kernel.shape, bias=False), f"{scope}/noise")
        self.norms, self.ups = nn.ModuleList(), nn.ModuleList()
        while f"{scope}/up{len(self.ups) + 1}/kernel" in weights.left:
            number = len(self.ups) + 1
            filters, channels = weights.left[f"{scope}/up{number}/kernel"].shape[-2:]
            self.norms.append(weights.into(nn.BatchNorm2d(channels), f"{scope}/norm{number}"))
            up = nn.ConvTranspose2d(channels, filters, 4, 2, 1, bias=False)
            self.ups.append(weights.into(up, f"{scope}/up{number}"))

    def forward(self, numbers):
        x = self.dense(numbers).unflatten(1, (4, 4, -1)).movedim(-1, 1)
        for norm, up in zip(self.norms, self.ups):
            x = up(F.relu(norm(x)))
        return torch.tanh(x)


class NormOfChannels(nn.Module):
    """Layer norm of each pixel."""

    def __init__(self, weights, scope, channels):
        super().__init__()
        self.norm = weights.into(nn.LayerNorm(channels), scope)

    def forward(self, x):
        return self.norm(x.movedim(1, -1)).movedim(-1, 1)


def discriminator(weights, scope):
    layers, number = [], 1
    while f"{scope}/down{number}/kernel" in weights.left:
        channels, filters = weights.left[f"{scope}/down{number}/kernel"].shape[-2:]
        layers.append(weights.into(nn.Conv2d(channels, filters, 4, 2, 1, bias=False), f"{scope}/down{number}"))
        norm = f"{scope}/norm{number}"
        if f"{norm}/moving_mean" in weights.left:
            layers.append(weights.into(nn.BatchNorm2d(filters), norm))
        elif number > 1:
            layers.append(NormOfChannels(weights, norm, filters))
        layers.append(nn.LeakyReLU(0.2))
        number += 1
    logit = nn.Linear(*weights.left[f"{scope}/logit/kernel"].shape, bias=False)
    return nn.Sequential(*layers, nn.Flatten(), weights.into(logit, f"{scope}/logit", flattened=(4, 4, filters)))


def one_hot(labels, classes=10):
    return F.one_hot(labels, classes).float()


# What stands beside the noise, from all features.
def label(f):
    return [one_hot(f["label"])]


def code(f):
    return [one_hot(f["drawn in code/category"].long()), f["drawn in code/continuous"]]


def gan(beside_noise=lambda f: [], beside_pixels=lambda f: []):
    def peer(weights, features):
        networks = nn.ModuleDict({
            "generator": Generator(weights, "generator"), "discriminator": discriminator(weights, "discriminator")})

        def judged(images, f):
            planes = [numbers[:, :, None, None].expand(-1, -1, *images.shape[2:]) for numbers in beside_pixels(f)]
            return networks["discriminator"](torch.cat([images, *planes], 1))

        def forward(f):
            generated = networks["generator"](torch.cat([f["drawn in generator/noise"], *beside_noise(f)], 1))
            return {"generated": generated.movedim(1, -1),
                    "logits of real": judged(f["image"].movedim(-1, 1), f),
                    "logits of generated": judged(generated, f)}

        return networks, forward
    return peer


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def translator(weights, scope, reflect):
    border = "reflect" if reflect else "zeros"

    def unit(name, kind, **options):
        """A convolution and its norm."""
        channels, filters = weights.left[f"{scope}/{name}/kernel"].shape[-2:]
        if kind is nn.ConvTranspose2d:
            channels, filters = filters, channels
        conv = weights.into(kind(channels, filters, **options), f"{scope}/{name}")
        return conv, nn.InstanceNorm2d(filters)

    layers = [*unit("first", nn.Conv2d, kernel_size=7, padding=3, padding_mode=border), nn.ReLU()]
    for number in (1, 2):
        layers += [*unit(f"down{number}", nn.Conv2d, kernel_size=3, stride=2, padding=1), nn.ReLU()]
    number = 1
    while f"{scope}/block{number}/conv1/kernel" in weights.left:
        first, second = (unit(f"block{number}/conv{i}", nn.Conv2d, kernel_size=3, padding=1, padding_mode=border)
                         for i in (1, 2))
        layers.append(Residual(*first, nn.ReLU(), *second))
        number += 1
    for number in (1, 2):
        up = unit(f"up{number}", nn.ConvTranspose2d, kernel_size=3, stride=2, padding=1, output_padding=1)
        layers += [*up, nn.ReLU()]
    last, _ = unit("last", nn.Conv2d, kernel_size=7, padding=3, padding_mode=border)
    return nn.Sequential(*layers, last, nn.Tanh())


def cyclegan(reflect):
    def peer(weights, features):
        ways = nn.ModuleDict({
            way: translator(weights, f"{way}/generator", reflect) for way in ("a_to_b", "b_to_a")})
        return ways, lambda f: {way: ways[way](f[way[0]].movedim(-1, 1)).movedim(1, -1) for way in ways}
    return peer


def patch_discriminator(weights, features):
    layers, channels = [], features["image"].shape[-1]
    for number, (filters, stride) in enumerate([(64, 2), (128, 2), (256, 2), (512, 1)], 1):
        layers.append(weights.into(nn.Conv2d(channels, filters, 4, stride, 1), f"down{number}"))
        if number > 1:
            layers.append(nn.InstanceNorm2d(filters))
        layers.append(nn.LeakyReLU(0.2))
        channels = filters
    module = nn.Sequential(*layers, weights.into(nn.Conv2d(channels, 1, 4, 1, 1), "logit"))
    return module, lambda f: {"logits": module(f["image"].movedim(-1, 1)).movedim(1, -1)}
