"""Adds up gcovr's lines and branches by folder, and lists the lines that no test runs.

    python3 coverage_table.py LINES.json FOLDER    writes FOLDER/table.md and FOLDER/missed.txt
"""

import collections
import json
import pathlib
import sys


def folder_of(path):
    """framework/ops/elementwise/add.cpp is in framework/ops, data/augment/flip.cpp in data."""
    parts = pathlib.PurePath(path).parts
    return "/".join(parts[:2] if parts[0] == "framework" else parts[:1])


def main():
    lines_path, out = sys.argv[1], pathlib.Path(sys.argv[2])
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])  # lines, of them run; branches, taken
    missed = []
    for file in json.loads(pathlib.Path(lines_path).read_text())["files"]:
        path = file["file"]
        for line in file["lines"]:
            if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
                continue
            branches = [b for b in line["branches"] if not b.get("gcovr/excluded")]
            for name in (folder_of(path), "all"):
                total = sums[name]
                total[0] += 1
                total[1] += line["count"] > 0
                total[2] += len(branches)
                total[3] += sum(b["count"] > 0 for b in branches)
            if line["count"] == 0:
                missed.append(f"{path}:{line['line_number']}")
    rows = ["| folder | lines | run | branches | taken |", "|---|---|---|---|---|"]
    for name, (lines, run, branches, taken) in sorted(sums.items()):
        rows.append(f"| {name} | {lines} | {100 * run / lines:.1f} % | {branches} | "
                    f"{100 * taken / max(branches, 1):.1f} % |")
    (out / "table.md").write_text("\n".join(rows) + "\n")
    (out / "missed.txt").write_text("\n".join(sorted(missed)) + "\n")


main()
