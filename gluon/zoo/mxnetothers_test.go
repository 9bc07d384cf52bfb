package zoo_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// othersProgram computes exported networks, and BERT and GPT-2 by the formulas of GluonNLP, from
// structural names.
const othersProgram = `
import json, math, sys, mxnet as mx
from mxnet import gluon, nd
folder, kind, heads = sys.argv[1], sys.argv[2], int(sys.argv[3])
x = nd.load(folder + '/x.params')
x = [x[k] for k in sorted(x)]
block = gluon.SymbolBlock.imports(folder + '/net-symbol.json', sorted(json.loads(sys.argv[4])),
                                  folder + '/net-0000.params')
y = block(*x)
results = [y if isinstance(y, (list, tuple)) else [y]]
p = nd.load(folder + '/net.params')
def dense(name, x):
    return nd.FullyConnected(x, p[name + '.weight'], p.get(name + '.bias'), flatten=False,
                             num_hidden=p[name + '.weight'].shape[0], no_bias=name + '.bias' not in p)
def norm(name, x, eps):
    return nd.LayerNorm(x, p[name + '.gamma'], p[name + '.beta'], eps=eps)
def split(x):
    n, t, u = x.shape
    return x.reshape((n, t, heads, u // heads)).transpose((0, 2, 1, 3)).reshape((-3, 0, 0))
def attend(q, k, v, may):
    scores = nd.batch_dot(split(q), split(k), transpose_b=True) / math.sqrt(q.shape[2] // heads)
    w = nd.softmax(nd.where(nd.broadcast_like(may, scores), scores, -1e18 * nd.ones_like(scores)))
    y = nd.batch_dot(w, split(v)).reshape((-4, -1, heads, 0, 0))
    return y.transpose((0, 2, 1, 3)).reshape((0, 0, -3))
if kind == 'bert':
    words, types, length, masked = x
    n, t = words.shape
    y = p['word_embed.0.weight'][words] + p['token_type_embed.0.weight'][types]
    y = y + p['encoder.position_weight'][:t].expand_dims(0)
    y = norm('encoder.layer_norm', y, 1e-12)
    may = nd.broadcast_lesser(nd.arange(t).reshape((1, 1, t)), length.reshape((n, 1, 1)))
    may = may.repeat(heads, axis=0)
    for i in range(2):
        at = 'encoder.transformer_cells.%d.' % i
        a = [dense(at + 'attention_cell.proj_' + k, y) for k in ('query', 'key', 'value')]
        y = norm(at + 'layer_norm', y + dense(at + 'proj', attend(*a, may)), 1e-12)
        h = nd.LeakyReLU(dense(at + 'ffn.ffn_1', y), act_type='gelu')
        y = norm(at + 'ffn.layer_norm', y + dense(at + 'ffn.ffn_2', h), 1e-12)
    y = nd.SequenceMask(y, length, use_sequence_length=True, axis=1)
    pooled = nd.tanh(dense('pooler', y[:, 0]))
    rows = nd.stack(*[y[i][masked[i]] for i in range(n)])
    h = norm('decoder.2', nd.LeakyReLU(dense('decoder.0', rows), act_type='gelu'), 1e-12)
    results.append([y, pooled, dense('classifier', pooled), dense('decoder.3', h)])
if kind == 'gpt2':
    n, t = x[0].shape
    y = p['_embed.weight'][x[0]] + p['_pos_embed.weight'][:t].expand_dims(0)
    may = nd.broadcast_lesser_equal(nd.arange(t).reshape((1, 1, t)), nd.arange(t).reshape((1, t, 1)))
    for i in range(2):
        a = '_self_attention_layers.%d.' % i
        qkv = dense(a + '_multi_head_qkv_proj', norm('_attn_ln.%d' % i, y, 1e-5))
        y = y + dense(a + '_out_proj', attend(*nd.split(qkv, 3, axis=2), may))
        h = dense('_ffn_layers.%d._hidden_map' % i, norm('_ffn_ln.%d' % i, y, 1e-5))
        h = 0.5 * h * (1 + nd.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
        y = y + dense('_ffn_layers.%d._out_map' % i, h)
    results.append([dense('_logits_proj', norm('_final_ln', y, 1e-5))])
json.dump([[o.reshape(-1).asnumpy().tolist() for o in r] for r in results],
          open(folder + '/out.json', 'w'))
`

// formulas are the networks that the program computes by formulas too.
var formulas = map[string]bool{"bert": true, "gpt2": true}

// TestOthersBesideMXNet exports networks and computes them in MXNet.
func TestOthersBesideMXNet(t *testing.T) {
	if *mxnetPython == "" {
		t.Skip("wants -mxnet PYTHON")
	}
	networks := maps.Clone(smalls)
	networks["ssd"] = small{make: func(t *testing.T) *gluon.Net {
		s, err := zoo.NewSSD(zoo.SSDConfig{Classes: 3})
		ok(t, err)
		return s.Net()
	}, inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{1, 3, 128, 128}}},
		shapes: []nd.Shape{{1, 100, 1}, {1, 100, 1}, {1, 100, 4}}}
	for kind, s := range networks {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name string) string { return filepath.Join(dir, name) }
			net, in := s.make(t), arguments(s.inputs)
			ok(t, net.Init(initializer.Xavier{}, gluon.Seed(8)))
			if formulas[kind] { // larger weights, for attention that differs
				net.Params().SetInit(initializer.Normal{Sigma: 0.5})
				ok(t, net.Init(nil, gluon.Seed(8)))
			}
			want := outputs(t, net.Call(in...), s.shapes)
			opts, names := []gluon.ExportOption{gluon.GlobalNames("")}, []string{}
			var arrays []checkpoint.Named
			for i, x := range in {
				names = append(names, "input"+strconv.Itoa(i))
				opts = append(opts, gluon.Input(names[i], x.Shape()...))
				arrays = append(arrays, checkpoint.Named{Name: names[i], Array: x})
			}
			ok(t, net.Export(file("net"), 0, opts...))
			ok(t, net.Save(file("net.params")))
			ok(t, checkpoint.SaveArrays(file("x.params"), arrays))
			list, err := json.Marshal(names)
			ok(t, err)
			p := exec.CommandContext(t.Context(), *mxnetPython, "-W", "ignore", "-c", othersProgram,
				dir, kind, "2", string(list))
			var out bytes.Buffer
			p.Stdout, p.Stderr = &out, &out
			if err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			text, err := os.ReadFile(file("out.json"))
			ok(t, err)
			var results [][][]float64
			ok(t, json.Unmarshal(text, &results))
			if (len(results) == 2) != formulas[kind] {
				t.Fatalf("%d results", len(results))
			}
			for way, theirs := range results {
				for i := range want {
					near(t, []string{"the exported network", "GluonNLP's formulas"}[way], theirs[i],
						want[i])
				}
			}
		})
	}
}
