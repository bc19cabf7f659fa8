"""The demonstration's own parts: maps made from known joints decode to those joints; a seed is a picture."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.support.paths import ROOT


@pytest.fixture(scope="module", autouse=True)
def search_path():
    folders = [str(ROOT / "samples"), str(ROOT / "scripts")]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def pose(search_path):
    import pose

    return pose


@pytest.fixture(scope="module")
def train_pose(search_path):
    import train_pose

    return train_pose


def scene_of(people):
    import stick_figures

    joints = np.array(people, float)
    return stick_figures.Scene(
        np.zeros((368, 368, 3), np.uint8), joints, np.ptp(joints[..., 1], axis=1) if len(joints) else np.zeros(0)
    )


def figure(x, y, height):
    """18 joints of a person who stands at x, y (between the feet)."""
    at = {0: (0, 90), 1: (0, 80), 2: (-12, 80), 3: (-18, 62), 4: (-22, 46), 5: (12, 80), 6: (18, 62), 7: (22, 46)}
    at.update({8: (-8, 48), 9: (-9, 25), 10: (-9, 2), 11: (8, 48), 12: (9, 25), 13: (9, 2)})
    at.update({14: (-3, 93), 15: (3, 93), 16: (-6, 91), 17: (6, 91)})
    return [(x + at[i][0] * height / 100, y - at[i][1] * height / 100, 1.0) for i in range(18)]


@pytest.mark.parametrize("places", [[(180, 340, 300)], [(100, 300, 250), (260, 350, 300)], [(60, 300, 200)] * 1])
def test_ideal_maps_decode_to_their_joints(pose, train_pose, places):
    scene = scene_of([figure(*place) for place in places])
    people = pose.decode(train_pose.targets(scene, 368)[None])
    assert len(people) == len(places)
    assert train_pose.score(people, scene) == (18 * len(places), 18 * len(places))
    for truth in scene.joints:
        nearest = min(people, key=lambda p: np.abs(p[:, :2] - truth[:, :2]).max())
        assert np.abs(nearest[:, :2] - truth[:, :2]).max() < pose.CELL / 2
        assert (nearest[:, 2] > 0.6).all()


def test_a_joint_that_cannot_be_seen_is_nan(pose, train_pose):
    person = figure(180, 340, 300)
    person[4] = (*person[4][:2], 0.0)
    scene = scene_of([person])
    (found,) = pose.decode(train_pose.targets(scene, 368))
    assert np.isnan(found[4, :2]).all() and found[4, 2] == 0
    assert np.isfinite(np.delete(found, 4, axis=0)).all()


@pytest.mark.parametrize("fill", [0.0, np.nan, np.inf, -np.inf, 1.0])
def test_maps_without_people(pose, fill):
    assert pose.decode(np.full((1, 57, 46, 46), fill, np.float32)) == []


def test_a_damaged_cell_spoils_nothing_else(pose, train_pose):
    scene = scene_of([figure(180, 340, 300)])
    maps = train_pose.targets(scene, 368)
    maps[3, 0, 0] = np.nan
    maps[30, 5, 5] = np.inf
    assert train_pose.score(pose.decode(maps), scene) == (18, 18)


def test_maps_of_another_shape(pose):
    with pytest.raises(ValueError):
        pose.decode(np.zeros((1, 57, 40, 46), np.float32))


def test_peaks_are_between_cells(pose):
    y, x = np.mgrid[:46, :46]
    heat = np.exp(-((x - 20.3) ** 2 + (y - 11.8) ** 2) / 2.5).astype(np.float32)[None]
    ((px, py, score),) = pose.peaks(heat)[0]
    assert abs(px - 20.3) < 0.1 and abs(py - 11.8) < 0.1 and score > 0.9
    flat = np.zeros((1, 46, 46), np.float32)
    flat[0, 7, 7:9] = 0.8
    assert len(pose.peaks(flat)[0]) == 1


def test_drawing_stays_inside_and_changes_only_the_figure(pose):
    frame = np.zeros((50, 60, 3), np.uint8)
    person = np.full((18, 3), np.nan, np.float32)
    person[:, 2] = 0
    person[1], person[2] = (10, 10, 1), (500, -30, 1)
    assert pose.draw(frame, [person]) is frame and frame[10, 10].any() and not frame[40:].any()


def test_a_seed_is_a_picture(search_path):
    import stick_figures

    first, again = (stick_figures.render(np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.frame, again.frame)
    np.testing.assert_array_equal(first.joints, again.joints)
    other = stick_figures.render(np.random.default_rng(6))
    assert (first.frame != other.frame).mean() > 0.5
    assert first.frame.shape == (368, 368, 3) and 1 <= len(first.joints) <= 4
    visible = first.joints[first.joints[..., 2] > 0]
    assert (visible[:, :2] > -0.5).all() and (visible[:, :2] < 367.5).all()


@pytest.mark.slow
def test_the_network_finds_people_it_has_never_seen(train_pose, capsys):
    train_pose.evaluate(60)
    rows = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()[2:]]
    for row, joints, people in zip(rows, (95, 85), (90, 75)):
        assert float(row[3].rstrip("%")) > joints and float(row[4].rstrip("%")) > people, row
