"""The models of gpu_speed in PyTorch, on the same GPU: `gpu_torch.py [MODEL...]`.

For each model and way to run it (op by op, as a CUDA graph, compiled) one line of JSON with the
median of steps timed by events, the batch lying on the GPU already. First the card's own limits: a
copy and a matrix product. f32 means TF32 for products, as in Belfry.
"""

import argparse
import json
import statistics

import torch
import torchvision
from torch import nn

STEPS, WARM_UP = 50, 10


def milliseconds(step, steps=STEPS):
    for _ in range(WARM_UP):
        step()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))


def limits():
    source = torch.randn(1 << 30, dtype=torch.bfloat16, device="cuda")
    target = torch.empty_like(source)
    copied = 2 * source.numel() * source.element_size()
    a = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "copy_tb_per_second": copied / milliseconds(lambda: target.copy_(source)) / 1e9,
        "matmul_tflops": 2 * 8192**3 / milliseconds(lambda: a @ a) / 1e9,
    }


class TwoConvolutions(nn.Sequential):
    def __init__(self, channels, filters):
        layers = []
        for inputs in (channels, filters):
            layers += [
                nn.Conv3d(inputs, filters, 3, padding=1, bias=False),
                nn.BatchNorm3d(filters),
                nn.ReLU(inplace=True),
            ]
        super().__init__(*layers)


class UNet3d(nn.Module):
    """Four levels, as `unet3d` in gpu_speed.cpp."""

    widths = (16, 32, 64, 128)

    def __init__(self):
        super().__init__()
        inputs = (1,) + self.widths[:-1]
        self.down = nn.ModuleList(map(TwoConvolutions, inputs, self.widths))
        pairs = list(zip(self.widths[1:], self.widths))[::-1]
        self.widen = nn.ModuleList(nn.ConvTranspose3d(a, b, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(TwoConvolutions(2 * b, b) for _, b in pairs)
        self.out = nn.Conv3d(self.widths[0], 2, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else nn.functional.max_pool3d(x, 2))
            skips.append(x)
        for widen, block, skip in zip(self.widen, self.up, skips[-2::-1]):
            x = block(torch.cat((widen(x), skip), 1))
        return self.out(x)


def mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


class Generator(nn.Sequential):
    """DCGAN of 64 x 64 pixels (Radford et al., 2016), as PyTorch's example."""

    def __init__(self):
        layers, channels = [nn.ConvTranspose2d(100, 512, 4, bias=False)], 512
        for filters in (256, 128, 64, 3):
            layers += [nn.BatchNorm2d(channels), nn.ReLU()]
            layers.append(nn.ConvTranspose2d(channels, filters, 4, 2, 1, bias=False))
            channels = filters
        super().__init__(*layers, nn.Tanh())


class Discriminator(nn.Sequential):
    def __init__(self):
        layers, channels = [], 3
        for filters in (64, 128, 256, 512):
            layers.append(nn.Conv2d(channels, filters, 4, 2, 1, bias=False))
            if channels > 3:
                layers.append(nn.BatchNorm2d(filters))
            layers.append(nn.LeakyReLU(0.2))
            channels = filters
        super().__init__(*layers, nn.Conv2d(channels, 1, 4, bias=False))


# model: (module, image, labels' shape and number, precision, batch, memory format)
MODELS = {
    "mlp": (mlp, (1, 28, 28), (), 10, "f32", 128, torch.contiguous_format),
    "resnet50": (torchvision.models.resnet50, (3, 224, 224), (), 1000, "bf16", 256, torch.channels_last),
    "unet3d": (UNet3d, (1, 128, 128, 128), (128, 128, 128), 2, "bf16", 1, torch.channels_last_3d),
}


class Training:
    def __init__(self, name, compiled=False):
        module, image, places, classes, precision, batch, layout = MODELS[name]
        self.precision, self.batch = precision, batch
        self.x = torch.randn(batch, *image, device="cuda").to(memory_format=layout)
        self.labels = torch.randint(0, classes, (batch, *places), device="cuda")
        self.module = module().cuda().to(memory_format=layout)
        if name == "resnet50":
            options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4}
        else:
            options = {"lr": 0.01}
        self.optimizer = torch.optim.SGD(self.module.parameters(), fused=True, **options)
        self.forward = torch.compile(self.module) if compiled else self.module

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.precision == "bf16"):
            loss = nn.functional.cross_entropy(self.forward(self.x), self.labels)
        loss.backward()
        self.optimizer.step()


class GanTraining:
    """A step is a round: the generator's update, then the discriminator's, each on its own noise."""

    precision, batch = "bf16", 64

    def __init__(self, compiled=False):
        last = torch.channels_last
        self.networks = [m.cuda().to(memory_format=last) for m in (Generator(), Discriminator())]
        self.optimizers = [
            torch.optim.Adam(m.parameters(), 2e-4, (0.5, 0.999), fused=True, capturable=True)
            for m in self.networks
        ]
        self.real = torch.randn(self.batch, 3, 64, 64, device="cuda").to(memory_format=last)
        self.generate, self.judge = map(torch.compile, self.networks) if compiled else self.networks

    def said(self, images, truth):
        logits = self.judge(images)
        return nn.functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, truth))

    def __call__(self):
        for number, optimizer in enumerate(self.optimizers):
            for network, module in enumerate(self.networks):
                module.requires_grad_(network == number)
            optimizer.zero_grad(set_to_none=False)
            with torch.autocast("cuda", torch.bfloat16):
                noise = torch.randn(self.batch, 100, 1, 1, device="cuda")
                images = self.generate(noise)
                if number == 0:
                    loss = self.said(images, 1)
                else:
                    loss = self.said(self.real, 1) + self.said(images, 0)
            loss.backward()
            optimizer.step()


def captured(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(name, way):
    compiled = way == "compiled"
    training = GanTraining(compiled) if name == "dcgan64" else Training(name, compiled)
    time = milliseconds(captured(training) if way == "graph" else training)
    return {
        "model": name,
        "batch_size": training.batch,
        "precision": training.precision,
        "way": way,
        "examples_per_second": round(training.batch / time * 1e3),
        "us_per_step": round(time * 1e3, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[*MODELS, "dcgan64"])
    parser.add_argument("--ways", default="eager,graph,compiled")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    print(json.dumps(limits()), flush=True)
    for name in arguments.models:
        for way in arguments.ways.split(","):
            print(json.dumps(measure(name, way)), flush=True)


if __name__ == "__main__":
    main()
