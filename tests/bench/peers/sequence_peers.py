"""Peers of the acoustic model, the Transformer and GPT."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from encoder_peers import layer_norm, linear


class AcousticLayer(nn.Module):
    def __init__(self, weights, scope, stride):
        super().__init__()
        size, channels, filters = weights.left[scope + "/conv/kernel"].shape
        conv = nn.Conv1d(channels, filters, size, stride, size // 2, bias=False)
        self.layers = nn.Sequential(
            weights.into(conv, scope + "/conv"), weights.into(nn.BatchNorm1d(filters), scope + "/norm"), nn.ReLU())
        self.shortcut = stride == 1 and channels == filters

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.shortcut else y


def acoustic(strides):
    def peer(weights, features):
        module = nn.Sequential()
        while f"layer{len(module) + 1}/conv/kernel" in weights.left:
            stride = strides[len(module)] if len(module) < len(strides) else 1
            module.append(AcousticLayer(weights, f"layer{len(module) + 1}", stride))
        module.append(nn.Flatten(0, 1))
        module.append(linear(weights, "head"))

        def logits(frames):
            """Of one row without padding, [t, bands]."""
            return module[-1](module[:-2](frames.T[None])[0].T)

        def forward(f):
            rows = [logits(row[:length]) for row, length in zip(f["audio"], f["audio_length"])]
            # What stands behind a row's frames means nothing.
            all_rows = f["logits"].clone()
            for out, row in zip(all_rows, rows):
                out[:len(row)] = row
            return {"logits": all_rows, "logits_length": torch.tensor([len(row) for row in rows])}

        return module, forward
    return peer


def encoder_layer(weights, scope, heads):
    width, hidden = weights.left[scope + "/hidden/kernel"].shape
    layer = nn.TransformerEncoderLayer(
        width, heads, hidden, dropout=0, activation="gelu", batch_first=True, norm_first=True)
    layer.norm1, layer.norm2 = layer_norm(weights, scope + "/norm1"), layer_norm(weights, scope + "/norm2")
    layer.linear1, layer.linear2 = linear(weights, scope + "/hidden"), linear(weights, scope + "/output")
    parts = [linear(weights, f"{scope}/attention/{name}") for name in ("query", "key", "value")]
    output = linear(weights, scope + "/attention/output")
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        layer.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        layer.self_attn.out_proj.weight.copy_(output.weight)
        layer.self_attn.out_proj.bias.copy_(output.bias)
    return layer


def sinusoids(places, width):
    """Section 3.5 of Vaswani et al., "Attention is all you need", 2017."""
    angles = torch.arange(places, dtype=torch.float64)[:, None] / 10_000 ** (
        torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1).float()


class Transformer(nn.Module):
    def __init__(self, weights, heads):
        super().__init__()
        if "embed/table" in weights.left:
            self.embed = weights.into(nn.Embedding(*weights.left["embed/table"].shape), "embed")
        else:
            self.embed = linear(weights, "embed")
        self.positions = None
        if "positions" in weights.left:
            self.positions = nn.Parameter(weights.take("positions"))
        self.blocks = nn.ModuleList()
        while f"block{len(self.blocks) + 1}/norm1/scale" in weights.left:
            self.blocks.append(encoder_layer(weights, f"block{len(self.blocks) + 1}", heads))
        self.norm, self.head = layer_norm(weights, "norm"), linear(weights, "head")

    def forward(self, x, lengths, pool_mean):
        x = self.embed(x)
        places, width = x.shape[1:]
        if self.positions is not None:
            x = x + self.positions[:places]
        else:
            scale = math.sqrt(width) if isinstance(self.embed, nn.Embedding) else 1
            x = x * scale + sinusoids(places, width)
        padding = None if lengths is None else torch.arange(places)[None] >= lengths[:, None]
        for block in self.blocks:
            x = block(x, src_key_padding_mask=padding)
        x = self.norm(x)
        if not pool_mean:
            return self.head(x[:, 0])
        if lengths is None:
            return self.head(x.mean(1))
        return self.head(torch.stack([row[:length].mean(0) for row, length in zip(x, lengths)]))


def transformer(feature, heads, pool_mean=True):
    def peer(weights, features):
        module = Transformer(weights, heads)
        return module, lambda f: {
            "logits of probabilities": module(f[feature], f.get("length"), pool_mean)}
    return peer


class GptBlock(nn.Module):
    """Of Radford et al., "Language models are unsupervised multitask learners", 2019."""

    def __init__(self, weights, scope, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = layer_norm(weights, scope + "/norm1"), layer_norm(weights, scope + "/norm2")
        self.qkv, self.output, self.up, self.down = (
            linear(weights, f"{scope}/{name}") for name in ("attention/qkv", "attention/output", "mlp/up", "mlp/down"))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, weights, heads):
        super().__init__()
        self.embed = weights.into(nn.Embedding(*weights.left["embed/table"].shape), "embed")
        self.positions = nn.Parameter(weights.take("positions"))
        self.blocks = nn.ModuleList()
        while f"block{len(self.blocks)}/norm1/scale" in weights.left:
            self.blocks.append(GptBlock(weights, f"block{len(self.blocks)}", heads))
        self.norm = layer_norm(weights, "norm")

    def forward(self, tokens):
        x = self.embed(tokens) + self.positions[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.embed.weight)
