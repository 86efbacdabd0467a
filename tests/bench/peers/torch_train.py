"""The benchmark's models in PyTorch: the same layers, losses, optimizers and batches as train_speed.cpp.

Prints one JSON object: {"model": ..., "examples_per_second": ..., "ms_per_step": ...}. The median step
counts. Eager mode unless --compile; memory format as asked for by --channels_last.
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
import torch.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.fc1 = nn.Linear(7 * 7 * 64, 1024)
        self.fc2 = nn.Linear(1024, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(F.dropout(x, 0.4, self.training))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """For 32x32 images: a 3x3 stem without pooling (He et al. 2016, section 4.2)."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(64)
        blocks, inputs = [], 64
        for width, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]:
            blocks.append(Block(inputs, width, stride))
            inputs = width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.stem(x))))
        return self.head(x.mean((2, 3)))


class Tables(nn.Module):
    """models::dnn() of 13 numbers and 26 tables, whose gradients are sparse if asked for."""

    def __init__(self, rows, sparse):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, 16, mode="sum", sparse=sparse) for _ in range(26))
        self.layers = nn.Sequential(nn.Linear(13 + 26 * 16, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                                    nn.Linear(128, 1))

    def forward(self, x):
        numbers, ids = x
        found = [table(column[:, None]) for table, column in zip(self.tables, ids)]
        return self.layers(torch.cat([numbers, *found], 1))[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["lenet", "resnet18", "tables"], required=True)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--rows", type=int, default=100_000, help="of each table")
    parser.add_argument("--sparse", action="store_true", help="gradients of tables")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--channels_last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    if args.model == "lenet":
        model, shape = LeNet(), (1, 28, 28)
        make_optimizer = lambda p: torch.optim.Adam(p, lr=1e-3)
    elif args.model == "tables":
        model = Tables(args.rows, args.sparse)
        make_optimizer = lambda p: torch.optim.Adagrad(p, lr=0.05, initial_accumulator_value=0.1)
    else:
        model, shape = ResNet18(), (3, 32, 32)
        make_optimizer = lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=5e-4)
    n = args.batch_size
    if args.model == "tables":
        batches = [((torch.rand(n, 13), list(torch.randint(0, args.rows, (26, n)))),
                    torch.randint(0, 2, (n,)).float()) for _ in range(32)]
        loss_of = F.binary_cross_entropy_with_logits
    else:
        batches = [(torch.rand(n, *shape), torch.randint(0, 10, (n,)))]
        loss_of = F.cross_entropy
    if args.channels_last:
        model = model.to(memory_format=torch.channels_last)
        batches = [(x.to(memory_format=torch.channels_last), y) for x, y in batches]
    optimizer = make_optimizer(model.parameters())
    run = torch.compile(model) if args.compile else model

    def step(number):
        x, y = batches[number % len(batches)]
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(run(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    for i in range(3):
        step(i)
    times, cpu = [], time.process_time()
    for i in range(args.steps):
        start = time.perf_counter()
        step(3 + i)
        times.append(time.perf_counter() - start)
    cpu = (time.process_time() - cpu) / args.steps
    median = statistics.median(times)
    print(json.dumps({
        "model": args.model,
        "peer": "torch " + torch.__version__,
        "examples_per_second": args.batch_size / median,
        "ms_per_step": median * 1e3,
        "cpu_ms_per_step": cpu * 1e3,
    }))


if __name__ == "__main__":
    main()
