package symbol

import (
	"fmt"

	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
)

// Gradient returns the gradients of the sum of s's outputs by the named variables, as a symbol with
// one output for each of them. It is composed as any other symbol, so a loss may contain gradients,
// such as a penalty on their norm, and be differentiated in turn when it is bound for training. A
// variable that s does not depend on gets zeros. An operator without gradient, and one whose
// gradient has none where a gradient is differentiated, is reported with the name of its node.
func (s *Symbol) Gradient(wrt ...string) *Symbol {
	if s.err != nil {
		return s
	}
	fail := func(err error) *Symbol {
		return &Symbol{err: op.WithOp(err, "Gradient", s.Name(), op.CallSite())}
	}
	args, _ := s.variables()
	byName := map[string]*op.Node{}
	for _, v := range args {
		byName[v.Name] = v
	}
	entries := make([]op.Entry, len(wrt))
	for i, name := range wrt {
		v := byName[name]
		if v == nil {
			return fail(op.Errorf("wrt", "%q is no argument, want one of %q", name, names(args)))
		}
		entries[i] = v.Entry(0)
	}
	grads, err := graph.Gradient(s.outputs, nil, entries)
	if err != nil {
		return fail(err)
	}
	for i, g := range grads {
		if g.Valid() {
			continue
		}
		n, err := op.NewNode(prim.ZerosLike.Op, fmt.Sprintf("%s_grad", wrt[i]), nil, entries[i])
		if err != nil {
			return fail(err)
		}
		grads[i] = n.Entry(0)
	}
	return &Symbol{outputs: grads}
}
