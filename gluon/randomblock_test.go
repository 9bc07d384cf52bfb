package gluon_test

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

var (
	randomBlocks = flag.Int("blocks", 40, "random networks that TestRandomBlocks compares")
	randomSeed   = flag.Uint64("blocks.seed", 0, "seed of the first random network; 0: random")
)

// width is the number of columns of every array in a random network, so that any block fits.
const width = 4

// grown is a random network with two inputs and two outputs: blocks that are called one after the
// other, each for one or two of the values so far.
type grown struct {
	Parts []gluon.Block
	plan  []call
}

// call says which values a part gets.
type call struct{ part, a, b int }

// grow makes a random network. The same generator makes the same one.
func grow(rng *rand.Rand) *grown {
	g := &grown{}
	for i := range 3 + rng.IntN(5) {
		if i > 0 && rng.IntN(4) == 0 { // a block that shares its parameters with another call
			g.plan = append(g.plan, call{rng.IntN(len(g.Parts)), rng.IntN(i + 2), rng.IntN(i + 2)})
			continue
		}
		g.Parts = append(g.Parts, randomBlock(rng, 2))
		g.plan = append(g.plan, call{len(g.Parts) - 1, rng.IntN(i + 2), rng.IntN(i + 2)})
	}
	return g
}

// randomBlock makes a block of depth at most depth that keeps the shape of its input.
func randomBlock(rng *rand.Rand, depth int) gluon.Block {
	kinds := 10
	if depth > 0 {
		kinds = 12
	}
	switch rng.IntN(kinds) {
	case 0:
		return &nn.Dense{Units: width, Activation: "tanh"}
	case 1:
		return &nn.BatchNorm{}
	case 2:
		return &nn.LayerNorm{}
	case 3:
		return &nn.Dropout{Rate: 0.3}
	case 4:
		return newScale()
	case 5:
		return gluon.Func(func(x *nd.Array) *nd.Array {
			return x.Reshape(0, 2, 2).SwapAxes(1, 2).Flatten().Sigmoid()
		})
	case 6:
		return gluon.Func(func(x *nd.Array) *nd.Array { return doubling.Apply(x)[0] })
	case 7:
		return gluon.Func(cumulate)
	case 8:
		return gluon.Func(func(x *nd.Array) *nd.Array {
			return x.Add(nd.Normal(0, 0.1, x.Shape())).Mul(nd.Ones(nd.Shape{1, width}))
		})
	case 9:
		return &nn.RMSNorm{}
	case 10:
		return nn.Sequential{randomBlock(rng, depth-1), randomBlock(rng, depth-1)}
	}
	body := randomBlock(rng, depth-1)
	return &around{body}
}

// cumulate adds the columns up by a loop.
func cumulate(x *nd.Array) *nd.Array {
	out, _ := nd.Foreach(func(item, states []*nd.Array) ([]*nd.Array, []*nd.Array) {
		s := states[0].Add(item[0]).Tanh()
		return []*nd.Array{s}, []*nd.Array{s}
	}, []*nd.Array{x.SwapAxes(0, 1)}, []*nd.Array{x.Sum(1).MulScalar(0)})
	return out[0].SwapAxes(0, 1)
}

// around adds its input to the result of its body.
type around struct{ Body gluon.Block }

func (a *around) Forward(x *nd.Array) *nd.Array { return x.Add(a.Body.Forward(x)) }

// Call runs the parts.
func (g *grown) Call(in []*nd.Array) []*nd.Array {
	values := append([]*nd.Array{}, in...)
	for _, c := range g.plan {
		y := g.Parts[c.part].Forward(values[c.a])
		values = append(values, y.Add(values[c.b].MulScalar(0.5)))
	}
	n := len(values)
	sum := values[0]
	for _, v := range values[1 : n-1] { // nothing may be left out: a graph does not compute it
		sum = sum.Add(v)
	}
	return []*nd.Array{values[n-1], sum}
}

// TestRandomBlocks compares random networks line by line with the same networks hybridized without
// and with fusion, and exported and imported again: values, gradients and running averages. Without
// fusion every bit is the same.
func TestRandomBlocks(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for i := range *randomBlocks {
		run := func(options ...gluon.HybridOption) result {
			g := grow(rand.New(rand.NewPCG(seed+uint64(i), 1)))
			net := gluon.Wrap(g, g.Call)
			if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
				t.Fatal(err)
			}
			return trial(t, net, options)
		}
		want := run()
		differ(t, "without fusion", run(gluon.NoFusion()), want, 0)
		differ(t, "with fusion", run(gluon.MaxGraphs(4)), want, 2e-3)
		if t.Failed() {
			t.Fatalf("go test ./gluon -run TestRandomBlocks -blocks 1 -blocks.seed %d",
				seed+uint64(i))
		}
	}
}

// trial trains a network with two inputs for two steps, infers, and imports its export.
func trial(t *testing.T, net *gluon.Net, options []gluon.HybridOption) result {
	t.Helper()
	nd.SetSeed(3)
	x, y := nd.Uniform(-1, 1, nd.Shape{5, width}, nd.Seed(5)), nd.Uniform(-1, 1,
		nd.Shape{5, width}, nd.Seed(6))
	net.Call(x, y) // finds the shapes
	if options != nil {
		net.Hybridize(options...)
	}
	x.AttachGrad()
	y.AttachGrad()
	r := result{params: map[string][]float32{}}
	for range 2 {
		tape := autograd.Train()
		out := net.Call(tape.Watch(x), tape.Watch(y))
		if err := autograd.Backward([]*nd.Array{out[0].Mul(out[0]), out[1]}); err != nil {
			t.Fatal(err)
		}
		r.out, r.again = r.again, append(nettest.Values(t, out[0]), nettest.Values(t, out[1])...)
	}
	r.predicted = nettest.Values(t, net.Call(x, y)[0])
	r.input = nettest.Values(t, x.Grad())
	for name, p := range net.Params().All() {
		r.params[name] = nettest.Values(t, p.Data())
		if g := p.Grad(); g != nil {
			r.params[name+" gradient"] = nettest.Values(t, g)
		}
	}
	prefix := filepath.Join(t.TempDir(), "net")
	if err := net.Export(prefix, 0, gluon.Input("a", 5, width), gluon.Input("b", 5, width)); err != nil {
		t.Fatal(err)
	}
	s, err := checkpoint.LoadSymbol(prefix + "-symbol.json")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var in []*nd.Array
	for i, name := range []string{"a", "b"} { // the last calls may not depend on both
		if slices.Contains(s.Arguments(), name) {
			names, in = append(names, name), append(in, []*nd.Array{x, y}[i])
		}
	}
	again, err := gluon.Import(prefix+"-symbol.json", names, prefix+"-0000.params")
	if err != nil {
		t.Fatal(err)
	}
	again.Hybridize(gluon.NoFusion())
	for _, n := range s.Nodes() {
		if n.Draws() {
			return r // files say nothing about the order in which nodes draw
		}
	}
	imported := result{predicted: nettest.Values(t, again.Call(in...)[0])}
	differ(t, "imported", imported, result{predicted: r.predicted}, 1e-4)
	return r
}
