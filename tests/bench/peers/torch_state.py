"""Writes the state_dict() of a small PyTorch module, and what it computes of an image:
tests/framework/train/pytorch/ was made so.

    python3 -m venv venv && venv/bin/pip install torch safetensors
    venv/bin/python tests/bench/peers/torch_state.py FOLDER
"""

import collections
import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn


def main(folder):
    torch.manual_seed(1)
    module = nn.Sequential(collections.OrderedDict(
        conv=nn.Conv2d(2, 3, 3, padding=1), norm=nn.BatchNorm2d(3), relu=nn.ReLU(),
        depthwise=nn.Conv2d(3, 6, 3, padding=1, groups=3), up=nn.ConvTranspose2d(6, 4, 2, 2),
        flatten=nn.Flatten(), fc=nn.Linear(4 * 4 * 6, 5))).eval()
    nn.init.uniform_(module.norm.running_mean, -0.5, 0.5)
    nn.init.uniform_(module.norm.running_var, 0.5, 1.5)
    nn.init.uniform_(module.norm.weight, 0.5, 1.5)
    nn.init.uniform_(module.norm.bias, -0.5, 0.5)
    os.makedirs(folder, exist_ok=True)
    save_file(module.state_dict(), f"{folder}/weights.safetensors")
    image = torch.randn(3, 2, 2, 3)
    with torch.no_grad():
        predictions = {"image": image.movedim(1, -1).contiguous(), "logits": module(image)}
    save_file(predictions, f"{folder}/predictions.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
