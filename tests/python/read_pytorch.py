"""Writes a ResNet-50 of torchvision as safetensors, two images, and its logits for them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "bench" / "peers"))

from safetensors.numpy import save_file
from torchvision_state import write_state

folder = sys.argv[1]
image, logits = write_state("resnet50", folder)
save_file({"image": image, "logits": logits}, f"{folder}/predictions.safetensors")
