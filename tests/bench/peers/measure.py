"""Measures the rows of rows.py and prints their table: see ../run.sh, which calls it.

Each round runs Belfry and PyTorch one after the other, the other way round in every second round, with
each number of threads. A side's time in a round is that of the number of threads which was faster; its
CPU time is that of one thread. The table has medians, and of the ratios of rounds the lowest and highest.
Both sides begin with the same weights and batches, and their losses after 20 steps are compared.
"""

import argparse
import dataclasses
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

from rows import ROWS, PipelineRow, Row, StartRow

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_UP = 3  # steps of train_speed and torch_train.py that are not timed
# How far losses may part, as shares of the first one.
TOLERANCE, BF16_TOLERANCE = 0.02, 0.1


@dataclasses.dataclass
class Sample:
    """What a side took in a round, in seconds."""
    wall: float = math.inf
    cpu: float = math.nan
    gflops: float = math.nan
    losses: tuple = dataclasses.field(default=(), repr=False)


class Machine:
    """Runs the programs of both sides."""

    def __init__(self, args):
        self.args, self.peer_name = args, "PyTorch"

    def run(self, command, peer):
        environment = dict(os.environ)
        if peer:
            environment.update(LD_PRELOAD=":".join(self.args.preload), KMP_BLOCKTIME="1", THP_MEM_ALLOC_ENABLE="1")
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
        lines = done.stdout.strip().splitlines()
        if done.returncode != 0 or not lines:
            reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise RuntimeError(f"{'PyTorch' if peer else 'Belfry'} failed: {reason}")
        result = json.loads(lines[-1])
        self.peer_name = result.get("peer", self.peer_name) if peer else self.peer_name
        return result

    def ours(self, program, *words):
        return self.run([os.path.join(self.args.build, program), *words], peer=False)

    def theirs(self, program, *words):
        return self.run([self.args.python, os.path.join(HERE, program), *words], peer=True)


class Training:
    def __init__(self, machine, row, folder):
        config = dict(machine.args.config)
        if row.bf16:
            config["precision"] = "bf16"
        self.bf16 = config.get("precision") == "bf16"
        self.machine, self.row, self.folder = machine, row, folder
        options = dict(row.options, optimizer=row.optimizer) if row.optimizer else row.options
        self.common = ["--model", row.model, "--options", json.dumps(options)]
        self.alone = ["--batch_size", row.batch_size, *row.more, "--config", json.dumps(config)]

    def train(self, peer, threads, steps, exchange=False):
        words = [*self.common, "--threads", threads, "--steps", steps]
        if peer:
            return self.machine.theirs(
                "torch_train.py", *words, "--exchange", self.folder, *["--bf16"] * self.bf16)
        return self.machine.ours("train_speed", *words, *self.alone, *["--exchange", self.folder] * exchange)

    def sample(self, peer, first):
        """Belfry's first one writes what PyTorch begins with; first ones have steps enough for losses."""
        args, out = self.machine.args, Sample()
        for threads in args.threads or self.row.threads:
            steps = args.steps or self.row.steps
            result = self.train(peer, threads, max(steps, args.loss_steps - WARM_UP) if first else steps, first)
            seconds = result["ms_per_step"] / 1e3
            if seconds < out.wall:
                out.wall, out.gflops = seconds, result.get("gflops", math.nan)
            if threads == 1:
                out.cpu = result["cpu_ms_per_step"] / 1e3
            out.losses = result["losses"][:args.loss_steps]
        return out

    def compare_losses(self, ours, theirs):
        tolerance = (BF16_TOLERANCE if self.bf16 else TOLERANCE) * abs(ours[0])
        agree = abs(ours[0] - theirs[0]) <= tolerance and abs(ours[-1] - theirs[-1]) <= tolerance
        return f"{ours[0]:.4g} to {ours[-1]:.4g}, {theirs[-1]:.4g}" + ("" if agree else " **differ**")


class Pipeline:
    def __init__(self, machine, row, folder):
        self.machine, self.row = machine, row
        if row.case == "photos" and not machine.args.photos:
            raise RuntimeError("needs --photos, a folder of JPEG files")

    def sample(self, peer, first):
        words = ["--case", self.row.case, "--threads", 2, "--seconds", self.machine.args.seconds]
        if self.row.case == "photos":
            words += ["--photos", self.machine.args.photos]
        result = (self.machine.theirs("pipeline_peers.py", "--peer", "torch", *words) if peer
                  else self.machine.ours("pipeline_speed", *words))
        return Sample(wall=1 / result["per_second"])


class Start:
    def __init__(self, machine, row, folder):
        self.training = Training(machine, next(r for r in ROWS if r.name == row.of), folder)
        self.training.train(False, 2, 1, exchange=True)  # writes what the peer reads

    def sample(self, peer, first):
        if peer:
            begin = time.time()
            return Sample(wall=self.training.train(True, 2, 1)["second_step"] - begin)
        words = [*self.training.common, "--batch_size", self.training.row.batch_size, "--threads", 2]
        return Sample(wall=self.training.machine.ours(
            "start_speed", *words, "--began", time.monotonic())["second_ms"] / 1e3)


KINDS = {Row: Training, PipelineRow: Pipeline, StartRow: Start}


def measure(machine, row):
    """The row's line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        work, pairs = KINDS[type(row)](machine, row, folder), []
        for number in range(machine.args.rounds):
            pair = {}
            for peer in (False, True) if number % 2 == 0 else (True, False):
                pair[peer] = work.sample(peer, first=number == 0)
            pairs.append((pair[False], pair[True]))
            print(f"{row.name}, round {number + 1}: {pair[False]}, {pair[True]}", file=sys.stderr, flush=True)
    first_ours, first_theirs = (side.losses for side in pairs[0])
    return table_line(row, pairs, work.compare_losses(first_ours, first_theirs) if first_ours else "")


# ---- the table

def duration(seconds):
    for unit, scale in ("s", 1), ("ms", 1e3), ("us", 1e6):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def spread(ratios):
    if any(math.isnan(ratio) for ratio in ratios):
        return ""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def table_line(row, pairs, losses):
    ours, theirs = (statistics.median(side.wall for side in sides) for sides in zip(*pairs))
    gflops = statistics.median(a.gflops for a, _ in pairs)
    rates = "" if math.isnan(gflops) else f"{gflops:.3g}, {gflops * ours / theirs:.3g}"
    return (f"| {row.title} | {duration(ours)} | {duration(theirs)} | {spread([b.wall / a.wall for a, b in pairs])} | "
            f"{spread([b.cpu / a.cpu for a, b in pairs])} | {row.bar} | {rates} | {losses} |")


def processor():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else platform.processor()


def print_head(machine, limits):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    git = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    commit, policy = git.stdout.strip() or "unknown", os.environ.get("OMP_WAIT_POLICY", "not set")
    preloaded = map(os.path.basename, machine.args.preload)
    print(f"{time.strftime('%Y-%m-%d')}. {processor()}, {memory:.0f} GiB, {platform.platform()}. Load before "
          f"and after: {machine.load_before:.1f}, {os.getloadavg()[0]:.1f}. Rounds: {machine.args.rounds}.\n")
    print(f"Belfry at commit {commit}, OMP_WAIT_POLICY {policy}. {machine.peer_name}, tuned: channels-last, fused "
          f"optimizers, bf16 by autocast, KMP_BLOCKTIME=1, THP_MEM_ALLOC_ENABLE=1, "
          f"preloaded {' and '.join(preloaded) or 'nothing'}.\n")
    print(f"Limits measured before: multiply-adds in f32, {limits['gflops_one']} GFLOP/s on one thread and "
          f"{limits['gflops_all']} on {limits['threads']}; memory, {limits['gb_per_second_one']} and "
          f"{limits['gb_per_second_all']} GB/s. Rates of convolutions count the products of the direct method.\n")
    print("| work | Belfry | PyTorch | PyTorch / Belfry | of CPU time, one thread | bar | GFLOP/s: Belfry, PyTorch | "
          "loss: first to last of Belfry, PyTorch |\n|---|---|---|---|---|---|---|---|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="folder of train_speed and the others")
    parser.add_argument("--python", default=sys.executable, help="with torch")
    parser.add_argument("--preload", default="", help="libraries for PyTorch, separated by colons")
    parser.add_argument("--rows", default="", help="names, separated by commas; default: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=0, help="timed in each run; default: the row's own number")
    parser.add_argument("--loss_steps", type=int, default=20, help="before losses are compared, at most 20")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")],
                        help="of training, in place of each row's: 1 alone where the machine is busy")
    parser.add_argument("--seconds", type=float, default=4, help="of each run of a pipeline")
    parser.add_argument("--config", type=json.loads, default={}, help="RunConfig fields for all rows, as JSON")
    parser.add_argument("--photos", default="", help="folder of JPEG files for the row photos")
    args = parser.parse_args()
    names = args.rows.split(",") if args.rows else [row.name for row in ROWS]
    unknown = set(names) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no rows {', '.join(unknown)}; there are {', '.join(row.name for row in ROWS)}")

    args.preload = [path for path in args.preload.split(":") if os.path.exists(path)]
    machine = Machine(args)
    machine.load_before = os.getloadavg()[0]
    limits = machine.ours("machine_limits", "--threads", os.cpu_count())
    lines = []
    for row in ROWS:
        if row.name not in names:
            continue
        try:
            lines.append(measure(machine, row))
        except Exception as error:  # of any row: the others go on
            text = f"{type(error).__name__}: {error}".replace("|", "/").replace("\n", " ")
            lines.append(f"| {row.title} | | | {text} | | {row.bar} | | |")
        print(lines[-1], file=sys.stderr, flush=True)
    print_head(machine, limits)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
