#!/usr/bin/env python3
"""The tables of the report's regression, as Markdown, out of what `jali audit --json` says:

    report.py MATRIX.json LEVERS.json

MATRIX: PTX by assembler and option. LEVERS: ptxas 13.0.88 -O3 by name, register budgets and route. Fails where the
report's own figures do not come out. PTX lines are numbers: the PTX itself is not ours to show.
"""

import collections
import json
import pathlib
import sys

REPORTED = {"nvvm20": "28/16", "nvvm23": "204/204"}  # document mask, as it is, ptxas 13.0.88 -O3
ASSEMBLER = "13.0.88"
CASES = ("document", "window", "causal")
TOOLCHAINS = ("nvvm20", "nvvm23", "latest")
HOTTEST_LINES = 10

Key = collections.namedtuple("Key", "case toolchain variant assembler options route")


def load(path):
    """Kernels by key; the failures as text."""
    document = json.loads(pathlib.Path(path).read_text())
    kernels, failures = {}, []
    for run in document["assembled"]:
        ptx = pathlib.Path(run["ptx"])
        case, toolchain = ptx.stem.split(".")
        variant = "as is" if ptx.parent.name == "ptx" else ptx.parent.name
        key = Key(case, toolchain, variant, run["assembler"], run["options"], run["route"])
        first, count = run["first_kernel"], run["kernel_count"]
        if not run["succeeded"] or count != 1:
            failures.append(f"{key}: {run['message'] or f'{count} kernels'}")
            continue
        kernels[key] = document["kernels"][first]
    return kernels, failures


def bytes_of(kernel):
    if kernel is None:
        return "-"
    return f"{kernel['spills']['store_bytes']}/{kernel['spills']['load_bytes']}"


def table(heading, rows):
    print("| " + " | ".join(heading) + " |")
    print("|" + "---|" * len(heading))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def in_order(values, known):
    return [value for value in known if value in values]


def all_imad(mix):
    return sum(mix[kind] for kind in ("imad", "imad_mov", "imad_shl", "imad_iadd", "imad_wide"))


def reported_table(kernels):
    print(f"## The report's table (ptxas {ASSEMBLER} -O3, names as they are)\n")
    rows = []
    for case in CASES:
        for toolchain in TOOLCHAINS:
            kernel = kernels.get(Key(case, toolchain, "as is", ASSEMBLER, "-O3", "ptxas"))
            if kernel is None:
                continue
            spills = kernel["spills"]
            rows.append(
                [
                    case,
                    toolchain,
                    kernel["registers"],
                    kernel["stack_bytes"],
                    bytes_of(kernel),
                    f"{spills['stores']}/{spills['loads']}",
                    kernel["instructions"],
                    all_imad(kernel["mix"]),
                    kernel["mix"]["logic"],
                    kernel["serialisation"],
                ]
            )
    heading = "mask|toolchain|registers|stack B|spill B|spill instructions|instructions|IMAD|logic|serialised wgmma"
    table(heading.split("|"), rows)


def matrix_table(kernels):
    print("## Spill bytes (stores/loads) by toolchain, assembler and option\n")
    assemblers = list(dict.fromkeys(key.assembler for key in kernels))
    columns = list(dict.fromkeys((key.variant, key.options) for key in kernels))
    for case in CASES:
        rows = []
        for toolchain in TOOLCHAINS:
            for assembler in assemblers:
                cells = [
                    bytes_of(kernels.get(Key(case, toolchain, variant, assembler, options, "ptxas")))
                    for variant, options in columns
                ]
                if rows and rows[-1][0] == toolchain and rows[-1][2:] == cells:
                    rows[-1][1] += f", {assembler}"
                else:
                    rows.append([toolchain, assembler, *cells])
        table([f"{case}", "ptxas", *(f"{variant} {options}" for variant, options in columns)], rows)


def levers_table(kernels):
    print(f"## What each lever does (ptxas {ASSEMBLER} -O3)\n")
    columns = list(dict.fromkeys((key.variant, key.route) for key in kernels))
    rows = []
    for case in CASES:
        for toolchain in TOOLCHAINS:
            cells = [
                bytes_of(kernels.get(Key(case, toolchain, variant, ASSEMBLER, "-O3", route)))
                for variant, route in columns
            ]
            rows.append([case, toolchain, *cells])
    table(["mask", "toolchain", *(f"{variant}, {route}" for variant, route in columns)], rows)
    notes = sorted({(key.route, note) for key, kernel in kernels.items() for note in kernel["notes"]})
    for route, note in notes:
        print(f"- {route} notes {note}")
    print()


def where_table(kernels):
    print(f"## Where the spills sit (ptxas {ASSEMBLER} -O3, names as they are)\n")
    rows = []
    for case in CASES:
        for toolchain in TOOLCHAINS:
            kernel = kernels.get(Key(case, toolchain, "as is", ASSEMBLER, "-O3", "ptxas"))
            if kernel is None:
                continue
            places = collections.defaultdict(lambda: {"store": [], "load": []})
            for site in kernel["spill_sites"]:
                role = None if site["role"] is None else kernel["roles"][site["role"]]["registers"]
                places[(role, site["loop_depth"])][site["kind"]].append(site)
            for (role, depth), sites in sorted(places.items(), key=str):
                lines = collections.Counter(
                    site["ptx_line"] for kind in sites.values() for site in kind if site["ptx_line"] is not None
                )
                hottest = ", ".join(
                    f"{line} ({count})" if count > 1 else str(line)
                    for line, count in sorted(lines.most_common(HOTTEST_LINES))
                )
                total = {kind: sum(site["bytes"] for site in sites[kind]) for kind in sites}
                rows.append(
                    [
                        case,
                        toolchain,
                        "unknown" if role is None else role,
                        "unknown" if depth is None else depth,
                        f"{total['store']}/{total['load']}",
                        f"{len(sites['store'])}/{len(sites['load'])}",
                        hottest or "none known",
                    ]
                )
    heading = ["mask", "toolchain", "role (its registers)", "loop depth", "bytes", "instructions"]
    table([*heading, f"PTX lines, the {HOTTEST_LINES} with most"], rows)


FIGURES = {
    "instructions": lambda kernel: kernel["instructions"],
    "weighted by loop depth": lambda kernel: round(kernel["loop_weighted_instructions"]),
    "matrix": lambda kernel: kernel["mix"]["matrix"],
    "special functions": lambda kernel: kernel["mix"]["special"],
    "branches": lambda kernel: kernel["mix"]["branches"],
    "moves": lambda kernel: kernel["mix"]["moves"],
    "logic": lambda kernel: kernel["mix"]["logic"],
    "predicates": lambda kernel: kernel["mix"]["predicates"],
    "integers": lambda kernel: kernel["mix"]["integers"],
    "IMAD, products": lambda kernel: kernel["mix"]["imad"],
    "IMAD.MOV": lambda kernel: kernel["mix"]["imad_mov"],
    "IMAD.SHL": lambda kernel: kernel["mix"]["imad_shl"],
    "IMAD.IADD": lambda kernel: kernel["mix"]["imad_iadd"],
    "IMAD.WIDE": lambda kernel: kernel["mix"]["imad_wide"],
    "local": lambda kernel: kernel["mix"]["local"],
    "global loads": lambda kernel: kernel["global_loads"]["loads"],
    "global load to use, median": lambda kernel: kernel["global_loads"]["median"],
    "global loads used within 8": lambda kernel: kernel["global_loads"]["under_8"],
}


def difference_table(kernels):
    print(f"## What differs (ptxas {ASSEMBLER}, document mask; instructions unless said)\n")
    columns = [
        (toolchain, variant, options)
        for toolchain in TOOLCHAINS
        for variant, options in (("as is", "-O3"), ("renamed", "-O3"), ("as is", "-O2"), ("as is", "-O1"))
    ]
    found = [kernels.get(Key("document", *column[:2], ASSEMBLER, column[2], "ptxas")) for column in columns]
    rows = [["spill bytes", *(bytes_of(kernel) for kernel in found)]]
    for name, figure in FIGURES.items():
        rows.append([name, *("-" if kernel is None else figure(kernel) for kernel in found)])
    table(["", *(" ".join(column) for column in columns)], rows)
    same = 0
    compared = 0
    for key, kernel in kernels.items():
        if key.variant != "as is" or key.options != "-O2":
            continue
        other = kernels.get(key._replace(variant="renamed", options="-O3"))
        if other is not None:
            compared += 1
            same += other["code_sha256"] == kernel["code_sha256"]
    print(f"-O2 of the name as it is and -O3 of the other name are the same code in {same} of {compared} pairs.\n")


def main():
    matrix, failures = load(sys.argv[1])
    levers, lever_failures = load(sys.argv[2])
    failures += lever_failures
    reported_table(matrix)
    matrix_table(matrix)
    levers_table(levers)
    where_table(matrix)
    difference_table(matrix)
    for toolchain, expected in REPORTED.items():
        found = bytes_of(matrix.get(Key("document", toolchain, "as is", ASSEMBLER, "-O3", "ptxas")))
        if found != expected:
            failures.append(f"the report has {expected} for document {toolchain}, and this is {found}")
        else:
            print(f"The report's {expected} bytes of document {toolchain}: reproduced.\n")
    for failure in failures:
        print(f"report: {failure}", file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
