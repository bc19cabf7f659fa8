"""Which kernels run, and whether torch is compared with, is shown; property tests are the same in every run of CI."""

from __future__ import annotations

import gc
import importlib.util
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from hypothesis import HealthCheck, Phase, settings

import npu_layout as nl
from npu_layout.engines import onnxruntime
from tests.support.memory import LAST_CACHE
from tests.support.paths import TESTS

pytest_plugins = ["pytester"]

settings.register_profile("default", deadline=None, max_examples=60, print_blob=True)
settings.register_profile(
    "slow", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile(  # for scripts/mutation.py: the first failure suffices, however large
    "mutation", parent=settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


_RAN: Counter[str] = Counter()

#: Folders of tests for which one kind of kernels suffices, and their files of which both are run: wings that ask no
#: kernels (setup.cfg's contract `ask`) have from both the same bits, which tests/kernels and tests/buffers show.
ONCE: dict[str, tuple[str, ...]] = {
    "arrays": (  # what moves elements
        *("test_formats.py", "test_orders.py", "test_reshaping.py", "test_tensor.py"),
    ),
    "diagnosis": ("test_threads.py", "test_verdicts.py"),  # boards with each cause, and faultless ones
    "drawing": (),
    "engines": (),
    "exchange": (),
    "project": (  # what is left looks at the tree
        *("test_bad_arguments.py", "test_detector.py", "test_docs.py", "test_fuzzing.py"),
        *("test_import.py", "test_page.py", "test_pose.py", "test_samples.py"),
    ),
    "recordings": (),
    "specs": (),
    "streams": (),
    "testing": (),
    "validation": ("test_conductor.py",),  # validate itself
}


@pytest.fixture(autouse=True, scope="session")
def one_thread_of_onnxruntime() -> Iterator[None]:
    """Where a test does not say how many: more of them wait for each other, and spin, beside tests on every core."""
    asked = onnxruntime._session_options
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            onnxruntime, "_session_options", lambda module, threads, *more: asked(module, threads or 1, *more)
        )
        yield


@pytest.fixture(autouse=True, scope="module")
def as_many_threads_as_before() -> Iterator[None]:
    """Scripts that run in this process set their number."""
    before = nl.kernels.get_num_threads()
    yield
    if nl.kernels.get_num_threads() != before:
        nl.set_num_threads(before)


@pytest.fixture(autouse=True, scope="module")
def what_stays_is_collected_once() -> Iterator[None]:
    """Reports and caches of thousands of tests stay until the end. Tests that collect garbage would go through them."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def last_cache() -> Iterator[Callable[[int], None]]:
    """``last_cache(size)``: what is stored past the caches is decided as if the last one held so many bytes; at first
    LAST_CACHE, whatever this machine has, and as if parts of lines cost no more than whole ones."""
    if nl.kernels.active() == "numpy":
        yield lambda size: None
        return
    from npu_layout.kernels import _native, native

    _native.set_last_cache(LAST_CACHE)
    _native.set_stores(False, 0)
    yield _native.set_last_cache
    native.ask_for_the_last_cache()
    native.ask_how_to_store()


@pytest.fixture
def no_cache(last_cache: Callable[[int], None]) -> Iterator[None]:
    """Whatever can be is stored past the caches."""
    last_cache(0)
    yield
    last_cache(LAST_CACHE)


@pytest.fixture
def cached() -> Iterator[Callable[[int], int]]:
    """``cached(answer)``: 1: every buffer is in a cache, 0: none is; return how many looks there were. Compiled kernels
    alone look."""
    from npu_layout.kernels import _native

    yield _native.set_cached
    _native.set_cached(-1)


@pytest.fixture
def activate() -> Iterator[Callable[[str], None]]:
    """``activate(backend)``: calls that name no backend use that one, until the test ends."""
    before = nl.kernels.active()
    yield nl.kernels.activate
    nl.kernels.activate(before)


@pytest.fixture
def ran() -> Callable[[int, str], None]:
    """``ran(count, what)``: the summary says how many of what there were."""

    def note(count: int, what: str) -> None:
        _RAN[what] += count

    return note


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--alone", choices=("only", "never"), help="run only the tests marked alone, or none of them")
    parser.addoption("--second-half", action="store_true", help="after a run with other kernels: nothing of ONCE")


def suffices_once(path: Path) -> bool:
    """Whether the tests of a file are the same with each kind of kernels."""
    wing = path.relative_to(TESTS).parts[0] if path.suffix == ".py" and TESTS in path.parents else ""
    return path.name not in ONCE.get(wing, (path.name,))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is left out is not imported either; a file that is named is, and its tests are left out behind that."""
    return True if config.getoption("--second-half", default=False) and suffices_once(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    choice, second = config.getoption("--alone", default=None), config.getoption("--second-half", default=False)
    chosen, left = [], []
    for item in items:
        alone = item.get_closest_marker("alone") is not None
        once = second and (suffices_once(item.path) or item.get_closest_marker("once") is not None)
        wanted = (choice is None or alone == (choice == "only")) and not once
        (chosen if wanted else left).append(item)
    items[:] = chosen
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Twenty thousand tests are half a million objects, which every full collection of garbage would go through: 0.3 s,
    and five of them when a run of pytest in this process ends."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["ran"] = dict(_RAN)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker of pytest-xdist counted is added up where the summary is written."""
    _RAN.update(getattr(node, "workeroutput", {}).get("ran", {}))


def pytest_report_header() -> str:
    return f"npu_layout {nl.__version__} in {Path(nl.__file__).parent}, kernels: {nl.kernels.active()}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for what, count in sorted(_RAN.items()):
        terminalreporter.write_line(f"{count:,} {what}")
    if importlib.util.find_spec("torch") is None:
        terminalreporter.write_sep("=", "torch is not installed", yellow=True, bold=True)
        terminalreporter.write_line(
            "tests/arrays/test_torch_formats.py did NOT run: memory formats were not compared with torch's. "
            "pip install 'npu-layout[test-torch]'"
        )
