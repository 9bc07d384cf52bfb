"""Writes operators-symbol.json: MXNet's text of a graph with nodes of all operators.

    go test ./internal/oracle -run TestFileOfOperators -oracle.draft /tmp/draft.json
    python internal/oracle/testdata/operators.py /tmp/draft.json

MXNet loads each node alone first. Nodes that it refuses are left out and named.
"""
import json
import os
import sys

import mxnet as mx


def graph(nodes):
    heads = [[i, 0, 0] for i, n in enumerate(nodes) if n["op"] != "null"]
    args = [i for i, n in enumerate(nodes) if n["op"] == "null"]
    return json.dumps({"nodes": nodes, "arg_nodes": args, "heads": heads,
                       "attrs": {"mxnet_version": ["int", 10901]}})


kept, group = [], []
for node in json.load(open(sys.argv[1])):
    group.append(node)
    if node["op"] == "null":
        continue
    first = len(kept) + len(group) - 1 - len(node["inputs"])
    alone = dict(node, inputs=[[i, 0, e[2]] for i, e in enumerate(node["inputs"])])
    try:
        mx.sym.load_json(graph(group[:-1] + [alone])).tojson()
        kept += group[:-1] + [dict(
            node, inputs=[[first + i, 0, e[2]] for i, e in enumerate(node["inputs"])])]
    except Exception as e:
        print("left out:", node["name"], node.get("attrs"), str(e).strip().split("\n")[-1][:150])
    group = []
text = mx.sym.load_json(graph(kept)).tojson()
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "operators-symbol.json"), "w") as f:
    f.write(text)
print(sum(n["op"] != "null" for n in kept), "nodes")
