#!/usr/bin/env python3
"""The demo: a CNN for handwritten digits on the simulated STCP920 chip, compared with float arithmetic.

    .venv/bin/python scripts/demo.py [--ncore N] [--out FOLDER]
"""

import argparse
import pathlib
import struct
import sys
import time
import warnings
import zlib

import numpy as np

import tb
import tensorturbo

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 50
SHADES = " .:-=+*#%@"


def title(text):
    print(f"\n--- {text} ---")


def ascii_rows(image):
    """An 8x8 image in 0..1 as eight rows of text, two characters a pixel."""
    return ["".join(SHADES[min(int(v * len(SHADES)), len(SHADES) - 1)] * 2 for v in row) for row in image]


def show_images(images, truth, chip, indices):
    pictures = [ascii_rows(images[i, 0]) for i in indices]
    for row in zip(*pictures):
        print("   ".join(row))
    captions = [f"true {truth[i]}, chip {chip[i]}" + ("" if truth[i] == chip[i] else " !") for i in indices]
    print("   ".join(caption.ljust(16) for caption in captions))


def write_png(path, pixels):
    """A grey 8-bit PNG from rows x columns bytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)


def contact_sheet(images, chip, path, columns=20, scale=4):
    """All images, in groups by what the chip took them for."""
    order = np.argsort(chip, kind="stable")
    rows = -(-len(order) // columns)
    cell = 8 * scale + 2
    sheet = np.full((rows * cell, columns * cell), 255, np.uint8)
    for k, i in enumerate(order):
        big = np.kron(255 - images[i, 0] * 255, np.ones((scale, scale))).astype(np.uint8)
        y, x = k // columns * cell, k % columns * cell
        sheet[y : y + 8 * scale, x : x + 8 * scale] = big
    write_png(path, sheet)


def run_on_chip(path, images):
    """Logits of all images, in batches; counters of the run of one batch; seconds."""
    executor = tb.kernel.Executor.load_from_stcobj(path)
    logits, start = [], time.perf_counter()
    for at in range(0, len(images), BATCH):
        batch = images[at : at + BATCH]
        padded = np.zeros((BATCH, 1, 8, 8), np.float32)
        padded[: len(batch)] = batch
        executor.set_input({"image": padded})
        logits.append(executor()[0][: len(batch)])
    return np.concatenate(logits), executor.statistics(), time.perf_counter() - start


def run_in_float(model, images):
    """Logits by onnxruntime, or None if it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": images})[0]


def show_counters(statistics):
    title("What the chip did for one batch")
    print("core  scalar+NPU instructions   NPU instructions   MME cycles   VME cycles   MTE bytes")
    for number, core in enumerate(statistics["cores"]):
        npu = sum(core["instructions"].values())
        print(
            f"{number:4}  {core['retired']:23,}  {npu:17,}  {core['mme_cycles']:11,}"
            f"  {core['vme_cycles']:11,}  {core['mte_bytes']:10,}"
        )
    busiest = max(c["mme_cycles"] + c["vme_cycles"] for c in statistics["cores"])
    print(
        f"The busiest core's engines work {busiest:,} cycles, by the published cycle formulas; at 1 GHz that\n"
        f"is {busiest / 1e3:,.1f} us for {BATCH} images. Waiting for memory is not counted here."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ncore", type=int, default=8, help="NPU cores: 1, 2, 4 or 8")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "demo", help="folder for the results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    model_path = ROOT / "models/digits/digits_cnn.onnx"
    data = np.load(ROOT / "models/digits/digits_test.npz")
    images, truth = data["images"], data["labels"]

    title("Compile")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tensorturbo.TensorTurboWarning)
        model = tensorturbo.model.from_onnx(model_path, shape={"image": [BATCH, 1, 8, 8]})
        module = model.compile(arguments.out / "digits_cnn.stcobj", ncore=arguments.ncore)
    print(f"{model_path.relative_to(ROOT)}: input {model.get_input_info()}, output {model.get_output_info()}")
    places = {where: sum(n.where == where for n in module.nodes) for where in ("npu", "host", "folded")}
    print(
        f"compiled in {time.perf_counter() - start:.1f} s for {arguments.ncore} cores into {module.path},"
        f" {module.object_bytes / 1024:.0f} KiB"
    )
    print(f"nodes of the model: {places['npu']} on the NPU, {places['host']} on the host, {places['folded']} folded")

    title(f"Run {len(images)} images of handwritten digits that training never saw")
    logits, statistics, seconds = run_on_chip(module.path, images)
    chip = logits.argmax(axis=1)
    wrong = np.flatnonzero(chip != truth)
    show_images(images, truth, chip, [*range(5 - min(len(wrong), 2)), *wrong[:2]])
    print(f"\nright: {np.mean(chip == truth):.2%} ({len(images) - len(wrong)} of {len(images)}); simulated in {seconds:.1f} s")
    contact_sheet(images, chip, arguments.out / "digits.png")
    print(f"picture of all images, in order of the class that the chip chose: {arguments.out / 'digits.png'}")

    reference = run_in_float(model_path, images)
    agree = 1.0
    if reference is not None:
        title("Against float32 (onnxruntime)")
        agree = np.mean(chip == reference.argmax(axis=1))
        a, b = logits.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
        cosine = a @ b / np.sqrt((a @ a) * (b @ b))
        print(f"same class: {agree:.2%}; cosine of the outputs {cosine:.6f}; largest difference {np.abs(a - b).max():.4f}")
    show_counters(statistics)
    return 0 if agree >= 0.99 and np.mean(chip == truth) >= 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
