package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gomx/checkpoint"
	"gomx/compile"
	"gomx/dtype"
	dataio "gomx/io"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/pipeline"
	"gomx/pipeline/cut"
	"gomx/pipeline/flow"
	sym "gomx/symbol"
	"gomx/trainer"
)

// Pipeline divides a network among the workers of a job, for networks that are larger than the
// memory of one process. Every batch is divided into micro-batches, which go through the stages one
// behind the other, so that all stages work at the same time.
//
// All workers run the same program. Worker r is stage r modulo Stages of pipeline r/Stages: with
// more workers than stages there are several pipelines, each with a share of the data. Their
// workers of one stage add up their gradients in a store dist_sync of their own. Without a job one
// process runs all stages, micro-batch by micro-batch, with the same results.
//
// Normalization over a batch, as in batch norm, is over a micro-batch.
type Pipeline struct {
	Stages       int
	MicroBatches int // parts of a batch, along its first axis; 0: 1
	// Groups maps the groups of the symbol's attribute __ctx_group__ to stages. Nil: stages are
	// contiguous parts of the network that take about the same time, by Rates and Link.
	Groups map[string]int
	// Rates are the speeds of one worker; zero fields have the values of a common processor.
	Rates cut.Rates
	// Link is the speed between two workers in bytes per second; 0: 1e9.
	Link float64
	// Memory is the number of bytes that parameters, gradients, optimizer states and values of one
	// stage may take when stages are found by speed; 0: no limit.
	Memory float64
	// Window is the number of bytes that may be on their way from one stage to another; 0: 8 MiB.
	Window int64
	// Patience is the time after which a worker gives up waiting for another one; 0: 60 s.
	Patience time.Duration
	// InTurn lets the stages work one after the other, for comparisons.
	InTurn bool
}

// Pipelined divides the network among the workers of the job that the context of Fit belongs to.
// The module is bound by Fit. Its parameters and gradients are those of the stage of this worker;
// checkpoints have all parameters. A metric is measured by the workers that compute all outputs.
func Pipelined(p Pipeline) Option { return func(c *config) { c.pipeline = &p } }

// pipe is a module's place in a pipeline.
type pipe struct {
	config  Pipeline
	control *kvstore.KV // store of the whole job; nil without a job
	beside  int         // number of pipelines
	// the workers of this stage in all pipelines; nil: there is one pipeline
	mates   *pipeline.Mates
	replica int // number of the pipeline
	number  int // stage of this process
	batch   int // samples of a batch of this pipeline
	plan    *cut.Plan
	stages  []*pipeline.Stage // the stage of this process; without a job all stages
	link    *pipeline.Link    // nil without a job
	moves   []flow.Link       // transfers between stages
	files   files
}

// files says how the parameters of all stages are collected for a file.
type files struct {
	names []string // with the prefixes of files
	descs []op.Desc
	items []pipeline.Item
}

// checkPipeline reports options that exclude each other.
func (f *fitting) checkPipeline() error {
	m, c := f.m, &f.config
	p := m.config.pipeline
	no := func(what string) error { return fmt.Errorf("module: Fit: %s in a pipeline", what) }
	switch {
	case p.Stages < 1 || p.MicroBatches < 0:
		return fmt.Errorf("module: Pipelined: %d stages and %d micro-batches, want at least 1",
			p.Stages, p.MicroBatches)
	case len(m.config.devices) > 1 || len(m.config.groups) > 0:
		return no("several devices in one process")
	case m.buckets != nil:
		return no("buckets")
	case c.resume.prefix != "" || c.snapshots != (snapshotConfig{}):
		return no("Resume or Snapshots")
	case c.checkpoint.states:
		return no("WithStates")
	case c.clipNorm != 0:
		return no("ClipGlobalNorm: no process knows the norm over all stages")
	case c.kv != nil || c.kind.Job && c.kind.Name != "dist_sync":
		return no("a store other than dist_sync")
	case m.config.scaling != nil:
		return no("LossScale")
	}
	return nil
}

// enterPipeline divides the network and binds the stage of this process.
func (f *fitting) enterPipeline(ctx context.Context) error {
	if err := f.checkPipeline(); err != nil {
		return err
	}
	m := f.m
	if m.pipe != nil {
		return errors.New("module: Fit: a pipelined module is trained by one call of Fit")
	}
	p := &pipe{config: *m.config.pipeline}
	p.config.MicroBatches = max(1, p.config.MicroBatches)
	data, label := f.train.ProvideData(), f.train.ProvideLabel()
	given, err := assign(m.net.symbol, &m.config, data, label, true)
	if err != nil {
		return err
	}
	facts, err := p.infer(m.net.symbol, given, data, label)
	if err != nil {
		return err
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	learned := func(name string) bool {
		return given.request(name, m.config.fixed, false) != op.ReqNull
	}
	if err := p.divide(m.net.symbol, facts, learned); err != nil {
		return err
	}
	p.list(m.net.symbol, facts, given.params)
	if err := p.connect(ctx, facts); err != nil {
		return err
	}
	first, last := p.number, p.number
	if p.control == nil {
		first, last = 0, p.config.Stages-1
	}
	shared := map[string]*nd.Array{} // parameters without gradients, which several stages read
	for q := first; q <= last; q++ {
		s, err := pipeline.Bind(pipeline.StageConfig{Plan: p.plan, Stage: q, Order: p.order(),
			Micros: p.config.MicroBatches, Facts: facts, Learned: learned, Fed: given.isInput,
			Bind: sym.BindConfig{Args: shared, Device: m.config.places()[0],
				Precision: m.config.precision, Products: m.config.narrow(),
				Guard: f.config.guard, Seed: m.config.seed + uint64(p.replica)*deviceSeeds}})
		if err != nil {
			return fmt.Errorf("module: %w", err)
		}
		p.stages = append(p.stages, s)
		maps.Copy(shared, s.Args)
	}
	return p.become(m, given, f.config.guard)
}

// infer finds the shapes of all values for one micro-batch.
func (p *pipe) infer(s *sym.Symbol, given roles, data, label []dataio.Desc) (*compile.Inferred,
	error) {
	shapes, types := map[string]dtype.Shape{}, map[string]dtype.Type{}
	for _, f := range given.fed {
		d := data
		if f.label {
			d = label
		}
		shape := d[f.index].Shape.Clone()
		if f.axis != 0 || len(shape) == 0 || shape[0]%p.config.MicroBatches != 0 {
			return nil, fmt.Errorf("module: %q of shape %v is not divisible into %d micro-batches "+
				"along its first axis", f.name, shape, p.config.MicroBatches)
		}
		if p.batch == 0 {
			p.batch = shape[0]
		}
		shape[0] /= p.config.MicroBatches
		shapes[f.name] = shape
		if !f.label {
			types[f.name] = d[f.index].DType
		}
	}
	facts, err := compile.Infer(s.Entries(), compile.Given{Shapes: shapes, Types: types})
	if err != nil {
		return nil, err
	}
	var vars []*op.Node
	for _, n := range s.Nodes() {
		if n.IsVar() {
			vars = append(vars, n)
		}
	}
	return facts, facts.CheckKnown(vars)
}

// open finds the place of this process in its job.
func (p *pipe) open(ctx context.Context) error {
	if kvstore.JobOf(ctx) == nil {
		p.beside = 1
		return nil
	}
	kv, err := kvstore.Open(ctx, "dist_sync")
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	n, stages := kv.NumWorkers(), p.config.Stages
	if n%stages != 0 {
		return fmt.Errorf("module: a pipeline of %d stages on %d workers, want a multiple of %d",
			stages, n, stages)
	}
	p.control, p.replica, p.number = kv, kv.Rank()/stages, kv.Rank()%stages
	p.beside = n / stages
	return nil
}

// divide makes the plan: by groups, or by costs.
func (p *pipe) divide(s *sym.Symbol, facts *compile.Inferred, learned func(string) bool) error {
	outs, wanted := s.Entries(), func(v *op.Node) bool { return learned(v.Name) }
	var at map[*op.Node]int
	switch {
	case p.config.Stages == 1:
		at = map[*op.Node]int{}
		for _, n := range op.Topo(outs) {
			at[n] = 0
		}
	case p.config.Groups != nil:
		var err error
		if at, err = cut.ByGroups(outs, p.config.Groups, p.config.Stages); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	default:
		b, err := cut.Balance(outs, p.config.Stages, p.costs(outs, facts, wanted))
		if err != nil {
			return fmt.Errorf("module: %w", err)
		}
		at = b.At
	}
	plan, err := cut.Cut(outs, at, p.config.Stages, wanted)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	p.plan = plan
	return nil
}

// costs returns the costs of operators and transfers.
func (p *pipe) costs(outs []op.Entry, facts *compile.Inferred,
	wanted func(v *op.Node) bool) cut.Costs {
	r, f := p.config.Rates, facts.Facts()
	if r.FLOPs == 0 {
		r.FLOPs = 5e10
	}
	if r.Bytes == 0 {
		r.Bytes = 1e10
	}
	const copies = 4 // the parameter, its gradient, and two states of the optimizer
	c := cut.Costs{Seconds: r.Times(f), Bytes: cut.Sizes(f), Link: p.config.Link,
		Latency: 100e-6, Learned: wanted, Limit: p.config.Memory}
	if c.Link == 0 {
		c.Link = 1e9
	}
	if c.Limit > 0 {
		c.Memory = cut.Parameters(outs, f, copies)
	}
	return c
}

// list finds the stages of all parameters and states, in the order of the symbol.
func (p *pipe) list(s *sym.Symbol, facts *compile.Inferred, params []string) {
	owner := map[string]int{}
	vars := map[string]*op.Node{}
	for q := len(p.plan.Stages) - 1; q >= 0; q-- {
		for _, n := range op.Topo(p.plan.Stages[q].Outputs) {
			if n.IsVar() {
				owner[n.Name], vars[n.Name] = q, n
			}
		}
	}
	add := func(prefix string, names []string) {
		for _, name := range names {
			shape, t := facts.Of(vars[name].Entry(0))
			d := op.Plain(t, shape)
			p.files.names = append(p.files.names, prefix+name)
			p.files.descs = append(p.files.descs, d)
			p.files.items = append(p.files.items, pipeline.Item{Stage: owner[name],
				Bytes: d.Bytes})
		}
	}
	add("arg:", params)
	add("aux:", s.AuxStates())
}

// connect opens the endpoint of this process and connects it to the other stages.
func (p *pipe) connect(ctx context.Context, facts *compile.Inferred) (err error) {
	stages := p.config.Stages
	c := pipeline.LinkConfig{Ranks: make([]int, stages), Flow: flow.Config{Stage: p.number,
		Stages: stages, Micros: p.config.MicroBatches, Window: p.config.Window,
		Patience: flow.Time(p.config.Patience)}}
	p.moves = pipeline.LinksOf(p.plan, facts)
	if p.control == nil {
		return nil
	}
	c.Flow.Links, c.Flow.Rounds = pipeline.AddItems(p.moves, p.files.items)
	for q := range c.Ranks {
		c.Ranks[q] = p.replica*stages + q
	}
	job := kvstore.JobOf(ctx).Config()
	c.Open, c.Job, c.Listen = job.Open, job.ID, job.Peers
	if p.link, err = pipeline.Listen(c); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	addrs, err := exchange(ctx, p.control, "pipeline addresses", p.link.Addr())
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return prefixed(p.link.Connect(addrs[p.replica*stages : (p.replica+1)*stages]))
}

// room is the number of bytes of the longest text that exchange takes.
const room = 512

// exchange gives every worker of a store the texts of all workers, by rank.
func exchange(ctx context.Context, kv *kvstore.KV, key, text string) ([]string, error) {
	if len(text) > room {
		return nil, fmt.Errorf("%s: %q has %d bytes, want at most %d", key, text, len(text), room)
	}
	shape := nd.Shape{kv.NumWorkers(), room}
	values := make([]float32, shape.Size())
	all := nd.FromSlice(values, shape...)
	if err := kv.Init(ctx, key, all); err != nil {
		return nil, err
	}
	for i, b := range []byte(text) {
		values[kv.Rank()*room+i] = float32(b)
	}
	if err := kv.PushPull(key, 0, []*nd.Array{nd.FromSlice(values, shape...)},
		[]*nd.Array{all}); err != nil {
		return nil, err
	}
	if err := all.Wait(ctx); err != nil {
		return nil, err
	}
	values, err := all.Float32s()
	if err != nil {
		return nil, err
	}
	list := make([]string, kv.NumWorkers())
	for r := range list {
		b := make([]byte, room)
		for i := range b {
			b[i] = byte(values[r*room+i])
		}
		list[r] = strings.TrimRight(string(b), "\x00")
	}
	return list, nil
}

// become makes the stages of this process the network of a module.
func (p *pipe) become(m *Module, given roles, guard bool) error {
	m.pipe = p
	m.net.roles = given
	m.net.params = nil
	v := values{map[string]*nd.Array{}, map[string]*nd.Array{}}
	for _, s := range p.stages {
		maps.Copy(v.aux, s.Aux)
	}
	var params []trainer.Param
	for _, name := range given.params {
		if a := p.array(name); a != nil {
			m.net.params = append(m.net.params, name)
			v.args[name] = a
			params = append(params, trainer.Param{Name: name,
				Fixed: slices.Contains(m.config.fixed, name), Weights: []*nd.Array{a}})
		}
	}
	m.net.values = []values{v}
	m.replicas.begin(newGroup([]*sym.Executor{p.stages[0].Executor()}, nil), nil)
	m.replicas.training, m.replicas.guard = true, guard
	return prefixed(m.trainer.Track(params))
}

// step runs a batch through the pipeline.
func (p *pipe) step(ctx context.Context, fed []feed, b *dataio.Batch, train bool,
	run uint64) error {
	micros := p.config.MicroBatches
	give := func(ex *sym.Executor, micro int) error {
		for _, f := range fed {
			a, bound := f.of(b), ex.Args[f.name]
			if a == nil || bound == nil {
				continue
			}
			n := a.Shape()[0] / micros
			part := a.Slice(micro*n, (micro+1)*n)
			if part.Device() != bound.Device() || part.DType() != bound.DType() {
				part = part.To(bound.Device()).AsType(bound.DType())
			}
			if err := ex.Feed(f.name, part); err != nil {
				return err
			}
		}
		return nil
	}
	first, order := run*uint64(micros), p.order()
	works := make([]pipeline.Work, len(p.stages))
	for i, s := range p.stages {
		if works[i] = s.Infer(first, give); train {
			works[i] = s.Train(first, give)
		}
	}
	if p.link == nil {
		return prefixed(pipeline.Together(ctx, p.moves, works, micros, train))
	}
	if !train {
		order = flow.ForwardOnly
	}
	return prefixed(p.link.Step(ctx, order, works[0]))
}

// order returns the order of training.
func (p *pipe) order() flow.Order {
	if p.config.InTurn || p.control == nil {
		return flow.InTurn
	}
	return flow.OneForwardOneBackward
}

// array returns a parameter or a state of this process by name, nil if it has none.
func (p *pipe) array(name string) *nd.Array {
	for _, s := range p.stages {
		if a := s.Args[name]; a != nil {
			return a
		}
		if a := s.Aux[name]; a != nil {
			return a
		}
	}
	return nil
}

// Of returns the gradient of a parameter, for package trainer.
func (p *pipe) Of(name string) []*nd.Array {
	if g := p.Firsts()[name]; g != nil {
		return []*nd.Array{g}
	}
	return nil
}

// Firsts returns the gradients of all parameters of this process by name.
func (p *pipe) Firsts() map[string]*nd.Array {
	if len(p.stages) == 1 {
		return p.stages[0].Grads
	}
	all := map[string]*nd.Array{}
	for _, s := range p.stages {
		maps.Copy(all, s.Grads)
	}
	return all
}

// outputs returns the outputs of the network that this process computes, in their order.
func (p *pipe) outputs() []*nd.Array {
	byNumber := map[int]*nd.Array{}
	for _, s := range p.stages {
		list, numbers := s.Outputs()
		for i, n := range numbers {
			byNumber[n] = list[i]
		}
	}
	var list []*nd.Array
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		list = append(list, byNumber[n])
	}
	return list
}

// shareStage lets the workers of this stage in all pipelines add up their gradients, and hands out
// the data among the pipelines.
func (f *fitting) shareStage(ctx context.Context) (err error) {
	p := f.m.pipe
	if p.beside == 1 {
		return nil
	}
	if p.mates, err = pipeline.Join(ctx, pipeline.MatesConfig{Job: kvstore.JobOf(ctx).Config(),
		Stage: p.number, Replica: p.replica, Replicas: p.beside,
		Exchange: func(text string) ([]string, error) {
			return exchange(ctx, p.control, "pipeline stages", text)
		}}); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	kv, err := kvstore.Open(kvstore.WithJob(ctx, p.mates.Job()), "dist_sync",
		f.config.storeOptions...)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	f.owned = true
	return f.joinStore(ctx, kv)
}

// scores reports whether this process computes all outputs of a network, in their order.
func (p *pipe) scores(s *sym.Symbol) bool {
	return len(p.outputs()) == s.Len()
}

// save writes a checkpoint of all stages. All processes of the first pipeline call it; its first
// process writes the files.
func (p *pipe) save(ctx context.Context, m *Module, prefix string, epoch int) error {
	if p.replica > 0 {
		return nil
	}
	own := func(i int) *nd.Array { return p.array(p.files.names[i][len("arg:"):]) }
	if p.link == nil {
		if err := os.MkdirAll(filepath.Dir(prefix), 0o777); err != nil {
			return fmt.Errorf("module: checkpoint: %w", err)
		}
		return m.Model().Save(prefix, epoch)
	}
	if p.number > 0 {
		return prefixed(p.link.Collect(ctx, p.files.items, own, nil))
	}
	if err := os.MkdirAll(filepath.Dir(prefix), 0o777); err != nil {
		return fmt.Errorf("module: checkpoint: %w", err)
	}
	if err := checkpoint.SaveSymbol(checkpoint.SymbolPath(prefix), m.net.symbol); err != nil {
		return err
	}
	return checkpoint.WriteFile(checkpoint.ParamsPath(prefix, epoch), func(w io.Writer) error {
		e := checkpoint.NewEncoder(w, len(p.files.names), false)
		err := p.link.Collect(ctx, p.files.items, own, func(i int, data []byte) error {
			d := p.files.descs[i]
			return e.Encode(&checkpoint.Record{Name: p.files.names[i], DType: d.DType,
				Shape: d.Shape, Data: data})
		})
		if err != nil {
			return err
		}
		return e.Close()
	})
}

// leave ends the use of a pipeline when all workers have ended it.
func (p *pipe) leave(ctx context.Context, failed bool) error {
	var err error
	if p.control != nil && !failed {
		err = p.control.Barrier(ctx)
	}
	if p.link != nil {
		err = errors.Join(err, p.link.Close())
	}
	if p.mates != nil {
		err = errors.Join(err, p.mates.Leave(ctx, failed))
	}
	if p.control != nil {
		err = errors.Join(err, p.control.Close())
	}
	return prefixed(err)
}
