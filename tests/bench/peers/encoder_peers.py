"""Peers of ResNeSt, Swin and the U-Nets, some with these as encoders, for forward_peers.py.

ResNeSt and the ways up are written out here; Swin and its blocks are torchvision's.
"""

import functools

import torch
from torch import nn
import torch.nn.functional as F
from torchvision.models.swin_transformer import PatchMerging, SwinTransformerBlock


def convolution(weights, scope, channels, stride=1, groups=1):
    """A convolution with padding and its batch norm, as the kernel's shape says."""
    size, _, inner, filters = weights.left[scope + "/conv/kernel"].shape
    assert inner * groups == channels, scope
    conv = nn.Conv2d(channels, filters, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(weights.into(conv, scope + "/conv"), weights.into(nn.BatchNorm2d(filters), scope + "/norm"))


class SplitAttention(nn.Module):
    """SplAtConv2d without its convolution, and rSoftMax, of Zhang et al., "ResNeSt", 2020."""

    def __init__(self, weights, scope, channels, radix, groups):
        super().__init__()
        self.radix, self.groups = radix, groups
        hidden = max(channels * radix // 4, 32)
        self.first = weights.into(nn.Conv2d(channels, hidden, 1, groups=groups), scope + "/first")
        self.norm = weights.into(nn.BatchNorm2d(hidden), scope + "/norm")
        self.second = weights.into(nn.Conv2d(hidden, channels * radix, 1, groups=groups), scope + "/second")

    def forward(self, x):
        splits = torch.split(x, x.shape[1] // self.radix, dim=1)
        gap = F.adaptive_avg_pool2d(sum(splits), 1)
        a = self.second(F.relu(self.norm(self.first(gap))))
        a = a.view(len(x), self.groups, self.radix, -1).transpose(1, 2).softmax(1).reshape(len(x), -1, 1, 1)
        return sum(w * s for w, s in zip(torch.split(a, a.shape[1] // self.radix, dim=1), splits))


class ResnestBlock(nn.Module):
    def __init__(self, weights, scope, channels, halve, radix, groups):
        super().__init__()
        filters = weights.left[scope + "/first/conv/kernel"].shape[-1]
        self.first = convolution(weights, scope + "/first", channels)
        self.second = convolution(weights, scope + "/second", filters, groups=groups * radix)
        self.attention = SplitAttention(weights, scope + "/attention", filters, radix, groups)
        self.pool = nn.AvgPool2d(3, 2, padding=1) if halve else nn.Identity()
        self.third = convolution(weights, scope + "/third", filters)
        self.channels = 4 * filters
        self.shortcut = nn.Identity()
        if scope + "/shortcut/conv/kernel" in weights.left:
            self.shortcut = nn.Sequential(
                nn.AvgPool2d(2) if halve else nn.Identity(), convolution(weights, scope + "/shortcut", channels))

    def forward(self, x):
        y = self.attention(F.relu(self.second(F.relu(self.first(x)))))
        return F.relu(self.third(self.pool(y)) + self.shortcut(x))


class Resnest(nn.Module):
    """What the stem and each stage find."""

    def __init__(self, weights, channels, blocks, radix=2, groups=1, scope=""):
        super().__init__()
        self.stem = nn.Sequential()
        for i, name in enumerate(["first", "second", "third"]):
            self.stem.append(convolution(weights, f"{scope}stem/{name}", channels, stride=2 if i == 0 else 1))
            self.stem.append(nn.ReLU())
            channels = self.stem[-2][0].out_channels
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.stages, number = nn.ModuleList(), 0
        for stage, count in enumerate(blocks):
            self.stages.append(nn.Sequential())
            for i in range(count):
                number += 1
                block = ResnestBlock(weights, f"{scope}block{number}", channels, stage > 0 and i == 0, radix, groups)
                self.stages[-1].append(block)
                channels = block.channels

    def forward(self, x):
        features = [self.stem(x)]
        x = self.pool(features[0])
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        return features


class ResnestClassifier(nn.Module):
    def __init__(self, weights, image, **options):
        super().__init__()
        self.encoder = Resnest(weights, image.shape[-1], **options)
        self.head = weights.into(nn.Linear(*weights.left["head/kernel"].shape), "head")

    def forward(self, image):
        return self.head(self.encoder(image)[-1].mean((2, 3)))


class UnetResnest(nn.Module):
    def __init__(self, weights, image, **options):
        super().__init__()
        self.encoder = Resnest(weights, image.shape[-1], scope="encoder/", **options)
        self.grow, self.twice = nn.ModuleList(), nn.ModuleList()
        for level in range(len(options["blocks"]) + 1, 0, -1):
            scope = f"up{level}"
            filters, channels = weights.left[scope + "/grow/kernel"].shape[-2:]
            self.grow.append(weights.into(nn.ConvTranspose2d(channels, filters, 2, 2), scope + "/grow"))
            layers = nn.Sequential()
            for i in (1, 2):
                inner = weights.left[f"{scope}/conv{i}/kernel"].shape[-2]
                layers.append(weights.into(nn.Conv2d(inner, filters, 3, padding=1, bias=False), f"{scope}/conv{i}"))
                layers.append(weights.into(nn.BatchNorm2d(filters), f"{scope}/norm{i}"))
                layers.append(nn.ReLU())
            self.twice.append(layers)
        self.head = weights.into(nn.Conv2d(filters, 1, 1), "head")

    def forward(self, image):
        *skips, x = self.encoder(image)
        for grow, twice in zip(self.grow, self.twice):
            x = grow(x)
            x = twice(torch.cat([skips.pop(), x], 1) if skips else x)
        return self.head(x)


def layer_norm(weights, scope):
    return weights.into(nn.LayerNorm(weights.left[scope + "/scale"].shape[0], eps=1e-5), scope)


def linear(weights, scope):
    bias = scope + "/bias" in weights.left
    return weights.into(nn.Linear(*weights.left[scope + "/kernel"].shape, bias=bias), scope)


def swin_block(weights, scope, window, heads, shift):
    size = weights.left[scope + "/norm1/scale"].shape[0]
    ratio = weights.left[scope + "/hidden/bias"].shape[0] / size
    block = SwinTransformerBlock(size, heads, [window] * 2, [shift] * 2, mlp_ratio=ratio)
    block.norm1, block.norm2 = layer_norm(weights, scope + "/norm1"), layer_norm(weights, scope + "/norm2")
    block.mlp[0], block.mlp[3] = linear(weights, scope + "/hidden"), linear(weights, scope + "/out")
    parts = [linear(weights, f"{scope}/attention/{name}") for name in ("query", "key", "value")]
    with torch.no_grad():
        block.attn.qkv.weight.copy_(torch.cat([part.weight for part in parts]))
        block.attn.qkv.bias.copy_(torch.cat([part.bias for part in parts]))
        block.attn.relative_position_bias_table.copy_(weights.take(scope + "/attention/bias_table"))
    block.attn.proj = linear(weights, scope + "/attention/output")
    return block


def swin_blocks(weights, scope, window, heads, count):
    return nn.Sequential(
        *(swin_block(weights, f"{scope}/block{i + 1}", window, heads, window // 2 * (i % 2)) for i in range(count)))


class Swin(nn.Module):
    """What each stage finds, [n, h, w, c]."""

    def __init__(self, weights, blocks, heads, window, scope=""):
        super().__init__()
        patch, _, channels, filters = weights.left[scope + "patches/kernel"].shape
        self.patches = weights.into(nn.Conv2d(channels, filters, patch, patch), scope + "patches")
        self.norm = layer_norm(weights, scope + "patches")
        self.stages = nn.ModuleList()
        for stage, count in enumerate(blocks, 1):
            here, layers = f"{scope}stage{stage}", nn.Sequential()
            if stage > 1:
                merge = PatchMerging(weights.left[here + "/merge/norm/scale"].shape[0] // 4)
                merge.norm = layer_norm(weights, here + "/merge/norm")
                merge.reduction = linear(weights, here + "/merge/reduce")
                layers.append(merge)
            layers.extend(swin_blocks(weights, here, window, heads[stage - 1], count))
            self.stages.append(layers)

    def forward(self, image):
        x, features = self.norm(self.patches(image).permute(0, 2, 3, 1)), []
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        return features


class SwinClassifier(nn.Module):
    def __init__(self, weights, image, **options):
        super().__init__()
        self.encoder = Swin(weights, **options)
        self.norm, self.head = layer_norm(weights, "norm"), linear(weights, "head")

    def forward(self, image):
        return self.head(self.norm(self.encoder(image)[-1]).mean((1, 2)))


class Expand(nn.Module):
    """PatchExpand and FinalPatchExpand_X4 of Cao et al., "Swin-Unet", 2021."""

    def __init__(self, weights, scope, factor):
        super().__init__()
        self.factor, self.expand = factor, linear(weights, scope + "/expand")
        self.norm = layer_norm(weights, scope + "/norm")

    def forward(self, x):
        n, h, w, _ = x.shape
        f = self.factor
        x = self.expand(x).view(n, h, w, f, f, -1).transpose(2, 3).reshape(n, h * f, w * f, -1)
        return self.norm(x)


class UnetSwin(nn.Module):
    def __init__(self, weights, image, blocks, heads, window, patch):
        super().__init__()
        self.encoder = Swin(weights, blocks, heads, window, "encoder/")
        self.norm, self.up_norm = layer_norm(weights, "norm"), layer_norm(weights, "up_norm")
        self.ups = nn.ModuleList()
        for level in range(len(blocks) - 1, 0, -1):
            up = f"up{level}"
            self.ups.append(nn.ModuleList([
                Expand(weights, up, 2), linear(weights, up + "/join"),
                swin_blocks(weights, up, window, heads[level - 1], blocks[level - 1])]))
        self.patches, self.head = Expand(weights, "patches", patch), linear(weights, "head")

    def forward(self, image):
        *skips, x = self.encoder(image)
        x = self.norm(x)
        for expand, join, blocks in self.ups:
            x = blocks(join(torch.cat([expand(x), skips.pop()], -1)))
        return self.head(self.patches(self.up_norm(x)))


def classifier(module, **options):
    def peer(weights, features):
        built = module(weights, features["image"], **options)
        return built, lambda f: {"logits of probabilities": built(f["image"].movedim(-1, 1))}
    return peer


resnest = functools.partial(classifier, ResnestClassifier)
swin = functools.partial(classifier, SwinClassifier)


def unet_resnest(**options):
    def peer(weights, features):
        module = UnetResnest(weights, features["image"], **options)
        return module, lambda f: {"logits of probability": module(f["image"].movedim(-1, 1)).movedim(1, -1)}
    return peer


def unet_swin(**options):
    def peer(weights, features):
        module = UnetSwin(weights, features["image"], **options)
        return module, lambda f: {"logits of probability": module(f["image"].movedim(-1, 1))}
    return peer


class Unet(nn.Module):
    def __init__(self, weights, channels, dimensions):
        super().__init__()
        self.conv = getattr(nn, f"Conv{dimensions}d")
        self.grow = getattr(nn, f"ConvTranspose{dimensions}d")
        self.norm = getattr(nn, f"BatchNorm{dimensions}d")
        self.pool = getattr(nn, f"MaxPool{dimensions}d")(2)
        filters = weights.left["down1/conv1/kernel"].shape[-1]
        self.depth = sum(f"down{i}/conv1/kernel" in weights.left for i in range(1, 17))
        self.ways = nn.ModuleDict()
        for level in range(1, self.depth + 1):
            self.ways[f"down{level}"] = self.twice(weights, channels, filters, f"down{level}")
            channels, filters = filters, 2 * filters
        self.ways["bottom"] = self.twice(weights, channels, filters, "bottom")
        for level in range(self.depth, 0, -1):
            up = f"up{level}"
            self.ways[f"grow{level}"] = weights.into(self.grow(filters, filters // 2, 2, 2), up + "/grow")
            self.ways[up] = self.twice(weights, filters, filters // 2, up)
            filters //= 2
        self.head = weights.into(self.conv(filters, 1, 1), "head")

    def twice(self, weights, channels, filters, scope):
        layers = []
        for i in (1, 2):
            bias = f"{scope}/conv{i}/bias" in weights.left
            layers.append(weights.into(self.conv(channels, filters, 3, padding=1, bias=bias), f"{scope}/conv{i}"))
            if not bias:
                layers.append(weights.into(self.norm(filters), f"{scope}/norm{i}"))
            layers.append(nn.ReLU())
            channels = filters
        return nn.Sequential(*layers)

    def forward(self, x):
        skips = []
        for level in range(1, self.depth + 1):
            skips.append(self.ways[f"down{level}"](x))
            x = self.pool(skips[-1])
        x = self.ways["bottom"](x)
        for level in range(self.depth, 0, -1):
            x = self.ways[f"grow{level}"](x)
            x = self.ways[f"up{level}"](torch.cat([skips[level - 1], x], 1))
        return self.head(x)


def unet(weights, features):
    image = features["image"]
    module = Unet(weights, image.shape[-1], image.dim() - 2)
    return module, lambda f: {"logits of probability": module(f["image"].movedim(-1, 1)).movedim(1, -1)}
