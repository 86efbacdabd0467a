"""onnx.checker accepts each exported model, and onnxruntime computes what Belfry predicts.

The largest difference may be 1e-4 of the largest value.
"""
import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime
from safetensors.numpy import load_file


def difference(found, expected, largest):
    assert found.shape == expected.shape, f"{found.shape} is not {expected.shape}"
    assert found.dtype == expected.dtype, f"{found.dtype} is not {expected.dtype}"
    if expected.dtype.kind != "f":
        return float((found != expected).mean())
    assert numpy.isfinite(found).all(), f"{found} is not finite"  # max() may drop what is not
    return float(numpy.abs(found - expected).max() / largest)


def check(folder):
    path = next(folder.glob("*/model.onnx"))
    onnx.checker.check_model(str(path), full_check=True)
    properties = {p.key: p.value for p in onnx.load(path).metadata_props}
    assert properties == {"belfry.preparation": '{"name":"to_float"}'}, properties
    inputs = load_file(folder / "inputs.safetensors")
    expected = load_file(folder / "outputs.safetensors")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    fed = {i.name: inputs[i.name] if i.name in inputs else expected["drawn:" + i.name]
           for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    assert sorted(names) == sorted(expected), f"{names} are not {list(expected)}"
    found = dict(zip(names, session.run(names, fed)))
    alike = folder.name == "baseline"  # predicts the same for all rows
    for name, x in expected.items():  # or a model that computes nothing would pass
        computed = numpy.isfinite(x).all() and (alike or x.std() > 1e-3)
        assert x.dtype.kind != "f" or computed, f"{name}: {x}"
    # A batch of one example gives the first row of the larger one.
    single = dict(zip(names, session.run(names, {name: x[:1] for name, x in fed.items()})))
    worst = {}
    for name, x in expected.items():
        largest = numpy.abs(x).max()  # of the whole batch, for its first row too
        worst[name] = max(difference(found[name], x, largest),
                          difference(single[name], x[:1], largest))
    ops = [n.op_type for n in onnx.load(path).graph.node]
    print(f"{folder.name}: {len(ops)} ops, {ops.count('Transpose')} of them Transpose; worst", worst)
    return max(worst.values())


failed = [f.name for f in sorted(Path(sys.argv[1]).iterdir()) if not check(f) <= 1e-4]
sys.exit(f"differ: {', '.join(failed)}" if failed else 0)
