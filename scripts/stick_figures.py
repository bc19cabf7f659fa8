"""Stick figures that stand, walk and wave, from the front and from behind: frames and the joints that can be seen.

Everything follows from a numpy Generator, so a seed is a picture.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

SIZE = 368
_RIGHT = (2, 3, 4, 8, 9, 10)  # shoulder, elbow, wrist, hip, knee, ankle
_LEFT = (5, 6, 7, 11, 12, 13)
_FACE = (0, 14, 15)


class Look(NamedTuple):
    """Colours and thickness of one figure; seen from behind or not."""

    behind: bool
    skin: tuple[int, ...]
    hair: tuple[int, ...]
    shirt: tuple[int, ...]
    trousers: tuple[int, ...]
    shoes: tuple[int, ...]
    sleeves: float
    bulk: float
    pack: bool


class Pose(NamedTuple):
    """Where a figure stands, how tall it is (pixels, head to foot), and the angles of its limbs (radians)."""

    x: float
    y: float
    height: float
    lean: float
    width: float
    arms: tuple[float, float, float, float]
    legs: tuple[float, float, float, float]
    gaze: float


class Scene(NamedTuple):
    """A frame (H, W, 3) uint8 BGR, and what is in it.

    For each person 18 joints (x, y, visible), the height in pixels, whether it is seen from behind; for each pixel the
    number of its person, from 1 on, or 0.
    """

    frame: np.ndarray
    joints: np.ndarray
    heights: np.ndarray
    behind: tuple[bool, ...] = ()
    owner: np.ndarray | None = None


def _colour(rng: np.random.Generator, low: int = 0, high: int = 256) -> tuple[int, ...]:
    return tuple(int(v) for v in rng.integers(low, high, 3))


def random_look(rng: np.random.Generator, behind: bool) -> Look:
    tone = rng.uniform(0.35, 1.0)
    skin = tuple(int(tone * v) for v in (150 + rng.integers(-15, 16), 185 + rng.integers(-15, 16), 235))
    return Look(
        behind,
        skin,
        tuple(int(v) for v in rng.uniform(0.05, 0.75) * np.array([60, 110, 150]) * rng.uniform(0.5, 1.2)),
        _colour(rng),
        _colour(rng, 0, 180),
        _colour(rng, 0, 120),
        float(rng.choice([0.0, 0.5, 1.0])),
        float(rng.uniform(0.8, 1.25)),
        bool(rng.random() < 0.4),
    )


def random_pose(rng: np.random.Generator, x: float, y: float, height: float) -> Pose:
    def arm() -> tuple[float, float]:
        kind = rng.random()
        if kind < 0.45:  # hanging
            return rng.uniform(0.02, 0.45), rng.uniform(-0.35, 0.4)
        if kind < 0.75:  # raised or stretched
            return rng.uniform(0.5, 2.6), rng.uniform(-0.9, 1.2)
        return rng.uniform(0.2, 1.0), rng.uniform(-2.2, -0.6)  # hand on the hip or before the chest

    (a, b), (c, d) = arm(), arm()
    spread = rng.uniform(0.02, 0.4) if rng.random() < 0.8 else rng.uniform(0.4, 0.75)
    legs = (
        spread * rng.uniform(0.4, 1.2),
        rng.uniform(-0.35, 0.1),
        spread * rng.uniform(0.4, 1.2),
        rng.uniform(-0.35, 0.1),
    )
    return Pose(x, y, height, rng.normal(0, 0.08), rng.uniform(0.65, 1.1), (a, b, c, d), legs, rng.uniform(-0.6, 0.6))


def skeleton(pose: Pose, behind: bool) -> np.ndarray:
    """18 joints (x, y) in pixels. Seen from the front the figure's right is at the left of the picture."""
    h = pose.height
    joints = np.zeros((18, 2))
    down = np.array([-np.sin(pose.lean), np.cos(pose.lean)])
    across = np.array([down[1], -down[0]])
    neck = np.array([pose.x, pose.y]) - down * 0.32 * h
    joints[1] = neck
    head = neck - down * 0.105 * h
    for side, members, arm, leg in (
        (-1, _RIGHT, pose.arms[:2], pose.legs[:2]),
        (1, _LEFT, pose.arms[2:], pose.legs[2:]),
    ):
        shoulder, elbow, wrist, hip, knee, ankle = members
        out = across * side

        def turned(angle: float, out: np.ndarray = out) -> np.ndarray:
            return down * np.cos(angle) + out * np.sin(angle)

        joints[shoulder] = neck + out * 0.115 * h * pose.width + down * 0.015 * h
        joints[elbow] = joints[shoulder] + turned(arm[0]) * 0.165 * h
        joints[wrist] = joints[elbow] + turned(arm[0] + arm[1]) * 0.15 * h
        joints[hip] = neck + down * 0.31 * h + out * 0.072 * h * pose.width
        joints[knee] = joints[hip] + turned(leg[0]) * 0.235 * h
        joints[ankle] = joints[knee] + turned(leg[0] + leg[1]) * 0.235 * h
    shift = across * pose.gaze * 0.018 * h * (0 if behind else 1)
    joints[0] = head + shift * 1.5 + down * 0.008 * h
    for side, eye, ear in ((-1, 14, 16), (1, 15, 17)):
        joints[eye] = head + shift + across * side * 0.024 * h - down * 0.016 * h
        joints[ear] = head + across * side * 0.056 * h
    if behind:  # what was at the left of the picture is now the other side's
        pairs = [*zip(_RIGHT, _LEFT), (14, 15), (16, 17)]
        for right, left in pairs:
            joints[[right, left]] = joints[[left, right]]
    return joints


class _Figure:
    """One person that is painted over what is there, and over the numbers of those who own the pixels."""

    def __init__(self, frame: np.ndarray, owner: np.ndarray, who: int, pose: Pose, look: Look) -> None:
        self.frame, self.owner, self.who, self.pose, self.look = frame, owner, who, pose, look
        self.joints = skeleton(pose, look.behind)
        self.arm, self.leg = 0.042 * pose.height * look.bulk, 0.058 * pose.height * look.bulk
        self.torso = self.joints[[2, 5, 11, 8]]
        self.head = (self.joints[16] + self.joints[17]) / 2

    def paint(self) -> np.ndarray:
        """Paint the person; return the joints (18, 3): x, y, can be seen (of this person alone)."""
        self._legs()
        if self.look.behind:
            self._arms()
        self._trunk()
        if not self.look.behind:
            self._front()
            self._arms()
        elif self.look.pack:
            self._pack()
        return np.column_stack([self.joints, self._seen()])

    def _line(self, a: np.ndarray, b: np.ndarray, colour: tuple, thick: float) -> None:
        ends = [tuple(round(v * 16) for v in p) for p in (a, b)]
        for target, paint in ((self.frame, colour), (self.owner, self.who)):
            cv2.line(target, *ends, paint, max(1, round(thick)), self._smooth(target), 4)

    def _limb(self, a: int, b: int, colour: tuple, thick: float) -> None:
        self._line(self.joints[a], self.joints[b], colour, thick)

    def _smooth(self, target: np.ndarray) -> int:
        """How the edges of lines are drawn: numbers of people must not be mixed."""
        return cv2.LINE_AA if target is self.frame else cv2.LINE_8

    @property
    def _oval(self) -> tuple[tuple[int, ...], tuple[int, int], float]:
        """Centre, axes and angle of the head's ellipse, in sixteenths of a pixel."""
        radius = 0.058 * self.pose.height
        axes = int(radius * 16), int(radius * 1.25 * 16)
        return tuple(int(v * 16) for v in self.head), axes, float(np.degrees(self.pose.lean))

    @property
    def _dark(self) -> tuple[int, ...]:
        return tuple(int(v * 0.35) for v in self.look.shirt)

    def _arms(self) -> None:
        j, look = self.joints, self.look
        for shoulder, elbow, wrist in (_RIGHT[:3], _LEFT[:3]):
            sleeve = j[elbow] * look.sleeves + j[shoulder] * (1 - look.sleeves)
            self._limb(shoulder, elbow, look.skin, self.arm)
            self._line(j[shoulder], sleeve, look.shirt, self.arm * 1.25)
            long = look.sleeves == 1 and look.bulk > 1
            self._limb(elbow, wrist, look.shirt if long else look.skin, self.arm * 0.9)
            self._line(j[wrist], j[wrist] + (j[wrist] - j[elbow]) * 0.12, look.skin, self.arm * 1.2)

    def _legs(self) -> None:
        h, look = self.pose.height, self.look
        for hip, knee, ankle in (_RIGHT[3:], _LEFT[3:]):
            self._limb(hip, knee, look.trousers, self.leg)
            self._limb(knee, ankle, look.trousers, self.leg * 0.85)
            foot = self.joints[ankle] + np.array([0, 0.015 * h])
            self._line(foot, foot + np.array([0.01 * h, 0.01 * h]), look.shoes, self.leg)

    def _trunk(self) -> None:
        """Paint the body, the neck and the head as they are from both sides."""
        look = self.look
        for target, paint in ((self.frame, look.shirt), (self.owner, self.who)):
            cv2.fillConvexPoly(target, np.rint(self.torso).astype(np.int32), paint, self._smooth(target))
        for a, b in ((2, 5), (5, 11), (8, 2), (8, 11)):
            self._limb(a, b, look.shirt if (a, b) != (8, 11) else look.trousers, self.leg * 0.9)
        self._line(self.joints[1], self.head, look.skin, 0.045 * self.pose.height)
        for target, paint in ((self.frame, look.hair if look.behind else look.skin), (self.owner, self.who)):
            cv2.ellipse(target, *self._oval, 0, 360, paint, -1, cv2.LINE_8, 4)

    def _pack(self) -> None:
        middle = self.torso.mean(axis=0)
        pack = (middle + (self.torso - middle) * np.array([0.6, 0.75])).astype(np.int32)
        cv2.fillConvexPoly(self.frame, pack, self._dark, cv2.LINE_AA)

    def _front(self) -> None:
        """Paint what shows the front: hair above the forehead, eyes, nose, mouth, and a line of buttons."""
        h, j = self.pose.height, self.joints
        cv2.ellipse(self.frame, *self._oval, 195, 345, self.look.hair, -1, cv2.LINE_AA, 4)
        for eye in (14, 15):
            at = tuple(int(v * 16) for v in j[eye])
            cv2.circle(self.frame, at, int(0.012 * h * 16), (245, 245, 245), -1, cv2.LINE_AA, 4)
            cv2.circle(self.frame, at, int(0.007 * h * 16), (20, 20, 20), -1, cv2.LINE_AA, 4)
        mouth, smile, nose = j[0] + (j[1] - self.head) * 0.3, np.array([0.014 * h, 0]), np.array([0, 0.006 * h])
        shade = tuple(int(v * 0.7) for v in self.look.skin)
        belt = (j[8] + j[11]) / 2
        self._line(mouth - smile, mouth + smile, (60, 40, 150), 0.008 * h)
        self._line(j[0] - nose, j[0] + nose, shade, 0.012 * h)
        self._line(j[1] * 0.9 + belt * 0.1, j[1] * 0.1 + belt * 0.9, self._dark, 0.012 * h)

    def _seen(self) -> np.ndarray:
        """1 for each joint that can be seen, else 0."""
        seen = np.ones(18)
        if self.look.behind:
            seen[list(_FACE)] = 0
            body = np.float32(self.torso)
            for hidden in (3, 4, 6, 7):  # an arm before the chest
                if cv2.pointPolygonTest(body, tuple(float(v) for v in self.joints[hidden]), False) > 0:
                    seen[hidden] = 0
        return seen


def background(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    small = rng.integers(0, 256, (rng.integers(2, 9), rng.integers(2, 9), 3)).astype(np.uint8)
    frame = cv2.resize(small, (width, height), interpolation=int(rng.choice([cv2.INTER_LINEAR, cv2.INTER_CUBIC])))
    for _ in range(rng.integers(3, 16)):
        x, y = rng.integers(0, width), rng.integers(0, height)
        w, h = rng.integers(5, width // 2), rng.integers(5, height // 2)
        kind, colour = rng.integers(0, 4), _colour(rng)
        if kind == 0:
            cv2.rectangle(frame, (int(x), int(y)), (int(x + w), int(y + h)), colour, int(rng.choice([-1, 2, 6])))
        elif kind == 1:
            cv2.circle(frame, (int(x), int(y)), int(w // 3 + 1), colour, int(rng.choice([-1, 2, 6])), cv2.LINE_AA)
        else:
            end = (int(x + rng.integers(-150, 150)), int(y + rng.integers(-150, 150)))
            cv2.line(frame, (int(x), int(y)), end, colour, int(rng.integers(1, 22)), cv2.LINE_AA)
    return frame


def paint(frame: np.ndarray, figures: list[tuple[Pose, Look]]) -> Scene:
    """Paint figures over `frame`, the first at the back; a joint that a later figure covers cannot be seen."""
    height, width = frame.shape[:2]
    owner = np.zeros((height, width), np.uint8)
    joints = np.stack([_Figure(frame, owner, i + 1, pose, look).paint() for i, (pose, look) in enumerate(figures)])
    for i, person in enumerate(joints):
        for joint in person:
            x, y = round(joint[0]), round(joint[1])
            inside = 0 <= x < width and 0 <= y < height
            if not inside or owner[y, x] > i + 1:
                joint[2] = 0
    heights = np.array([pose.height for pose, _ in figures])
    return Scene(frame, joints, heights, tuple(look.behind for _, look in figures), owner)


def disturb(frame: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Blur, light and noise, as a camera adds them."""
    if rng.random() < 0.4:
        frame = cv2.GaussianBlur(frame, (0, 0), rng.uniform(0.4, 1.6))
    gain, offset = rng.uniform(0.7, 1.25), rng.uniform(-25, 25)
    noise = rng.standard_normal(frame.shape, np.float32) * np.float32(rng.uniform(0, 12))
    return np.clip(frame * gain + offset + noise, 0, 255).astype(np.uint8)


def render(rng: np.random.Generator, *, behind: float = 0.25, size: int = SIZE) -> Scene:
    """A random scene of 1 to 4 people, side by side or overlapping; `behind`: the share seen from behind."""
    count = int(rng.integers(1, 5))
    frame = background(rng, size, size)
    figures = []
    slots = (rng.permutation(count) + 0.5) / count * size
    for slot in slots:
        height = size * rng.uniform(0.42, 0.85 if count < 3 else 0.7)
        x = slot + rng.normal(0, 0.05 * size / count)
        y = rng.uniform(0.53 * height, max(0.54 * height, size - 0.5 * height))
        figures.append((random_pose(rng, x, y, height), random_look(rng, bool(rng.random() < behind))))
    figures.sort(key=lambda f: f[0].height)
    scene = paint(frame, figures)
    return scene._replace(frame=disturb(scene.frame, rng))


def walk(seed: int, width: int, height: int, frames: int, rate: float):  # type: ignore[no-untyped-def]
    """Scenes of a clip: three people cross the picture, one of them seen from behind, and wave."""
    rng = np.random.default_rng(seed)
    wall = background(rng, width, height)
    wall = cv2.GaussianBlur(wall, (0, 0), 3)
    looks = [random_look(rng, behind) for behind in (False, True, False)]
    sizes = [0.55, 0.66, 0.78]
    starts, speeds = [0.2, 0.5, 0.82], [0.035, -0.02, -0.03]
    for i in range(frames):
        t = i / rate
        figures = []
        for k, look in enumerate(looks):
            swing = np.sin(2 * np.pi * (0.9 * t + k / 3))
            wave = 1.2 + 1.1 * max(0.0, np.sin(0.6 * t + 2 * k))
            h = sizes[k] * height
            pose = Pose(
                (starts[k] + speeds[k] * t) * width,
                height * 0.93 - 0.47 * h + 0.008 * h * abs(swing),
                h,
                0.04 * swing,
                0.9,
                (0.35 + 0.25 * swing, 0.25, wave if k != 1 else 0.4 - 0.25 * swing, -0.3 + 0.5 * swing * (k != 1)),
                (0.14 + 0.14 * swing, -0.12, 0.14 - 0.14 * swing, -0.12),
                0.4 * np.sin(0.5 * t + k),
            )
            figures.append((pose, look))
        scene = paint(wall.copy(), figures)
        noise = 2 * rng.standard_normal(scene.frame.shape, np.float32)
        yield scene._replace(frame=np.clip(scene.frame + noise, 0, 255).astype(np.uint8))
