"""Writes tests/data/npy/*.npy with NumPy; tests/io/npy_test.cpp knows what they hold."""

import pathlib

import numpy as np

folder = pathlib.Path(__file__).parent / "npy"
folder.mkdir(exist_ok=True)


def write(name, array, version=None):
    with open(folder / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)


grid = [[1, -2, 3], [4, 5, -6]]
for type_name in ("i1", "i2", "i4", "i8"):
    write(f"little_{type_name}", np.array(grid, dtype="<" + type_name))
    write(f"big_{type_name}", np.array(grid, dtype=">" + type_name))
for type_name in ("u1", "u2", "u4", "u8"):
    write(f"fortran_{type_name}", np.asfortranarray(np.abs(np.array(grid)).astype("<" + type_name)))
write("fortran_big_i4", np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4)))
write("boolean", np.array([[True, False, True], [False, False, True]]))
write("fortran_boolean", np.asfortranarray(np.array([[True, False, True], [False, False, True]])))
write("scalar_version_2", np.array(7, dtype="<i8"), (2, 0))
write("one_version_3", np.array([-9], dtype="<i8"), (3, 0))
write("empty", np.zeros((0, 5), dtype="i1"))
write("too_large", np.array([1, 2**63], dtype="<u8"))
write("floats", np.array([1.0], dtype="<f4"))
write("records", np.array([(1, 2)], dtype=[("a", "<i4"), ("b", "<i4")]))
