package module_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

var mxnetFlag = flag.String("mxnet", "python3",
	"Python interpreter; the test that needs MXNet is skipped where it has none")

// fitCounts trains networks of three buckets and leaves a checkpoint.
func fitCounts(t *testing.T) (m *module.BucketingModule, prefix string) {
	t.Helper()
	prefix = filepath.Join(t.TempDir(), "counts")
	m = newCounts(t, 5)
	if err := m.Fit(t.Context(), counting(), module.Init(initializer.Xavier{}),
		module.Optimize(storeOptimizer), module.Checkpoint(prefix)); err != nil {
		t.Fatal(err)
	}
	return m, prefix
}

// perplexity scores a module on all buckets.
func perplexity(t *testing.T, m *module.BucketingModule) float64 {
	t.Helper()
	s, err := m.Score(t.Context(), counting(), metric.Perplexity(metric.IgnoreLabel(-1)))
	if err != nil {
		t.Fatal(err)
	}
	return s[0].Value
}

// TestLoadBucketing loads a checkpoint without a generator, and saves it again without having used
// all buckets.
func TestLoadBucketing(t *testing.T) {
	m, prefix := fitCounts(t)
	loaded, err := module.LoadBucketing(prefix, 1, nil, 12)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := perplexity(t, loaded), perplexity(t, m); got != want {
		t.Errorf("perplexity %v after loading, want %v", got, want)
	}
	if got := loaded.Buckets(); got != 3 {
		t.Errorf("%d buckets, want 3", got)
	}
	again, err := module.LoadBucketing(prefix, 1, nil, 12)
	if err != nil {
		t.Fatal(err)
	}
	it := counting()
	if err := again.Bind(it.ProvideData(), it.ProvideLabel()); err != nil {
		t.Fatal(err)
	}
	if err := again.InitParams(nil); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(t.TempDir(), "again")
	if err := again.Save(second, 1); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"-4-symbol.json", "-8-symbol.json", "-12-symbol.json",
		"-symbol.json", ".buckets", "-0001.params"} {
		want, err := os.ReadFile(prefix + name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(second + name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s differs after loading and saving, %v", name, err)
		}
	}
}

// TestLoadBucketingGenerates wants the generator's network for a bucket that has not been saved,
// and an error without.
func TestLoadBucketingGenerates(t *testing.T) {
	_, prefix := fitCounts(t)
	batch := &dataio.Batch{Data: []*nd.Array{nd.Zeros(nd.Shape{sentences, 6})},
		Label: []*nd.Array{nd.Zeros(nd.Shape{sentences, 6})}, Bucket: 6}
	for _, gen := range []module.SymGen{counts, nil} {
		m, err := module.LoadBucketing(prefix, 1, gen, 12)
		if err != nil {
			t.Fatal(err)
		}
		it := counting()
		if err := m.Bind(it.ProvideData(), it.ProvideLabel()); err != nil {
			t.Fatal(err)
		}
		if err := m.InitParams(nil); err != nil {
			t.Fatal(err)
		}
		switch err := m.Forward(batch, false); {
		case gen != nil && err != nil:
			t.Error(err)
		case gen == nil && (err == nil ||
			!strings.Contains(err.Error(),
				"no network of bucket 6: the checkpoint has those of [4 8 12]")):
			t.Errorf("without a generator: got %v", err)
		}
	}
}

// TestLoadBucketingOld reads a checkpoint that holds the network of the default bucket only, and
// one whose buckets are words.
func TestLoadBucketingOld(t *testing.T) {
	gen := func(bucket any) (*sym.Symbol, error) {
		if bucket == "long" {
			return counts(12)
		}
		return counts(4)
	}
	m, err := module.NewBucketing(gen, "long", module.Seed(5))
	if err != nil {
		t.Fatal(err)
	}
	it := counting()
	if err := m.Bind(it.ProvideData(), it.ProvideLabel()); err != nil {
		t.Fatal(err)
	}
	if err := m.InitParams(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(t.TempDir(), "words")
	if err := m.Save(prefix, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(checkpoint.BucketsPath(prefix)); err == nil {
		t.Error("a list of buckets that are no integers")
	}
	if _, err := module.LoadBucketing(prefix, 0, nil, "long"); err == nil ||
		!strings.Contains(err.Error(), "words.buckets") {
		t.Errorf("without list and generator: got %v", err)
	}
	loaded, err := module.LoadBucketing(prefix, 0, gen, "long")
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Bind(it.ProvideData(), it.ProvideLabel()); err != nil {
		t.Fatal(err)
	}
	if err := loaded.InitParams(nil); err != nil {
		t.Fatal(err)
	}
	got, _ := loaded.Params()
	want, _ := m.Params()
	compareParams(t, []map[string][]float32{floats(t, got)}, floats(t, want))
}

func TestLoadBucketsErrors(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "net")
	save := func(arrays ...*nd.Array) func() error {
		return func() error {
			var list []checkpoint.Named
			for _, a := range arrays {
				list = append(list, checkpoint.Named{Array: a})
			}
			return checkpoint.SaveArrays(checkpoint.BucketsPath(prefix), list)
		}
	}
	one := nd.FromSlice([]int32{3})
	for _, tt := range []struct {
		name string
		make func() error
		want string
	}{
		{"nothing", func() error { return nil }, "net.buckets"},
		{"two arrays", save(one, one), "2 arrays, want one"},
		{"two dimensions", save(nd.FromSlice([]int32{3}, 1, 1)), "one array of one axis"},
		{"floats", save(nd.FromSlice([]float32{3})), "float32, want int32"},
		{"no network", save(one), "net-3-symbol.json"},
		{"bad network", func() error {
			return os.WriteFile(checkpoint.BucketSymbolPath(prefix, 3),
				[]byte("{"), 0o666)
		}, "not a symbol file"},
	} {
		if err := tt.make(); err != nil {
			t.Fatal(err)
		}
		if _, err := module.LoadBucketing(prefix, 0, nil, 3); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// mxnetBuckets loads a checkpoint, prints its perplexity on one batch of each bucket, and saves it
// again.
const mxnetBuckets = `
import sys
import mxnet as mx, numpy as np
prefix, second = sys.argv[1:]
def gen(length):
    x = mx.sym.Reshape(mx.sym.Embedding(mx.sym.var("data"), input_dim=8, output_dim=12, name="embed"), shape=(-1, 12))
    if length > 4: x = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=12, name="mix"))
    x = mx.sym.FullyConnected(x, num_hidden=8, name="decode")
    label = mx.sym.Reshape(mx.sym.var("softmax_label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(x, label, use_ignore=True, ignore_label=-1, name="softmax"), ("data",), ("softmax_label",)
mod = mx.mod.BucketingModule.load(prefix, 1, gen, 12)
print(sorted(int(k) for k in mod._buckets))
desc = lambda n: dict(data_shapes=[("data", (8, n))], label_shapes=[("softmax_label", (8, n))])
mod._buckets[12].bind(for_training=False, **desc(12))
mod.binded = True
for n in (4, 8, 12):
    if n != 12: mod._buckets[n].bind(for_training=False, shared_module=mod._buckets[12], **desc(n))
    x = (np.arange(8)[:, None] + np.arange(n)[None]) % 8
    mod._buckets[n].forward(mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(x)]), is_train=False)
    p = mod._buckets[n].get_outputs()[0].asnumpy()
    print(n, "%.4f" % np.exp(-np.mean(np.log(p[np.arange(len(p)), ((x + 1) % 8).ravel()]))))
mod._curr_module = mod._buckets[12]
mod.params_initialized = True
mod.save_checkpoint(second, 1)
`

// TestMXNetLoadsBuckets lets MXNet load what Save has written, and loads what MXNet then writes.
func TestMXNetLoadsBuckets(t *testing.T) {
	if err := exec.Command(*mxnetFlag, "-c", "import mxnet").Run(); err != nil {
		t.Skip("no MXNet:", err)
	}
	m, prefix := fitCounts(t)
	second := filepath.Join(t.TempDir(), "second")
	out, err := exec.Command(*mxnetFlag, "-c", mxnetBuckets, prefix, second).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	t.Logf("MXNet: %s", out)
	if !strings.HasPrefix(string(out), "[4, 8, 12]\n") {
		t.Errorf("MXNet loads the buckets %s, want [4, 8, 12]", out)
	}
	loaded, err := module.LoadBucketing(second, 1, nil, 12)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := perplexity(t, loaded), perplexity(t, m); got != want {
		t.Errorf("perplexity %v of what MXNet has saved, want %v", got, want)
	}
}
