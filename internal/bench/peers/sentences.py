"""Embeddings of sentences by ONNX Runtime, as sentence-transformers computes them: tokens by the package tokenizers, batches
of 32 sentences of like lengths, padded to the longest of each.
Usage: sentences.py ort FOLDER; reads names of lines and answers each with NAME<TAB>SENTENCES PER SECOND<TAB>UNIT, or with
NAME<TAB>error<TAB>TEXT. NAME.json has the folder of Python packages, the folder of the model and the sentences, NAME.npz
gomx's embeddings. The model of ONNX is exported by torch, whose modules are written as Hugging Face's BertModel."""
import contextlib, json, sys, time
import numpy as np

folder = sys.argv[2]
calls = {}


def export(model, path):
    import torch
    from torch import nn
    from torch.nn import functional as F
    from safetensors.torch import load_file
    c, w = json.load(open(model + "/config.json")), load_file(model + "/model.safetensors")
    heads = c["num_attention_heads"]

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in w.items():
                self.register_buffer(name.replace(".", "_"), value)

        def part(self, name):
            return getattr(self, name.replace(".", "_"))

        def dense(self, x, name):
            return F.linear(x, self.part(name + ".weight"), self.part(name + ".bias"))

        def norm(self, x, name):
            return F.layer_norm(x, (c["hidden_size"],), self.part(name + ".weight"), self.part(name + ".bias"),
                                c["layer_norm_eps"])

        def layer(self, x, mask, p):
            size = c["hidden_size"] // heads
            q, k, v = (self.dense(x, p + "attention.self." + n).view(
                x.shape[0], x.shape[1], heads, size).transpose(1, 2) for n in ("query", "key", "value"))
            y = torch.softmax(q @ k.transpose(-1, -2) / size ** 0.5 + mask, -1) @ v
            y = y.transpose(1, 2).reshape(x.shape[0], x.shape[1], heads * size)
            x = self.norm(x + self.dense(y, p + "attention.output.dense"), p + "attention.output.LayerNorm")
            y = self.dense(F.gelu(self.dense(x, p + "intermediate.dense")), p + "output.dense")
            return self.norm(x + y, p + "output.LayerNorm")

        def forward(self, ids, attention):
            e = "embeddings."
            x = F.embedding(ids, self.part(e + "word_embeddings.weight"))
            x = x + self.part(e + "position_embeddings.weight")[:ids.shape[1]]
            x = self.norm(x + self.part(e + "token_type_embeddings.weight")[0], e + "LayerNorm")
            read = attention.to(x.dtype)
            mask = (1 - read[:, None, None, :]) * torch.finfo(x.dtype).min
            for i in range(c["num_hidden_layers"]):
                x = self.layer(x, mask, "encoder.layer.%d." % i)
            x = (x * read[:, :, None]).sum(1) / read.sum(1, keepdim=True)
            return F.normalize(x, dim=1)

    ids = torch.ones((2, 7), dtype=torch.long)
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(Bert().eval(), (ids, ids), path, dynamo=False, opset_version=17,
                      input_names=["ids", "attention"], output_names=["y"],
                      dynamic_axes={"ids": axes, "attention": axes, "y": {0: "batch"}})


def prepare(line):
    job = json.load(open("%s/%s.json" % (folder, line)))
    sys.path.insert(0, job["packages"])
    import onnxruntime as ort
    from tokenizers import Tokenizer
    model = job["model"]
    tokens = Tokenizer.from_file(model + "/tokenizer.json")
    tokens.no_padding()
    tokens.enable_truncation(json.load(open(model + "/sentence_bert_config.json"))["max_seq_length"])
    path = "%s/%s.onnx" % (folder, line)
    with contextlib.redirect_stdout(sys.stderr):
        export(model, path)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    sentences = job["sentences"]

    def call():
        ids = [e.ids for e in tokens.encode_batch(sentences)]
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        vectors = [None] * len(ids)
        for at in range(0, len(ids), 32):
            batch = order[at:at + 32]
            x = np.zeros((len(batch), len(ids[batch[0]])), np.int64)
            mask = np.zeros_like(x)
            for row, i in enumerate(batch):
                x[row, :len(ids[i])] = ids[i]
                mask[row, :len(ids[i])] = 1
            for i, v in zip(batch, session.run(None, {"ids": x, "attention": mask})[0]):
                vectors[i] = v
        return np.stack(vectors)
    error = np.abs(call() - np.load("%s/%s.npz" % (folder, line))["embeddings"]).max()
    if not error < 1e-4:
        raise ValueError("embeddings differ from gomx's by %.2g" % error)
    calls[line] = call, len(sentences)


def measure(line):
    if line not in calls:
        prepare(line)
    call, n = calls[line]
    start = time.perf_counter()
    call()
    return "%s\t%.6g\tsentences/s" % (line, n / (time.perf_counter() - start))


for line in sys.stdin:
    line = line.strip()
    try:
        print(measure(line), flush=True)
    except Exception as e:
        print("%s\terror\t%s" % (line, " ".join(str(e).split())[:400]), flush=True)
