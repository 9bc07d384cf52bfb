"""Writes gluon/data/ beside this file with MXNet 1.9.1: cases of transforms, augmenters, functions of pictures and
detection iterators, in the format of the golden data.

    python make_data.py FOLDER
"""
import json, os, struct, sys, zlib
import numpy as np
import mxnet as mx
from mxnet import image, nd
from mxnet.gluon.data.vision import transforms as T

OUT = os.path.abspath(sys.argv[1])
os.makedirs(OUT, exist_ok=True)
os.chdir(OUT)
rng = np.random.RandomState(7)
arrays, cases, kept = {}, [], []


def ref(key, a):
    a = np.asarray(a)
    arrays[key] = a
    return {"key": key, "shape": list(a.shape), "dtype": str(a.dtype)}


def smooth(h, w, c=3):
    small = rng.randint(0, 256, (h // 4 + 2, w // 4 + 2, c)).astype("f")
    ys, xs = np.linspace(0, small.shape[0] - 1.001, h), np.linspace(0, small.shape[1] - 1.001, w)
    y0, x0 = ys.astype(int), xs.astype(int)
    fy, fx = (ys - y0)[:, None, None], (xs - x0)[None, :, None]
    a = small[y0][:, x0] * (1 - fx) + small[y0][:, x0 + 1] * fx
    b = small[y0 + 1][:, x0] * (1 - fx) + small[y0 + 1][:, x0 + 1] * fx
    return np.clip(a * (1 - fy) + b * fy + rng.randint(-9, 10, (h, w, c)), 0, 255).astype("uint8")


inputs = {"img": smooth(24, 31), "tall": smooth(33, 18), "even": smooth(10, 12), "big": smooth(61, 47),
          "batch": np.stack([smooth(10, 12), smooth(10, 12)])}
inputs["chw"] = (inputs["img"].transpose(2, 0, 1) / 255).astype("f")
inputs["small"] = np.ascontiguousarray(inputs["chw"][:, :9, :12])
inputs["gray"] = inputs["chw"][:1]
inputs["bchw"] = (inputs["batch"].transpose(0, 3, 1, 2) / 255).astype("f")
refs = {k: ref("image/" + k, v) for k, v in inputs.items()}
for k in ("img", "even", "big", "batch"):  # the same values, float32
    inputs[k + "f"], refs[k + "f"] = inputs[k].astype("f"), dict(refs[k], cast="float32")


def add(c):
    cases.append(c)


def transform(cls, args, where, tolerance=0):
    for w in where:
        id = "%s.%02d.%s" % (cls, len(cases), w)
        out = getattr(T, cls)(**args)(nd.array(inputs[w], dtype=inputs[w].dtype)).asnumpy()
        add({"id": id, "kind": "transform", "class": cls, "args": args, "file": "data.npz", "input": refs[w],
             "output": ref(id, out), "tolerance": tolerance})


transform("ToTensor", {}, ["img", "batch", "imgf"])
transform("Normalize", {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.25, 0.3]}, ["chw", "bchw"])
transform("Normalize", {"mean": 0.5}, ["chw", "gray"])
transform("Normalize", {"std": 0.25}, ["bchw"])
transform("Normalize", {}, ["chw"])
transform("Normalize", {"mean": [0.5], "std": [2]}, ["gray"])
for t in ("float32", "float64", "int32", "float16", "uint8"):
    transform("Cast", {"dtype": t}, ["even"])
transform("Cast", {}, ["batch"])
transform("Cast", {"dtype": "float64"}, ["small"])
for size, by in (([16, 12], 1), (10, 1), ([40, 20], 1), ([40, 40], 0), (40, 2), ([9, 30], 3), ([50, 8], 4), (30, 9)):
    transform("CenterCrop", {"size": size, "interpolation": by}, ["img", "tall"], 1)
transform("CenterCrop", {"size": 14}, ["imgf"], 1e-3)
transform("CropResize", {"x": 3, "y": 2, "width": 5, "height": 6}, ["img", "batch", "tall"])
for by in range(5):
    transform("CropResize", {"x": 1, "y": 0, "width": 8, "height": 9, "size": [13, 16], "interpolation": by}, ["img", "batch"], 1)
    transform("CropResize", {"x": 0, "y": 1, "width": 11, "height": 9, "size": 6, "interpolation": by}, ["img", "batch"], 1)
    transform("Resize", {"size": [20, 15], "interpolation": by}, ["img", "batch", "big"], 1)
    transform("Resize", {"size": [40, 44], "interpolation": by}, ["img"], 1)
    transform("Resize", {"size": [12, 70], "interpolation": by}, ["img", "big"], 1)
    transform("Resize", {"size": 17, "keep_ratio": True, "interpolation": by}, ["img", "tall"], 1)
    transform("Resize", {"size": [20, 15], "interpolation": by}, ["bigf", "batchf"], 1e-2)
    transform("Resize", {"size": [17, 15], "interpolation": by}, ["evenf"], 1e-2)
transform("Resize", {"size": [6, 5], "interpolation": 1}, ["even", "evenf"], 1)
transform("Resize", {"size": [6, 5], "interpolation": 3}, ["even", "evenf"], 1)
transform("Resize", {"size": 12}, ["img"], 1)
transform("Resize", {"size": [12], "keep_ratio": True}, ["tall"], 1)
for deg in (0, 30, -75.5, 90, 180, 200):
    for zoom in ({}, {"zoom_in": True}, {"zoom_out": True}):
        transform("Rotate", dict(zoom, rotation_degrees=deg), ["small"], 1e-4)
transform("Rotate", {"rotation_degrees": 33}, ["bchw", "gray"], 1e-4)
transform("RandomBrightness", {"brightness": 0}, ["img"])
transform("RandomContrast", {"contrast": 0}, ["img"])
transform("RandomSaturation", {"saturation": 0}, ["imgf"], 0.1)
transform("RandomHue", {"hue": 0}, ["imgf"], 0.1)
transform("RandomLighting", {"alpha": 0}, ["img"])


def compose(list_, w, tolerance):
    id = "Compose.%02d" % len(cases)
    net = T.Compose([getattr(T, c)(**a) for c, a in list_])
    add({"id": id, "kind": "transform", "class": "Compose", "args": {"list": list_}, "file": "data.npz",
         "input": refs[w], "output": ref(id, net(nd.array(inputs[w], dtype=inputs[w].dtype)).asnumpy()),
         "tolerance": tolerance})


compose([["Resize", {"size": [16, 14]}], ["CenterCrop", {"size": [12, 10]}], ["ToTensor", {}],
         ["Normalize", {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]}]], "img", 5 / 255)
compose([["ToTensor", {}], ["Rotate", {"rotation_degrees": 45}], ["Cast", {"dtype": "float16"}]], "img", 2e-3)
compose([["Cast", {}], ["Resize", {"size": 20}]], "img", 1e-2)


def augment(kind, name, args, w, tolerance, call, **more):
    id = "%s.%02d.%s" % (name, len(cases), w)
    out = call(nd.array(inputs[w], dtype=inputs[w].dtype)).asnumpy()
    add(dict({"id": id, "kind": kind, "class" if kind == "augmenter" else "function": name, "args": args,
              "file": "data.npz", "input": refs[w], "output": ref(id, out), "tolerance": tolerance}, **more))


def augmenter(name, args, w, tolerance=0):
    def value(k, v):  # as CreateAugmenter passes them
        return np.array(v) if k in ("eigval", "eigvec") else nd.array(v) if k in ("mean", "std") and v else v
    augment("augmenter", name, args, w, tolerance,
            lambda x: getattr(image, name)(**{k: value(k, v) for k, v in args.items()})(x))


for by in (0, 1, 2, 3, 4, 9):
    augmenter("ResizeAug", {"size": 16, "interp": by}, "img", 1)
    augmenter("ResizeAug", {"size": 30, "interp": by}, "tall", 1)
    augmenter("ForceResizeAug", {"size": [13, 40], "interp": by}, "img", 1)
    augmenter("CenterCropAug", {"size": [15, 12], "interp": by}, "big", 1)
    augmenter("CenterCropAug", {"size": [50, 20], "interp": by}, "img", 1)
    augmenter("ResizeAug", {"size": 7, "interp": by}, "bigf", 1e-2)
augmenter("ResizeAug", {"size": 20}, "img", 1)
augmenter("RandomCropAug", {"size": [31, 24], "interp": 1}, "img", 1)
augmenter("RandomCropAug", {"size": [62, 48], "interp": 2}, "img", 1)
augmenter("RandomSizedCropAug", {"size": [9, 9], "area": [1.0, 1.0], "ratio": [31 / 24, 31 / 24], "interp": 1}, "img", 1)
augmenter("HorizontalFlipAug", {"p": 1.0}, "even")
augmenter("HorizontalFlipAug", {"p": 1.0}, "evenf")
augmenter("HorizontalFlipAug", {"p": 0.0}, "img")
augmenter("CastAug", {}, "img")
augmenter("BrightnessJitterAug", {"brightness": 0}, "imgf")
augmenter("ContrastJitterAug", {"contrast": 0}, "imgf", 1e-3)
augmenter("SaturationJitterAug", {"saturation": 0}, "imgf", 1e-3)
augmenter("HueJitterAug", {"hue": 0}, "imgf", 1e-3)
augmenter("ColorJitterAug", {"brightness": 0, "contrast": 0, "saturation": 0}, "imgf")
augmenter("LightingAug", {"alphastd": 0, "eigval": [55.46, 4.794, 1.148],
                          "eigvec": [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.814], [-0.5836, -0.6948, 0.4203]]}, "imgf")
augmenter("ColorNormalizeAug", {"mean": [123.0, 117.0, 104.0], "std": [58.0, 57.0, 57.5]}, "imgf", 1e-5)
augmenter("ColorNormalizeAug", {"mean": [123.0], "std": [58.0]}, "imgf", 1e-5)
augmenter("ColorNormalizeAug", {"mean": [123.0, 117.0, 104.0], "std": None}, "imgf", 1e-5)
augmenter("RandomGrayAug", {"p": 1.0}, "imgf", 1e-3)
augmenter("RandomGrayAug", {"p": 0.0}, "img")


def created(args, w, tolerance):
    def value(k, v):
        return nd.array(v) if k in ("mean", "std") and v is not True else tuple(v) if isinstance(v, list) else v
    list_ = image.CreateAugmenter(**{k: value(k, v) for k, v in args.items()})

    def call(x):
        for a in list_:
            x = a(x)
        return x
    augment("augmenter_list", "CreateAugmenter", args, w, tolerance, call, classes=[type(a).__name__ for a in list_])


created({"data_shape": [3, 16, 14], "resize": 18, "mean": True, "std": True, "inter_method": 1}, "img", 0.02)
created({"data_shape": [3, 20, 20]}, "img", 1)
created({"data_shape": [3, 24, 31], "rand_crop": True, "inter_method": 3}, "img", 1)
created({"data_shape": [3, 40, 30], "mean": [1.0, 2.0, 3.0], "inter_method": 2}, "big", 1)
created({"data_shape": [3, 40, 30], "std": [10.0], "resize": 44, "inter_method": 9}, "big", 0.2)


def function(name, args, w, tolerance=0, pick=None):
    def call(x):
        out = getattr(image, name)(x, **{k: tuple(v) if isinstance(v, list) else v for k, v in args.items()})
        return out[0] if pick else out
    augment("image_function", name, args, w, tolerance, call)


function("fixed_crop", {"x0": 2, "y0": 3, "w": 10, "h": 12}, "img")
function("fixed_crop", {"x0": 20, "y0": 10, "w": 15, "h": 20}, "img")
function("fixed_crop", {"x0": 2, "y0": 3, "w": 10, "h": 12, "size": [10, 12]}, "img")
for by in (0, 1, 2, 3, 4, 9):
    function("fixed_crop", {"x0": 1, "y0": 0, "w": 12, "h": 11, "size": [7, 9], "interp": by}, "img", 1)
    function("fixed_crop", {"x0": 1, "y0": 0, "w": 12, "h": 11, "size": [27, 19], "interp": by}, "img", 1)
function("fixed_crop", {"x0": 1, "y0": 0, "w": 12, "h": 11, "size": [7, 9]}, "img", 1)
function("resize_short", {"size": 14, "interp": 1}, "tall", 1)
function("resize_short", {"size": 14}, "img", 1)
function("center_crop", {"size": [20, 10], "interp": 1}, "img", 1, True)
function("center_crop", {"size": [70, 10], "interp": 1}, "img", 1, True)
for kind in range(5):
    function("copyMakeBorder", {"top": 2, "bot": 1, "left": 1, "right": 2, "type": kind}, "img")
    function("copyMakeBorder", {"top": 14, "bot": 25, "left": 13, "right": 29, "type": kind}, "even")
function("copyMakeBorder", {"top": 2, "bot": 1, "left": 0, "right": 2, "type": 0, "values": [1.0, 2.0, 300.0]}, "img")
function("copyMakeBorder", {"top": 2, "bot": 1, "left": 0, "right": 2, "type": 0, "value": 9.0}, "img")
function("copyMakeBorder", {"top": 2, "bot": 1, "left": 0, "right": 2, "type": 4}, "imgf")
for src, size in (([20, 30], [40, 24]), ([50, 40], [30, 20]), ([33, 21], [7, 90]), ([640, 480], [720, 120]), ([5, 5], [6, 6])):
    add({"id": "scale_down.%d" % len(cases), "kind": "image_function", "function": "scale_down",
         "args": {"src_size": src, "size": size}, "result": list(image.scale_down(tuple(src), tuple(size)))})

# Detection: pictures without loss, and labels of one to three objects.
def records(name, objects, header):
    w = mx.recordio.MXIndexedRecordIO(name + ".idx", name + ".rec", "w")
    out = []
    for i, n in enumerate(objects):
        picture = smooth(18 + rng.randint(14), 20 + rng.randint(16))
        label = list(header)
        for _ in range(n):
            x, y = rng.uniform(0, 0.5, 2)
            label += [rng.randint(4), x, y, x + rng.uniform(0.2, 0.5), y + rng.uniform(0.2, 0.5)] + \
                     [rng.randint(9) for _ in range(int(header[1]) - 5)]
        label = np.array(label, "f")
        if name == "det6" and i == 1:  # a box without area, which iterators leave out
            label = np.append(label, np.array([1, 0.5, 0.5, 0.4, 0.6, 3], "f"))
        raw = b"".join(b"\0" + row.tobytes() for row in picture)
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", picture.shape[1], picture.shape[0], 8, 2, 0, 0, 0)) + \
            chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
        w.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, label, i, 0), png))
        out.append({"index": i, "label": ref("%s/label%d" % (name, i), label), "rgb": ref("%s/rgb%d" % (name, i), picture)})
    w.close()
    return out


sets = {"det": records("det", [1, 1, 2, 2, 3], [2, 5]), "det6": records("det6", [2, 1, 2, 1], [4, 6, 8, 9])}


def detection(cls, name, kwargs, epochs=2, tolerance=1):
    id = "%s.%02d" % (cls, len(cases))
    c = {"id": id, "kind": "detection_iterator", "class": cls, "rec": name + ".rec", "idx": name + ".idx",
         "kwargs": kwargs, "file": "data.npz", "records": sets[name], "tolerance": tolerance, "epochs": []}
    kw = {k: tuple(v) if k == "data_shape" else np.array(v) if k in ("mean", "std") and v is not True else v
          for k, v in kwargs.items()}
    if cls == "ImageDetIter":
        it = image.ImageDetIter(path_imgrec=name + ".rec", path_imgidx=name + ".idx", **kw)
        c["label_shape"] = list(it.label_shape)
        c["augmenters"] = [type(a).__name__.lower() for a in it.auglist]
    else:
        it = mx.io.ImageDetRecordIter(path_imgrec=name + ".rec", verbose=False, **kw); kept.append(it)
    for e in range(epochs):
        batches = []
        for b, batch in enumerate(it):
            key = "%s/e%d/b%d/" % (id, e, b)
            batches.append({"data": ref(key + "data", batch.data[0].asnumpy()),
                            "label": ref(key + "label", batch.label[0].asnumpy()), "pad": batch.pad})
        c["epochs"].append(batches)
        it.reset()
    add(c)


D = dict(data_shape=[3, 16, 18], inter_method=1)
detection("ImageDetIter", "det", dict(D, batch_size=2))
detection("ImageDetIter", "det", dict(D, batch_size=2, last_batch_handle="roll_over"), 4)
detection("ImageDetIter", "det", dict(D, batch_size=3, last_batch_handle="roll_over"), 4)
detection("ImageDetIter", "det", dict(D, batch_size=2, last_batch_handle="discard", mean=True), 2, 1)
detection("ImageDetIter", "det", dict(D, batch_size=3, std=True), 1, 0.02)
detection("ImageDetIter", "det", dict(D, batch_size=3, mean=[10.0, 20.0, 30.0], std=[2.0]), 1, 0.6)
detection("ImageDetIter", "det", dict(data_shape=[3, 12, 12], batch_size=4, resize=15), 1)
detection("ImageDetIter", "det", dict(D, batch_size=2, num_parts=2, part_index=1), 1)
detection("ImageDetIter", "det6", dict(D, batch_size=2))
detection("ImageDetIter", "det6", dict(D, batch_size=3))
R = dict(data_shape=[3, 16, 18], inter_method=1, preprocess_threads=1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=2), 3)
detection("ImageDetRecordIter", "det", dict(R, batch_size=2, label_pad_width=30, label_pad_value=-7), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=2, label_pad_width=-1, resize=20), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=5, mean_r=100.0, mean_g=110.0, mean_b=120.0, std_r=50.0, std_g=51.0, std_b=52.0, scale=0.5), 1, 0.02)
detection("ImageDetRecordIter", "det", dict(R, batch_size=5, std_g=51.0, mean_b=12.0, scale=2.0), 1, 2)
detection("ImageDetRecordIter", "det", dict(R, batch_size=3, rand_mirror_prob=1.0), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=3, max_random_hue=0, random_hue_prob=1.0, random_contrast_prob=1.0, rand_pad_prob=1.0), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=5, num_parts=2, part_index=0), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=2, data_shape=[1, 12, 14]), 1, 2)
detection("ImageDetRecordIter", "det6", dict(R, batch_size=2), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=5, resize_mode="fit", mean_r=9.0, scale=2.0), 1, 2)
detection("ImageDetRecordIter", "det", dict(R, batch_size=5, resize_mode="shrink", data_shape=[3, 25, 28]), 1)
detection("ImageDetRecordIter", "det", dict(R, batch_size=3, round_batch=False), 2)
detection("ImageDetRecordIter", "det6", dict(data_shape=[3, 9, 9], batch_size=2, inter_method=9, preprocess_threads=1), 1)

json.dump({"mxnet": mx.__version__, "cases": cases}, open("data.json", "w"))
np.savez_compressed("data.npz", **{k: v.view("uint16") if v.dtype == np.float16 else v for k, v in arrays.items()})
