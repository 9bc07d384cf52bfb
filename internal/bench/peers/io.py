"""Reading of training data: records of pictures, pictures with objects, loaders, and text in LibSVM's format. It prints the
processor time for a sample, of all threads, in microseconds.
Usage: io.py FOLDER [REGEX of line names]"""
import os, re, sys, time
import numpy as np
import mxnet as mx
from mxnet.gluon.data import ArrayDataset, DataLoader
from mxnet.gluon.data.vision import ImageRecordDataset, transforms

folder = sys.argv[1]
wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "").search
rec, idx = os.path.join(folder, "pictures.rec"), os.path.join(folder, "pictures.idx")
BATCH, ROWS, LABEL = 32, 4096, 12
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))


def measure(line, make):
    if not wanted(line):
        return
    epoch = make()
    best = None
    for i in range(4):
        start = time.process_time()
        n = epoch()
        t = (time.process_time() - start) / n * 1e6
        if i > 0 and (best is None or t < best):
            best = t
    print("%s\t%.2f\tus/sample" % (line, best), flush=True)


def iterate(it):
    def epoch():
        it.reset()
        n = 0
        for b in it:
            for a in b.data + b.label:
                a.wait_to_read()
            n += b.data[0].shape[0] - b.pad
        return n
    return epoch


def load(dataset, batch):
    loader = DataLoader(dataset, batch, shuffle=True, last_batch="discard")

    def epoch():
        n = 0
        for x, y in loader:
            x.wait_to_read()
            n += x.shape[0]
        return n
    return epoch


MEAN = dict(mean_r=124, mean_g=116, mean_b=104, std_r=58, std_g=57, std_b=57)
measure("io.imagerecord", lambda: iterate(mx.io.ImageRecordIter(
    path_imgrec=rec, path_imgidx=idx, data_shape=(3, 224, 224), batch_size=BATCH, shuffle=True, label_width=LABEL,
    resize=256, rand_crop=True, rand_mirror=True, preprocess_threads=THREADS, verbose=False, **MEAN)))
measure("io.imageiter", lambda: iterate(mx.image.ImageIter(
    BATCH, (3, 224, 224), label_width=LABEL, path_imgrec=rec, path_imgidx=idx, shuffle=True, resize=256, rand_crop=True,
    rand_mirror=True, mean=True, std=True, inter_method=1)))
measure("io.detrecord", lambda: iterate(mx.io.ImageDetRecordIter(
    path_imgrec=rec, data_shape=(3, 300, 300), batch_size=BATCH, shuffle=True, preprocess_threads=THREADS, verbose=False,
    rand_mirror_prob=0.5, rand_crop_prob=0.5, rand_pad_prob=0.5, max_pad_scale=2, min_crop_scales=(0.5,),
    max_crop_scales=(1,), min_crop_aspect_ratios=(0.5,), max_crop_aspect_ratios=(2,), **MEAN)))
measure("io.detiter", lambda: iterate(mx.image.ImageDetIter(
    BATCH, (3, 300, 300), path_imgrec=rec, path_imgidx=idx, shuffle=True, rand_mirror=True, rand_crop=0.5, rand_pad=0.5,
    mean=True, std=True, inter_method=1)))
measure("io.loader.pictures", lambda: load(ImageRecordDataset(rec).transform_first(transforms.Compose([
    transforms.RandomResizedCrop(224), transforms.RandomFlipLeftRight(), transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])), BATCH))
measure("io.loader.arrays", lambda: load(ArrayDataset(mx.nd.zeros((ROWS, 1, 28, 28)), np.zeros(ROWS, "f")), 64))
for line, name in (("io.libsvm", "clicks.svm"), ("io.libsvm.values", "values.svm")):
    measure(line, lambda: iterate(mx.io.LibSVMIter(
        data_libsvm=os.path.join(folder, name), data_shape=(1000000,), batch_size=256)))
sys.stdout.flush()
os._exit(0)  # MXNet 1.9.1 may crash when it destroys its iterators
