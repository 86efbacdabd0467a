"""Residual networks of torchvision with random weights, and what they make of two images."""
import numpy as np
import torch
import torchvision
from safetensors.torch import save_file


def write_state(name, folder):
    """Writes <folder>/<name>.safetensors, a state_dict(). Returns images [2, 224, 224, 3] and logits."""
    torch.manual_seed(1)
    model = getattr(torchvision.models, name)().eval()
    for module in model.modules():  # statistics and scales that differ from channel to channel
        if isinstance(module, torch.nn.BatchNorm2d):
            for tensor, low, high in ((module.weight, 0.5, 1.5), (module.bias, -0.1, 0.1),
                                      (module.running_mean, -0.1, 0.1), (module.running_var, 0.5, 1.5)):
                torch.nn.init.uniform_(tensor, low, high)
    save_file(model.state_dict(), f"{folder}/{name}.safetensors")
    image = np.random.default_rng(2).standard_normal((2, 224, 224, 3)).astype(np.float32)
    with torch.no_grad():
        return image, model(torch.from_numpy(image).movedim(-1, 1)).numpy()
