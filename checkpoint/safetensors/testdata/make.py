"""Makes the files of this folder: python3 make.py, with safetensors, numpy and ml_dtypes of PyPI."""
import json

import ml_dtypes
import numpy as np
from safetensors.numpy import save, save_file

rng = np.random.default_rng(7)


def values(dtype, shape):
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.normal(size=shape).astype(np.float32).astype(dtype)


types = {
    "bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "uint16": np.uint16,
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int32": np.int32, "uint32": np.uint32,
    "float32": np.float32, "float64": np.float64, "int64": np.int64, "uint64": np.uint64,
}
arrays = {}
for name, t in types.items():
    arrays[name + ".matrix"] = values(np.dtype(t), (2, 3))
    arrays[name + ".scalar"] = values(np.dtype(t), ())
    arrays[name + ".empty"] = values(np.dtype(t), (0, 4))
arrays['quoted "é\\ 名'] = values(np.dtype(np.float32), (5,))
save_file(arrays, "all.safetensors", metadata={"format": "np"})
save_file({}, "none.safetensors")
text = {k: [str(float(x)) for x in v.astype(np.float64).ravel()] for k, v in arrays.items()}
with open("all.json", "w") as f:
    json.dump({k: {"dtype": k.split(".")[0] if "." in k else "float32", "shape": list(v.shape),
                   "values": text[k]} for k, v in arrays.items()}, f, indent=0, sort_keys=True)

# A file with an element type that gomx does not have.
with open("float8.safetensors", "wb") as f:
    f.write(save({"w": values(np.dtype(np.float32), (4,)).astype(ml_dtypes.float8_e4m3fn),
                  "b": np.ones(2, np.float32)}))
