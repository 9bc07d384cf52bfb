package zoo_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

var (
	torchPython = flag.String("torch", "", "Python interpreter with torch, for TestTraining")
	storeFlag   = flag.Bool("store", false, "store the expectations of TestTraining from torch")
)

// storedTraining has torch's figures for small networks.
const storedTraining = "testdata/train.json"

// training is a network that is trained for three steps.
type training struct {
	net           *gluon.Net
	layers, heads int
	rate          float64
	batch         []checkpoint.Named
	// loss returns the loss of each sequence.
	loss func(out []*nd.Array, batch map[string]*nd.Array) *nd.Array
	in   []string // arguments, of the arrays of the batch
}

// trained are the figures of three steps. Changes are norms of the changes of parameters.
type trained struct {
	Losses      []float64          `json:"losses"`
	Changes     map[string]float64 `json:"changes"`
	Differences map[string]float64 `json:"differences,omitempty"` // between the results
}

// batchOf makes a batch of whole numbers below limits.
func batchOf(rate float64, inputs ...zoo.Input) []checkpoint.Named {
	list := []checkpoint.Named{{Name: "rate", Array: nd.Full(rate, nd.Shape{})}}
	for i, a := range arguments(inputs) {
		list = append(list, checkpoint.Named{Name: inputs[i].Name, Array: a})
	}
	return list
}

func below(name string, limit int, shape ...int) zoo.Input {
	return zoo.Input{Name: name, Shape: shape, Below: limit}
}

// trainBERT is the training of BERT for masked words and the next sentence.
func trainBERT(c zoo.BERTConfig, n, steps, places int, rate float64) training {
	return training{net: zoo.NewBERT(c).Net(), layers: c.Layers, heads: c.Heads, rate: rate,
		batch: batchOf(rate, below("words", c.Vocab, n, steps), below("types", 2, n, steps),
			below("length", steps, n), below("masked", steps, n, places), below("next", 2, n),
			below("label", c.Vocab, n, places)),
		in: []string{"words", "types", "length", "masked"},
		loss: func(out []*nd.Array, batch map[string]*nd.Array) *nd.Array {
			return loss.SoftmaxCE{}.Forward(out[2], batch["next"]).Add(
				loss.SoftmaxCE{}.Forward(out[3], batch["label"]))
		}}
}

// trainGPT2 is the training of GPT-2 for next words.
func trainGPT2(c zoo.GPT2Config, n, steps int, rate float64) training {
	return training{net: gluon.New(zoo.NewGPT2(c)), layers: c.Layers, heads: c.Heads, rate: rate,
		batch: batchOf(rate, below("words", c.Vocab, n, steps), below("label", c.Vocab, n, steps)),
		in:    []string{"words"},
		loss: func(out []*nd.Array, batch map[string]*nd.Array) *nd.Array {
			return loss.SoftmaxCE{}.Forward(out[0], batch["label"])
		}}
}

// run trains for three steps. Saved parameters are written before and after them.
func (tr *training) run(t *testing.T, before, after string) (r trained) {
	t.Helper()
	batch := map[string]*nd.Array{}
	for _, a := range tr.batch {
		batch[a.Name] = a.Array
	}
	var in []*nd.Array
	for _, name := range tr.in {
		in = append(in, batch[name])
	}
	tr.net.Call(in...) // finds the shapes that are not known yet
	first := map[string][]float32{}
	tr.save(t, before, func(name string, a *nd.Array) {
		first[name] = slices.Clone(nettest.Values(t, a))
	})
	tr.net.Hybridize()
	trainer, err := gluon.NewTrainer(tr.net.Params(), optimizer.SGD{LR: tr.rate, Momentum: 0.9})
	ok(t, err)
	n := in[0].Shape()[0]
	for range 3 {
		nd.Scope(func(s *nd.Scoped) {
			tape, watched := autograd.Train(), slices.Clone(in)
			for i := range watched {
				watched[i] = tape.Watch(s.Enter(in[i]))
			}
			l := tr.loss(tr.net.Call(watched...), batch)
			l.Backward()
			mean := 0.0
			for _, v := range nettest.Values(t, l) {
				mean += float64(v) / float64(n)
			}
			r.Losses = append(r.Losses, mean)
		})
		ok(t, trainer.Step(n))
	}
	r.Changes = map[string]float64{}
	tr.save(t, after, func(name string, a *nd.Array) {
		sum := 0.0
		for i, v := range nettest.Values(t, a) {
			d := float64(v) - float64(first[name][i])
			sum += d * d
		}
		r.Changes[name] = math.Sqrt(sum)
	})
	return r
}

// save writes the parameters, unless path is empty, and shows each to f.
func (tr *training) save(t *testing.T, path string, f func(name string, a *nd.Array)) {
	t.Helper()
	var list []checkpoint.Named
	for name, p := range tr.net.Params().All() {
		f(name, p.Data())
		list = append(list, checkpoint.Named{Name: name, Array: p.Data()})
	}
	if path != "" {
		ok(t, npy.SaveZip(path, list))
	}
}

// torch trains the same in torch, after run has written the files.
func (tr *training) torch(t *testing.T, dir, kind string) (r trained) {
	t.Helper()
	c := exec.CommandContext(t.Context(), *torchPython, "testdata/train.py", dir, kind,
		strconv.Itoa(tr.layers), strconv.Itoa(tr.heads))
	c.Stderr = os.Stderr
	out, err := c.Output()
	ok(t, err)
	ok(t, json.Unmarshal(out, &r))
	return r
}

// TestTraining: three steps of training are torch's: the losses, and the changes of all parameters.
// Small networks are compared with stored figures of torch; with -torch the parameters themselves
// are compared, and with -large those of BERT-base and GPT-2 small.
func TestTraining(t *testing.T) {
	list := map[string]training{
		"bert": trainBERT(zoo.BERTConfig{Vocab: 60, Units: 24, Hidden: 40, Layers: 4, Heads: 3,
			MaxLength: 20}, 5, 16, 4, 0.02),
		"gpt2": trainGPT2(zoo.GPT2Config{Vocab: 60, Units: 24, Layers: 4, Heads: 3, MaxLength: 20},
			5, 16, 0.02),
	}
	for _, tr := range list {
		weights, err := tr.net.Params().Select("weight$")
		ok(t, err)
		weights.SetInit(initializer.Normal{Sigma: 0.25})
	}
	stored := map[string]trained{}
	text, err := os.ReadFile(storedTraining)
	ok(t, err)
	ok(t, json.Unmarshal(text, &stored))
	if *largeFlag && *torchPython != "" {
		list["bert-base"] = trainBERT(zoo.BERTBase(), 2, 128, 20, 0.01)
		list["gpt2-small"] = trainGPT2(zoo.GPT2Small(), 2, 128, 0.01)
	}
	for name, tr := range list {
		t.Run(name, func(t *testing.T) {
			ok(t, tr.net.Init(initializer.Xavier{}, gluon.Seed(11)))
			if *torchPython == "" {
				tr.compare(t, tr.run(t, "", ""), stored[name])
				return
			}
			dir := t.TempDir()
			file := func(name string) string { return filepath.Join(dir, name+".npz") }
			ok(t, npy.SaveZip(file("batch"), tr.batch))
			got := tr.run(t, file("before"), file("after"))
			kind, _, full := strings.Cut(name, "-")
			want := tr.torch(t, dir, kind)
			tr.compare(t, got, want)
			if want.Differences = nil; !full {
				stored[name] = want
			}
		})
	}
	if *storeFlag && *torchPython != "" {
		text, err := json.MarshalIndent(stored, "", " ")
		ok(t, err)
		ok(t, os.WriteFile(storedTraining, append(text, '\n'), 0o644))
	}
}

// compare compares losses and changes within a thousandth. A parameter whose change is rounding
// alone, such as the bias of keys, counts by its share of all parameters.
func (tr *training) compare(t *testing.T, got, want trained) {
	t.Helper()
	t.Logf("losses %v, torch %v", got.Losses, want.Losses)
	if len(want.Losses) != 3 {
		t.Fatalf("%d losses of torch, want 3", len(want.Losses))
	}
	for i, w := range want.Losses {
		if !(math.Abs(got.Losses[i]-w) <= 1e-4*math.Abs(w)) {
			t.Errorf("loss of step %d is %v, want %v", i, got.Losses[i], w)
		}
	}
	total, elements, worst := 0.0, 0.0, 0.0
	for name, v := range want.Changes {
		total += v * v
		elements += float64(tr.net.Params().Get(name).Shape.Size())
	}
	if len(want.Changes) < 10 {
		t.Fatalf("torch changes %d parameters", len(want.Changes))
	}
	for name, w := range want.Changes {
		share := math.Sqrt(total * float64(tr.net.Params().Get(name).Shape.Size()) / elements)
		d := math.Abs(got.Changes[name] - w)
		if exact, ok := want.Differences[name]; ok {
			d = exact
		}
		scale := max(w, 1e-3*share)
		worst = max(worst, d/scale)
		if !(d <= 1e-3*scale) {
			t.Errorf("%s changes by %v, want %v; they differ by %.2g of it", name,
				got.Changes[name], w, d/scale)
		}
	}
	t.Logf("%d parameters, of which the worst differs by %.2g of its change", len(want.Changes), worst)
}
