package exec_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/engine"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
	sym "gomx/symbol"
)

// gate is an operator that passes data on and tells the test when it does: forward and backward it
// calls what hooks holds.
var (
	gate     = op.Declare[op.NoParams]("_test_gate")
	gateGrad = op.Declare[op.NoParams]("_test_gate_backward")
	hooks    struct{ forward, backward atomic.Pointer[func() error] }
)

func init() {
	pass := func(hook *atomic.Pointer[func() error]) func(op.NoParams, *op.Call) error {
		return func(_ op.NoParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			if f := hook.Load(); f != nil {
				return (*f)()
			}
			return nil
		}
	}
	gate.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true},
		Infer:  op.SameShape[op.NoParams], Ref: pass(&hooks.forward),
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{gateGrad.Apply(op.NoParams{}, g.OutGrad[0])}
		},
	})
	gateGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "a test needs none"},
		Infer:  op.SameShape[op.NoParams], Ref: pass(&hooks.backward),
	})
}

const patience = 20 * time.Second

// waitFor returns a hook that waits for c, with a deadline.
func waitFor(c <-chan struct{}, what string) *func() error {
	f := func() error {
		select {
		case <-c:
			return nil
		case <-time.After(patience):
			return errors.New("waited in vain for " + what)
		}
	}
	return &f
}

// slowStore takes gradients and brings weights back. The weight of the last layer comes back only
// after something else has happened.
type slowStore struct {
	eng    *engine.Engine
	pushed func(name string)
	late   string          // the weight that comes last
	until  <-chan struct{} // when it may
}

// sync pushes the operations that a store would: one that reads the gradient, one that brings the
// weight back.
func (s *slowStore) sync(name string, grad, weight *nd.Array) {
	v := s.eng.NewVar(name)
	s.eng.Push(&engine.Task{Name: "push " + name,
		Fn:   func(*engine.Run) error { s.pushed(name); return nil },
		Uses: []engine.Use{{Var: grad.Var()}, {Var: v, Access: engine.Overwrite}}})
	s.eng.Push(&engine.Task{Name: "pull " + name, Async: func(_ *engine.Run, done func(error)) {
		if name != s.late {
			done(nil)
			return
		}
		go func() { done((*waitFor(s.until, "the first layer's forward"))()) }()
	}, Uses: []engine.Use{{Var: v}, {Var: weight.Var(), Access: engine.Overwrite}}})
}

// TestGradientsAndWeightsOverlap runs a network of two layers with a gate between them against a
// store. The backward pass of the gate waits until the last layer's gradient has been pushed; the
// last layer's weight comes back only when the gate has been passed forward again. Were either not
// possible, the program would stand still.
func TestGradientsAndWeightsOverlap(t *testing.T) {
	eng, err := engine.New(engine.Config{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	old := engine.SetDefault(eng)
	defer engine.SetDefault(old)
	defer func() { hooks.forward.Store(nil); hooks.backward.Store(nil) }()

	first := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		sym.Name("first"))
	last := sym.FullyConnected(sym.Apply(gate, op.NoParams{}, first),
		sym.FullyConnectedParams{NumHidden: 4}, sym.Name("last"))
	ex, err := sym.SoftmaxOutput(last, sym.SoftmaxOutputParams{},
		sym.Name("softmax")).SimpleBind(sym.BindConfig{
		Shapes:  map[string]dtype.Shape{"data": {2, 6}},
		GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	profile := eng.StartProfile()

	pushed, passed := make(chan struct{}), make(chan struct{})
	store := &slowStore{eng: eng, late: "last_weight", until: passed, pushed: func(name string) {
		if name == "last_weight" {
			close(pushed)
		}
	}}
	hooks.backward.Store(waitFor(pushed, "the last layer's gradient"))
	nettest.Step(t, ex)
	params := []string{"last_weight", "last_bias", "first_weight", "first_bias"}
	for _, name := range params {
		store.sync(name, ex.Grads[name], ex.Args[name])
	}
	signal := func() error { close(passed); return nil }
	// before them the first forward pass is over
	for _, name := range []string{"first_weight", "last_bias"} {
		if err := ex.Args[name].Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	hooks.forward.Store(&signal)
	hooks.backward.Store(nil)
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Outputs()[0].Wait(ctx); err != nil {
		t.Fatal(err)
	}
	profile.Stop()
	checkOverlap(t, profile.Spans(), ex)
}

// checkOverlap looks into the trace for what the test is about.
func checkOverlap(t *testing.T, spans []engine.Span, ex *sym.Executor) {
	t.Helper()
	find := func(what string, ok func(s *engine.Span) bool, from int) int {
		i := slices.IndexFunc(spans[from:], func(s engine.Span) bool { return ok(&s) })
		if i < 0 {
			t.Fatalf("the trace has no %s", what)
		}
		return from + i
	}
	uses := func(v *engine.Var, mode engine.Access) func(s *engine.Span) bool {
		return func(s *engine.Span) bool {
			return slices.Contains(s.Uses, engine.Use{Var: v, Access: mode})
		}
	}
	named := func(name string) func(s *engine.Span) bool {
		return func(s *engine.Span) bool { return s.Name == name }
	}
	push := find("push of the last gradient", named("push last_weight"), 0)
	backward := find("backward of the first layer", uses(ex.Grads["first_weight"].Var(),
		engine.Overwrite), 0)
	if !(spans[push].Start < spans[backward].End && push < backward) {
		t.Errorf("the last layer's gradient was pushed at %v, the first layer's backward ended "+
			"at %v: want the push first", spans[push].Start, spans[backward].End)
	}
	pull := find("arrival of the last weight", named("pull last_weight"), 0)
	firstWeight := find("arrival of the first weight", named("pull first_weight"), 0)
	forward := find("second forward of the first layer", uses(ex.Args["first_weight"].Var(),
		engine.Read), firstWeight)
	if spans[forward].Start > spans[pull].End {
		t.Errorf("the first layer's forward began at %v, the last weight arrived at %v: want "+
			"the forward first", spans[forward].Start, spans[pull].End)
	}
}
