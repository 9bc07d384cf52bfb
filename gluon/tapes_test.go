package gluon_test

import (
	"fmt"
	"testing"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/rnn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// state is the relation of an argument to the tape of a call.
type state int

const (
	plainArray  state = iota // no gradient, on no tape
	taped                    // on the tape
	wanted                   // on the tape, with a gradient attached
	wantedApart              // with a gradient attached, on no tape
)

// counted computes 2x, and counts how often its gradient is asked for.
type counted struct{ backward *int }

func (c counted) Forward(x *nd.Array) *nd.Array {
	return autograd.Function{Forward: func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{in[0].MulScalar(2)}
	}, Backward: func(_, _, grads []*nd.Array) []*nd.Array {
		*c.backward++
		return []*nd.Array{grads[0].MulScalar(2)}
	}}.Apply(x)[0]
}

// twoArguments multiplies the results of a layer for each argument.
type twoArguments struct {
	Left, Right *nn.Dense
	Twice       counted `gluon:"-"`
}

// Gradients of a network with two arguments are the same line by line and compiled, wherever the
// arguments come from: parameters get gradients if one argument is on a tape; an argument gets one
// if it has one attached, and nothing is computed for the others.
func TestTwoArguments(t *testing.T) {
	for a := range wantedApart + 1 {
		for b := range wantedApart + 1 {
			t.Run(fmt.Sprint(a, b), func(t *testing.T) {
				want, calls := differentiateTwo(t, a, b, false)
				got, args := differentiateTwo(t, a, b, true)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("compiled:\n%v\nwant\n%v", got, want)
				}
				recorded := a == taped || a == wanted || b == taped || b == wanted
				for name, has := range map[string]bool{"left.weight": recorded,
					"right.bias": recorded, "0": recorded && a >= wanted,
					"1": recorded && b >= wanted} {
					if (want[name] != nil) != has {
						t.Errorf("gradient of %s: %v, wanted: %v", name, want[name], has)
					}
				}
				needed := 0
				for _, s := range []state{a, b} {
					if recorded && s >= wanted {
						needed++
					}
				}
				if args != needed || (calls > 0) != (recorded && b >= wanted) {
					t.Errorf("gradients of %d arguments are compiled, want %d; line by line the "+
						"gradient for argument 1 is computed %d times", args, needed, calls)
				}
			})
		}
	}
}

// differentiateTwo returns the gradients of the parameters and arguments that Backward has stored,
// and how often the gradient for argument 1 was computed, or the number of arguments whose gradients
// the compiled network computes.
func differentiateTwo(t *testing.T, a, b state, hybrid bool) (map[string][]float32, int) {
	t.Helper()
	calls := 0
	block := &twoArguments{Left: &nn.Dense{Units: 2}, Right: &nn.Dense{Units: 2},
		Twice: counted{&calls}}
	net := gluon.Wrap(block, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{block.Left.Forward(in[0]).Mul(
			block.Right.Forward(block.Twice.Forward(in[1])))}
	})
	ok(t, net.Init(initializer.Xavier{}, gluon.Seed(2)))
	if hybrid {
		net.Hybridize(gluon.NoFusion())
	}
	tape := autograd.Train()
	in, args := make([]*nd.Array, 2), make([]*nd.Array, 2)
	for i, s := range []state{a, b} {
		in[i] = nd.Uniform(-1, 1, nd.Shape{3, 2}, nd.Seed(uint64(i)))
		if s >= wanted {
			in[i].AttachGrad()
		}
		if args[i] = in[i]; s == taped || s == wanted {
			args[i] = tape.Watch(in[i])
		}
	}
	y := net.Call(args...)[0]
	if y.Tape() != nil {
		y.Backward()
	}
	grads := map[string][]float32{}
	note := func(name string, a *nd.Array) {
		if a.GradFresh() {
			v, err := a.Grad().Float32s()
			ok(t, err)
			grads[name] = v
		}
	}
	for name, p := range net.Params().All() {
		note(name, p.Data())
	}
	for i, a := range in {
		note(fmt.Sprint(i), a)
	}
	if hybrid {
		calls = len(gluon.Wanted(net))
	}
	return grads, calls
}

// Cells and recurrent layers record what depends on their states alone, too: their parameters get
// the same gradients whether the input, a state or both are on the tape.
func TestTapesOfCells(t *testing.T) {
	blocks := map[string]func() (any, func(x *nd.Array, s ...*nd.Array) *nd.Array){
		"step": func() (any, func(x *nd.Array, s ...*nd.Array) *nd.Array) {
			c := &rnn.LSTMCell{Hidden: 3}
			return c, func(x *nd.Array, s ...*nd.Array) *nd.Array {
				y, _ := c.Step(x.At(0), s)
				return y
			}
		},
		"unroll": func() (any, func(x *nd.Array, s ...*nd.Array) *nd.Array) {
			c := &rnn.VariationalDropout{Cell: &rnn.LSTMCell{Hidden: 3}}
			return c, func(x *nd.Array, s ...*nd.Array) *nd.Array {
				y, _ := rnn.Unroll(c, x, rnn.Begin(s...), rnn.TimeFirst())
				return y
			}
		},
		"layer": func() (any, func(x *nd.Array, s ...*nd.Array) *nd.Array) {
			l := &rnn.Layer{Hidden: 3}
			return l, func(x *nd.Array, s ...*nd.Array) *nd.Array {
				for i := range s {
					s[i] = s[i].ExpandDims(0)
				}
				y, _ := l.Run(x, rnn.Begin(s...))
				return y
			}
		},
	}
	for name, make := range blocks {
		t.Run(name, func(t *testing.T) {
			var want string
			for _, on := range []string{"both", "input", "state"} {
				block, call := make()
				params := gluon.ParamsOf(block)
				ok(t, params.Init(initializer.Xavier{}, gluon.Seed(2)))
				tape := autograd.Train()
				x := nd.Uniform(-1, 1, nd.Shape{2, 4, 2}, nd.Seed(1))
				h := nd.Uniform(-1, 1, nd.Shape{4, 3}, nd.Seed(2))
				if on != "state" {
					x = tape.Watch(x)
				}
				if on != "input" {
					h = tape.Watch(h)
				}
				call(x, h, nd.Zeros(nd.Shape{4, 3})).Backward()
				var grads []any
				for name, p := range params.All() {
					if !p.Data().GradFresh() {
						t.Errorf("%s on the tape: %s has no gradient", on, name)
						continue
					}
					v, err := p.Grad().Float32s()
					ok(t, err)
					grads = append(grads, name, v)
				}
				if got := fmt.Sprint(grads); want == "" {
					want = got
				} else if got != want {
					t.Errorf("%s on the tape: gradients %v, want %v", on, got, want)
				}
			}
		})
	}
}
