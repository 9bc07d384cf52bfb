//go:build cgo && linux

package board_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/runs"
)

// blocks trains a hybridized network of blocks and records it in dir/name.
func blocks(t *testing.T, dir, name string) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 0))
	var x, label []float32
	for range 200 {
		class := r.IntN(4)
		x, label = append(x, drawn(class, r)...), append(label, float32(class))
	}
	net := gluon.New(nn.Sequential{
		&nn.Conv2D{Channels: 8, Kernel: []int{3, 3}, Activation: "relu"}, &nn.Flatten{},
		&nn.Dense{Units: 4}})
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		t.Fatal(err)
	}
	net.Hybridize()
	set := data.Arrays(nd.FromSlice(x, 200, 1, side, side), nd.FromSlice(label))
	if _, err := estimator.Fit(t.Context(), net, loss.SoftmaxCE{}, data.NewLoader(set, 20),
		estimator.Record(filepath.Join(dir, name)), estimator.Epochs(2)); err != nil {
		t.Fatal(err)
	}
}

// blockPages looks at the graph and the plan of a network of blocks, in a run that begins after the
// page has been opened.
func (v *visitor) blockPages(dir string) {
	v.t.Helper()
	blocks(v.t, dir, "blocks")
	d, err := runs.Load(filepath.Join(dir, "blocks"))
	if err != nil {
		v.t.Fatal(err)
	}
	defer d.Close()
	if d.Graph == nil || d.Memory == nil {
		v.t.Fatalf("graph %v, memory %v of a network of blocks", d.Graph, d.Memory)
	}
	v.page("#/runs", "tr[data-run=blocks]")
	v.page("#/run/blocks/graph", "#network")
	v.until(fmt.Sprintf("document.querySelectorAll('g.node').length == %d", len(d.Graph.Nodes)))
	v.shot("blocks-graph")
	v.click("#tab-memory")
	v.until("document.querySelector('#plan canvas')")
	v.same("document.querySelector('[data-figure=buffers] b').textContent",
		fmt.Sprint(len(d.Memory.Blocks)))
	v.same("document.querySelector('[data-figure=steps] b').textContent",
		fmt.Sprint(len(d.Memory.Steps)))
	v.shot("blocks-memory")
}
