package ndarray

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
)

// Tracing records operations on arrays that have shape, element type and device but no values. A
// function of arrays that is called with the arrays of Input leaves a graph of its operations
// behind, which Finish returns. Nothing is computed on the way.
//
// The arrays are on a tape of their own, which carries the mode. An array from outside that meets a
// traced one becomes a variable of the graph; operations among arrays from outside run at once, as
// always. Reading the values of a traced array, or writing to it, is an error that names the line.
//
// A Tracing may be used by several goroutines; the order of operations is then up to them.
type Tracing struct {
	tape      *Tape
	chunk     *chunk // of all traced arrays: engine and device, but no memory
	gradients bool   // the graph will be differentiated: functions bring their gradients
	listener  Listener

	mu       sync.Mutex // guards the fields below
	inputs   []*op.Node
	captured []Captured
	known    map[place]*step       // variables of captured arrays
	imported map[*op.Node]*op.Node // nodes of random arrays that were made outside
	names    map[string]int        // nodes and variables so far, by the first part of their names
	draws    map[*op.Node]draw     // nodes that draw random numbers
	serial   map[*op.Node]int      // nodes of operations, numbered as they were recorded
	err      *op.Error             // first misuse
	over     bool                  // Finish or Abandon has been called
}

// Captured is an array from outside of a traced function, and the variable that stands for it.
type Captured struct {
	Node  *op.Node
	Array *Array // as the function used it first, with the attached gradient
	Hold  *Array // an alias, which keeps the memory when Array is closed
}

// Traced is a recorded graph.
type Traced struct {
	Inputs   []*op.Node // variables, in the order of the calls of Input
	Captured []Captured // in the order of their first use
	Outputs  []op.Entry

	// Draws has the count of random numbers that each random node takes from the process-wide
	// stream when it runs by itself, by the number of the node's stream; see graph.Stream.
	Draws []int
}

// place identifies the part of the memory that an array stands for.
type place struct {
	chunk  *chunk
	offset int
	dtype  dtype.Type
	shape  string
}

// draw is one use of the process-wide random stream.
type draw struct {
	at    uint64 // place among all uses while there were tracings
	count int    // random numbers
}

// tracings is the number of recordings under way. While there are any, random operations on arrays
// that are not traced leave behind how they were made, in Array.born: a traced function that makes
// noise of its own gets new noise in every run of the graph.
var tracings atomic.Int32

// drawn numbers the random operations while there are tracings.
var drawn atomic.Uint64

// NewTracing starts a recording for arrays of an engine on a device, in training or in inference;
// gradients says that the graph is going to be differentiated. The caller calls Finish or Abandon
// in the end.
func NewTracing(eng *engine.Engine, dev device.Device, train, gradients bool) *Tracing {
	t := &Tracing{gradients: gradients, chunk: &chunk{eng: eng, dev: dev}, known: map[place]*step{},
		imported: map[*op.Node]*op.Node{}, names: map[string]int{}, draws: map[*op.Node]draw{},
		serial: map[*op.Node]int{}}
	t.chunk.refs.Store(1)
	t.tape = &Tape{train: train, tracing: t}
	tracings.Add(1)
	return t
}

// Listener is told of the operations that a Tracing records, one at a time, with the normalized
// parameters and the shapes and types of inputs and outputs. It does not call the Tracing.
type Listener interface {
	Recorded(o *op.Op, params any, in, out []op.Desc)
}

// Namer is a Listener that names the nodes of operations. It does not call the Tracing.
type Namer interface {
	Listener
	NodeName(o *op.Op) string
}

// Listen makes l be told of all operations. It is called before Input.
func (t *Tracing) Listen(l Listener) { t.listener = l }

// Listener returns the Listener of the recording that the arrays on the tape belong to; nil if they
// have values, or if there is none.
func (t *Tape) Listener() Listener {
	if t == nil || t.tracing == nil {
		return nil
	}
	return t.tracing.listener
}

// Input returns the traced array that stands for an argument of the function.
func (t *Tracing) Input(name string, shape Shape, typ dtype.Type) *Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &step{node: op.Node{Name: t.unused(name)}}
	t.inputs = append(t.inputs, &s.node)
	return t.array(s, 0, shape, typ)
}

// array returns the traced array that stands for an output of a recorded node.
func (t *Tracing) array(s *step, index int, shape Shape, typ dtype.Type) *Array {
	return &Array{chunk: t.chunk, shape: shape, dtype: typ, trace: trace{t.tape, s, index}}
}

// unused returns name, or name and a number if it has been used. The caller holds mu.
func (t *Tracing) unused(name string) string {
	for {
		k := t.names[name]
		t.names[name]++
		if k == 0 {
			return name
		}
		if n := name + strconv.Itoa(k); t.names[n] == 0 {
			t.names[n]++
			return n
		}
	}
}

// Finish ends the recording and returns the graph of the outputs. An output may be an array from
// outside. It returns the first misuse of a traced array, if there was one.
func (t *Tracing) Finish(outs []*Array) (*Traced, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	if t.err != nil {
		return nil, t.err
	}
	g := &Traced{Inputs: t.inputs}
	for i, a := range outs {
		if a == nil {
			return nil, op.Errorf(fmt.Sprintf("output %d", i), "the array is nil")
		}
		e, err := t.entry(a)
		if err != nil {
			return nil, err
		}
		g.Outputs = append(g.Outputs, e)
	}
	g.Captured = t.captured
	t.number(g)
	t.sequence(g)
	return g, nil
}

// sequence makes the nodes that change the same array in place run in the order in which they were
// recorded: two calls of one BatchNorm in training update its averages one after the other, as without
// a graph.
func (t *Tracing) sequence(g *Traced) {
	changes := map[*op.Node][]*op.Node{} // nodes that change a variable
	for _, n := range op.Topo(g.Outputs) {
		for k, e := range n.In {
			if list := changes[e.Node]; n.Mutates(k) && (t.tape.train || n.Op.Update) &&
				!slices.Contains(list, n) {
				changes[e.Node] = append(list, n)
			}
		}
	}
	for _, list := range changes {
		slices.SortFunc(list, func(a, b *op.Node) int {
			return cmp.Compare(t.serial[a], t.serial[b])
		})
		for i, n := range list[1:] {
			if !slices.Contains(n.After, list[i]) {
				n.After = append(n.After, list[i])
			}
		}
	}
}

// Abandon ends the recording without a graph. It does nothing after Finish.
func (t *Tracing) Abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.end()
	}
}

func (t *Tracing) end() {
	t.over = true
	tracings.Add(-1)
}

// number gives the random nodes streams in the order in which they would have drawn. Nodes that no
// output depends on count as well: without a graph they would have drawn, too.
func (t *Tracing) number(g *Traced) {
	list := slices.Collect(maps.Keys(t.draws))
	slices.SortFunc(list, func(a, b *op.Node) int {
		return cmp.Compare(t.draws[a].at, t.draws[b].at)
	})
	for i, n := range list {
		graph.SetStream(n, i)
		g.Draws = append(g.Draws, t.draws[n].count)
	}
}

// entry returns the entry that stands for an array. The caller holds mu.
func (t *Tracing) entry(a *Array) (op.Entry, error) {
	if a.chunk == nil {
		return op.Entry{}, op.Errorf("", "the array has neither values nor a place in a graph")
	}
	if a.chunk == t.chunk {
		return op.Entry{Node: &a.trace.step.node, Index: a.trace.index}, nil
	}
	if a.trace.step != nil {
		return op.Entry{}, op.Errorf("", "the array is on another tape: pass it to the traced "+
			"function as an argument, or use Detach")
	}
	if b := a.born; b.step != nil {
		return op.Entry{Node: t.adopt(&b.step.node, b.step), Index: b.index}, nil
	}
	return t.capture(a).node.Entry(0), nil
}

// adopt returns the node of the graph that makes a random array of another one anew. The caller
// holds mu.
func (t *Tracing) adopt(n *op.Node, s *step) *op.Node {
	if m := t.imported[n]; m != nil {
		return m
	}
	m := *n
	m.Name, m.In = t.unused(nodeName(n.Op)), make([]op.Entry, len(n.In))
	for i, p := range s.made.in {
		if p.step != nil {
			m.In[i] = op.Entry{Node: t.adopt(&p.step.node, p.step), Index: n.In[i].Index}
		} else {
			m.In[i] = t.capture(p.array).node.Entry(0)
		}
	}
	if s.made.count > 0 {
		t.draws[&m] = draw{s.made.at, s.made.count}
	}
	t.imported[n] = &m
	return &m
}

// capture returns the variable that stands for an array from outside. The caller holds mu.
func (t *Tracing) capture(a *Array) *step {
	at := place{a.mem("tracing"), a.offset, a.dtype, a.shape.String()}
	if s := t.known[at]; s != nil {
		return s
	}
	name := a.chunk.v.Name()
	if name == "" {
		name = "constant"
	}
	s := &step{node: op.Node{Name: t.unused(name)}}
	t.known[at] = s
	t.captured = append(t.captured, Captured{&s.node, a, a.share(&Array{}, "tracing")})
	return s
}

// watch returns the traced array that stands for an array from outside.
func (t *Tracing) watch(a *Array) *Array {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.traced() != nil {
		return a
	}
	return t.array(t.capture(a), 0, a.shape, a.dtype)
}

// traced returns the recording of a, nil if a has values.
func (a *Array) traced() *Tracing {
	if a.trace.tape == nil {
		return nil
	}
	return a.trace.tape.tracing
}

// Traced reports whether a stands for values that do not exist yet, because the function that made
// it is being traced.
func (a *Array) Traced() bool { return a.memory("Traced") != nil && a.traced() != nil }

// record makes a node of an operation and returns its outputs in results.
func (t *Tracing) record(iv *invocation, p *plan, results []*Array) error {
	if slices.ContainsFunc(iv.out, func(a *Array) bool { return a != nil }) {
		return op.Errorf("out", "%s", noWrites)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return op.Errorf("", "a traced array is used after the call that it belonged to")
	}
	s := &step{node: op.Node{Op: p.op, Params: p.params, In: make([]op.Entry, len(iv.in)),
		Site: op.CallSite(), Grad: iv.grad}}
	for i, a := range iv.in {
		e, err := t.entry(a)
		if err != nil {
			return op.WithOp(&op.Error{Arg: p.inputs[i].Name, Msg: err.(*op.Error).Msg}, p.op.Name,
				"", "")
		}
		s.node.In[i] = e
	}
	if n, ok := t.listener.(Namer); ok {
		s.node.Name = t.unused(n.NodeName(p.op))
	} else {
		s.node.Name = t.unused(nodeName(p.op))
	}
	t.count(&s.node)
	if p.op.Random && !iv.seed.IsSet() {
		t.draws[&s.node] = draw{drawn.Add(1), p.numbers()}
	}
	for i, d := range p.out {
		results[i] = t.array(s, i, d.Shape, d.DType)
	}
	if t.listener != nil {
		t.listener.Recorded(p.op, p.params, p.in, p.out)
	}
	return nil
}

// count numbers a node as it is recorded. The caller holds mu.
func (t *Tracing) count(n *op.Node) {
	t.serial[n] = len(t.serial)
	n.Serial = len(t.serial)
}

// recorded returns the number of operations so far.
func (t *Tracing) recorded() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.serial)
}

// before reports whether a node is none of the operations recorded from number k on.
func (t *Tracing) before(n *op.Node, k int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.serial[n]
	return !ok || at < k
}

// noWrites is the message of a write to a traced array.
const noWrites = "a traced function cannot write to arrays: it computes new ones"

// nodeName is the first part of the names of nodes of an operator.
func nodeName(o *op.Op) string { return strings.ToLower(strings.TrimLeft(o.Name, "_")) }

// refuse notes that a function reads or writes a traced array, and returns the error.
func (t *Tracing) refuse(what, msg string) *op.Error {
	err := misuse(what, "", "%s", msg)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	return err
}

// noValues is the message of a read of a traced array.
const noValues = "the array is traced, it has no values yet: compute with operators of arrays, " +
	"nd.Where, nd.Foreach, nd.WhileLoop or nd.Cond, or read the value outside of the function"

// stored returns the chunk of an array whose values are going to be used; it returns an error if
// the array is traced.
func (a *Array) stored(what string) (*chunk, error) {
	c := a.mem(what)
	if c != nil && c.v == nil {
		return nil, a.valueless(what)
	}
	if c != nil && c.block.Bytes == 0 && c.sparse == nil && a.Bytes() > 0 {
		return nil, misuse(what, "", "the array is a placeholder without values")
	}
	return c, nil
}

// valueless is the error of a use of the values of a traced array.
func (a *Array) valueless(what string) error {
	if t := a.traced(); t != nil {
		return t.refuse(what, noValues)
	}
	return misuse(what, "", "%s", noValues)
}

// origin says how a random array was made while there were tracings.
type origin struct {
	in    []ancestor
	at    uint64 // place among all uses of the random stream
	count int    // random numbers drawn, 0 if the operation draws none
}

// ancestor is an input of an operation on random arrays: one of them, or another array.
type ancestor struct {
	step  *step
	array *Array
}

// birth is a place among the results of an operation that made random arrays.
type birth struct {
	step  *step
	index int
}

// remember leaves behind how results were made, if random numbers are in them.
func (iv *invocation) remember(p *plan, results []*Array) {
	draws := p.op.Random && !iv.seed.IsSet()
	if !draws && !slices.ContainsFunc(iv.in, func(a *Array) bool { return a.born.step != nil }) {
		return
	}
	s := &step{node: op.Node{Op: p.op, Params: p.params, In: make([]op.Entry, len(iv.in)),
		Site: op.CallSite()}, made: &origin{in: make([]ancestor, len(iv.in))}}
	for i, a := range iv.in {
		s.made.in[i] = ancestor{step: a.born.step, array: a}
		s.node.In[i].Index = a.born.index
	}
	if draws {
		s.made.at, s.made.count = drawn.Add(1), p.numbers()
	}
	for i, a := range results {
		a.born = birth{s, i}
	}
}

// reshapeBorn makes a, which shares its memory with flat, remember how flat was made.
func (a *Array) reshapeBorn(flat *Array) {
	if flat.born.step == nil {
		return
	}
	params, err := prim.Reshape.Normalize(prim.ReshapeParams{Shape: a.shape})
	if err != nil {
		return
	}
	s := &step{node: op.Node{Op: prim.Reshape.Op, Params: params,
		In: []op.Entry{{Index: flat.born.index}}},
		made: &origin{in: []ancestor{{step: flat.born.step}}}}
	a.born = birth{s, 0}
}
