package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/device"
	"gomx/graph"
	"gomx/op"
)

// grouped makes a node in a group, or in none.
func grouped(t *testing.T, opName, name, group string, in ...op.Entry) op.Entry {
	t.Helper()
	n := *lookup(t, opName, in...).Node
	n.Name = name
	if group != "" {
		n.Attrs = map[string]string{graph.GroupAttr: group}
	}
	return n.Entry(0)
}

func TestAssign(t *testing.T) {
	x, w := op.Var("x").Entry(0), (&op.Node{Name: "w",
		Attrs: map[string]string{graph.GroupAttr: "b"}}).Entry(0)
	ones := grouped(t, "_ones", "ones", "")
	a := grouped(t, "tanh", "a", "a", x)
	b := grouped(t, "elemwise_add", "b", "b", ones, a) // ones are made where they are read
	c := grouped(t, "elemwise_mul", "c", "", b, w)     // follows its first input
	d := grouped(t, "exp", "d", "", x)                 // follows x
	p := &graph.Placement{Default: device.CPU(),
		Groups: map[string]device.Device{"a": device.Null(1), "b": device.Null(2)}}
	on := p.Assign([]op.Entry{c, d})
	for e, want := range map[op.Entry]device.Device{x: device.CPU(), w: device.Null(2),
		ones: device.Null(2), a: device.Null(1), b: device.Null(2), c: device.Null(2),
		d: device.CPU()} {
		if got := on[e.Node]; got != want {
			t.Errorf("%s is on %v, want %v", e, got, want)
		}
	}
	p.Var = func(v *op.Node) (device.Device, bool) { return device.Null(3), v.Name == "x" }
	if on := p.Assign([]op.Entry{c, d}); on[x.Node] != device.Null(3) ||
		on[d.Node] != device.Null(3) || on[w.Node] != device.Null(2) {
		t.Errorf("with x given on null(3), x is on %v, what follows it on %v and w on %v",
			on[x.Node], on[d.Node], on[w.Node])
	}
}

// TestCopyBetweenDevices reads one value three times on two other devices and wants an output
// elsewhere.
func TestCopyBetweenDevices(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := grouped(t, "tanh", "a", "a", x)
	outs := []op.Entry{grouped(t, "elemwise_add", "sum", "b", a, a), grouped(t, "exp", "exp", "b",
		a), grouped(t, "sqrt", "root", "c", a),
		// of which only the shape is read
		grouped(t, "zeros_like", "zeros", "c", grouped(t, "exp", "far", "a", a))}
	f := &graph.Facts{Place: &graph.Placement{Groups: map[string]device.Device{"a": device.CPU(),
		"b": {ID: 1}, "c": {ID: 2}},
		Outputs: []device.Device{{ID: 1}, {ID: 3}}}}
	for _, p := range []graph.Pass{graph.AssignDevices, graph.CopyBetweenDevices} {
		var err error
		if outs, _, _, err = graph.Apply(p, outs, f); err != nil {
			t.Fatal(err)
		}
	}
	copies := []string{}
	for _, n := range op.Topo(outs) {
		if !n.IsVar() && n.Op.Name == "_CrossDeviceCopy" {
			copies = append(copies, fmt.Sprintf("%s to %s", n.In[0], graph.Group(n)))
		}
		for _, e := range n.In {
			copied := n.Op.Name == "_CrossDeviceCopy" || n.Name == "zeros"
			if from := graph.Group(e.Node); from != "" && from != graph.Group(n) && !copied {
				t.Errorf("%s on %s reads %s on %s", n.Name, graph.Group(n), e, from)
			}
		}
	}
	if got, want := strings.Join(copies, ", "),
		"a_output to cpu(1), exp_output to cpu(3), a_output to cpu(2)"; got != want {
		t.Errorf("got copies %s, want %s", got, want)
	}
}

// TestGradientsKeepToGroups wants the nodes of a gradient in the groups of their layers, and sums
// in those of what is summed.
func TestGradientsKeepToGroups(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := grouped(t, "tanh", "a", "one", x)
	b := grouped(t, "exp", "b", "two", a)
	c := grouped(t, "sqrt", "c", "", a)
	d := grouped(t, "elemwise_mul", "d", "three", b, c)
	grads, err := graph.Gradient([]op.Entry{d}, nil, []op.Entry{x})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, n := range op.Topo(grads) {
		for layer, group := range map[string]string{"a_backward": "one", "a_grad_sum": "one",
			"b_backward": "two", "c_backward": "", "d_backward": "three", "d_head_grad": "three"} {
			if n.Name != layer {
				continue
			}
			if seen[layer]++; graph.Group(n) != group {
				t.Errorf("%s of %s is in group %q, want %q", n.Op.Name, layer, graph.Group(n),
					group)
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("the gradient has nodes of %v, want all layers", seen)
	}
}
