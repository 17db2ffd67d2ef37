#!/usr/bin/env python3
"""Writes well-known networks as ONNX files with generated weights.

    python3 make_nets.py [--size N] [--batch N] FOLDER [NAME ...]        needs numpy and onnx

The graphs are those of the papers. Fixed seeds: always the same files. Without --batch the batch stays open.
"""

import argparse
import pathlib

from densenet import densenet121
from inception import inception_v3
from mlp import mlp
from mobilenet import mobilenet_v1, mobilenet_v2
from resnet import resnet
from shufflenet import shufflenet_v2
from squeezenet import squeezenet1_1
from transformer import transformer
from unet import unet
from vgg import vgg16

#: name: (builder, size of the paper, smallest size for quick tests). The size is the edge of the image, for `mlp` the
#: number of features, for `transformer` the sequence length.
NETS = {
    "resnet18": (resnet(18), 224, 64),
    "resnet34": (resnet(34), 224, 64),
    "resnet50": (resnet(50, first_stride=True), 224, 64),
    "resnet50_v1.5": (resnet(50), 224, 64),
    "resnet101": (resnet(101, first_stride=True), 224, 64),
    "resnet101_v1.5": (resnet(101), 224, 64),
    "vgg16": (vgg16, 224, 64),
    "mobilenet_v1": (mobilenet_v1, 224, 64),
    "mobilenet_v2": (mobilenet_v2, 224, 64),
    "densenet121": (densenet121, 224, 64),
    "inception_v3": (inception_v3, 299, 107),
    "squeezenet1_1": (squeezenet1_1, 224, 64),
    "shufflenet_v2": (shufflenet_v2, 224, 64),
    "unet": (unet, 256, 48),
    "mlp": (mlp, 784, 200),
    "transformer": (transformer, 128, 24),
}


def make(name, path, size=None, batch=None):
    """Writes one network; returns its path."""
    builder, standard, _ = NETS[name]
    builder(name, size or standard, batch).save(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NETS))
    parser.add_argument("--size", type=int, help="edge of the image (features, sequence length)")
    parser.add_argument("--batch", type=int, help="fixed batch")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NETS:
            parser.error(f"unknown network '{name}'")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETS:
        print(make(name, arguments.folder / f"{name}.onnx", arguments.size, arguments.batch))


if __name__ == "__main__":
    main()
