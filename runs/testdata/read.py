# Prints the content of TensorBoard's event files below a folder as JSON.
import json
import sys

from tensorboard.backend.event_processing import event_accumulator as ea

acc = ea.EventAccumulator(sys.argv[1], size_guidance={k: 0 for k in ea.DEFAULT_SIZE_GUIDANCE})
acc.Reload()
tags = acc.Tags()
out = {"Scalars": {}, "Histograms": {}, "Images": {}, "Graph": []}
for t in tags["scalars"]:
    out["Scalars"][t] = [x for e in acc.Scalars(t) for x in (e.step, e.value)]
for t in tags["histograms"]:
    out["Histograms"][t] = [
        [e.step, (h := e.histogram_value).min, h.max, h.num, h.sum, h.sum_squares]
        for e in acc.Histograms(t)
    ]
for t in tags["images"]:
    out["Images"][t] = [x for e in acc.Images(t) for x in (e.step, e.width, e.height)]
if tags["graph"]:
    out["Graph"] = [[n.name, n.op, *n.input] for n in acc.Graph().node]
print(json.dumps(out))
