"""Peers of the models of tables, for forward_peers.py. They are told the columns as Belfry is, and
know those that are not hashed."""

import torch
from torch import nn

from encoder_peers import linear


class Columns(nn.Module):
    """What each column gives, [n, ?]."""

    def __init__(self, weights, scope, columns):
        super().__init__()
        self.columns, self.tables = columns, nn.ModuleDict()
        names = [c["feature"] for c in columns.get("categorical", [])]
        for name in names + ["_x_".join(c["features"]) for c in columns.get("crossed", [])]:
            table = nn.EmbeddingBag(*weights.left[f"{scope}/{name}/table"].shape, mode="sum")
            self.tables[name] = weights.into(table, f"{scope}/{name}")

    def forward(self, features):
        numbers, categories, count = [], {}, {}
        for c in self.columns.get("numeric", []):
            x = features[c["feature"]].reshape(len(features[c["feature"]]), -1)
            numbers.append((x - c.get("mean", 0)) / c.get("deviation", 1))
        for c in self.columns.get("categorical", []):
            name, x = c["feature"], features[c["feature"]]
            if "boundaries" in c:
                x = torch.bucketize(x, torch.tensor(c["boundaries"], dtype=x.dtype), right=True)
            categories[name] = x.reshape(len(x), -1)
            count[name] = c["categories"] if "categories" in c else len(c["boundaries"]) + 1
        for c in self.columns.get("crossed", []):
            first, *rest = c["features"]
            x = categories[first]
            for name in rest:
                x = x * count[name] + categories[name]
            categories["_x_".join(c["features"])] = x
        return numbers + [self.tables[name](x) for name, x in categories.items()]


class Linear(nn.Module):
    def __init__(self, weights, scope, columns):
        super().__init__()
        self.columns = Columns(weights, scope, columns)
        self.numbers = linear(weights, scope + "/numeric")
        self.bias = nn.Parameter(weights.take(scope + "/bias"))

    def forward(self, features):
        count = len(self.columns.columns["numeric"])
        found = self.columns(features)
        return self.bias + self.numbers(torch.cat(found[:count], 1)) + sum(found[count:])


class Deep(nn.Module):
    def __init__(self, weights, scope, columns):
        super().__init__()
        self.columns = Columns(weights, scope + "/columns", columns)
        self.layers, number = nn.Sequential(), 1
        while f"{scope}/hidden{number}/kernel" in weights.left:
            self.layers.extend([linear(weights, f"{scope}/hidden{number}"), nn.ReLU()])
            number += 1
        self.layers.append(linear(weights, scope + "/logits"))

    def forward(self, features):
        return self.layers(torch.cat(self.columns(features), 1))


def model(classes=1, **parts):
    """The sum of parts, each the kind of a module and its columns, by scope: what Belfry calls linear,
    dnn and wide_deep."""
    def peer(weights, features):
        modules = nn.ModuleList(kind(weights, scope, columns) for scope, (kind, columns) in parts.items())

        def forward(f):
            logits = sum(module(f) for module in modules)
            return {"logits of probabilities": logits} if classes > 1 else {"logits of probability": logits[:, 0]}

        return modules, forward
    return peer
