"""Makes the files of this folder: python3 make.py, with numpy and ml_dtypes of PyPI."""
import json

import ml_dtypes
import numpy as np

rng = np.random.default_rng(3)
types = ["bool", "u1", "i1", "i2", "u2", "f2", "i4", "u4", "f4", "f8", "i8", "u8"]
arrays = {}
for t in types:
    x = rng.integers(0, 2 if t == "bool" else 100, (2, 3, 4)).astype(t)
    arrays[t + "_c"] = x
    arrays[t + "_fortran"] = np.asfortranarray(x)
    arrays[t + "_scalar"] = x[0, 0, 1]
    arrays[t + "_empty"] = x[:0]
    if t not in ("bool", "u1", "i1"):
        arrays[t + "_big"] = x.astype(">" + t)
        arrays[t + "_bigfortran"] = np.asfortranarray(x.astype(">" + t))
arrays["bf16"] = rng.normal(size=(5,)).astype(ml_dtypes.bfloat16)
arrays["arg:名"] = np.arange(3, dtype="f4")
np.savez("plain.npz", **arrays)
np.savez_compressed("packed.npz", **arrays)
np.save("matrix.npy", rng.normal(size=(3, 4)).astype("f4"))
np.save("scalar.npy", np.array(2.5))
np.save("vector.npy", np.arange(7, dtype="i2"))
np.save("halves.npy", np.arange(4).astype(ml_dtypes.bfloat16))
np.save("complex.npy", np.ones(2, "c8"))
np.save("record.npy", np.zeros(2, [("a", "f4")]))
with open("version3.npy", "wb") as f:
    np.lib.format.write_array(f, np.arange(3, dtype="u1"), version=(3, 0))
with open("values.json", "w") as f:
    json.dump({k: {"shape": list(np.shape(v)),
                   "values": [float(x) for x in np.asarray(v).astype("f8").ravel()]}
               for k, v in arrays.items()}, f, separators=(",", ":"), sort_keys=True)
