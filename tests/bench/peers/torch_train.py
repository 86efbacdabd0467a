"""Trains in PyTorch what train_speed trains, on the weights and batches that it wrote.

    train_speed --model lenet --exchange DIR --steps 17
    python torch_train.py --model lenet --exchange DIR --steps 17

Modules are channels-last, optimizers fused, models in bf16 under autocast. Prints one JSON object: the
median time of a step, CPU time, and the losses of the first 20 steps. A step of a GAN is a round.
"""

import argparse
import dataclasses
import json
import statistics
import time

import torch
import torch.nn.functional as F
from safetensors.numpy import load_file
from torch import nn

import classifier_peers as images

WARM_UP, KEPT_LOSSES = 3, 20


@dataclasses.dataclass
class Update:
    """What a step does to some parameters; each update takes a batch of its own."""
    module: nn.Module
    loss: object  # of a batch
    optimizer: dict  # as models::make() has it


# ---- what is trained: each a function of Weights, a batch, and the model's options, to updates

def learn(peer, loss):
    def updates(weights, batch, options):
        module, forward = peer(weights, batch)
        return [Update(module, lambda f: loss(*forward(f).values(), f), options["optimizer"])]
    return updates


def classify(peer):
    return learn(peer, lambda logits, f: F.cross_entropy(logits.float(), f["label"]))


def mark(logits, f):
    """mask_spec()'s loss: cross-entropy and Dice."""
    logits, mask = logits.float(), f["mask"]
    p, t = logits.sigmoid().flatten(1), mask.flatten(1)
    dice = 1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)
    return F.binary_cross_entropy_with_logits(logits, mask) + dice.mean()


def resnet18():
    from torchvision.models import resnet18
    return classify(images.resnet(resnet18, 2, small=True))


def resnet50():
    from torchvision.models import resnet50
    return classify(images.resnet(resnet50, 3))


def mobilenet():
    from torchvision.models import mobilenet_v2
    return classify(images.mobilenet(mobilenet_v2))


def swin():
    from encoder_peers import swin
    return classify(swin(blocks=[2, 2, 6, 2], heads=[3, 6, 12, 24], window=7))


def unet():
    from encoder_peers import unet
    return learn(unet, mark)


def transformer():
    from sequence_peers import transformer
    return lambda weights, batch, options: classify(transformer("token", options["heads"]))(weights, batch, options)


def gpt():
    from sequence_peers import Gpt

    def updates(weights, batch, options):
        module = Gpt(weights, options["heads"])
        return [Update(module, lambda f: F.cross_entropy(module(f["token"]).float().flatten(0, 1), f["label"].flatten()),
                       options["optimizer"])]
    return updates


def acoustic():
    from sequence_peers import acoustic

    def updates(weights, batch, options):
        module, _ = acoustic(strides=[2])(weights, batch)
        layers, head = module[:-2], module[-1]

        def loss(f):
            """All rows are full."""
            logits = head(layers(f["audio"].movedim(-1, 1)).movedim(1, -1))
            chances = logits.float().log_softmax(-1).transpose(0, 1)
            lengths = torch.full([len(logits)], logits.shape[1])
            return F.ctc_loss(chances, f["label"], lengths, f["label_length"], reduction="none").mean()

        return [Update(module, loss, options["optimizer"])]
    return updates


def tables():
    from table_peers import Deep

    def updates(weights, batch, options):
        names = [f"c{i}" for i in range(26)]
        columns = {"numeric": [{"feature": "numbers"}],
                   "categorical": [{"feature": name, "categories": None} for name in names]}
        module = Deep(weights, "deep", columns)
        for part in module.modules():
            if isinstance(part, nn.EmbeddingBag):
                part.sparse = True
        return [Update(module, lambda f: F.binary_cross_entropy_with_logits(module(f)[:, 0].float(), f["label"]),
                       {"name": "adagrad", "learning_rate": 0.05})]
    return updates


def dcgan():
    from gan_peers import gan
    adam = {"name": "adam", "learning_rate": 2e-4, "beta1": 0.5}

    def updates(weights, batch, options):
        networks, _ = gan()(weights, batch)
        generator, judge = networks["generator"], networks["discriminator"]

        def said(images, truth):
            logits = judge(images).float()
            return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, truth))

        def generator_loss(f):
            return said(generator(f["noise"]), 1)

        def judge_loss(f):
            return said(f["image"].movedim(-1, 1), 1) + said(generator(f["noise"]), 0)

        return [Update(generator, generator_loss, adam), Update(judge, judge_loss, adam)]
    return updates


MODELS = {
    "mlp": lambda: classify(images.mlp), "lenet": lambda: classify(images.lenet), "resnet18": resnet18,
    "resnet50": resnet50, "mobilenet_v2": mobilenet, "swin_tiny": swin, "unet": unet, "unet3d": unet,
    "transformer": transformer, "gpt": gpt, "acoustic": acoustic, "tables": tables, "dcgan64": dcgan}


# ---- how

def optimizer_of(parameters, name, learning_rate, weight_decay=0, momentum=0.9, beta1=0.9):
    if name == "adagrad":  # no fused one takes sparse gradients
        return torch.optim.Adagrad(parameters, learning_rate, initial_accumulator_value=0.1)
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
              {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0}]
    if name == "momentum":
        return torch.optim.SGD(groups, learning_rate, momentum, fused=True)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    return kind(groups, learning_rate, (beta1, 0.999), fused=True)


def channels_last(module):
    """Layers over time or of numbers stay as they are."""
    for layer in module.modules():
        for parameter in layer.parameters(recurse=False):
            if parameter.dim() in (4, 5):
                last = torch.channels_last if parameter.dim() == 4 else torch.channels_last_3d
                parameter.data = parameter.data.contiguous(memory_format=last)


class Trainer:
    def __init__(self, model, exchange, options, bf16, compiled):
        self.batches, self.taken, self.bf16 = [], 0, bf16
        for name, array in sorted(load_file(f"{exchange}/batches").items()):
            number, feature = name.split("/")
            self.batches += [{} for _ in range(int(number) + 1 - len(self.batches))]
            self.batches[int(number)][feature] = torch.from_numpy(array)
        weights = images.Weights(load_file(f"{exchange}/weights"))
        self.updates = MODELS[model]()(weights, self.batches[0], options)
        self.all = [p for u in self.updates for p in u.module.parameters()]
        self.optimizers = [optimizer_of(list(u.module.parameters()), **u.optimizer) for u in self.updates]
        for u in self.updates:
            channels_last(u.module.train())
            if compiled:
                u.module.compile()

    def step(self):
        for update, optimizer in zip(self.updates, self.optimizers):
            if len(self.updates) > 1:  # no gradients of what is not trained now
                for parameter in self.all:
                    parameter.requires_grad_(False)
                update.module.requires_grad_(True)
            optimizer.zero_grad(set_to_none=True)
            batch = self.batches[self.taken % len(self.batches)]
            self.taken += 1
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
                loss = update.loss(batch)
            loss.backward()
            optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--exchange", required=True, help="what train_speed --exchange wrote")
    parser.add_argument("--options", default="{}", help="of the model, as train_speed has them")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    trainer = Trainer(args.model, args.exchange, json.loads(args.options), args.bf16, args.compile)
    times, cpu_times, losses = [], [], []
    for number in range(WARM_UP + args.steps):
        start, cpu_start = time.perf_counter(), time.process_time()
        losses.append(trainer.step())
        times.append(time.perf_counter() - start)
        cpu_times.append(time.process_time() - cpu_start)
        if number == 1:
            second_step = time.time()
    print(json.dumps({
        "model": args.model,
        "peer": "PyTorch " + torch.__version__,
        "ms_per_step": statistics.median(times[WARM_UP:]) * 1e3,
        "cpu_ms_per_step": statistics.median(cpu_times[WARM_UP:]) * 1e3,
        "second_step": second_step,
        "losses": losses[:KEPT_LOSSES],
    }))


if __name__ == "__main__":
    main()
