"""Networks of ImageNet size with generated weights, against onnxruntime."""

import subprocess
import sys

import numpy as np
import pytest

import harness


def photo_like(shape, seed=5):
    """Smooth random images with the mean and deviation of normalised photos."""
    rng = np.random.default_rng(seed)
    image = np.zeros(shape, np.float32)
    for cell in (7, 28, 112):
        coarse = rng.normal(0, 1, (*shape[:2], cell, cell)).astype(np.float32)
        image += np.kron(coarse, np.ones((shape[2] // cell, shape[3] // cell), np.float32))
    return image / np.sqrt(np.float32(3))


@pytest.mark.parametrize("ncore", [1, 8] if harness.FULL else [8])
@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v2", "resnet18"])
def test_imagenet_net(tmp_path, name, ncore):
    onnxruntime = pytest.importorskip("onnxruntime")
    script = harness.ROOT / "models/imagenet/make_nets.py"
    subprocess.run([sys.executable, script, tmp_path, name], check=True, stdout=subprocess.DEVNULL)
    model, out = tmp_path / f"{name}.onnx", tmp_path / "m.stcobj"
    image = photo_like((1, 3, 224, 224))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    want = session.run(None, {"image": image})[0]
    assert np.isfinite(want).all() and want.std() > 1e-3
    result = harness.run_tool("compile", model, "-o", out, "--shape", "image=1,3,224,224", "--ncore", ncore)
    assert result.returncode == 0, result.stderr
    result, outputs = harness.run_model(out, {"image": image}, tmp_path)
    assert result.returncode == 0, result.stderr
    assert harness.cosine(outputs["logits"], want) >= 0.998
