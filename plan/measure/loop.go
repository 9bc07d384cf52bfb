package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op/index"
	"gomx/optimizer"
	"gomx/plan"
	sym "gomx/symbol"
)

// loop is a training loop that calls after when a batch has been started. It ends when after
// returns errMeasured.
type loop struct {
	network *network
	store   kvstore.Store
	after   func(m *module.Module) error
	batch   int
}

// errMeasured ends Fit after the last measured step.
var errMeasured = errors.New("measured")

// loopBatches is the number of different batches.
const loopBatches = 4

// run trains.
func (l *loop) run(ctx context.Context) error {
	s, err := l.network.load()
	if err != nil {
		return err
	}
	it, err := l.data(s)
	if err != nil {
		return err
	}
	m := module.New(s)
	err = m.Fit(ctx, it, module.Epochs(1<<30), module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.SGD{LR: 1e-4}), module.StoreWith(l.store),
		module.Metric(unmeasured{}), module.Sample(0),
		module.OnBatch(func(*module.BatchEnd) error { return l.after(m) }))
	if errors.Is(err, errMeasured) {
		return nil
	}
	if err == nil {
		err = errors.New("measure: the training ended before the measurement")
	}
	return err
}

// data makes batches of random numbers. Inputs of embeddings are numbers of words.
func (l *loop) data(s *sym.Symbol) (dataio.Iter, error) {
	data, labels := plan.Inputs(s, l.network.Shapes)
	if len(data) == 0 {
		return nil, fmt.Errorf("measure: no shape for an argument of the symbol")
	}
	l.batch = l.network.Shapes[data[0]][0]
	args, _, _, err := s.InferShape(l.network.Shapes)
	if err != nil {
		return nil, err
	}
	shapes := map[string]nd.Shape{}
	for i, name := range s.Arguments() {
		shapes[name] = args[i]
	}
	c := dataio.NDArrayConfig{BatchSize: l.batch, DataNames: data, LabelNames: labels}
	words := vocabularies(s)
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(name string, below int) (*nd.Array, error) {
		shape := shapes[name].Clone()
		if len(shape) == 0 || shape[0] != l.batch {
			return nil, fmt.Errorf("measure: input %q has shape %v, want a batch of %d first", name,
				shape, l.batch)
		}
		shape[0] *= loopBatches
		a := nd.Empty(shape)
		for i, v := range unsafe.Slice((*float32)(a.Pointer()), a.Size()) {
			v = rng.Float32()
			if below > 0 {
				v = float32(rng.IntN(below))
			}
			unsafe.Slice((*float32)(a.Pointer()), a.Size())[i] = v
		}
		return a, nil
	}
	for _, name := range data {
		a, err := fill(name, words[name])
		if err != nil {
			return nil, err
		}
		c.Data = append(c.Data, a)
	}
	for _, name := range labels {
		a, err := fill(name, 2)
		if err != nil {
			return nil, err
		}
		c.Label = append(c.Label, a)
	}
	it, err := dataio.NDArrayIter(c)
	if err != nil {
		return nil, err
	}
	return it, it.Shard(0, 1) // every worker has its own samples
}

// vocabularies returns the numbers of words of the variables that embeddings read.
func vocabularies(s *sym.Symbol) map[string]int {
	words := map[string]int{}
	for _, n := range s.Nodes() {
		if n.Op == index.Embedding.Op && n.In[0].Node.IsVar() {
			words[n.In[0].Node.Name] = n.Params.(index.EmbeddingParams).InputDim
		}
	}
	return words
}

// unmeasured is a metric that measures nothing.
type unmeasured struct{}

func (unmeasured) Update(_, _ []*nd.Array) error { return nil }
func (unmeasured) Value() ([]string, []float64)  { return nil, nil }
func (unmeasured) Reset()                        {}
