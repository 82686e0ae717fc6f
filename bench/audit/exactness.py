#!/usr/bin/env python3
"""Holds what `jali audit` reads in cubins to what `ptxas -v` prints of the same assembly, kernel by kernel.

    bench/audit/exactness.py [--work FOLDER] [--per-source N] [--ptxas VERSIONS] [SOURCE ...]

A source is NAME=PATH, where PATH is anything that holds PTX (a .ptx file, a folder, a wheel, a library), or NAME=pip:PACKAGE,
which is fetched from PyPI. Without sources: NVIDIA's libraries as they are on PyPI, kernels that Triton compiles
(triton_kernels.py), the kernels and test kernels of this tree, and the report's nine where examples/fa4_regression/run
has left them in build/fa4_regression.

The figures of `ptxas -v` are parsed here and share no code with Jali's. Of NVIDIA's tools only ptxas is called, and
nvcc where it is there, for the kernels of this tree. Prints a table per source; exits with 1 where bytes differ that
the assembler's annotations should make exact, or an opcode is unknown, or a spill has no PTX line, depth or role.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
PACKAGES = {
    "cuFFT": "nvidia-cufft",
    "cuSPARSE": "nvidia-cusparse",
    "cuSOLVER": "nvidia-cusolver",
    "NCCL": "nvidia-nccl-cu13",
}
VERSIONS = "12.4.131,12.8.93,12.9.86,13.0.88,13.1.80,13.3.73,13.5.37"
FIRST_ANNOTATING = (12, 6)
MOST_PTX_BYTES = 400_000
SECONDS_A_PTX = 300

Reported = collections.namedtuple("Reported", "registers stack store load")


def say(*words):
    print("exactness:", *words, file=sys.stderr, flush=True)


# --- PTX ---


def fetched(package, work, jali):
    """The PTX files of a package on PyPI."""
    folder = work / package
    unpacked = folder / "ptx"
    if not unpacked.exists():
        say("fetching", package)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package]
        subprocess.run(command, check=True)
        (wheel,) = folder.glob("*.whl")
        unpack(wheel, unpacked, jali)
        wheel.unlink()
    return unpacked


def unpack(path, folder, jali):
    """Writes the PTX of `path` that is small enough into `folder`, whole or not at all."""
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    command = [jali, "audit", "unpack", path, "--out", partial, "--ptx", "--most-bytes", str(MOST_PTX_BYTES)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    partial.mkdir(exist_ok=True)
    partial.rename(folder)


def own_ptx(work):
    """Our kernels by nvcc, where there is one, and the test kernels."""
    folder = work / "own"
    folder.mkdir(parents=True, exist_ok=True)
    for ptx in (TREE / "tests/data/audit").glob("*.ptx"):
        shutil.copy(ptx, folder)
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        say("no nvcc: the kernels of this tree are left out")
        return folder
    sources = [(path, "90a") for path in sorted((TREE / "kernels/sm90").glob("*.cu"))]
    sources += [(path, "90") for path in sorted((TREE / "tests/data/audit").glob("*.cu"))]
    for source, arch in sources:
        target = folder / (source.stem + ".ptx")
        command = [nvcc, "-std=c++20", "-ptx", "-lineinfo", f"-arch=compute_{arch}", f"-I{TREE}", "-o", target, source]
        if not target.exists():
            subprocess.run(command, check=True)
    return folder


def triton_ptx(work):
    """Triton's kernels, in a virtual environment of their own."""
    folder = work / "triton"
    if not (folder / "done").exists():
        say("compiling kernels with Triton")
        environment = work / "triton-environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin/pip", "install", "--quiet", "triton", "numpy"], check=True)
        subprocess.run([environment / "bin/python", "-W", "ignore", HERE / "triton_kernels.py", folder], check=True)
        (folder / "done").touch()
    return folder


def sample(folder, count):
    """At most `count` PTX files that hold kernels, small and large ones in turn."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.ptx"), key=lambda path: path.stat().st_size)
    files = [path for path in files if path.stat().st_size <= MOST_PTX_BYTES and ".entry" in path.read_text("utf-8", "replace")]
    step = max(1, len(files) // count)
    return files[step - 1 :: step][:count]


def default_sources(work, jali):
    sources = {name: lambda package=package: fetched(package, work, jali) for name, package in PACKAGES.items()}
    sources["Triton"] = lambda: triton_ptx(work)
    sources["Jali"] = lambda: own_ptx(work)
    nine = TREE / "build/fa4_regression/ptx"
    if nine.exists():
        sources["FlashAttention-4"] = lambda: nine
    return sources


def named_source(text, work, jali):
    name, _, path = text.partition("=")
    if not path:
        sys.exit(f"exactness: a source is NAME=PATH or NAME=pip:PACKAGE, not {text!r}")
    if path.startswith("pip:"):
        return name, lambda: fetched(path[4:], work, jali)
    path = pathlib.Path(path)
    if not path.exists():
        sys.exit(f"exactness: {path} does not exist")
    if path.is_dir() or path.suffix == ".ptx":
        return name, lambda: path

    def unpacked():
        folder = work / "unpacked" / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            unpack(path, folder, jali)
        return folder

    return name, unpacked


# --- Assembling, by ptxas itself ---


def parse_log(log):
    """What `ptxas -v` says of each entry function."""
    kernels, entry, function, frame = {}, None, None, (0, 0, 0)
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '(.+?)' for", line):
            entry, frame = match[1], (0, 0, 0)
        elif match := re.search(r"Function properties for (\S+)", line):
            function = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if function == entry:
                frame = tuple(int(number) for number in match.groups())
        elif (match := re.search(r"Used (\d+) registers", line)) and entry is not None:
            kernels[entry] = Reported(int(match[1]), *frame)
            entry = None
    return kernels


def lowered(text, newest, arch):
    """PTX for an older assembler: the same text under its newest .version, and where it must be another target."""
    version = re.search(r"^\.version\s+(\d+)\.(\d+)", text, re.M)
    if version and (int(version[1]), int(version[2])) > newest:
        text = re.sub(r"^(\.version\s+)[\d.]+", rf"\g<1>{newest[0]}.{newest[1]}", text, count=1, flags=re.M)
    return re.sub(r"^(\.target\s+)\w+", rf"\g<1>{arch}", text, count=1, flags=re.M)


def target_for(text, version):
    """The PTX's own target; another that takes it where the assembler or the audit does not know that."""
    target = re.search(r"^\.target\s+(sm_(\d+)\w?)", text, re.M)
    number = int(target[2])
    if number < 80:
        return "sm_80"
    known_since = {100: (12, 7), 101: (12, 7), 120: (12, 7), 103: (12, 9), 121: (12, 9), 110: (13, 0)}
    return "sm_90" if version < known_since.get(number, (12, 4)) else target[1]


def assemble(ptx, assembler, folder):
    """Assembles one file; its cubin and log stay, also for the next time. None where it does not assemble."""
    version, newest, ptxas = assembler
    cubin = folder / (ptx.stem + ".cubin")
    log = folder / (ptx.stem + ".log")
    if not log.exists():
        text = ptx.read_text("utf-8", "replace")
        arch = target_for(text, version)
        source = folder / (ptx.stem + ".ptx")
        source.write_text(lowered(text, newest, arch))
        command = [ptxas, "-v", "-lineinfo", "-arch", arch, "-o", cubin, source]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_A_PTX, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            cubin.unlink(missing_ok=True)
        log.write_text(done.stderr + done.stdout)
    return (cubin, log) if cubin.exists() else None


def assemblers(jali, versions):
    found = []
    for version in versions:
        path = subprocess.run([jali, "toolchain", "path", version], capture_output=True, text=True, check=False)
        if path.returncode != 0:
            say("installing ptxas", version)
            subprocess.run([jali, "toolchain", "install", version], check=True)
            path = subprocess.run([jali, "toolchain", "path", version], capture_output=True, text=True, check=True)
        numbers = tuple(int(part) for part in version.split("."))
        # CUDA 12.x takes PTX 8.x of the same minor version but for 12.0 to 12.2; CUDA 13.x takes 9.x.
        newest = (8, numbers[1] if numbers[1] < 6 else numbers[1] - 1) if numbers[0] == 12 else (9, numbers[1])
        found.append((numbers, newest, path.stdout.strip()))
    return found


# --- Comparing ---


class Tally:
    """What was compared of one source, or of one kind of kernel in it."""

    def __init__(self):
        self.kernels = self.spilling = self.wrong = self.by_opcodes = self.over = 0
        self.registers = self.stack = self.failed = 0
        self.sites = self.no_line = self.no_depth = self.no_role = 0
        self.instructions = self.unknown = 0
        self.hashes, self.examples = set(), []

    def add(self, kernel, reported):
        spills = kernel["spills"]
        self.kernels += 1
        self.hashes.add(kernel["code_sha256"])
        self.spilling += reported.store + reported.load > 0
        self.instructions += kernel["instructions"]
        self.unknown += kernel["mix"]["unknown"]
        store, load = spills["store_bytes"], spills["load_bytes"]
        exact = (store, load) == (reported.store, reported.load)
        if spills["source"] == "opcodes":
            # The rule: never less than there is; more only where a local array lies in the frame, whose elements at
            # indices known to the assembler look the same.
            self.by_opcodes += 1
            over = store >= reported.store and load >= reported.load and kernel["stack_bytes"] > 0
            self.over += over and not exact
            self.wrong += not over and not exact
        else:
            self.wrong += not exact
        self.registers += kernel["registers"] != reported.registers
        self.stack += kernel["stack_bytes"] != reported.stack
        if not exact or kernel["registers"] != reported.registers or kernel["stack_bytes"] != reported.stack:
            read = (kernel["registers"], kernel["stack_bytes"], spills["store_bytes"], spills["load_bytes"])
            self.examples.append((kernel["origin"], kernel["name"], kernel["assembler"], spills["source"], read, tuple(reported)))
        for site in kernel["spill_sites"]:
            self.sites += 1
            self.no_line += site["ptx_line"] is None
            self.no_depth += site["loop_depth"] is None
            self.no_role += site["role"] is None


def read_cubins(folder, jali):
    """What the audit says of every cubin of a folder, by file and name."""
    done = subprocess.run([jali, "audit", folder, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"exactness: jali audit {folder}: {done.stderr.strip()}")
    audit = json.loads(done.stdout)
    for problem in audit["problems"]:
        say("problem:", problem["origin"], problem["sentence"])
    kernels = {(pathlib.Path(kernel["origin"]).name, kernel["name"]): kernel for kernel in audit["kernels"]}
    return kernels, len(audit["problems"])


def compare(name, files, tools, work, jali):
    tally = Tally()
    problems = 0
    for tool in tools:
        version = ".".join(str(number) for number in tool[0])
        folder = work / "assembled" / name / version
        folder.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda ptx: assemble(ptx, tool, folder), files))
        tally.failed += results.count(None)
        kernels, more = read_cubins(folder, jali)
        problems += more
        for result in filter(None, results):
            for entry, reported in parse_log(result[1].read_text()).items():
                kernel = kernels.get((result[0].name, entry))
                if kernel is None:
                    tally.examples.append((result[0].name, entry, version, "not read", (), tuple(reported)))
                    tally.wrong += 1
                else:
                    tally.add(kernel, reported)
        say(f"{name}, ptxas {version}: {tally.kernels} kernels so far")
    return tally, problems


COLUMNS = (
    ("source", 18), ("kernels", 8), ("distinct", 9), ("spilling", 9), ("wrong", 6), ("by opcodes", 11), ("of them over", 13),
    ("stack", 6), ("registers", 10), ("unknown opcodes", 16), ("sites", 8), ("no line", 8), ("no depth", 9), ("no role", 8),
    ("not assembled", 14),
)  # fmt: skip


def row(*cells):
    return "".join(str(cell).ljust(width) if at == 0 else str(cell).rjust(width) for at, (cell, (_, width)) in enumerate(zip(cells, COLUMNS)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--jali", default=TREE / "build/jali", type=pathlib.Path)
    parser.add_argument("--work", default=TREE / "build/exactness", type=pathlib.Path, help="what is fetched and assembled stays here")
    parser.add_argument("--per-source", default=24, type=int, metavar="N", help="PTX files of each source")
    parser.add_argument("--ptxas", default=VERSIONS, metavar="VERSIONS")
    parser.add_argument("--examples", default=5, type=int, metavar="N", help="differences shown of each source")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    tools = assemblers(arguments.jali, arguments.ptxas.split(","))
    if arguments.sources:
        sources = dict(named_source(text, arguments.work, arguments.jali) for text in arguments.sources)
    else:
        sources = default_sources(arguments.work, arguments.jali)

    rows, bad, hashes, kernels = [], 0, set(), 0
    for name, folder in sources.items():
        files = sample(folder(), arguments.per_source)
        tally, problems = compare(name, files, tools, arguments.work, arguments.jali)
        rows.append(row(name, tally.kernels, len(tally.hashes), tally.spilling, tally.wrong, tally.by_opcodes, tally.over,
                        tally.stack, tally.registers, f"{tally.unknown} of {tally.instructions}", tally.sites, tally.no_line,
                        tally.no_depth, tally.no_role, tally.failed))  # fmt: skip
        bad += tally.wrong + tally.unknown + tally.no_line + tally.no_depth + tally.no_role + tally.stack + tally.registers + problems
        hashes |= tally.hashes
        kernels += tally.kernels
        for example in tally.examples[: arguments.examples]:
            say("differs:", *example[:4], "read (registers, stack, stores, loads)", example[4], "ptxas", example[5])
    print(row(*(title for title, _ in COLUMNS)))
    print("\n".join(rows))
    print(f"{kernels} kernels, {len(hashes)} of them distinct; ptxas {arguments.ptxas}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
