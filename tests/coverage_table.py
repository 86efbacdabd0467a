"""Adds up gcovr's lines and branches by folder, and lists the lines that no test runs.

    python3 coverage_table.py LINES.json FOLDER    writes FOLDER/table.md and FOLDER/missed.txt

In the folder of the sources.
"""

import collections
import itertools
import json
import pathlib
import sys


def folder_of(path):
    """framework/ops/elementwise/add.cpp is in framework/ops, data/augment/flip.cpp in data."""
    parts = pathlib.PurePath(path).parts
    return "/".join(parts[:2] if parts[0] == "framework" else parts[:1])


def lines_of(path):
    """By (file, number), whether each line is run and which of its branches are taken. Headers are
    also reached through links in framework/include: they count once, where they are."""
    root = pathlib.Path.cwd()
    lines = {}
    for file in json.loads(pathlib.Path(path).read_text())["files"]:
        name = str(pathlib.Path(file["file"]).resolve().relative_to(root))
        for line in file["lines"]:
            if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
                continue
            taken = [b["count"] > 0 for b in line["branches"] if not b.get("gcovr/excluded")]
            run, before = lines.get((name, line["line_number"]), (False, []))
            both = itertools.zip_longest(before, taken, fillvalue=False)
            lines[name, line["line_number"]] = (run or line["count"] > 0, [a or b for a, b in both])
    return lines


def main():
    lines_path, out = sys.argv[1], pathlib.Path(sys.argv[2])
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])  # lines, of them run; branches, taken
    missed = []
    for (path, number), (run, branches) in lines_of(lines_path).items():
        for name in (folder_of(path), "all"):
            total = sums[name]
            total[0] += 1
            total[1] += run
            total[2] += len(branches)
            total[3] += sum(branches)
        if not run:
            missed.append(f"{path}:{number}")
    rows = ["| folder | lines | run | branches | taken |", "|---|---|---|---|---|"]
    for name, (lines, run, branches, taken) in sorted(sums.items()):
        rows.append(f"| {name} | {lines} | {100 * run / lines:.1f} % | {branches} | "
                    f"{100 * taken / max(branches, 1):.1f} % |")
    (out / "table.md").write_text("\n".join(rows) + "\n")
    (out / "missed.txt").write_text("\n".join(sorted(missed)) + "\n")


main()
