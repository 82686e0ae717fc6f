#!/usr/bin/env python3
"""Builds the nine PTX files of the public report without a GPU:

    make_ptx.py OUT [--toolchain nvvm20,nvvm23,latest] [--case document,window,causal]

writes OUT/ptx/<case>.<toolchain>.ptx. The first run installs the pinned packages (pins/) from PyPI, as pip is
configured, into virtual environments under OUT: about 8 GB. What is there already is kept; an interrupted run goes on.
The PTX is other people's: it stays under OUT.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
TOOLCHAINS = ("nvvm20", "nvvm23", "latest")
CASES = ("document", "window", "causal")
SPACE_NEEDED_BYTES = 9 << 30
COMPILE_TIMEOUT_SECONDS = 900


def say(sentence):
    print(f"make_ptx: {sentence}", file=sys.stderr, flush=True)


def environment(folder, pins, dependencies):
    """The Python of a virtual environment with the pinned packages, made where it is not there whole."""
    python = folder / "bin" / "python"
    installed = folder / "installed.txt"  # what was pinned when the installation was complete
    wanted = pins.read_text()
    if installed.exists() and installed.read_text() == wanted:
        return python
    say(f"installing {pins.stem} ...")
    venv.create(folder, with_pip=True, clear=True)
    # Without --no-deps each toolchain would bring a torch of its own.
    command = [python, "-m", "pip", "install", "-q", "-r", pins]
    subprocess.run(command + ([] if dependencies else ["--no-deps"]), check=True)
    installed.write_text(wanted)
    return python


def packages_folder(python):
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return pathlib.Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def toolchain_python(out, toolchain):
    """A toolchain's environment, which sees the one large torch."""
    torch = environment(out / "environments" / "torch", HERE / "pins" / "torch.txt", dependencies=True)
    python = environment(out / "environments" / toolchain, HERE / "pins" / f"{toolchain}.txt", dependencies=False)
    (packages_folder(python) / "torch_environment.pth").write_text(f"{packages_folder(torch)}\n")
    return python


def compile_case(out, python, toolchain, case):
    """Writes the PTX and returns whether that worked."""
    ptx = out / "ptx" / f"{case}.{toolchain}.ptx"
    if ptx.exists():
        return True
    say(f"compiling {case} with {toolchain} ...")
    dump = out / "dump" / f"{case}.{toolchain}"
    shutil.rmtree(dump, ignore_errors=True)
    log = out / "logs" / f"{case}.{toolchain}.log"
    with open(log, "w") as stream:
        command = [python, "-W", "ignore", HERE / "compile_backward.py", case, dump]
        # The DSL may abort after the dump, at the launch that cannot be: what counts is the file.
        subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, timeout=COMPILE_TIMEOUT_SECONDS)
    found = list(dump.rglob("*.ptx"))
    if len(found) != 1:
        say(f"{case} with {toolchain} left {len(found)} PTX files instead of 1; see {log}")
        return False
    unfinished = ptx.with_suffix(".unfinished")
    unfinished.write_bytes(found[0].read_bytes().replace(b"\0", b""))  # the DSL pads its dump
    os.replace(unfinished, ptx)
    return True


def chosen(text, known):
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description="Builds the public report's PTX files without a GPU.")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--toolchain", type=lambda text: chosen(text, TOOLCHAINS), default=TOOLCHAINS)
    parser.add_argument("--case", type=lambda text: chosen(text, CASES), default=CASES)
    options = parser.parse_args()
    out = options.out.resolve()
    for folder in ("ptx", "logs", "dump", "environments"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(out).free
    if not any((out / "environments").iterdir()) and free < SPACE_NEEDED_BYTES:
        sys.exit(f"make_ptx: {out} has {free >> 30} GiB free, and {SPACE_NEEDED_BYTES >> 30} are needed")
    failures = 0
    for toolchain in options.toolchain:
        python = toolchain_python(out, toolchain)
        for case in options.case:
            failures += not compile_case(out, python, toolchain, case)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
