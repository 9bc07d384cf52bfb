"""torch: images per second of convolutional networks on a GPU (on the processor if there is none), on random input on the same device.
Usage: gpunets.py [REGEX of line names]; GOMX_BENCH_COMPILE=1 compiles the networks."""
import os, re, sys, time
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
compiled = os.environ.get("GOMX_BENCH_COMPILE") == "1"


def conv(i, o, k, s=1, p=0, groups=1, bias=False):
    return nn.Conv2d(i, o, k, s, p, groups=groups, bias=bias)


class Block(nn.Module):
    def __init__(self, i, o, stride, bottleneck):
        super().__init__()
        if bottleneck:
            m = o // 4
            body = [conv(i, m, 1, stride, bias=True), nn.BatchNorm2d(m), nn.ReLU(True), conv(m, m, 3, 1, 1), nn.BatchNorm2d(m), nn.ReLU(True),
                    conv(m, o, 1, bias=True), nn.BatchNorm2d(o)]
        else:
            body = [conv(i, o, 3, stride, 1), nn.BatchNorm2d(o), nn.ReLU(True), conv(o, o, 3, 1, 1), nn.BatchNorm2d(o)]
        self.body = nn.Sequential(*body)
        self.short = nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2d(o)) if i != o else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet(bottleneck, blocks, classes):
    layers, i = [conv(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for stage, n in enumerate(blocks):
        o = 64 << stage
        if bottleneck:
            o *= 4
        for k in range(n):
            layers.append(Block(i, o, 2 if k == 0 and stage > 0 else 1, bottleneck))
            i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, classes))


def alexnet(classes):
    def cr(i, o, k, s, p):
        return [conv(i, o, k, s, p, bias=True), nn.ReLU(True)]
    return nn.Sequential(*cr(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), *cr(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2), *cr(192, 384, 3, 1, 1), *cr(384, 256, 3, 1, 1),
                         *cr(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096),
                         nn.ReLU(True), nn.Dropout(), nn.Linear(4096, classes))


def mobilenet(classes):
    def cbr(i, o, k, s, p, g=1):
        return [conv(i, o, k, s, p, g), nn.BatchNorm2d(o), nn.ReLU(True)]
    layers, i = cbr(3, 32, 3, 2, 1), 32
    for o, s, n in [(64, 1, 1), (128, 2, 1), (128, 1, 1), (256, 2, 1), (256, 1, 1), (512, 2, 1), (512, 1, 5), (1024, 2, 1), (1024, 1, 1)]:
        for _ in range(n):
            layers += cbr(i, i, 3, s, 1, i) + cbr(i, o, 1, 1, 0)
            i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, classes))


nets = {"tiny": lambda: resnet(False, [1, 1], 10), "resnet18_v1": lambda: resnet(False, [2, 2, 2, 2], 1000), "resnet50_v1": lambda: resnet(True, [3, 4, 6, 3], 1000),
        "alexnet": lambda: alexnet(1000), "mobilenet1_0": lambda: mobilenet(1000)}


def bench(name, bs, train, side, precision):
    line = "convnets.%s.%s.bs%d.%d.%s" % (name, "train" if train else "infer", bs, side, precision)
    if len(sys.argv) > 1 and not re.search(sys.argv[1], line):
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    narrow = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(precision)
    net = nets[name]().to(device).train(train)
    x, y = torch.rand(bs, 3, side, side, device=device), torch.zeros(bs, dtype=torch.long, device=device)
    sgd, scaler = torch.optim.SGD(net.parameters(), lr=0.01), torch.amp.GradScaler(device, enabled=precision == "float16" and device == "cuda")
    model = torch.compile(net) if compiled else net

    def step():
        with torch.set_grad_enabled(train), torch.autocast(device, dtype=narrow or torch.bfloat16, enabled=narrow is not None):
            out = model(x)
            if not train:
                return out.float().softmax(1)
            loss = nn.functional.cross_entropy(out.float(), y)
        sgd.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(sgd)
        scaler.update()

    def steps(n):
        for _ in range(n):
            step()
        if device == "cuda":
            torch.cuda.synchronize()

    steps(3)
    t = 1e9
    for _ in range(3):
        s = time.perf_counter()
        steps(10)
        t = min(t, time.perf_counter() - s)
    print("%s\t%.2f\timages/s" % (line, 10 * bs / t), flush=True)


for precision in ["float32", "tf32", "float16", "bfloat16"]:
    bench("tiny", 2, False, 32, precision)
    bench("tiny", 2, True, 32, precision)
    bench("resnet18_v1", 128, True, 224, precision)
    bench("resnet50_v1", 1, False, 224, precision)
    bench("resnet50_v1", 128, False, 224, precision)
    bench("resnet50_v1", 128, True, 224, precision)
    bench("alexnet", 256, True, 224, precision)
    bench("mobilenet1_0", 128, True, 224, precision)
