"""torch: training in float32 and by bfloat16 autocast. Usage: narrowtrain.py torch [REGEX of line names]
ResNet v1 has its strides in the first convolution of a block, as in gomx; the optimizer is SGD."""
import re, sys, time
import torch, torchvision
import torch.nn as nn, torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, units=768, heads=12):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(units, 3 * units), nn.Linear(units, units)
        self.one, self.two = nn.Linear(units, 4 * units), nn.Linear(4 * units, units)
        self.norm1, self.norm2 = nn.LayerNorm(units, eps=1e-12), nn.LayerNorm(units, eps=1e-12)

    def forward(self, x):
        q, k, v = [a.reshape(*a.shape[:2], self.heads, -1).transpose(1, 2) for a in self.qkv(x).chunk(3, 2)]
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.proj(y))
        return self.norm2(x + self.two(F.gelu(self.one(x))))


class BERT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, 768), nn.Parameter(torch.zeros(512, 768))
        self.norm, self.layers = nn.LayerNorm(768, eps=1e-12), nn.Sequential(*[Layer() for _ in range(12)])

    def forward(self, x):
        return self.layers(self.norm(self.words(x) + self.places[:x.shape[1]])).flatten(0, 1)


def resnet(depth):
    net = getattr(torchvision.models, "resnet%d" % depth)()
    for m in net.modules():
        if type(m).__name__ == "Bottleneck":
            m.conv1.stride, m.conv2.stride = m.conv2.stride, m.conv1.stride
    return net.to(memory_format=torch.channels_last)


def bench(line, unit, batch, make, narrow):
    line += ".bfloat16" if narrow else ".float32"
    if len(sys.argv) > 2 and not re.search(sys.argv[2], line):
        return
    net, x, label = make()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)

    def step():
        opt.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss = F.cross_entropy(net(x), label)
        loss.backward()
        opt.step()

    step(); step()
    best = 1e9
    for _ in range(3):
        start = time.perf_counter(); step(); best = min(best, time.perf_counter() - start)
    print("%s\t%.3f\t%s" % (line, batch / best, unit), flush=True)


def images(depth, batch):
    return lambda: (resnet(depth), torch.rand(batch, 3, 224, 224).to(memory_format=torch.channels_last), torch.zeros(batch, dtype=torch.long))


torch.manual_seed(1)
for narrow in (False, True):
    bench("narrow-train.resnet18_v1.bs8", "images/s", 8, images(18, 8), narrow)
    bench("narrow-train.resnet50_v1.bs4", "images/s", 4, images(50, 4), narrow)
    bench("narrow-train.bert_base.128.bs2", "sequences/s", 2,
          lambda: (BERT(), torch.randint(0, 30000, (2, 128)), torch.zeros(256, dtype=torch.long)), narrow)
