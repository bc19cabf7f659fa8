"""The samples as a person starts them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.support.paths import ROOT

SAMPLES = ROOT / "samples"
CLIP = SAMPLES / "data" / "walk.mp4"
MODEL = SAMPLES / "models" / "pose.onnx"


def start(script, *arguments, cwd=None):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, str(SAMPLES / script), *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )


def check_results(folder, frames, size_wh):
    video = cv2.VideoCapture(str(folder / "skeletons.mp4"))
    count = 0
    while True:
        good, frame = video.read()
        if not good:
            break
        assert frame.shape[1::-1] == size_wh
        count += 1
    assert count == frames
    sheet = cv2.imread(str(folder / "contact-sheet.png"))
    assert sheet.shape[1] == 1280 and sheet.std() > 10
    with (folder / "agreement.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == list(range(frames))
    return rows


@pytest.fixture(scope="module")
def frames():
    capture = cv2.VideoCapture(str(CLIP))
    images = [capture.read()[1] for _ in range(3)]
    assert all(image is not None for image in images)
    return images


def test_webcam_on_the_embedded_clip(tmp_path, frames):
    done = start("webcam.py", "--output", tmp_path, "--max-frames", 3)
    assert done.returncode == 0, done.stderr
    rows = check_results(tmp_path, 3, frames[0].shape[1::-1])
    assert all(row["agrees"] == "True" and float(row["cosine"]) > 0.99 for row in rows)
    assert 0.3 < max(float(row["largest_error_in_steps"]) for row in rows) < 0.51
    for words in (
        "kernels " + nl.kernels.active(),
        "median ms",
        "p99 ms",
        "share",
        "unpack",
        "3 of 3 frames",
        "NCHW16c",
    ):
        assert words in done.stdout
    shares = re.findall(r"([\d.]+)%", done.stdout)
    assert sum(map(float, shares)) == pytest.approx(100, abs=0.5)
    assert "3/3 frames" in done.stderr and "\r" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.alone
def test_ctrl_c_ends_a_run_with_its_results(tmp_path):
    """As a camera's run ends."""
    command = [sys.executable, str(SAMPLES / "webcam.py"), "--output", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) as process:
        assert process.stderr.readline().startswith("25/200 frames")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "Agreement with the float run" in out, err
    assert (tmp_path / "contact-sheet.png").exists() and (tmp_path / "agreement.csv").exists()


@pytest.mark.parametrize(
    ("layout", "dtype"), [("NHWC", "uint8"), ("F8CR", "int16"), ("NC1HWC2:8", "float16"), ("CHW32", "float32")]
)
def test_webcam_layouts_and_dtypes(tmp_path, layout, dtype):
    options = ("--output-layout", layout, "--output-dtype", dtype)
    done = start("webcam.py", "--output", tmp_path, "--max-frames", 2, *options)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 frames" in done.stdout and dtype in done.stdout


@pytest.mark.parametrize("source", ["NV12", "NV21", "I420", "YV12"])
def test_webcam_with_frames_as_cameras_deliver_them(tmp_path, source):
    done = start("webcam.py", "--output", tmp_path, "--max-frames", 2, "--source-format", source)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 frames" in done.stdout


def test_webcam_on_a_folder_of_unequal_images(tmp_path, frames):
    folder = tmp_path / "images"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.png"), frames[0])
    cv2.imwrite(str(folder / "b.jpg"), cv2.resize(frames[1], (301, 407)))
    cv2.imwrite(str(folder / "c.png"), frames[2][:, :, 0])
    (folder / "notes.txt").write_text("no image")
    done = start("webcam.py", folder, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    check_results(tmp_path / "out", 3, frames[0].shape[1::-1])


@pytest.mark.parametrize("stored", [(), ("--output-layout", "NHWC")])  # padded, as by default, and of the same size
def test_a_wrong_layout_is_found_and_named(tmp_path, stored):
    options = (*stored, "--read-as", "NCHW", "--max-frames", 2)
    done = start("webcam.py", "--output", tmp_path, *options)
    assert done.returncode == 1, done.stderr
    assert re.search(r"MISMATCH: output 'pose' .* 2 of 2 frames; worst is frame \d+, by \d+\.\d+", done.stderr)
    assert "0 of 2 frames" in done.stdout and "Traceback" not in done.stderr
    assert (tmp_path / "contact-sheet.png").exists()


@pytest.fixture
def bad_inputs(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.mp4").write_bytes(CLIP.read_bytes()[:3000])
    (tmp_path / "damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 50)
    (tmp_path / "damaged.onnx").write_bytes(MODEL.read_bytes()[:-1000])
    (tmp_path / "text.onnx").write_text("no model")
    (tmp_path / "file").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.mp4"], "nowhere.mp4: no such file"),
        (["97"], "camera 97 is not there"),
        (["damaged.mp4"], "damaged.mp4: cannot be read as a video"),
        (["damaged.png"], "damaged.png: cannot be read as an image"),
        (["file"], "file: cannot be read as a video"),
        (["empty"], "empty: no images in this folder"),
        (["--model", "nowhere.onnx"], "nowhere.onnx: no such file"),
        (["--model", "damaged.onnx"], "damaged.onnx: onnxruntime cannot load it"),
        (["--model", "text.onnx"], "text.onnx: onnxruntime cannot load it"),
        (["--output", "file"], "file: cannot be made a folder"),
        (["--output-layout", "NCHW16"], "--output-layout NCHW16"),
        (["--output-layout", "OIHW"], "has the axes OIHW"),
        (["--max-frames", "-1"], "--max-frames: expected 1 or more"),
        (["--show"], "--show needs a display"),
        (["--output-layout", "NHWC", "--read-as", "NC1HWC2", "--max-frames", "1"], "bytes; layout NCHW16c"),
    ],
)
def test_webcam_bad_input_is_one_line_and_status_2(bad_inputs, arguments, words):
    done = start("webcam.py", *arguments, cwd=bad_inputs)
    assert done.returncode == 2, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith("libpng")]  # OpenCV 4.8's own
    assert len(lines) == 1 and words in lines[0], done.stderr


def test_webcam_refuses_a_model_of_another_kind(tmp_path):
    import onnx

    ports = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, (1, 3, 8, 8)) for n in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(tmp_path / "relu.onnx"))
    done = start("webcam.py", "--model", tmp_path / "relu.onnx", "--output", tmp_path / "out")
    assert done.returncode == 2 and "expected one image input and one output of 1x57x46x46" in done.stderr


def test_a_folder_with_one_damaged_image(bad_inputs, frames):
    folder = bad_inputs / "images"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.png"), frames[0])
    shutil.copy(bad_inputs / "damaged.png", folder / "b.png")
    done = start("webcam.py", folder, "--output", bad_inputs / "out")
    assert done.returncode == 2 and "b.png: cannot be read as an image" in done.stderr


def test_rk1808_with_the_stand_in(tmp_path, frames):
    picture = tmp_path / "pose.png"
    done = start("rk1808_pose.py", "--output", picture)
    assert done.returncode == 0, done.stderr
    assert "rknn is not installed: a stand-in" in done.stdout
    people = int(re.search(r"(\d+) people", done.stdout).group(1))
    assert people >= 1 and cv2.imread(str(picture)).shape == frames[0].shape


def test_rk1808_with_a_package_called_rknn(tmp_path):
    """The calls that the script makes are those of Rockchip's package."""
    (tmp_path / "rknn").mkdir()
    (tmp_path / "rknn" / "__init__.py").write_text("")
    (tmp_path / "rknn" / "api.py").write_text(
        "import numpy as np\n"
        "class RKNN:\n"
        "    def load_rknn(self, path): assert path == 'pose.rknn'; return 0\n"
        "    def init_runtime(self, target=None): assert target == 'rk1808'; return 0\n"
        "    def inference(self, inputs, data_format=None):\n"
        "        assert data_format == 'nchw' and inputs[0].shape == (1, 3, 368, 368) and inputs[0].dtype == np.uint8\n"
        "        return [np.zeros(57 * 46 * 46, np.float32)]\n"
        "    def release(self): print('released')\n"
    )
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(SAMPLES)!r}]; import rk1808_pose as s; sys.exit(s.main())"
    )
    command = [sys.executable, "-c", code.replace("s.main()", "s.main(sys.argv[1:])")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for arguments, status, words in ((["--model", "pose.rknn"], 0, "released\n0 people"), ([], 2, "")):
        done = subprocess.run(
            [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status and words in done.stdout, done.stderr
    assert "give the compiled network with --model" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.png"], "nowhere.png: no such file"),
        (["damaged.png"], "damaged.png: cannot be read"),
        (["--model", "damaged.onnx"], "damaged.onnx: onnxruntime cannot load it"),
        (["--output", "empty/none/x.png"], "empty/none/x.png: cannot be written"),
    ],
)
def test_rk1808_bad_input(bad_inputs, arguments, words):
    done = start("rk1808_pose.py", *arguments, cwd=bad_inputs)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


STEPS_OF_HALF = nl.TensorSpec((1, 4), "NC", "int8", quantization=nl.Quantization(0.5, 0), name="y")


def compared(spec=STEPS_OF_HALF, real=None, got=None):
    sys.path.insert(0, str(SAMPLES))
    try:
        import webcam
    finally:
        sys.path.remove(str(SAMPLES))
    if real is None:
        real = np.array([[-1.2, 0.0, 3.3, 63.5]], np.float32)
    return webcam.compare(7, spec, spec.unpack(spec.pack(real)) if got is None else got, real)


def test_compare_allows_half_a_step_and_no_more():
    good = compared()
    assert good.agrees and good.saturated == 0 and 0.3 < good.steps <= 0.5 and good.cosine > 0.999
    bad = compared(got=np.array([[-1.0, 0.5, 3.5, 63.5]], np.float32))
    assert not bad.agrees and bad.steps == 1.0 and bad.where == (0, 1) and bad.output == "y"
    nan = compared(got=np.array([[np.nan, 0.0, 3.5, 63.5]], np.float32))
    assert not nan.agrees


def test_compare_counts_what_cannot_be_stored():
    real = np.array([[-70.0, 0.0, 3.5, 63.8]], np.float32)
    good = compared(real=real)
    assert good.agrees and good.saturated == 2 and good.steps == 0
    wrong = compared(real=real, got=np.array([[-63.0, 0.0, 3.5, 63.5]], np.float32))
    assert not wrong.agrees and wrong.where == (0, 0)


def test_compare_of_floats():
    half = nl.TensorSpec((1, 4), "NC", "float16", name="y")
    real = np.array([[1e6, 0.0, 1 / 3, -2e5]], np.float32)
    got = np.array([[np.inf, 0.0, np.float16(1 / 3), -np.inf]], np.float16)
    assert compared(spec=half, real=real, got=got).agrees and compared(spec=half, real=real, got=got).saturated == 2
    got[0, 2] = np.nextafter(got[0, 2], np.float16(1))
    assert compared(spec=half, real=real, got=got).where == (0, 2)
    assert not compared(spec=half, real=real, got=got).agrees
