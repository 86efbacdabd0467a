"""The safetensors package reads a checkpoint with every type, and writes what write_safetensors.cpp reads back.

numpy has no bfloat16: its bits are compared, as deserialize() gives them.
"""
import sys
from pathlib import Path

import numpy as np
from safetensors import deserialize, safe_open, serialize_file
from safetensors.numpy import load_file, save_file

folder = Path(sys.argv[1])
inf = np.inf
values = {
    "f64": np.array([0.1, -0.0, inf, -inf, 2.0**-1074, np.finfo(np.float64).max], np.float64),
    "f32": np.array([0.1, -0.0, inf, -inf, 2.0**-149, np.finfo(np.float32).max], np.float32),
    # 0.1 is 1.6 * 2^-4: 1.1001101b, rounded to 7 bits behind the point, with the exponent 123.
    "bf16": np.array([123 << 7 | 0b1001101, 1 << 15, 255 << 7, 1 << 15 | 255 << 7, 1, 254 << 7 | 127],
                     np.uint16),
    "f16": np.array([0.1, -0.0, inf, -inf, 2.0**-24, 65504], np.float16),
    "i64": np.array([0, -1, -(2**63), -7, 2**40, 2**63 - 1], np.int64),
    "i32": np.array([0, -1, -(2**31), -7, 2**20, 2**31 - 1], np.int32),
    "u8": np.array([0, 1, 127, 128, 254, 255], np.uint8),
    "bool": np.array([False, True, False, False, False, True]),
}
expected = {"scope/ünï": np.array(0x7FC00123, np.uint32).view(np.float32)}
for name, six in values.items():
    expected[f"{name}/values"] = six.reshape(2, 3)
    expected[f"{name}/scalar"] = six[-1].reshape(())
    expected[f"{name}/none"] = np.zeros([0], six.dtype)
    expected[f"{name}/hollow"] = np.zeros([3, 0, 2], six.dtype)
in_file = {"f64": "F64", "f32": "F32", "bf16": "BF16", "f16": "F16", "i64": "I64", "i32": "I32",
           "u8": "U8", "bool": "BOOL", "scope": "F32"}


def check_equal(name, found):
    want = expected[name]
    assert found.shape == want.shape, f"{name}: {found.shape}"
    assert found.dtype == want.dtype, f"{name}: {found.dtype}"
    assert found.tobytes() == want.tobytes(), f"{name}: {found}"


path = folder / "checkpoint.safetensors"
with safe_open(path, framework="np") as file:
    assert sorted(file.keys()) == sorted(expected), file.keys()
    metadata = file.metadata()
    for name, want in expected.items():
        part = file.get_slice(name)
        assert part.get_dtype() == in_file[name.split("/")[0]], f"{name}: {part.get_dtype()}"
        assert part.get_shape() == list(want.shape), f"{name}: {part.get_shape()}"
        if not name.startswith("bf16"):
            check_equal(name, file.get_tensor(name))
wanted = {"format": "pt", "belfry.checkpoint": "1", "belfry.global_step": "12",
          "belfry.seed": str(2**64 - 1), "belfry.input": "at {7}",
          "belfry.hooks": '{"best":"{\\"loss\\": 1}"}', "belfry.config": '{"seed": 1}'}
assert {key: metadata.get(key) for key in wanted} == wanted, metadata

raw = dict(deserialize(path.read_bytes()))
for name, tensor in raw.items():
    check_equal(name, np.frombuffer(tensor["data"], expected[name].dtype).reshape(tensor["shape"]))

long_names = {"F64": "float64", "F32": "float32", "BF16": "bfloat16", "F16": "float16", "I64": "int64",
              "I32": "int32", "U8": "uint8", "BOOL": "bool"}


def as_written(dtype, array):
    return {"dtype": dtype, "shape": array.shape, "data": array.tobytes()}


serialize_file({name: {"dtype": long_names[t["dtype"]], "shape": t["shape"], "data": bytes(t["data"])}
                for name, t in raw.items()}, folder / "rewritten.safetensors", metadata)
serialize_file({name: as_written("bfloat16" if name.startswith("bf16") else array.dtype.name, array)
                for name, array in expected.items()}, folder / "python.safetensors", None)

t = np.arange(8, dtype=np.uint8)
foreign = {"I8": t.view(np.int8), "I16": t.view(np.int16), "U16": t.view(np.uint16),
           "U32": t.view(np.uint32), "U64": t.view(np.uint64)}
for name, array in foreign.items():
    file = folder / f"foreign-{name}.safetensors"
    save_file({"t": array}, file)
    assert load_file(file)["t"].tobytes() == t.tobytes()
for name, dtype in {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
                    "F4": "float4_e2m1fn_x2"}.items():
    serialize_file({"t": as_written(dtype, t)}, folder / f"foreign-{name}.safetensors", None)
print(f"{len(expected)} tensors, {len(foreign) + 4} of types that Belfry does not have")
