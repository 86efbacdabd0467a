"""Alternates the benchmark and its peer, and reports medians and the ratio pair by pair.

    python3 compare.py --bench build/release/tests/bench/train_speed --model lenet --rounds 7

The peer runs under --python (a virtual environment with torch). Each round runs Belfry, then PyTorch in
each memory format; PyTorch's better format of the round counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys


def run(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--model", choices=["lenet", "resnet18"], required=True)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()

    common = ["--model", args.model, "--batch_size", str(args.batch_size), "--steps", str(args.steps),
              "--threads", str(args.threads)]
    peer = [args.python, os.path.join(os.path.dirname(__file__), "torch_train.py"), *common]
    ours, theirs, ratios = [], [], []
    for number in range(args.rounds):
        a = run([args.bench, *common])
        b = max((run(peer + extra) for extra in ([], ["--channels_last"])),
                key=lambda r: r["examples_per_second"])
        ours.append(a["examples_per_second"])
        theirs.append(b["examples_per_second"])
        ratios.append(ours[-1] / theirs[-1])
        print(f"round {number + 1}: belfry {ours[-1]:.1f}, {b['peer']} {theirs[-1]:.1f} examples/s, "
              f"ratio {ratios[-1]:.2f}; {json.dumps(a)}", flush=True)
    print(f"median: belfry {statistics.median(ours):.1f}, peer {statistics.median(theirs):.1f} examples/s, "
          f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
