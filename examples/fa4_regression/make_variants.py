#!/usr/bin/env python3
"""Writes the PTX of a folder again with one thing changed:

    make_variants.py PTX_FOLDER OUT

OUT/renamed has "xutlass" for "cutlass" in every name: ptxas -O3 compiles a kernel with "cutlass" in its name in another
way. OUT/budgets has that and the register budgets 144/144/80 (setmaxnreg) where they were 152/136/88: the same sum,
eight registers more for the warps that spill. Lines stay where they are.
"""

import pathlib
import re
import sys

BUDGETS = {152: 144, 136: 144, 88: 80}


def renamed(ptx):
    return ptx.replace("cutlass", "xutlass")


def with_budgets(ptx):
    """None where the kernel's budgets are others."""
    found = {int(value) for value in re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32\s+(\d+)", ptx)}
    if not found.issuperset(BUDGETS):
        return None

    def exchange(match):
        value = BUDGETS.get(int(match[3]), int(match[3]))
        # The kernel starts with 128 registers: what lies above is an increase, what lies below a decrease.
        return f"setmaxnreg.{'inc' if value > 128 else 'dec'}{match[2]}{value}"

    return re.sub(r"setmaxnreg\.(inc|dec)(\.sync\.aligned\.u32\s+)(\d+)", exchange, ptx)


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    for name in ("renamed", "budgets"):
        (out / name).mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.ptx")):
        ptx = renamed(path.read_text())
        (out / "renamed" / path.name).write_text(ptx)
        split = with_budgets(ptx)
        if split is not None:
            (out / "budgets" / path.name).write_text(split)


if __name__ == "__main__":
    main()
