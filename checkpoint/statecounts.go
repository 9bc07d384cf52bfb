package checkpoint

import (
	"bufio"
	"io"
	"math"
)

// The attributes of MXNet's optimizers that count updates: of each parameter, and the largest.
const (
	countsAttribute  = "_index_update_count"
	updatesAttribute = "num_update"
)

// SaveTrainerStates writes the file of MXNet's Trainer.save_states: the states, and the optimizer
// with the counts of updates. MXNet makes the optimizer by the call, such as optimizer.create of
// the name and the settings.
func SaveTrainerStates(path string, states []IndexedState, optimizer Call) error {
	return WriteFile(path, func(w io.Writer) error {
		return writeTrainerStates(w, states, optimizer)
	})
}

// writeTrainerStates writes the tuple (states, optimizer). The optimizer is the first element of a
// tuple whose others set its counts: Python keeps an object that a call returns, and a pickle can
// put items into a dictionary that the call of getattr returns.
func writeTrainerStates(w io.Writer, states []IndexedState, optimizer Call) error {
	p := &pickler{w: bufio.NewWriter(w)}
	p.op(0x80, 3)
	if err := p.states(states); err != nil {
		return err
	}
	p.global("operator", "itemgetter")
	p.int(0)
	p.call1()
	p.op('(')
	if err := p.value(optimizer); err != nil {
		return err
	}
	const memo = 0
	p.op('q', memo)
	attribute := func(function, name string) {
		p.global("builtins", function)
		p.op('(')
		p.op('h', memo)
		p.str(name)
	}
	attribute("getattr", countsAttribute)
	p.op('t')
	p.op('R')
	p.op('(')
	most := 0
	for _, s := range states {
		if s.Count > 0 {
			p.int(s.Index)
			p.int(s.Count)
			most = max(most, s.Count)
		}
	}
	p.op('u')
	attribute("setattr", updatesAttribute)
	p.int(most)
	p.op('t')
	p.op('R')
	p.op('t')
	p.call1()
	p.op(0x86)
	p.op('.')
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

// updateCounts returns the counts of updates in a pickled optimizer by the parameters' numbers;
// none if there are no counts.
func updateCounts(v any) map[any]int {
	counts := map[any]int{}
	d := countsOf(v)
	if d == nil {
		return counts
	}
	for j, key := range d.keys {
		n, ok := d.values[j].(int64)
		if _, number := key.(int64); number && ok && n > 0 && n <= math.MaxInt32 {
			counts[key] = int(n)
		}
	}
	return counts
}

// countsOf finds the dictionary of counts in an optimizer that MXNet or writeTrainerStates has
// written; nil if there is none.
func countsOf(v any) *pyDict {
	o, ok := v.(*pyObject)
	if !ok {
		return nil
	}
	if attributes, ok := o.state.(*pyDict); ok {
		for i, k := range attributes.keys {
			if d, ok := attributes.values[i].(*pyDict); ok && k == countsAttribute {
				return d
			}
		}
	}
	if len(o.args) != 1 {
		return nil
	}
	parts, ok := o.args[0].(pyTuple) // the argument of itemgetter
	if !ok || len(parts) != 3 {
		return nil
	}
	if get, ok := parts[1].(*pyObject); ok && len(get.args) == 2 && get.args[1] == countsAttribute {
		return get.items
	}
	return nil
}
