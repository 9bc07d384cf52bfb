package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// distBatch is the batch of every worker.
const distBatch = 8

// rescaleResult is the name of the result that holds MXNet's factor of gradients; the others are
// parameters.
const rescaleResult = "rescale_grad"

// distNetwork is the network that all workers of a case train.
type distNetwork struct {
	symbol            *sym.Symbol
	data, label       dataio.Desc
	dataFill, intFill string // rules that compute data and label from their names
	params, aux       values
	rescale           float64 // factor of gradients; 0: chosen by the module
}

// network reads the network of the case, and its parameters from the results.
func (c *distCase) network(g *Golden) (*distNetwork, error) {
	text, err := os.ReadFile(g.Path("train/" + c.Symbol))
	if err != nil {
		return nil, err
	}
	s, err := sym.Load(text)
	if err != nil {
		return nil, err
	}
	n := &distNetwork{symbol: s, params: values{}, aux: values{}}
	states := s.AuxStates()
	for _, r := range c.Results {
		switch {
		case r.Name == rescaleResult:
			if n.rescale, err = c.rescale(g, r); err != nil {
				return nil, err
			}
		case slices.Contains(states, r.Name):
			n.aux[r.Name] = Fill(r.Name, r.Shape)
		default:
			n.params[r.Name] = Fill(r.Name, r.Shape)
		}
	}
	return n, n.describe(g, c.Symbol)
}

// rescale reads MXNet's factor. If it is one over the batches of all workers, it returns 0, and the
// module chooses it.
func (c *distCase) rescale(g *Golden, r Ref) (float64, error) {
	a, err := g.Array(c.File, r)
	if err != nil {
		return 0, err
	}
	v := a.Float64s()
	if len(v) != 1 {
		return 0, fmt.Errorf("%s has %d elements, want 1", rescaleResult, len(v))
	}
	if math.Abs(v[0]*float64(distBatch*c.Workers)-1) < 1e-9 {
		return 0, nil
	}
	return v[0], nil
}

// describe finds the inputs, which are the arguments without parameter values. Their shapes are as
// in the training case of the same network, with another batch. A network without such a case
// begins with a dense layer, whose weight determines the shape.
func (n *distNetwork) describe(g *Golden, file string) error {
	var inputs []string
	for _, name := range n.symbol.Arguments() {
		if n.params[name] == nil {
			inputs = append(inputs, name)
		}
	}
	target := lossTarget(n.symbol)
	if len(inputs) != 2 || !slices.Contains(inputs, target) {
		return fmt.Errorf("the inputs are %v, want data and the label %s", inputs, target)
	}
	data := inputs[0]
	if data == target {
		data = inputs[1]
	}
	n.data = dataio.Desc{Name: data, DType: dtype.Float32}
	n.label = dataio.Desc{Name: target, DType: dtype.Float32, Shape: nd.Shape{distBatch}}
	cases, err := casesOf[trainCase](g, "train/train.json")
	if err != nil {
		return err
	}
	for _, c := range cases {
		if c.Symbol != file {
			continue
		}
		n.data.Shape, n.dataFill = rebatched(c.Inputs[data].Shape, c.Batch), c.Inputs[data].Fill
		if in, ok := c.Inputs[target]; ok {
			n.label.Shape, n.intFill = rebatched(in.Shape, c.Batch), in.Fill
		}
		return nil
	}
	return n.fromWeight()
}

// rebatched returns a shape with another batch, on the first axis that has the extent of the old
// batch.
func rebatched(shape nd.Shape, batch int) nd.Shape {
	shape = shape.Clone()
	if i := slices.Index(shape, batch); i >= 0 {
		shape[i] = distBatch
	}
	return shape
}

// fromWeight derives the number of features from the dense layer that reads the data, and the
// number of classes from the last dense layer.
func (n *distNetwork) fromWeight() error {
	shape := nd.Shape(nil)
	classes := 0
	for _, e := range n.symbol.Internals().Entries() {
		if e.Node.Op == nil || e.Node.Op.Name != "FullyConnected" {
			continue
		}
		w := n.params[e.Node.In[1].Node.Name]
		if w == nil {
			continue
		}
		if e.Node.In[0].Node.Name == n.data.Name {
			shape = nd.Shape{distBatch, w.Shape[1]}
		}
		classes = w.Shape[0]
	}
	if shape == nil {
		return fmt.Errorf("found no shape of %s: train.json has no case of this network",
			n.data.Name)
	}
	n.data.Shape, n.dataFill, n.intFill = shape, "unit", fmt.Sprintf("int:%d", classes)
	return nil
}

// module trains a network and compares its parameters.
func (c *distCase) module(ctx context.Context, rank int, n *distNetwork) error {
	m := module.New(n.symbol, module.On(c.env.Device))
	if err := m.Bind([]dataio.Desc{n.data}, []dataio.Desc{n.label}); err != nil {
		return err
	}
	args, err := n.params.upload(c.env.Device)
	if err != nil {
		return err
	}
	aux, err := n.aux.upload(c.env.Device)
	if err != nil {
		return err
	}
	if err := m.SetParams(args, aux); err != nil {
		return err
	}
	o := optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 1e-3}
	o.Rescale = n.rescale
	if err := m.InitOptimizer(o); err != nil {
		return err
	}
	kv, err := kvstore.Open(ctx, c.KVStore)
	if err != nil {
		return err
	}
	if err := m.UseStore(ctx, kv); err != nil {
		return errors.Join(err, kv.Close())
	}
	return errors.Join(c.train(m, rank, n), kv.Close())
}

// train runs the steps and compares the parameters at the end.
func (c *distCase) train(m *module.Module, rank int, n *distNetwork) error {
	for t := range c.Steps {
		name := fmt.Sprintf("dist/r%d/t%d/", rank, t)
		x, err := c.input(n.dataFill, name+"data", n.data.Shape)
		if err != nil {
			return err
		}
		y := x
		if n.intFill != "" {
			if y, err = c.input(n.intFill, name+"label", n.label.Shape); err != nil {
				return err
			}
		}
		if err := m.ForwardBackward(&dataio.Batch{Data: []*nd.Array{x},
			Label: []*nd.Array{y}}); err != nil {
			return err
		}
		if err := m.Update(); err != nil {
			return err
		}
	}
	args, aux := m.Params()
	for _, r := range c.Results {
		x := args[r.Name]
		if n.aux[r.Name] != nil {
			x = aux[r.Name]
		}
		if r.Name == rescaleResult {
			continue
		}
		if err := c.result(r.Name, x); err != nil {
			return err
		}
	}
	return nil
}

// input computes an input of a step.
func (c *distCase) input(fill, name string, shape nd.Shape) (*nd.Array, error) {
	a, err := FillInput(fill, name, shape)
	if err != nil {
		return nil, err
	}
	return a.upload(c.env.Device)
}
