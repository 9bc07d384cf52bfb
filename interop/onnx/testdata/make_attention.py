"""Exports attention by torch as it and Hugging Face's models write it, and writes for each model
inputs and ONNX Runtime's output: python make_attention.py FOLDER. Folders are named
LAYERS-FORM-EXPORTER."""
import importlib.util
import os
import sys
import warnings

import numpy as np
import onnxruntime
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
UNITS, HEADS, WORDS, BATCH, LENGTH = 16, 2, 50, 2, 7
SIZE = UNITS // HEADS


class Same(nn.Module):
    """Attention of one array with itself by nn.MultiheadAttention."""

    def __init__(self, weights):
        super().__init__()
        self.attention = nn.MultiheadAttention(UNITS, HEADS, batch_first=True)
        self.weights = weights

    def forward(self, x, padding=None):
        return self.attention(x, x, x, key_padding_mask=padding, need_weights=self.weights)[0]


class Encoder(nn.Module):
    """Layers of torch's transformer."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(UNITS, HEADS, 24, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, padding=None):
        return self.layers(x, src_key_padding_mask=padding)


class Scaled(nn.Module):
    """scaled_dot_product_attention of arrays with axes for heads."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **self.options)


def eager(q, k, v, mask, scale):
    """Attention as transformers writes it in eager_attention_forward."""
    weights = torch.matmul(q, k.transpose(2, 3)) * scale
    if mask is not None:
        weights = weights + mask[:, :, :, :k.shape[-2]]
    weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(F.dropout(weights, p=0.1, training=False), v)


def divided(q, k, v, mask, scale):
    """Attention as older versions of transformers write it for BERT."""
    scores = torch.matmul(q, k.transpose(-1, -2)) / (1 / scale)
    if mask is not None:
        scores = scores + mask
    return torch.matmul(F.dropout(F.softmax(scores, dim=-1), training=False), v)


def scaled(q, k, v, mask, scale):
    return F.scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous(),
                                          attn_mask=mask, scale=scale)


class SelfAttention(nn.Module):
    """Attention of BERT and its kin."""

    def __init__(self, attend):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(UNITS, UNITS) for _ in range(4))
        self.attend = attend

    def forward(self, x, mask):
        shape = (*x.shape[:-1], -1, SIZE)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = self.attend(q, k, v, mask, SIZE**-0.5)
        return self.o(y.transpose(1, 2).reshape(*x.shape[:-1], UNITS).contiguous())


class Block(nn.Module):
    def __init__(self, attention, first):
        super().__init__()
        self.attention, self.first = attention, first
        self.one, self.two = nn.LayerNorm(UNITS), nn.LayerNorm(UNITS)
        self.up, self.down = nn.Linear(UNITS, 24), nn.Linear(24, UNITS)

    def forward(self, x, mask):
        if self.first:  # as in GPT-2
            x = x + self.attention(self.one(x), mask)
            return x + self.down(F.gelu(self.up(self.two(x)), approximate="tanh"))
        x = self.one(x + self.attention(x, mask))
        return self.two(x + self.down(F.gelu(self.up(x))))


class BERT(nn.Module):
    """A reader of words with a mask of padding, as BertModel."""

    def __init__(self, attend, boolean=False):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, UNITS), nn.Embedding(32, UNITS)
        self.layers = nn.ModuleList(Block(SelfAttention(attend), False) for _ in range(2))
        self.boolean = boolean
        self.register_buffer("numbers", torch.arange(32).expand((1, -1)))

    def forward(self, ids, attention):
        x = self.words(ids) + self.places(self.numbers[:, :ids.shape[1]])
        if self.boolean:
            mask = attention[:, None, None, :].to(torch.bool)
            mask = mask.expand(ids.shape[0], 1, ids.shape[1], ids.shape[1])
        else:
            mask = (1 - attention[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Masked(BERT):
    """BERT with the mask of transformers' _prepare_4d_attention_mask_for_sdpa."""

    def forward(self, ids, attention):
        x = self.words(ids) + self.places(self.numbers[:, :ids.shape[1]])
        low = torch.finfo(x.dtype).min
        mask = attention[:, None, None, :].expand(ids.shape[0], 1, ids.shape[1], ids.shape[1])
        inverted = 1.0 - mask.to(x.dtype)
        mask = inverted.masked_fill(inverted.to(torch.bool), low)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class CausalAttention(nn.Module):
    """Attention of GPT-2, with one layer for queries, keys and values."""

    def __init__(self, form):
        super().__init__()
        self.qkv, self.o, self.form = nn.Linear(UNITS, 3 * UNITS), nn.Linear(UNITS, UNITS), form
        self.register_buffer("may", torch.tril(torch.ones((32, 32), dtype=torch.bool)).view(
            1, 1, 32, 32))

    def forward(self, x, mask):
        shape = (*x.shape[:-1], -1, SIZE)
        q, k, v = (p.view(shape).transpose(1, 2) for p in self.qkv(x).split(UNITS, dim=2))
        if self.form == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        else:
            w = torch.matmul(q, k.transpose(-1, -2))
            w = w / torch.full([], v.size(-1)**0.5, dtype=w.dtype, device=w.device)
            n, m = q.size(-2), k.size(-2)
            low = torch.full([], torch.finfo(w.dtype).min, dtype=w.dtype, device=w.device)
            w = torch.where(self.may[:, :, m - n:m, :m], w.to(w.dtype), low)
            if mask is not None:
                w = w + mask
            y = torch.matmul(F.softmax(w, dim=-1).type(v.dtype), v)
        y = y.permute(0, 2, 1, 3).contiguous()
        return self.o(y.view(*y.shape[:-2], UNITS))


class GPT2(nn.Module):
    """A writer of words, as GPT2Model."""

    def __init__(self, form, padding):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, UNITS), nn.Embedding(32, UNITS)
        self.layers = nn.ModuleList(Block(CausalAttention(form), True) for _ in range(2))
        self.norm, self.form, self.padding = nn.LayerNorm(UNITS), form, padding

    def forward(self, ids, attention=None):
        n = ids.shape[1]
        at = torch.arange(0, n, dtype=torch.long, device=ids.device).unsqueeze(0)
        x, mask, low = self.words(ids) + self.places(at), None, torch.finfo(torch.float32).min
        if self.padding == "added":
            mask = (1.0 - attention[:, None, None, :].to(x.dtype)) * low
        elif self.padding == "joined":  # as _prepare_4d_causal_attention_mask joins both masks
            full = torch.full((n, n), low, device=ids.device)
            line = torch.arange(n, device=ids.device)
            full.masked_fill_(line < (line + 1).view(n, 1), 0)
            padding = 1.0 - attention[:, None, None, :].expand(-1, 1, n, n).to(x.dtype)
            mask = full[None, None].expand(ids.shape[0], 1, n, n).masked_fill(
                padding.to(torch.bool), low)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


def cases():
    """Yields form, number of layers, model, inputs and their axes that may change."""
    draw = lambda *shape: torch.randn(*shape, generator=generator)
    generator = torch.Generator().manual_seed(3)
    x = draw(BATCH, LENGTH, UNITS)
    padding = torch.arange(LENGTH)[None] >= torch.tensor([[LENGTH], [4]])
    rows = {0: "batch", 1: "length"}
    for weights in True, False:
        name = "multihead" + ("" if weights else "-lean")
        yield name, 1, Same(weights), {"x": x}, {"x": rows}
        yield name + "-padding", 1, Same(weights), {"x": x, "padding": padding}, {
            "x": rows, "padding": rows}
    yield "encoder", 2, Encoder(), {"x": x}, {"x": rows}
    yield "encoder-padding", 2, Encoder(), {"x": x, "padding": padding}, {"x": rows,
                                                                       "padding": rows}
    arrays = {"q": draw(BATCH, HEADS, 5, SIZE), "k": draw(BATCH, HEADS, LENGTH, SIZE),
              "v": draw(BATCH, HEADS, LENGTH, SIZE)}
    free = {n: {0: "batch", 2: "length" + n.replace("v", "k")} for n in arrays}
    number, may = draw(BATCH, 1, 5, LENGTH), torch.rand(BATCH, 1, 5, LENGTH) > 0.3
    may[..., 0] = True
    may[0, :, 2] = False  # a query that reads nothing
    yield "scaled", 1, Scaled(), arrays, free
    yield "scaled-by", 1, Scaled(scale=0.3), arrays, free
    yield "scaled-numbers", 1, Scaled(), arrays | {"mask": number}, free
    yield "scaled-choice", 1, Scaled(), arrays | {"mask": may}, free
    square = arrays | {"q": draw(BATCH, HEADS, LENGTH, SIZE)}
    yield "scaled-causal", 1, Scaled(is_causal=True), square, {
        n: {0: "batch", 2: "length"} for n in arrays}
    ids = torch.randint(0, WORDS, (BATCH, LENGTH), generator=generator)
    words = {"ids": ids, "attention": (~padding).long()}
    both = {"ids": rows, "attention": rows}
    for name, attend in ("eager", eager), ("divided", divided), ("sdpa", scaled):
        yield "bert-" + name, 2, BERT(attend), words, both
        yield "bert-masked-" + name, 2, Masked(attend), words, both
    yield "bert-choice", 2, BERT(scaled, True), words, both
    for form in "eager", "sdpa":
        yield "gpt2-" + form, 2, GPT2(form, None), {"ids": ids}, {"ids": rows}
        yield "gpt2-joined-" + form, 2, GPT2(form, "joined"), words, both
    yield "gpt2-added-eager", 2, GPT2("eager", "added"), words, both


def write(folder, model, inputs, axes, opset, dynamo):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    path = os.path.join(folder, "model.onnx")
    options = {"input_names": list(inputs), "output_names": ["y"], "opset_version": opset}
    if dynamo:
        options["dynamic_shapes"] = {n: {k: torch.export.Dim.DYNAMIC for k in a}
                                     for n, a in axes.items()} | {
            n: {} for n in inputs if n not in axes}
        options["verbose"] = False
    else:
        options["dynamic_axes"] = axes
    torch.onnx.export(model.eval(), tuple(inputs.values()), path, dynamo=dynamo,
                      external_data=False, **options)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {n: v.numpy() for n, v in inputs.items()}
    y = session.run(None, feeds)[0]
    for kind, arrays in ("input", feeds), ("output", {"y": y}):
        for i, (name, a) in enumerate(arrays.items()):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.ascontiguousarray(a), name).SerializeToString())


def main(folder):
    exporters = [("ts14", 14, False), ("ts17", 17, False), ("ts18", 18, False)]
    if importlib.util.find_spec("onnxscript"):
        exporters += [("dynamo18", 18, True), ("dynamo20", 20, True)]
    for form, layers, model, inputs, axes in cases():
        for name, opset, dynamo in exporters:
            try:
                write(os.path.join(folder, f"{layers}-{form}-{name}"), model, inputs, axes, opset,
                      dynamo)
            except Exception as e:  # the exporter lacks something: the test says so
                with open(os.path.join(folder, f"{layers}-{form}-{name}", "error.txt"), "w") as f:
                    f.write(f"{type(e).__name__}: {e}"[:400])


main(sys.argv[1])
