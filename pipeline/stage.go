package pipeline

import (
	"context"
	"fmt"
	"maps"

	"gomx/compile"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/pipeline/cut"
	"gomx/pipeline/flow"
	sym "gomx/symbol"
)

// StageConfig describes a stage.
type StageConfig struct {
	Plan   *cut.Plan
	Stage  int
	Micros int               // micro-batches of a step
	Order  flow.Order        // order of training
	Facts  *compile.Inferred // of the whole graph, for one micro-batch
	// Bind has the settings of the executors. Shapes and types of the stage's variables, and
	// requests for gradients, follow from the other fields; Args and Aux may have arrays of
	// parameters and states of any stage.
	Bind sym.BindConfig
	// Learned reports the parameters whose gradients are wanted.
	Learned func(name string) bool
	// Fed reports the variables that every micro-batch has other arrays of.
	Fed func(name string) bool
}

// Stage is a stage that is bound to memory. Args, Grads and Aux hold the arrays of its parameters,
// their gradients and its states, by name. It belongs to one goroutine at a time.
type Stage struct {
	Args, Grads, Aux map[string]*nd.Array

	cfg   StageConfig
	part  cut.Stage
	execs []*sym.Executor // micro-batch j runs on number j modulo their number
	// gradients of outputs by executor and output; nil lists where the stage sends nothing
	heads [][]*nd.Array
	outs  []*nd.Array   // outputs of whole batches, for the first outputs of the part
	views [][]*nd.Array // parts of outs, by micro-batch
}

// Bind compiles a stage and allocates its arrays.
func Bind(c StageConfig) (s *Stage, err error) {
	defer op.Recover(&err)
	s = &Stage{cfg: c, part: c.Plan.Stages[c.Stage], Args: map[string]*nd.Array{},
		Grads: map[string]*nd.Array{}}
	b := c.Bind
	b.Shapes, b.Types = map[string]dtype.Shape{}, map[string]dtype.Type{}
	b.GradReq, b.DefaultReq = map[string]op.Req{}, op.ReqNull
	b.Args, b.Aux = map[string]*nd.Array{}, map[string]*nd.Array{}
	imported := s.imports()
	for _, n := range op.Topo(s.part.Outputs) {
		if !n.IsVar() {
			continue
		}
		e := n.Entry(0)
		if a := c.Bind.Args[n.Name]; a != nil {
			b.Args[n.Name] = a
		}
		if a := c.Bind.Aux[n.Name]; a != nil {
			b.Aux[n.Name] = a
		}
		if number, ok := imported[n.Name]; ok {
			t := c.Plan.Transfers[number]
			e = t.Entry
			if t.Grad {
				b.GradReq[n.Name] = op.ReqWrite
			}
		} else if c.Learned(n.Name) {
			b.GradReq[n.Name] = op.ReqAdd
		}
		b.Shapes[n.Name], b.Types[n.Name] = c.Facts.Of(e)
	}
	net := sym.FromEntries(s.part.Outputs...)
	for k := range flow.InFlight(c.Order, c.Stage, len(c.Plan.Stages), c.Micros) {
		ex, err := net.SimpleBind(b)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("pipeline: stage %d: %w", c.Stage, err)
		}
		s.execs = append(s.execs, ex)
		if k == 0 {
			s.share(ex, imported)
			b.Args, b.Grads, b.Aux = s.Args, s.Grads, s.Aux
		}
		s.heads = append(s.heads, s.headsOf(ex))
	}
	s.gather()
	return s, nil
}

// imports returns the numbers of the transfers to the stage by the names of their variables.
func (s *Stage) imports() map[string]int {
	m := map[string]int{}
	for _, number := range s.part.In {
		m[s.cfg.Plan.Transfers[number].Var.Name] = number
	}
	return m
}

// share takes the arrays that all executors have in common from the first one.
func (s *Stage) share(ex *sym.Executor, imported map[string]int) {
	for name, a := range ex.Args {
		if _, ok := imported[name]; ok || s.cfg.Fed(name) {
			continue
		}
		s.Args[name] = a
		if g := ex.Grads[name]; g != nil {
			s.Grads[name] = g
		}
	}
	s.Aux = maps.Clone(ex.Aux)
}

// headsOf makes the gradients of an executor's outputs: ones for the outputs of the whole graph,
// and arrays for the gradients that later stages send. Without any of the latter the list is nil,
// which means ones as well.
func (s *Stage) headsOf(ex *sym.Executor) []*nd.Array {
	if len(s.part.Out) == 0 {
		return nil
	}
	heads := make([]*nd.Array, len(ex.Outputs()))
	for i, a := range ex.Outputs() {
		if i < len(s.part.Finals) {
			heads[i] = nd.Ones(a.Shape(), nd.As(a.DType()), nd.On(a.Device()))
		} else if s.cfg.Plan.Transfers[s.part.Out[i-len(s.part.Finals)]].Grad {
			heads[i] = nd.Empty(a.Shape(), nd.As(a.DType()), nd.On(a.Device()))
		}
	}
	return heads
}

// gather makes the arrays of the outputs of whole batches: the micro-batches lie one behind the
// other along the first axis. Outputs without axes become a vector.
func (s *Stage) gather() {
	s.views = make([][]*nd.Array, s.cfg.Micros)
	for i := range s.part.Finals {
		a := s.execs[0].Outputs()[i]
		shape, rows := a.Shape().Clone(), 1
		if len(shape) == 0 {
			shape = dtype.Shape{1}
		}
		rows = shape[0]
		shape[0] *= s.cfg.Micros
		whole := nd.Empty(shape, nd.As(a.DType()), nd.On(a.Device()))
		s.outs = append(s.outs, whole)
		for j := range s.views {
			s.views[j] = append(s.views[j],
				whole.Slice(j*rows, (j+1)*rows).Reshape(a.Shape()...))
		}
	}
}

// Outputs returns the outputs of the whole graph that the stage computes, for the whole batch, and
// their numbers. The next step overwrites them.
func (s *Stage) Outputs() ([]*nd.Array, []int) { return s.outs, s.part.Finals }

// Executor returns the executor of the first micro-batch.
func (s *Stage) Executor() *sym.Executor { return s.execs[0] }

// Feed gives the arrays of a micro-batch to an executor.
type Feed func(ex *sym.Executor, micro int) error

// pass is the work of a stage in one step. It implements Work.
type pass struct {
	*Stage
	train bool
	first uint64 // number of the first micro-batch in the random stream
	feed  Feed
}

// Train returns the work of a step of training: gradients are set to zero, and the gradients of all
// micro-batches are added to them. First is the number of runs of the graph before this step, which
// places the random numbers.
func (s *Stage) Train(first uint64, feed Feed) Work {
	for _, g := range s.Grads {
		g.Fill(0)
	}
	return &pass{s, true, first, feed}
}

// Infer returns the work of a step without gradients.
func (s *Stage) Infer(first uint64, feed Feed) Work { return &pass{s, false, first, feed} }

// Take implements Work: it copies a tensor to the executor that reads it.
func (p *pass) Take(t flow.Tensor, data []byte) error {
	ex := p.execs[t.Micro%len(p.execs)]
	if !t.Backward {
		return ex.Args[p.cfg.Plan.Transfers[t.Link].Var.Name].WriteBytes(data)
	}
	for i, number := range p.part.Out {
		if number == t.Link {
			return p.heads[t.Micro%len(p.execs)][len(p.part.Finals)+i].WriteBytes(data)
		}
	}
	return fmt.Errorf("pipeline: stage %d has no output for tensor %+v", p.cfg.Stage, t)
}

// Run implements Work: it starts the computation of an action.
func (p *pass) Run(a flow.Action) error {
	k := a.Micro % len(p.execs)
	ex := p.execs[k]
	if a.Backward {
		return ex.Backward(p.heads[k]...)
	}
	if err := p.feed(ex, a.Micro); err != nil {
		return err
	}
	for i, view := range p.views[a.Micro] {
		if err := ex.Redirect(i, view); err != nil {
			return err
		}
	}
	ex.Seek(p.first + uint64(a.Micro))
	return ex.Forward(p.train)
}

// Give implements Work: it waits for a tensor that the stage computes, and copies it.
func (p *pass) Give(ctx context.Context, t flow.Tensor, data []byte) error {
	ex := p.execs[t.Micro%len(p.execs)]
	if t.Backward {
		return ex.Grads[p.cfg.Plan.Transfers[t.Link].Var.Name].ReadBytes(ctx, data)
	}
	for i, number := range p.part.Out {
		if number == t.Link {
			return ex.Outputs()[len(p.part.Finals)+i].ReadBytes(ctx, data)
		}
	}
	return fmt.Errorf("pipeline: stage %d does not compute tensor %+v", p.cfg.Stage, t)
}

// Close frees the planned memory. The arrays stay.
func (s *Stage) Close() {
	for _, ex := range s.execs {
		ex.Close()
	}
}

// LinksOf describes the transfers of a plan to package flow.
func LinksOf(p *cut.Plan, facts *compile.Inferred) []flow.Link {
	list := make([]flow.Link, len(p.Transfers))
	for i, t := range p.Transfers {
		shape, typ := facts.Of(t.Entry)
		list[i] = flow.Link{From: t.From, To: t.To, Bytes: int64(shape.Size() * typ.Size()),
			Grad: t.Grad}
	}
	return list
}
