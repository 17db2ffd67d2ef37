"""Whole networks on the simulated chip against their float32 references."""

import numpy as np
import pytest

import harness

#: Exporter variants of each network.
NETWORKS = {
    "digits_cnn": ["digits_cnn.dynamo18.onnx", "digits_cnn.legacy13.onnx"],
    "resnet8": [
        "mlperf/resnet8_cifar10.tf2onnx13.onnx",
        "mlperf/resnet8_cifar10.tf2onnx17_nchw.onnx",
        "mlperf/resnet8_cifar10_float.tflite.tf2onnx13.onnx",
    ],
    "vww": [
        "mlperf/mobilenetv1_025_vww96.tf2onnx13.onnx",
        "mlperf/mobilenetv1_025_vww96.tf2onnx17_nchw.onnx",
        "mlperf/mobilenetv1_025_vww96_float.tflite.tf2onnx13.onnx",
    ],
    "dscnn": ["mlperf/dscnn_kws.savedmodel.tf2onnx13.onnx", "mlperf/dscnn_kws_float.tflite.tf2onnx13.onnx"],
    "autoencoder": ["mlperf/autoencoder_ad01.tf2onnx13.onnx"],
    "tiny_resnet": [
        "nets/tiny_resnet.legacy13.onnx",
        "nets/tiny_resnet.dynamo18.onnx",
        "nets/tiny_resnet.dynamic.legacy11.onnx",
        "nets/tiny_resnet.legacy11.onnx",
        "nets/tiny_resnet.legacy9.onnx",
    ],
    "mobilenet_v2_like": [
        "nets/mobilenet_v2_like.dynamo18.onnx",
        "nets/mobilenet_v2_like.legacy13.onnx",
        "nets/mobilenet_v2_like.legacy17.onnx",
    ],
    "inception_like": [
        "nets/inception_like.legacy17.onnx",
        "nets/inception_like.dynamo18.onnx",
        "nets/inception_like.dynamic.legacy11.onnx",
        "nets/inception_like.legacy13.onnx",
    ],
    "unet": ["nets/unet.dynamo18.onnx", "nets/unet.legacy13.onnx", "nets/unet.legacy11.onnx"],
}
FILES = [f for variants in NETWORKS.values() for f in variants]


@pytest.mark.parametrize("ncore", [1, 8])
@pytest.mark.parametrize("file", FILES)
def test_network(shared, tmp_path, file, ncore):
    model = harness.corpus()[file]
    result, path, report = harness.compile_model(model, tmp_path, ncore)
    assert result.returncode == 0, result.stderr
    harness.check_report(report)
    onnx = pytest.importorskip("onnx")
    source = {n.name for n in onnx.load(model.path).graph.node if n.name}
    assert source <= {n["name"] for n in report["nodes"]}, "nodes of the model are missing in the report"
    assert any(n["where"] == "npu" for n in report["nodes"]), "nothing runs on the NPU"
    result, outputs = harness.run_model(path, model.inputs, tmp_path)
    assert result.returncode == 0, result.stderr
    for name, want in model.outputs.items():
        assert outputs[name].shape == want.shape and outputs[name].dtype == want.dtype
        assert harness.cosine(outputs[name], want) >= 0.998, name


@pytest.mark.parametrize("file", [v[0] for v in NETWORKS.values()])
def test_network_on_host(shared, tmp_path, file):
    """The same networks compiled for the host alone."""
    model = harness.corpus()[file]
    result, path, report = harness.compile_model(model, tmp_path, target="llvm")
    assert result.returncode == 0, result.stderr
    assert all(n["where"] != "npu" for n in report["nodes"])
    result, outputs = harness.run_model(path, model.inputs, tmp_path)
    assert result.returncode == 0, result.stderr
    harness.compare(outputs, model.outputs, on_npu=False, tolerance=model.tolerance)


@pytest.mark.parametrize("file", [v[0] for v in NETWORKS.values()][:3])
def test_same_bytes_twice(shared, tmp_path, file):
    """Two compilations give the same object, and two core counts the same bits where the arithmetic is the same."""
    model = harness.corpus()[file]
    contents = []
    for i in range(2):
        folder = tmp_path / str(i)
        folder.mkdir()
        result, path, _ = harness.compile_model(model, folder)
        assert result.returncode == 0, result.stderr
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize("file", [v[0] for v in NETWORKS.values()][:2])
def test_on_chip_memory_full_of_nan(shared, tmp_path, file):
    """What lies in the on-chip memories before a run has no influence."""
    model = harness.corpus()[file]
    result, path, _ = harness.compile_model(model, tmp_path)
    assert result.returncode == 0, result.stderr
    _, clean = harness.run_model(path, model.inputs, tmp_path)
    result, filled = harness.run_model(path, model.inputs, tmp_path, flags=["--fill-nan"])
    assert result.returncode == 0, result.stderr
    for name, want in clean.items():
        assert np.array_equal(filled[name], want), name


def classes(path, name, images, batch, folder):
    """Classes that the object chooses for the images, in batches of its size."""
    out = []
    for at in range(0, len(images), batch):
        part = images[at : at + batch]
        padded = np.zeros((batch, *images.shape[1:]), np.float32)
        padded[: len(part)] = part
        result, outputs = harness.run_model(path, {name: padded}, folder)
        assert result.returncode == 0, result.stderr
        out.append(next(iter(outputs.values())).argmax(axis=1)[: len(part)])
    return np.concatenate(out)


@pytest.mark.parametrize(
    "file, data, key, scale, batch",
    [
        ("mlperf/resnet8_cifar10.tf2onnx13.onnx", "patches_32.npz", "patches", 1.0, 64),
        ("mlperf/mobilenetv1_025_vww96.tf2onnx13.onnx", "patches_96.npz", "patches", 1 / 255, 16),
        ("digits_cnn.dynamo18.onnx", "digits_test.npz", "image", 1.0, 100),
    ],
)
def test_same_classes_as_float(shared, tmp_path, file, data, key, scale, batch):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = harness.corpus()[file]
    with np.load(harness.SHARED / data) as arrays:
        images = arrays[key].astype(np.float32) * np.float32(scale)
    if not harness.FULL:
        images = images[: 2 * batch]
    session = onnxruntime.InferenceSession(str(model.path), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    want = session.run(None, {name: images})[0].argmax(axis=1)
    shape = ",".join(map(str, (batch, *images.shape[1:])))
    out = tmp_path / "m.stcobj"
    result = harness.run_tool("compile", model.path, "-o", out, "--shape", f"{name}={shape}")
    assert result.returncode == 0, result.stderr
    agree = np.mean(classes(out, name, images, batch, tmp_path) == want)
    assert agree >= 0.99, f"only {agree:.2%} of the classes agree"


#: Networks with operators beyond those of convolutional networks: right, or refused with a message.
OTHERS = sorted(
    f
    for f in harness.corpus()
    if f.startswith(("nets/", "tf2onnx/", "contrib/", "quant/")) and not any(f in v for v in NETWORKS.values())
)


@pytest.mark.parametrize("file", OTHERS)
def test_other_network(shared, tmp_path, file):
    model = harness.corpus()[file]
    result, path, report = harness.compile_model(model, tmp_path)
    assert result.returncode in (0, 1, 2), result.stderr
    if result.returncode:
        assert len(harness.errors_of(result)) >= 1 and not path.exists(), result.stderr
        return
    harness.check_report(report)
    result, outputs = harness.run_model(path, model.inputs, tmp_path)
    assert result.returncode == 0, result.stderr
    for name, want in model.outputs.items():
        assert outputs[name].shape == want.shape and outputs[name].dtype == want.dtype
        if want.dtype.kind == "f":
            assert harness.cosine(outputs[name], want) >= 0.995, name
