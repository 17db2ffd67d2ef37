#!/usr/bin/env python3
"""Prints how fast the simulator is and what the timing model says in single cases.

usage: run.py [--folder F] [--level N] [--page docs/microbenchmarks.md]
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import nets
import numpy as np


def seconds(*command):
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


PAGE = """# Microbenchmarks

Single cases of the [timing model](timing-model.md) in profile `base`, in cycles unless the case says otherwise, beside the
figures that are public. Written by `benchmarks/run.py --page`.

"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", help="where networks and objects are kept (default: a temporary one)")
    parser.add_argument("--level", type=int, default=0, help="level of the graph schedule")
    parser.add_argument("--page", type=pathlib.Path, help="write only the table of single cases, as a page")
    arguments = parser.parse_args()
    if arguments.page:
        cases = subprocess.run([nets.BIN / "tt-microbenchmarks"], check=True, capture_output=True, text=True)
        arguments.page.write_text(PAGE + cases.stdout)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        tool = nets.BIN / "tensorturbo"
        report = folder / "report.json"
        one = nets.compiled(folder, "resnet50", 1, arguments.level)
        image = np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)
        np.savez(folder / "image.npz", image=image)
        run = [tool, "run", one, "--input", folder / "image.npz", "--output", folder / "out.npz"]
        print("| speed of the simulator (wall time of one run with loading) | seconds | goal |")
        print("|---|---|---|")
        print(f"| exact, ResNet-50 batch 1, all checks | {seconds(*run):.2f} | 10 |")
        print(f"| exact, without checks | {seconds(*run, '--no-checks'):.2f} | |")
        print(f"| exact, with timing | {seconds(*run, '--report', report):.2f} | |")
        many = nets.compiled(folder, "resnet50", 16, arguments.level)
        print(f"| timing only, ResNet-50 batch 16 | {seconds(tool, 'run', many, '--timing-only', '--report', report):.2f} | 3 |")
        found = json.loads(report.read_text())
        count = sum(sum(core["instructions"].values()) for core in found["cores"])
        print(f"\nThat run: {count} tensor instructions, {found['time_ms']:.2f} ms modelled.\n")
        subprocess.run([nets.BIN / "tt-microbenchmarks"], check=True)


if __name__ == "__main__":
    main()
