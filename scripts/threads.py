#!/usr/bin/env python3
"""What `npu_layout.validate` reports on faults from public threads, each rebuilt as a recording.

    scripts/threads.py                 # every thread, and the same set-up without its fault
    scripts/threads.py rknn sophgo     # those whose address contains a word
    scripts/threads.py --write         # docs/threads.md

Exit status 1 if a verdict is wrong, or a set-up without a fault is no match.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from verdicts.rebuild import Answer, Thread, answer
from verdicts.threads import THREADS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "threads.md"
TEXT = """# Faults of public threads

People have asked in public why their accelerator disagrees with their model. {count} such threads, most of them
issues on GitHub, are rebuilt here. Each has a small network of the same kind, whose outputs have noise or a quantised
network's own error, and the fault that the thread is about. None of the people's own models or boards was used. The
cause is described in our own words; if the thread has an answer, it is the cause that the answer names.

`validate` names the right cause of {right}, and the fix that reads the buffer or makes the input,
if there is one{refused}. The same {count} set-ups without the fault are all a match. `scripts/threads.py` runs them,
and writes this page; [Proving a board](proving.md) explains the verdicts.

| thread | what was seen | what was wrong | what `validate` reports |
|---|---|---|---|
"""


def cell(text: str) -> str:
    """The text as Markdown in a table."""
    for sign in "\\|<>*_[]":
        text = text.replace(sign, f"\\{sign}")
    return text


def line(thread: Thread, found: Answer) -> str:
    """A row of the page."""
    name = thread.address.replace("https://", "").replace("/issues/", "#").replace("/pull/", "#")
    why = f" ({thread.refused})" if thread.refused else ""
    says = f"{found.verdict}: {found.sentence}"
    cells = [f"[{cell(name)}]({thread.link})", *map(cell, (thread.saw, thread.wrong, says + why))]
    return f"| {' | '.join(cells)} |"


def page(results: Sequence[tuple[Thread, Answer]]) -> str:
    """The page of the documentation."""
    kinds = Counter(found.judged for _, found in results)
    text = head(len(results), kinds["right"], kinds["refused"])
    return text + "".join(f"{line(thread, found)}\n" for thread, found in results)


def head(count: int, right: int, refused: int) -> str:
    """What the page says before the rows."""
    return TEXT.format(count=count, right=right, refused=f", and names none for {refused}" if refused else "")


def show(threads: Iterable[Thread]) -> tuple[list[tuple[Thread, Answer]], int]:
    """Print what is reported on each thread; how many failed."""
    results, failed = [], 0
    for thread in threads:
        found, without = answer(thread), answer(thread, faulty=False)
        bad = found.judged == "wrong" or without.judged != "right"
        failed += bad
        results.append((thread, found))
        print(f"{found.judged:8} {thread.link}\n         {found.verdict}: {found.sentence}")
        for what, one in (("", found), ("without the fault: ", without)):
            if one.error:
                print(f"         {what}{one.error}")
    return results, failed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only threads whose addresses contain one of these words")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args(arguments)
    if given.write and given.words:
        parser.error("--write is for all threads")
    chosen = [t for t in THREADS if not given.words or any(word in t.address for word in given.words)]
    results, failed = show(chosen)
    kinds = Counter(found.judged for _, found in results)
    print(f"{len(results)} threads: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}; {failed} failed")
    if given.write:
        PAGE.write_text(page(results), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
