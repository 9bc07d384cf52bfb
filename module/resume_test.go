package module_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

var resumeSeed = flag.Uint64("resume.seed", 0,
	"seed of the tests that cut runs short, 0 for one from the clock")

// drawResumeSeed returns the seed of a test, and says it.
func drawResumeSeed(t *testing.T) uint64 {
	seed := *resumeSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	t.Logf("seed %d (-resume.seed)", seed)
	return seed
}

// resumeCase is a program that trains. Everything in it is made anew by every process.
type resumeCase struct {
	module  func() (*module.Module, error)
	train   func() (dataio.Iter, error)
	options func() []module.FitOption
	disturb bool // callbacks change a parameter by random numbers
}

// dropping is a classifier that drops values.
func dropping(norm bool) *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 24},
		sym.Name("fc1"))
	if norm {
		x = sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name("bn"))
	}
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh"))
	x = sym.Dropout(x, sym.DropoutParams{P: sym.Some(0.3)}, sym.Name("drop"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// droppingWords is a network of word counts for sentences of a length, which drops values.
func droppingWords(bucket any) (*sym.Symbol, error) {
	length := bucket.(int)
	x := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: words, OutputDim: 12},
		sym.Name("embed"))
	x = sym.Dropout(x, sym.DropoutParams{P: sym.Some(0.2)}, sym.Name("drop"))
	o := sym.Reshape(x, sym.ReshapeParams{Shape: []int{sentences * length, 12}})
	o = sym.FullyConnected(o, sym.FullyConnectedParams{NumHidden: words}, sym.Name("decode"))
	label := sym.Reshape(sym.Var("softmax_label"), sym.ReshapeParams{Shape: []int{-1}})
	return sym.SoftmaxOutput(o, sym.SoftmaxOutputParams{UseIgnore: true,
		IgnoreLabel: sym.Some(-1.0), Normalization: "valid"},
		sym.Name("softmax"), sym.With("label", label)), nil
}

// dots is an iterator over points of the plane.
func dots(n int, last dataio.LastBatch) (*dataio.Table, error) {
	r := rand.New(rand.NewPCG(3, 0))
	data, label := make([]float32, 2*n), make([]float32, n)
	for i := range label {
		data[2*i], data[2*i+1] = float32(r.Float64()*2-1), float32(r.Float64()*2-1)
		if data[2*i]*data[2*i+1] > 0 {
			label[i] = 1
		}
	}
	return dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(data, n, 2)},
		Label:     []*nd.Array{nd.FromSlice(label)},
		BatchSize: 20, Shuffle: true, Seed: 8, LastBatch: last})
}

// onlyEpochs is an iterator that knows the number of its epoch and nothing else.
type onlyEpochs struct{ t *dataio.Table }

func (o onlyEpochs) Next(ctx context.Context) (*dataio.Batch, error) { return o.t.Next(ctx) }
func (o onlyEpochs) Reset() error                                    { return o.t.Reset() }
func (o onlyEpochs) ProvideData() []dataio.Desc                      { return o.t.ProvideData() }
func (o onlyEpochs) ProvideLabel() []dataio.Desc                     { return o.t.ProvideLabel() }
func (o onlyEpochs) BatchSize() int                                  { return o.t.BatchSize() }
func (o onlyEpochs) SetEpoch(e int)                                  { o.t.SetEpoch(e) }

func validated(n int) module.FitOption {
	it, err := dots(n, dataio.Round)
	if err != nil {
		panic(err)
	}
	return module.Validate(it)
}

// resumeCases are programs by name: everything that a run depends on is in one of them.
var resumeCases = map[string]resumeCase{
	"dropout": {disturb: true,
		module: func() (*module.Module, error) {
			return module.New(dropping(false), module.Seed(5)),
				nil
		},
		train: func() (dataio.Iter, error) { return dots(210, dataio.RollOver) },
		options: func() []module.FitOption {
			return []module.FitOption{validated(70), module.Sample(4),
				module.Optimize(optimizer.Adam{LR: 0.05,
					Common: optimizer.Common{Schedule: optimizer.FactorScheduler{Step: 7,
						Factor: 0.8}}})}
		}},
	"devices": {
		module: func() (*module.Module, error) {
			return module.New(dropping(true), module.Seed(5), module.On(processors(2)...)), nil
		},
		train: func() (dataio.Iter, error) { return onlyEpochs{must(dots(190, dataio.Pad))}, nil },
		options: func() []module.FitOption {
			return []module.FitOption{validated(70),
				module.Optimize(optimizer.SGD{LR: 0.2, Momentum: 0.9}), module.Sample(3)}
		}},
	"float16": {
		module: func() (*module.Module, error) {
			return module.New(dropping(false), module.Seed(5), module.MixedPrecision(dtype.Float16),
				module.LossScale(module.Scaling{Initial: 1 << 23, Window: 5})), nil
		},
		train: func() (dataio.Iter, error) { return dots(210, dataio.Discard) },
		options: func() []module.FitOption {
			return []module.FitOption{module.Optimize(optimizer.NAG{LR: 0.1, Momentum: 0.9})}
		}},
	"buckets": {
		module: func() (*module.Module, error) {
			m, err := module.NewBucketing(droppingWords, counting().DefaultBucket(), module.Seed(2))
			if err != nil {
				return nil, err
			}
			return m.Module, nil
		},
		train: func() (dataio.Iter, error) { return counting(), nil },
		options: func() []module.FitOption {
			return []module.FitOption{module.Metric(metric.Perplexity(metric.IgnoreLabel(-1))),
				module.Optimize(optimizer.Adam{LR: 0.02})}
		}},
	"prefetch": {
		module: func() (*module.Module, error) {
			return module.New(dropping(false), module.Seed(5)),
				nil
		},
		train: func() (dataio.Iter, error) {
			return dataio.Prefetch(must(dots(210, dataio.Round)),
				2)
		},
		options: func() []module.FitOption {
			return []module.FitOption{module.Metric(metric.Composite(metric.Accuracy(), metric.F1(),
				metric.PCC())),
				module.Optimize(optimizer.LBSGD{LR: 0.1, Momentum: 0.5, BatchScale: 3})}
		}},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fit runs a case in this process. Each call of onBatch follows a batch.
func (c *resumeCase) fit(ctx context.Context, onBatch func(*module.BatchEnd) error,
	opts ...module.FitOption) (string, error) {
	nd.SetSeed(4) // as a process begins
	m, err := c.module()
	if err != nil {
		return "", err
	}
	it, err := c.train()
	if err != nil {
		return "", err
	}
	all := append(c.options(), module.Epochs(4), module.Init(initializer.Uniform{Scale: 0.2}),
		module.OnBatch(func(e *module.BatchEnd) error {
			if c.disturb {
				args, _ := m.Params()
				b := args["fc1_bias"]
				b.AddInPlace(nd.Normal(0, 0.01, b.Shape()))
			}
			return onBatch(e)
		}))
	if err := m.Fit(ctx, it, append(all, opts...)...); err != nil {
		return "", err
	}
	return outcome(m)
}

// outcome is all that a run has made: the bits of parameters and auxiliary states, and the history
// without times.
func outcome(m *module.Module) (string, error) {
	h := sha256.New()
	args, aux := m.Params()
	for _, arrays := range []map[string]*nd.Array{args, aux} {
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			b := make([]byte, arrays[name].Bytes())
			if err := arrays[name].ReadBytes(context.Background(), b); err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %x\n", name, b)
		}
	}
	text := fmt.Sprintf("parameters %x, scale %v, skipped %d\n", h.Sum(nil), m.LossScale(),
		m.Skipped())
	for _, b := range m.History().Batches {
		text += fmt.Sprintln("batch", b.Epoch, b.Batch, b.Scores)
	}
	for _, e := range m.History().Epochs {
		e.Time = 0
		text += fmt.Sprintln("epoch", e)
	}
	return text, nil
}

var errCut = errors.New("cut")

// TestResume cuts runs at random batches, again and again, and wants them to end as runs that were
// not.
func TestResume(t *testing.T) {
	seed := drawResumeSeed(t)
	for name, c := range resumeCases {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			batches := 0
			want, err := c.fit(t.Context(), func(*module.BatchEnd) error { batches++; return nil })
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				prefix := filepath.Join(t.TempDir(), "runs", "m")
				resume := []module.CheckpointOption{module.KeepLast(2)}
				if every := r.IntN(6); every > 0 {
					resume = append(resume, module.EveryBatches(every))
				}
				cuts, most := 0, 0
				var got string
				for cut := true; cut; {
					left := 1 + r.IntN(batches)
					got, err = c.fit(t.Context(), func(*module.BatchEnd) error {
						if left--; left == 0 {
							return errCut
						}
						return nil
					}, module.Resume(prefix, resume...))
					if cut = errors.Is(err, errCut); cut {
						cuts++
					} else if err != nil {
						t.Fatal(err)
					}
					if most++; most > 300 {
						t.Fatal("the run does not come to its end")
					}
				}
				if got != want {
					t.Fatalf("after %d cuts:\n%s\nwant\n%s", cuts, got, want)
				}
				if got, err := c.fit(t.Context(), func(*module.BatchEnd) error { return errCut },
					module.Resume(prefix, resume...)); got != want || err != nil {
					t.Errorf("the finished run: %v\n%s", err, got)
				}
				if list, err := checkpoint.Epochs(prefix); err != nil ||
					!slices.Equal(list, []int{3, 4}) {
					t.Errorf("epochs %v are left, %v", list, err)
				}
			}
		})
	}
}

// TestResumeOfAnother goes on from files that belong to other runs or are damaged: the error says
// what differs.
func TestResumeOfAnother(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "m")
	sgd := module.Optimize(optimizer.SGD{LR: 0.1, Momentum: 0.9})
	fit := func(net *sym.Symbol, it dataio.Iter, opts ...module.FitOption) error {
		return module.New(net, module.Seed(5)).Fit(t.Context(), it,
			append(opts, module.Resume(prefix))...)
	}
	if err := fit(dropping(false), must(dots(100, dataio.Pad)), sgd); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"network": fit(dropping(true), must(dots(100, dataio.Pad)), sgd),
		`"momentum":0.8`: fit(dropping(false), must(dots(100, dataio.Pad)),
			module.Optimize(optimizer.SGD{LR: 0.1, Momentum: 0.8})),
		"optimizer": fit(dropping(false), must(dots(100, dataio.Pad)),
			module.Optimize(optimizer.Adam{})),
		"120 samples": fit(dropping(false), must(dots(120, dataio.Pad)), sgd),
		"SetEpoch": fit(dropping(false),
			struct{ dataio.Iter }{must(dots(100, dataio.Pad))}, sgd),
		"module.Snapshots": fit(dropping(false), must(dots(100, dataio.Pad)), sgd,
			module.Store("dist_sync")),
		"EveryBatches(-1)": fit(dropping(false), must(dots(100, dataio.Pad)), sgd,
			module.Checkpoint(prefix, module.EveryBatches(-1))),
		"metric.Stateful": fit(dropping(false), must(dots(100, dataio.Pad)), sgd,
			module.Checkpoint(prefix, module.EveryBatches(1)),
			module.Metric(struct{ metric.Metric }{metric.Accuracy()})),
		"remove the file": fit(dropping(true), must(dots(100, dataio.Pad)), sgd),
		"number of devices": module.New(dropping(false), module.Seed(5),
			module.On(processors(2)...)).Fit(t.Context(), must(dots(100, dataio.Pad)), sgd,
			module.Resume(prefix)),
		"EveryBatches without Resume": module.New(dropping(false)).Fit(t.Context(),
			must(dots(100, dataio.Pad)), module.Checkpoint(prefix, module.EveryBatches(1))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := fit(dropping(false), must(dots(100, dataio.Pad)), sgd); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(checkpoint.RunPath(prefix))
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(checkpoint.RunPath(prefix), b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := fit(dropping(false), must(dots(100, dataio.Pad)), sgd); err == nil ||
		!strings.Contains(err.Error(), "m.resume") {
		t.Errorf("a damaged file: got %v", err)
	}
}
