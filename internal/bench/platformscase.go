package bench

import (
	"fmt"

	sym "gomx/symbol"
)

// platformPlan is one distributed job of the suite platforms; the peers' scripts read the same
// JSON. With n the share of a worker, worker r trains on rows r·n to (r+1)·n of the samples, in
// batches in order. After Warm steps and one more, every worker reports loss and accuracy of the
// last batch; after a barrier, Steps steps are measured.
type platformPlan struct {
	Model    string  `json:"model"`
	Features int     `json:"features"`
	Hidden   []int   `json:"hidden"`
	Outputs  int     `json:"outputs"` // 1: logistic regression
	Samples  int     `json:"samples"`
	Workers  int     `json:"workers"`
	Batch    int     `json:"batch"` // batch of each worker; 0: all its samples
	Async    bool    `json:"async"`
	Warm     int     `json:"warm"`
	Steps    int     `json:"steps"`
	Rate     float64 `json:"rate"`
}

// share is the number of samples of a worker.
func (p *platformPlan) share() int { return p.Samples / p.Workers }

// batch is the size of a worker's batch.
func (p *platformPlan) batch() int {
	if p.Batch == 0 {
		return p.share()
	}
	return p.Batch
}

// layers returns the numbers of inputs and outputs of every layer.
func (p *platformPlan) layers() (list [][2]int) {
	in := p.Features
	for _, out := range append(p.Hidden[:len(p.Hidden):len(p.Hidden)], p.Outputs) {
		list = append(list, [2]int{in, out})
		in = out
	}
	return list
}

// symbol returns the network.
func (p *platformPlan) symbol() *sym.Symbol {
	h := sym.Var("data")
	layers := p.layers()
	for i, l := range layers {
		h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: l[1]},
			sym.Name(fmt.Sprint("fc", i)))
		if i+1 < len(layers) {
			h = sym.Activation(h, sym.ActivationParams{ActType: "relu"})
		}
	}
	if p.Outputs == 1 {
		return sym.LogisticRegressionOutput(h, sym.RegressionParams{}, sym.Name("softmax"))
	}
	return sym.SoftmaxOutput(h, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// platformCase is a job with the number of steps for each system, so that each takes seconds.
type platformCase struct {
	name string
	plan platformPlan
	// steps is keyed by system: gomx, mxnet, tensorflow, spark. Systems without an entry do not
	// take part.
	steps map[string]int
	want  map[string]float64
}

// platformModels are the networks of the comparison of platforms (ICCCN 2017), on data of the same
// shapes.
var platformModels = map[string]platformPlan{
	"logreg":  {Features: 10000, Outputs: 1, Samples: 10000},
	"softmax": {Features: 784, Outputs: 10, Samples: 60000},
	"snn":     {Features: 784, Outputs: 10, Samples: 60000, Hidden: []int{128}},
	"mly":     {Features: 784, Outputs: 10, Samples: 60000, Hidden: []int{128, 64}},
}

// platformCases lists the jobs: Table 1 and Table 3 of the comparison, full batches as Spark uses
// them, and the scaling run over numbers of workers.
func platformCases() []platformCase {
	var list []platformCase
	add := func(model string, batch, workers int, async bool, steps map[string]int) {
		p := platformModels[model]
		p.Model, p.Batch, p.Workers, p.Async, p.Warm, p.Rate = model, batch, workers, async, 20, 0.1
		size, mode := fmt.Sprint("bs", batch), "sync"
		if batch == 0 {
			size, p.Warm = "full", 3
		}
		if async {
			mode = "async"
		}
		name := fmt.Sprintf("platforms.%s.%s.%s.w%d", model, mode, size, workers)
		list = append(list, platformCase{name, p, steps, platformTargets(model, batch, workers)})
	}
	for _, async := range []bool{false, true} {
		add("logreg", 100, 3, async, map[string]int{"gomx": 2000, "mxnet": 300, "tensorflow": 300})
		add("logreg", 500, 3, async, map[string]int{"gomx": 800, "mxnet": 60, "tensorflow": 200})
		add("softmax", 500, 3, async, map[string]int{"gomx": 2500, "mxnet": 800, "tensorflow": 400})
		add("snn", 500, 3, async, map[string]int{"gomx": 800, "mxnet": 400, "tensorflow": 250})
		add("mly", 500, 3, async, map[string]int{"gomx": 800, "mxnet": 350, "tensorflow": 250})
	}
	add("logreg", 0, 3, false, map[string]int{"gomx": 60, "spark": 10})
	add("softmax", 0, 3, false, map[string]int{"gomx": 60, "spark": 6})
	add("snn", 0, 3, false, map[string]int{"gomx": 20, "spark": 6})
	add("mly", 0, 3, false, map[string]int{"gomx": 20, "spark": 6})
	for _, workers := range []int{1, 5} {
		add("logreg", 100, workers, false, map[string]int{"gomx": 2000, "mxnet": 300})
		add("softmax", 500, workers, false, map[string]int{"gomx": 2500, "mxnet": 800})
		add("mly", 500, workers, false, map[string]int{"gomx": 800, "mxnet": 350})
	}
	return list
}

// platformTargets are the wanted ratios of a case, by peer.
func platformTargets(model string, batch, workers int) map[string]float64 {
	switch {
	case batch == 0:
		return map[string]float64{"spark": 1}
	case workers != 3:
		return nil
	case model == "logreg" || model == "softmax":
		return map[string]float64{"mxnet": 3, "tensorflow": 3}
	}
	return map[string]float64{"mxnet": 2, "tensorflow": 2}
}
