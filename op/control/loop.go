package control

import (
	"fmt"

	"gomx/op"
)

// loop is the common form of Foreach, WhileLoop and their gradient. Its outputs are rows, last
// states, values saved for the gradient, and with a condition the number of steps.
type loop struct {
	body    *op.Graph
	cond    *op.Graph // nil: a step for each row
	outs    int       // outputs of the body that are rows
	inputs  int       // inputs of the operator
	from    []source  // by input of the body
	condOf  []source  // by input of the condition
	first   []int     // by state: input of the operator with the first value
	max     int       // most steps; -1: the number of rows
	reverse bool
	counted bool // the last input is the number of steps
}

// source says where an input of a body comes from.
type source struct {
	kind  kind
	input int // of the operator; of a state: its first value
	state int
}

// kind is the kind of an input of a body.
type kind uint8

const (
	fixed kind = iota // the same in all steps
	row               // one row of the data
	state             // computed by the step before
)

func (l *loop) states() int { return len(l.first) }

func foreachLoop(p ForeachParams) *loop {
	l := &loop{body: p.Body, outs: p.NumOutData, inputs: p.NumArgs - 1, max: -1,
		from: make([]source, len(p.Body.Inputs))}
	at := 0
	for _, k := range p.InDataLocs {
		l.from[k] = source{kind: row, input: at}
		at++
	}
	for j, k := range p.InStateLocs {
		l.from[k] = source{kind: state, input: at, state: j}
		l.first = append(l.first, at)
		at++
	}
	for _, k := range p.RemainLocs {
		l.from[k] = source{kind: fixed, input: at}
		at++
	}
	return l
}

func whileLoop(p WhileLoopParams) *loop {
	l := &loop{body: p.Body, cond: p.Cond, outs: p.NumOutData, inputs: p.NumArgs - 2,
		max: p.MaxIterations, from: make([]source, len(p.Body.Inputs)),
		condOf: make([]source, len(p.Cond.Inputs))}
	for k, input := range p.FuncInputLocs {
		l.from[k] = source{kind: fixed, input: input}
	}
	stateOf := map[int]int{}
	for j, k := range p.FuncVarLocs {
		s := &l.from[k]
		s.kind, s.state = state, j
		l.first = append(l.first, s.input)
		stateOf[s.input] = j
	}
	for k, input := range p.CondInputLocs {
		l.condOf[k] = source{kind: fixed, input: input}
		if j, ok := stateOf[input]; ok {
			l.condOf[k] = source{kind: state, input: input, state: j}
		}
	}
	return l
}

func scanLoop(p scanParams) *loop {
	l := &loop{body: p.Body, outs: p.NumOutData, inputs: len(p.Body.Inputs), max: -1,
		reverse: p.Reverse, counted: p.Counted}
	if p.Rows > 0 {
		l.max = p.Rows
	}
	for k := range p.Body.Inputs {
		s := source{input: k}
		switch {
		case k < p.Data:
			s.kind = row
		case k < p.Data+p.States:
			s.kind, s.state = state, k-p.Data
			l.first = append(l.first, k)
		}
		l.from = append(l.from, s)
	}
	if p.Counted {
		l.inputs++
	}
	return l
}

// checkForeach reports lists that do not cover the inputs of the body once each, and counts that
// contradict the body.
func checkForeach(p ForeachParams) error {
	n := len(p.Body.Inputs)
	seen := make([]bool, n)
	for _, list := range []struct {
		name string
		locs []int
	}{{"in_data_locs", p.InDataLocs}, {"in_state_locs", p.InStateLocs},
		{"remain_locs", p.RemainLocs}} {
		for _, k := range list.locs {
			if k < 0 || k >= n {
				return op.Errorf(list.name, "input %d of the body, which has %d", k, n)
			}
			if seen[k] {
				return op.Errorf(list.name, "input %d of the body a second time", k)
			}
			seen[k] = true
		}
	}
	for k, ok := range seen {
		if !ok {
			return op.Errorf("remain_locs", "no value for input %d of the body (%s)", k,
				p.Body.Inputs[k].Name)
		}
	}
	if len(p.InDataLocs) == 0 {
		return op.Errorf("in_data_locs", "no data, which tell the number of steps")
	}
	if p.NumArgs-1 != n {
		return op.Errorf("num_args", "%d, want the %d inputs of the body and one", p.NumArgs, n)
	}
	if err := checkOutputs(p.Body, p.NumOutputs, p.NumOutData, len(p.InStateLocs)); err != nil {
		return err
	}
	return foreachLoop(p).checkChanges()
}

// checkOutputs compares the outputs of a body with the counts of a loop.
func checkOutputs(body *op.Graph, outputs, data, states int) error {
	if outputs != data+states {
		return op.Errorf("num_outputs", "%d, want the sum of num_out_data %d and %d states",
			outputs, data, states)
	}
	if len(body.Outputs) != outputs {
		return op.Errorf("num_outputs", "%d, the body has %d outputs", outputs, len(body.Outputs))
	}
	return nil
}

// checkLocs compares a list of inputs of an operator with the inputs of the graph that reads them.
func checkLocs(name string, locs []int, inputs int, g *op.Graph) error {
	if len(locs) != len(g.Inputs) {
		return op.Errorf(name, "%d numbers, want one for each of the %d inputs of the graph",
			len(locs), len(g.Inputs))
	}
	for _, k := range locs {
		if k < 0 || k >= inputs {
			return op.Errorf(name, "input %d of the operator, which has %d", k, inputs)
		}
	}
	return nil
}

func checkWhile(p WhileLoopParams) error {
	inputs := p.NumArgs - 2
	if err := checkLocs("cond_input_locs", p.CondInputLocs, inputs, p.Cond); err != nil {
		return err
	}
	if err := checkLocs("func_input_locs", p.FuncInputLocs, inputs, p.Body); err != nil {
		return err
	}
	seen := map[int]bool{}
	for _, k := range p.FuncVarLocs {
		if k < 0 || k >= len(p.Body.Inputs) {
			return op.Errorf("func_var_locs", "input %d of the body, which has %d", k,
				len(p.Body.Inputs))
		}
		if seen[k] {
			return op.Errorf("func_var_locs", "input %d of the body a second time", k)
		}
		seen[k] = true
	}
	if len(p.FuncVarLocs) == 0 {
		return op.Errorf("func_var_locs", "no loop variable")
	}
	if err := checkPred(p.Cond); err != nil {
		return err
	}
	if err := checkOutputs(p.Body, p.NumOutputs, p.NumOutData, len(p.FuncVarLocs)); err != nil {
		return err
	}
	return whileLoop(p).checkChanges()
}

// checkPred reports a condition of more or less than one output, and one that changes inputs.
func checkPred(g *op.Graph) error {
	if len(g.Outputs) != 1 {
		return op.Errorf("subgraphs", "the condition has %d outputs, want 1", len(g.Outputs))
	}
	for k, changes := range g.Changed() {
		if changes {
			return op.Errorf("subgraphs", "the condition changes its input %s",
				g.Inputs[k].Name)
		}
	}
	return nil
}

func checkScan(p scanParams) error {
	if n := len(p.Body.Inputs); p.Data+p.States > n {
		return op.Errorf("states", "%d rows and %d states, the body has %d inputs", p.Data,
			p.States, n)
	}
	return checkOutputs(p.Body, p.NumOutData+p.States, p.NumOutData, p.States)
}

// checkChanges reports rows and states that the body changes in place: only auxiliary states, which
// are the same in all steps, can be changed.
func (l *loop) checkChanges() error {
	for k, changes := range l.body.Changed() {
		if changes && l.from[k].kind != fixed {
			return op.Errorf("subgraphs", "the body changes its input %s in place, which is a "+
				"state or a row of the loop: want an auxiliary state outside",
				l.body.Inputs[k].Name)
		}
	}
	return nil
}

// changes lists the inputs of the operator that the body changes in place.
func (l *loop) changes() (list []int) {
	for k, changes := range l.body.Changed() {
		if changes {
			list = append(list, l.from[k].input)
		}
	}
	return list
}

// draws reports whether a step draws random numbers.
func (l *loop) draws() bool { return l.body.Draws() || l.cond != nil && l.cond.Draws() }

// inputNames names the inputs of an operator as MXNet does; the ones in changed are auxiliary
// states.
func inputNames(n int, changed []int) []op.Input {
	list := make([]op.Input, n)
	for i := range list {
		list[i].Name = fmt.Sprint("data", i)
	}
	for _, i := range changed {
		list[i].Role = op.Aux
	}
	return list
}

// outputNames names visible outputs as MXNet does, and behind them values that are saved for the
// gradient.
func outputNames(visible, saved int) []string {
	list := []string{"output"}
	if visible > 1 {
		list = list[:0]
		for i := range visible {
			list = append(list, fmt.Sprint("output", i))
		}
	}
	for i := range saved {
		list = append(list, fmt.Sprint("saved", i))
	}
	return list
}

// outputs names the outputs of a loop. A gradient may have none that are visible.
func (l *loop) outputs() []string {
	visible := l.outs + l.states()
	list := outputNames(visible, len(l.full().graph.Outputs)-visible)
	if l.cond != nil {
		list = append(list, "steps")
	}
	return list
}
