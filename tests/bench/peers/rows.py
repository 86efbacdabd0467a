"""What tests/bench/run.sh measures: a row for each line of its table."""

import dataclasses


@dataclasses.dataclass
class Row:
    """Training: `model`, `options` and so on are those of train_speed and torch_train.py."""
    name: str
    title: str
    bar: float  # PyTorch's time over Belfry's
    model: str
    batch_size: int
    optimizer: object = None
    options: dict = dataclasses.field(default_factory=dict)
    more: tuple = ()  # for train_speed alone
    bf16: bool = False
    threads: tuple = (1, 2)  # the faster one counts
    steps: int = 10


@dataclasses.dataclass
class PipelineRow:
    """Elements from pipeline_speed and pipeline_peers.py."""
    name: str
    title: str
    bar: float
    case: str


@dataclasses.dataclass
class StartRow:
    """Of a program, to the end of the second step of another row's training."""
    name: str
    title: str
    bar: float
    of: str


ADAM = {"name": "adam", "learning_rate": 1e-3}
SGD = {"name": "momentum", "learning_rate": 0.01}
# With 8 images a larger rate makes the losses of the first steps chaotic.
SLOW_SGD = {"name": "momentum", "learning_rate": 1e-4}

# Dropout is off, so that losses can be compared and PyTorch may take its fused attention.
ROWS = [
    Row("mlp-sgd", "MLP 784-128-10 b32, SGD with momentum", 3.3, "mlp", 32, SGD, steps=2000),
    Row("mlp-adam", "MLP 784-128-10 b32, Adam", 3.5, "mlp", 32, ADAM, steps=2000),
    Row("lenet", "MNIST CNN 32c5-64c5-1024 b64", 1.45, "lenet", 64, ADAM, {"dropout": 0}, steps=40),
    Row("resnet18", "ResNet-18 at 32x32 b64, f32", 1.7, "resnet18", 64, SGD, steps=8),
    Row("resnet18-bf16", "ResNet-18 at 32x32 b64, bf16", 1.2, "resnet18", 64, SGD, bf16=True, steps=8),
    Row("resnet50", "ResNet-50 at 224 b8, f32", 1.3, "resnet50", 8, SLOW_SGD, steps=6),
    Row("resnet50-bf16", "ResNet-50 at 224 b8, bf16", 1.2, "resnet50", 8, SLOW_SGD, bf16=True, steps=6),
    Row("dcgan", "DCGAN 64x64 b64, one round, f32", 1.2, "dcgan64", 64, steps=6),
    Row("dcgan-bf16", "DCGAN 64x64 b64, one round, bf16", 1.2, "dcgan64", 64, bf16=True, steps=6),
    Row("unet3d", "3-D U-Net 16-32-64-128 at 64^3 b1, f32", 2.0, "unet3d", 1, ADAM, {"filters": 16}, steps=8),
    Row("unet", "U-Net 2-D 31 M, 512x512, b1", 1.7, "unet", 1, ADAM, steps=4),
    Row("transformer", "Transformer encoder b16 t128", 1.5, "transformer", 16, ADAM,
        {"vocabulary": 1000, "classes": 10, "depth": 4, "width": 256, "heads": 4, "hidden": 1024, "dropout": 0},
        steps=20),
    Row("gpt", "GPT of 10 M parameters b8 t256", 1.3, "gpt", 8, ADAM,
        {"vocabulary": 1000, "context": 256, "depth": 8, "width": 320, "heads": 5, "dropout": 0}, steps=10),
    Row("swin", "Swin-T b8", 1.3, "swin_tiny", 8, {"name": "adamw", "learning_rate": 1e-4, "weight_decay": 0.05},
        steps=4),
    Row("mobilenet", "MobileNetV2 b4, one thread", 1.4, "mobilenet_v2", 4, SGD, {"dropout": 0}, threads=(1,), steps=12),
    Row("acoustic", "acoustic model with CTC b32", 1.8, "acoustic", 32, ADAM, {"dropout": 0}, steps=10),
    Row("tables", "26 tables of 100,000 rows, b256, Adagrad, against sparse gradients", 3, "tables", 256, steps=60),
    Row("small-tables", "the same, 10,000 rows", 3, "tables", 256, more=("--rows", "10000"), steps=60),
    PipelineRow("photos", "photographs to 224 floats", 1.7, "photos"),
    PipelineRow("elements", "range, map, batch", 5.5, "elements"),
    StartRow("start", "start of a program to the second step, MNIST CNN", 20, "lenet"),
]
