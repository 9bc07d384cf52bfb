package gluon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/rnn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
)

// doubled is a block of a program's own that has hooks.
type doubled struct {
	gluon.Hooks
	Body *nn.Dense
}

func (d *doubled) Forward(x *nd.Array) *nd.Array {
	call := d.Enter(d, x)
	return call.Leave(d.Body.Forward(x).MulScalar(2))
}

// hookedNet has blocks with hooks of all kinds, one within the other.
func hookedNet(t *testing.T) (*gluon.Net, *doubled) {
	t.Helper()
	d := &doubled{Body: &nn.Dense{Units: 3}}
	net := gluon.New(nn.Sequential{nn.Sequential{d, nn.Activation("relu")},
		&gluon.Hooked{Block: nn.Flatten{}}})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	return net, d
}

func TestHooksSeeCalls(t *testing.T) {
	net, d := hookedNet(t)
	var log []string
	net.Apply(func(path string, block any) {
		h, ok := block.(gluon.Hookable)
		if !ok {
			return
		}
		h.BeforeForward(func(c *gluon.Call) {
			if c.Block != block || c.Out != nil {
				t.Errorf("%s: block %T with %d outputs before the call", path, c.Block, len(c.Out))
			}
			log = append(log, fmt.Sprint("before ", path, " ", c.In[0].Shape()))
		})
		h.OnForward(func(c *gluon.Call) {
			log = append(log, fmt.Sprint("after ", path, " ", c.In[0].Shape(), " ",
				c.Out[0].Shape()))
		})
	})
	var values []float32
	remove := d.OnForward(func(c *gluon.Call) { values = nettest.Values(t, c.Out[0]) })
	x := nd.Ones(nd.Shape{2, 4})
	y := net.Forward(x)
	want := []string{"before 0.0 (2, 4)", "before 0.0.body (2, 4)",
		"after 0.0.body (2, 4) (2, 3)", "after 0.0 (2, 4) (2, 3)", "before 1 (2, 3)",
		"after 1 (2, 3) (2, 3)"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
	for i, v := range nettest.Values(t, y) {
		if v != max(values[i], 0) {
			t.Errorf("output %d is %v, the hook saw %v before relu", i, v, values[i])
		}
	}
	values = nil
	remove()
	net.Forward(x)
	if values != nil || len(log) != 2*len(want) {
		t.Errorf("removing one hook left it, or took others: %v, %d lines", values, len(log))
	}
}

// A hybridized network runs the hooks of its blocks when it is traced, with arrays without values,
// and its own hooks in each call.
func TestHooksOfHybridized(t *testing.T) {
	net, d := hookedNet(t)
	traced, calls := 0, 0
	d.OnForward(func(c *gluon.Call) {
		traced++
		if !c.Out[0].Traced() {
			t.Error("the hook got an array with values")
		}
	})
	net.OnForward(func(c *gluon.Call) {
		calls++
		nettest.Values(t, c.Out[0])
	})
	net.Hybridize()
	for range 3 {
		net.Forward(nd.Ones(nd.Shape{2, 4}))
	}
	if traced != 1 || calls != 3 {
		t.Errorf("the hook of a block ran %d times, the hook of the network %d times, want 1 and 3",
			traced, calls)
	}
	net.Hybridize()
	d.OnForward(func(c *gluon.Call) { c.Out[0].Float32s() })
	err := caught(func() { net.Forward(nd.Ones(nd.Shape{2, 4})) })
	if err == nil || !strings.Contains(err.Error(), "hooks_test.go") {
		t.Errorf("reading a traced array in a hook: %v, want an error that names the line", err)
	}
}

func TestHooksOfCells(t *testing.T) {
	cell := &rnn.LSTMCell{Hidden: 2}
	net := gluon.Wrap(cell, func(in []*nd.Array) []*nd.Array {
		y, _ := rnn.Unroll(cell, in[0])
		return []*nd.Array{y}
	})
	if err := net.Init(nil); err != nil {
		t.Fatal(err)
	}
	steps := 0
	cell.OnForward(func(c *gluon.Call) {
		if steps++; len(c.In) != 3 || len(c.Out) != 3 {
			t.Errorf("%d inputs and %d outputs, want x, two states and y, two states", len(c.In),
				len(c.Out))
		}
	})
	net.Call(nd.Ones(nd.Shape{1, 5, 3}))
	if steps != 5 {
		t.Errorf("%d calls, want 5", steps)
	}
}

// caught returns the error that f panics with, nil if it does not.
func caught(f func()) (err error) {
	defer op.Recover(&err)
	f()
	return nil
}

// A block without hooks allocates nothing for them.
func TestNoHooksAllocateNothing(t *testing.T) {
	h, d, x := &gluon.Hooks{}, &nn.Dense{}, nd.Ones(nd.Shape{1})
	if n := testing.AllocsPerRun(100, func() { h.Enter(d, x, x).Leave(x) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkNoHooks(b *testing.B) {
	h, d, x := &gluon.Hooks{}, &nn.Dense{}, nd.Ones(nd.Shape{1})
	for b.Loop() {
		h.Enter(d, x).Leave(x)
	}
}
