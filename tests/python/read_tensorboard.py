"""Reads back what write_tensorboard.cpp has written, by TensorBoard's own reader: every value, and all that
TensorBoard makes of it. Expected values are computed here, by numpy or by hand."""

import math
import os
import struct
import sys
import zlib

import numpy as np
from tensorboard.backend.event_processing import event_file_loader
from tensorboard.backend.event_processing import plugin_event_accumulator as event_accumulator
from tensorboard.compat.proto import event_pb2, graph_pb2
from tensorboard.plugins.hparams import metadata as hparams
from tensorboard.plugins.pr_curve import metadata as pr_curves
from tensorboard.util import tensor_util

failures = 0


def check(what, got, expected):
    global failures
    if got != expected:
        failures += 1
        print(f"{what}:\n  got      {got}\n  expected {expected}")


def run(*path):
    """All of a folder that TensorBoard keeps, nothing sampled."""
    everything = {key: 0 for key in event_accumulator.DEFAULT_SIZE_GUIDANCE}
    accumulator = event_accumulator.EventAccumulator(os.path.join(*path), everything)
    return accumulator.Reload()


def tensors(accumulator, tag):
    return [(e.step, tensor_util.make_ndarray(e.tensor_proto)) for e in accumulator.Tensors(tag)]


def scalars(accumulator, tag):
    return [(step, value.item()) for step, value in tensors(accumulator, tag)]


def plugin(accumulator, tag):
    return accumulator.SummaryMetadata(tag).plugin_data.plugin_name


def events(folder):
    """Of each file as it stands there, in order of the names."""
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            loader = event_file_loader.LegacyEventFileLoader(os.path.join(folder, name))
            yield list(loader.Load())


def rounded(value):
    return np.float32(value).item()


def pixels(png):
    """Of a PNG image without interlace of 8 bits: [h, w, channels]. No package is needed for it."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            data += body
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    out = np.zeros((height, width * channels), np.uint8)
    for y in range(height):
        kind, line = rows[y, 0], rows[y, 1:].astype(int)
        above = out[y - 1].astype(int) if y else np.zeros_like(line)
        for i in range(width * channels):
            left = int(out[y, i - channels]) if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            guess = left + above[i] - corner
            paeth = min((left, above[i], corner), key=lambda v: abs(guess - v))
            out[y, i] = (line[i] + [0, left, above[i], (left + above[i]) // 2, paeth][kind]) % 256
    return out.reshape(height, width, channels)


def check_curve(accumulator, steps, times=1):
    """Positives score 0, 1/2, 1; negatives 1/4, 3/4; all of them `times` times. Thresholds are 0, 1/4, ..., 1."""
    check("curves' plugin", plugin(accumulator, "curve"), "pr_curves")
    content = accumulator.SummaryMetadata("curve").plugin_data.content
    check("thresholds", pr_curves.parse_plugin_metadata(content).num_thresholds, 5)
    third = rounded(1 / 3)
    counts = [[3, 2, 2, 1, 1], [2, 2, 1, 1, 0], [0, 0, 1, 1, 2], [0, 1, 1, 2, 2]]
    curve = [[times * count for count in row] for row in counts]
    curve += [[rounded(0.6), 0.5, rounded(2 / 3), 0.5, 1],
              [1, rounded(2 / 3), rounded(2 / 3), third, third]]
    check("curve", [(s, c.tolist()) for s, c in tensors(accumulator, "curve")],
          [(s, curve) for s in steps])


def check_values(folder):
    values = run(folder)
    check("tags", sorted(values.Tags()["tensors"]),
          ["cosines", "curve", "group/step", "images/1", "images/3", "images/4", "note", "odd/inf",
           "odd/nan", "sine"])
    check("steps", scalars(values, "group/step"), [(i, i) for i in range(1000)])
    near = [abs(v - math.sin(i)) < 1e-7 for i, v in scalars(values, "sine")]
    check("sines", (len(near), all(near)), (1000, True))
    check("scalars' plugin", plugin(values, "sine"), "scalars")
    check("infinity", scalars(values, "odd/inf"), [(3, math.inf)])
    check("NaN", [math.isnan(v) for _, v in scalars(values, "odd/nan")], [True])

    check("histograms' plugin", plugin(values, "cosines"), "histograms")
    for step, buckets in tensors(values, "cosines"):
        data = np.cos(np.arange(1000)) * step
        data = data.astype(np.float32).astype(np.float64)
        left, right, count = buckets.T
        counted = [np.sum((data >= a) & ((data < b) | (b == right[-1]))) for a, b in zip(left, right)]
        check(f"counts at {step}", list(count), counted)
        check(f"edges at {step}", (left[0], right[-1]), (data.min(), data.max()))
    stored = [v.histo for file in events(folder) for e in file for v in e.summary.value
              if v.tag == "cosines"]
    data = np.cos(np.arange(1000)).astype(np.float32).astype(np.float64)
    check("count", stored[0].num, 1000)
    check("sum", abs(stored[0].sum - data.sum()) < 1e-9, True)
    check("sum of squares", abs(stored[0].sum_squares - (data**2).sum()) < 1e-9, True)

    for channels in (1, 3, 4):
        tag = f"images/{channels}"
        check("images' plugin", plugin(values, tag), "images")
        [(step, (width, height, png))] = tensors(values, tag)
        check(f"size of {tag}", (step, width, height), (1, b"7", b"5"))
        expected = (7 * np.arange(35 * channels) % 256).astype(np.uint8)
        check(f"pixels of {tag}", np.array_equal(pixels(png).ravel(), expected), True)

    check("text's plugin", plugin(values, "note"), "text")
    check("text", [(s, list(v)) for s, v in tensors(values, "note")],
          [(2, ["**bold** ä\n".encode()])])

    check_curve(values, [4])


def check_training(folder):
    """Three steps, then two more by another Estimator: w is 3, 2.5, ... before them."""
    model = run(folder)
    check("loss", scalars(model, "loss"), [(i, 7 - i) for i in range(1, 6)])
    check("w", scalars(model, "w"), [(i, (7 - i) / 2) for i in range(1, 6)])
    check("rates", scalars(model, "learning_rate"), [(i, 0.25) for i in range(1, 6)])
    for tag in ("global_step/sec", "examples/sec", "input/waiting"):
        check(tag, [s for s, v in scalars(model, tag) if v >= 0], [2, 3, 5])
    check("variables", [(s, b[0].tolist(), b[-1][1]) for s, b in tensors(model, "layer/w")],
          [(s, [(w := (6 - s) / 2), w, 1.0], w) for s in (1, 3, 4)])

    # Every second step of each training, so the first of the second one too.
    shown = [(1, 3.0), (3, 2.0), (4, 1.5)]
    check("shown", scalars(model, "shown/w"), [(s, 2 * w) for s, w in shown])
    check("shown histograms", [(s, b[0][0], b[:, 2].sum()) for s, b in tensors(model, "shown/x")],
          [(s, 2, 2) for s, _ in shown])
    for i in (0, 1):
        tag = f"shown/picture/image/{i}"
        check(f"plugin of {tag}", plugin(model, tag), "images")
        got = [(s, *v[:2], pixels(v[2])) for s, v in tensors(model, tag)]
        check(f"sizes of {tag}", [(*v[:3], v[3].shape) for v in got],
              [(s, b"7", b"5", (5, 7, 3)) for s, _ in shown])
        check(f"colours of {tag}", [np.unique(v[3]).tolist() for v in got],
              [[round(255 * w / 4) * i] for _, w in shown])
    check("shown text's plugin", plugin(model, "shown/text"), "text")
    check("shown texts", [(s, list(v)) for s, v in tensors(model, "shown/text")],
          [(s, [b"*a*", b"b"]) for s, _ in shown])

    check("first records", [file[0].file_version for file in events(folder)], 2 * ["brain.Event:2"])
    sessions = [(e.step, e.session_log.status, os.path.basename(e.session_log.checkpoint_path))
                for file in events(folder) for e in file if e.HasField("session_log")]
    start, saved = event_pb2.SessionLog.START, event_pb2.SessionLog.CHECKPOINT
    check("sessions", sessions,
          [(1, start, ""), (0, saved, "checkpoint-0.safetensors"),
           (3, saved, "checkpoint-3.safetensors"), (4, start, ""),
           (5, saved, "checkpoint-5.safetensors")])

    graph = model.Graph()
    names = {node.name: node for node in graph.node}
    check("graph", (names["layer/w"].op, names["x"].op), ("variable", "input"))
    inputs = {i.split(":")[0] for node in graph.node for i in node.input}
    check("inputs are nodes", inputs - set(names), set())
    shape = names["x"].attr["_output_shapes"].list.shape[0]
    check("shape of x", [d.size for d in shape.dim], [2, 1])

    def content(tag):
        return model.SummaryMetadata(tag).plugin_data.content

    start = hparams.parse_session_start_info_plugin_data(content(hparams.SESSION_START_INFO_TAG))
    parameters = {name: getattr(value, value.WhichOneof("kind"))
                  for name, value in start.hparams.items()}
    check("hyper-parameters", parameters, {"rate": 0.25, "units": 7, "deep": False, "name": "fall"})
    end = hparams.parse_session_end_info_plugin_data(content(hparams.SESSION_END_INFO_TAG))
    check("end", (end.status, end.end_time_secs >= start.start_time_secs > 1e9), (1, True))

    # w = 1.5 after three steps, 0.5 after five, times x = 2.
    test = run(folder, "eval_test")
    check("evaluations", scalars(test, "loss"), [(3, 3), (5, 1)])
    check_curve(test, [3, 5], times=2)  # two batches
    check("evaluated", [(s, list(v)) for s, v in tensors(test, "checkpoint_path")],
          [(3, [b"checkpoint"]), (5, [b"checkpoint"])])


check_values(os.path.join(sys.argv[1], "values"))
check("restart", scalars(run(sys.argv[1], "restart"), "run"), [(1, 1), (2, 1), (3, 3), (4, 3)])
check_training(os.path.join(sys.argv[1], "model"))
if failures:
    sys.exit(f"{failures} values are not as expected")
print("TensorBoard's reader returns every value")
