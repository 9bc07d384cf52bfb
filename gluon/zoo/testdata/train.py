"""Trains BERT or GPT-2 for steps with SGD and momentum from weights and batches of gomx, and prints
the losses, and for each parameter the norm of its change and the norm of the difference to gomx's.
Usage: train.py FOLDER bert|gpt2 LAYERS HEADS"""
import json, math, sys
import numpy as np, torch
import torch.nn.functional as F

folder, kind, layers, heads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
p = {k: torch.tensor(v) for k, v in np.load(folder + "/before.npz").items()}
batch = {k: torch.tensor(v) for k, v in np.load(folder + "/batch.npz").items()}
after = np.load(folder + "/after.npz")
shared = {"bert": ("decoder.3.weight", "word_embed.0.weight"), "gpt2": ("_logits_proj.weight", "_embed.weight")}[kind]
p[shared[0]] = p[shared[1]]
first = {k: v.clone() for k, v in p.items() if k != shared[0]}
for v in p.values():
    v.requires_grad_()


def dense(name, x):
    return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))


def norm(name, x, eps):
    return F.layer_norm(x, x.shape[-1:], p[name + ".gamma"], p[name + ".beta"], eps)


def attend(q, k, v, may):
    q, k, v = (a.reshape(a.shape[0], a.shape[1], heads, -1).transpose(1, 2) for a in (q, k, v))
    scores = (q @ k.transpose(2, 3) / math.sqrt(q.shape[3])).masked_fill(~may, -1e30)
    return (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)


def bert():
    words, t = batch["words"].long(), batch["words"].shape[1]
    x = p["word_embed.0.weight"][words] + p["token_type_embed.0.weight"][batch["types"].long()]
    x = norm("encoder.layer_norm", x + p["encoder.position_weight"][:t], 1e-12)
    may = (torch.arange(t)[None] < batch["length"][:, None])[:, None, None]
    for i in range(layers):
        at = "encoder.transformer_cells.%d." % i
        a = [dense(at + "attention_cell.proj_" + k, x) for k in ("query", "key", "value")]
        x = norm(at + "layer_norm", x + dense(at + "proj", attend(*a, may)), 1e-12)
        x = norm(at + "ffn.layer_norm", x + dense(at + "ffn.ffn_2", F.gelu(dense(at + "ffn.ffn_1", x))), 1e-12)
    x = x * (torch.arange(t)[None] < batch["length"][:, None])[..., None]
    pooled = torch.tanh(dense("pooler", x[:, 0]))
    rows = torch.gather(x, 1, batch["masked"].long()[..., None].expand(-1, -1, x.shape[2]))
    scores = dense("decoder.3", norm("decoder.2", F.gelu(dense("decoder.0", rows)), 1e-12))
    return F.cross_entropy(dense("classifier", pooled), batch["next"].long()) + \
        F.cross_entropy(scores.flatten(0, 1), batch["label"].long().flatten())


def gpt2():
    words, t = batch["words"].long(), batch["words"].shape[1]
    x = p["_embed.weight"][words] + p["_pos_embed.weight"][:t]
    may = torch.tril(torch.ones(t, t, dtype=torch.bool))
    for i in range(layers):
        a = "_self_attention_layers.%d." % i
        qkv = dense(a + "_multi_head_qkv_proj", norm("_attn_ln.%d" % i, x, 1e-5))
        x = x + dense(a + "_out_proj", attend(*qkv.chunk(3, 2), may))
        h = dense("_ffn_layers.%d._hidden_map" % i, norm("_ffn_ln.%d" % i, x, 1e-5))
        x = x + dense("_ffn_layers.%d._out_map" % i, F.gelu(h, approximate="tanh"))
    scores = dense("_logits_proj", norm("_final_ln", x, 1e-5))
    return F.cross_entropy(scores.flatten(0, 1), batch["label"].long().flatten())


optimizer = torch.optim.SGD([p[k] for k in first], lr=float(batch["rate"]), momentum=0.9)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = {"bert": bert, "gpt2": gpt2}[kind]()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
changes, differences = {}, {}
for k, v in first.items():
    changes[k] = (p[k].detach() - v).norm().item()
    differences[k] = (p[k].detach() - torch.tensor(after[k])).norm().item()
json.dump({"losses": losses, "changes": changes, "differences": differences}, sys.stdout, indent=1)
