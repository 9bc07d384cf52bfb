package exec

import (
	"errors"
	"fmt"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// lines runs a graph operator by operator, because the shape of a value depends on other values, or
// because a value is sparse: no memory can be planned for it. Outputs are new arrays after each run.
type lines struct {
	because *op.Node    // the first operator whose output shape depends on values; nil: there is none
	sparse  string      // description of the first sparse array; empty: there is none
	outputs []*nd.Array // of the last run, on its tape; nil before the first run
}

// resolving returns the first operator of the graph whose output shape depends on values, nil if
// there is none.
func resolving(outs []op.Entry) *op.Node {
	order := op.Topo(outs)
	i := slices.IndexFunc(order, func(n *op.Node) bool { return !n.IsVar() && n.Op.Resolves() })
	if i < 0 {
		return nil
	}
	return order[i]
}

// refuse returns the error of a wish that only a compiled graph can fulfil.
func (l *lines) refuse(wish string) error {
	n := l.because
	if n == nil {
		return fmt.Errorf("exec: %s: the graph runs operator by operator, because %s", wish,
			l.sparse)
	}
	return op.WithOp(fmt.Errorf("exec: %s: the graph runs operator by operator, because the shape "+
		"of this operator's output depends on values", wish), n.Op.Name, n.Name, n.Site)
}

// check refuses the parts of a configuration that only a compiled graph can have.
func (l *lines) check(c *Config) error {
	for _, w := range []struct {
		wish  string
		given bool
	}{
		{"Shared", c.Shared != nil && c.Shared.pending.lines == nil},
		{"Group2Ctx", len(c.Group2Ctx) > 0}, {"LossScale", c.LossScale != nil}, {"Guard", c.Guard},
		{"Recompute", c.Recompute > 0}, {"Monitor", c.Monitor != nil}, {"a function", c.lent != nil},
		{"Precision " + c.Precision.String(), c.Precision != dtype.Float32},
	} {
		if w.given {
			return l.refuse(w.wish)
		}
	}
	return nil
}

// forward is Forward for a graph that runs operator by operator.
func (l *lines) forward(ex *Executor, train bool) error {
	if ex.config.Monitor != nil {
		return l.refuse("SetMonitor")
	}
	ex.runs++
	streams := uint64(0)
	g := nd.Graph{Outputs: ex.net.Outputs, Values: map[*op.Node]*nd.Array{}, Engine: ex.eng,
		Device: ex.config.Device, Seed: func(*op.Node) op.Seed {
			streams++
			return op.Seed{Key: ex.config.Seed + streams<<32, Counter: ex.runs << 32}
		}}
	tape := nd.NewTape(train)
	for _, v := range ex.net.Aux {
		g.Values[v] = ex.Aux[v.Name]
	}
	for _, v := range ex.net.Args {
		a := tape.Watch(ex.Args[v.Name].Detach())
		if grad := ex.Grads[v.Name]; grad != nil {
			req := nd.GradWrite
			if ex.req(v.Name) == op.ReqAdd {
				req = nd.GradAdd
			}
			a.AttachGradArray(grad, req)
		}
		g.Values[v] = a
	}
	out, err := nd.Evaluate(g)
	if err != nil {
		return err
	}
	l.drop()
	l.outputs, ex.outputs = out, make([]*nd.Array, len(out))
	for i, a := range out {
		ex.outputs[i] = a.Detach()
	}
	return nil
}

// backward is Backward for a graph that runs operator by operator.
func (l *lines) backward(ex *Executor, headGrads []*nd.Array) error {
	if l.outputs == nil {
		return errors.New("exec: Backward wants a Forward before it")
	}
	for name, grad := range ex.Grads {
		if ex.req(name) == op.ReqWrite {
			grad.Fill(0) // Backward leaves gradients alone that nothing flows into
		}
	}
	var heads, grads []*nd.Array
	for i, a := range l.outputs {
		if a.Recorded() {
			heads, grads = append(heads, a), append(grads, nil)
			if i < len(headGrads) && headGrads[i] != nil {
				grads[len(grads)-1] = headGrads[i].ToStorage(a.Storage()) // as MXNet does
			}
		}
	}
	if len(heads) == 0 {
		return nil
	}
	return nd.Backward(heads, grads, true)
}

// drop lets go of the recording of the last run.
func (l *lines) drop() {
	for _, a := range l.outputs {
		a.Close()
	}
	l.outputs = nil
}
