# Writes embeddings by the formula of sentence-transformers, in torch: embeddings.py FOLDER SENTENCES.json OUT.npz
# Tokens come from the package tokenizers, weights from safetensors; each sentence is computed on its own.
import json, sys
import numpy as np, torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

folder, sentences, out = sys.argv[1:]
c = json.load(open(folder + "/config.json"))
most = json.load(open(folder + "/sentence_bert_config.json"))["max_seq_length"]
w = load_file(folder + "/model.safetensors")
t = Tokenizer.from_file(folder + "/tokenizer.json")
t.no_padding()
t.enable_truncation(most)
heads = c["num_attention_heads"]
dense = lambda x, name: F.linear(x, w[name + ".weight"], w[name + ".bias"])
norm = lambda x, name: F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], c["layer_norm_eps"])
split = lambda x: x.unflatten(-1, (heads, -1)).transpose(0, 1)

def embed(s):
    ids = torch.tensor(t.encode(s).ids)
    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:len(ids)] + w[e + "token_type_embeddings.weight"][0]
    x = norm(x, e + "LayerNorm")
    for i in range(c["num_hidden_layers"]):
        p = "encoder.layer.%d." % i
        q, k, v = (split(dense(x, p + "attention.self." + n)) for n in ("query", "key", "value"))
        y = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1) @ v
        x = norm(x + dense(y.transpose(0, 1).flatten(1), p + "attention.output.dense"), p + "attention.output.LayerNorm")
        x = norm(x + dense(F.gelu(dense(x, p + "intermediate.dense")), p + "output.dense"), p + "output.LayerNorm")
    return F.normalize(x.mean(0), dim=0)

with torch.no_grad():
    np.savez(out, embeddings=torch.stack([embed(s) for s in json.load(open(sentences))]).numpy())
