#!/usr/bin/env python3
"""Holds the lines that `jali audit` gives to spills to those that NVIDIA's nvdisasm prints.

    bench/audit/line_tables.py [--jali build/jali] [--nvdisasm PATH] [--most N] CUBIN_OR_FOLDER ...

Of each kernel that spills: the PTX line and, where there is line information, the source lines with what was inlined
where, of every spill. Exits with 1 where one differs. nvdisasm comes with `pip install nvidia-cuda-nvdisasm`.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = re.compile(r'"([^"]*)", line (\d+)')


def annotated(nvdisasm, flag, cubin):
    """Of each section and offset the lines of the comments above it, as (file, line), innermost first."""
    done = subprocess.run([nvdisasm, flag, "-c", cubin], capture_output=True, text=True, check=True)
    places, section, current, fresh = {}, None, [], False
    for line in done.stdout.splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.([^,\s]+)", line):
            section, current = match[1].strip('"'), []
        elif line.lstrip().startswith("//## File"):
            # "A inlined at B", then "B inlined at C", then "C": the first place of each line is the chain.
            found = PLACE.findall(line)
            current = [found[0]] if not fresh else [*current, found[0]]
            fresh = True
        elif match := re.match(r"\s*/\*([0-9a-f]{4,})\*/", line):
            places[section, int(match[1], 16)] = [(name, int(number)) for name, number in current]
            fresh = False
    return places


def check(jali, nvdisasm, cubin, most):
    """(kernels, spills, spills with source, differences) of one file."""
    audit = json.loads(subprocess.run([jali, "audit", cubin, "--json"], capture_output=True, text=True, check=False).stdout)
    kernels = [kernel for kernel in audit["kernels"] if kernel["spill_sites"]][:most]
    if not kernels:
        return 0, 0, 0, []
    ptx, source = (annotated(nvdisasm, flag, cubin) for flag in ("-gp", "-gi"))
    spills, with_source, differences = 0, 0, []
    for kernel in kernels:
        for site in kernel["spill_sites"]:
            key = (kernel["name"], site["offset"])
            spills += 1
            ours = [(line["file"], line["line"]) for line in site["source"]]
            theirs = source.get(key, [])
            with_source += bool(theirs)
            line = ptx.get(key, [(None, None)])[0][1]
            same = len(ours) == len(theirs) and all(
                a[1] == b[1] and pathlib.PurePath(a[0]).name == pathlib.PurePath(b[0]).name for a, b in zip(ours, theirs)
            )
            if site["ptx_line"] != line or not same:
                differences.append((cubin, *key, site["ptx_line"], line, ours, theirs))
    return len(kernels), spills, with_source, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--jali", default=TREE / "build/jali", type=pathlib.Path)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--most", type=int, default=1 << 30, metavar="N", help="kernels of each file")
    arguments = parser.parse_args()
    kernels = spills = with_source = 0
    differences = []
    for path in arguments.paths:
        for cubin in sorted(path.rglob("*.cubin")) if path.is_dir() else [path]:
            found = check(arguments.jali, arguments.nvdisasm, cubin, arguments.most)
            kernels, spills, with_source = kernels + found[0], spills + found[1], with_source + found[2]
            differences += found[3]
    for cubin, name, offset, *lines in differences[:20]:
        print(f"{cubin}: {name} at {offset:#x}: PTX line {lines[0]}, nvdisasm {lines[1]}; source {lines[2]}, nvdisasm {lines[3]}")
    print(f"{kernels} kernels with {spills} spills, {with_source} of them with source lines; {len(differences)} differ from nvdisasm")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
