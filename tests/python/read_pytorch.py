"""Writes a ResNet-50 of torchvision as safetensors, two images, and its logits for them; and small
models of transformers with the logits behind two rows of tokens."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "bench" / "peers"))

import torch
from safetensors.numpy import save_file
from torchvision_state import write_state
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM


def write_language_model(model, path):
    """With weights of a size that makes rows differ."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    tokens = torch.randint(0, model.config.vocab_size, (2, 17))
    with torch.no_grad():
        logits = model.eval()(tokens).logits[:, -1].contiguous()  # safetensors writes no other right
    model.save_pretrained(path)
    save_file({"token": tokens.numpy(), "logits": logits.numpy()}, f"{path}/predictions.safetensors")


folder = sys.argv[1]
image, logits = write_state("resnet50", folder)
save_file({"image": image, "logits": logits}, f"{folder}/predictions.safetensors")
torch.manual_seed(1)
write_language_model(
    GPT2LMHeadModel(GPT2Config(vocab_size=101, n_positions=32, n_embd=48, n_layer=2, n_head=4)),
    f"{folder}/gpt2")
write_language_model(
    LlamaForCausalLM(LlamaConfig(
        vocab_size=101, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        tie_word_embeddings=False)),
    f"{folder}/llama")
