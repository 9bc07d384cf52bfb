package quantize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/nn"
	sym "gomx/symbol"
)

// Calibrate quantizes the layers of a model by the data of an iterator. The model and its
// arrays stay as they are; parameters of layers that are not quantized are shared. The iterator is
// reset before it is read. In mode None, and without Config.MaxLoss, data gives shapes alone.
func Calibrate(ctx context.Context, m *checkpoint.Model, data dataio.Iter, c Config) (*Result,
	error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	p, err := prepare(ctx, m, data, c)
	if err != nil {
		return nil, err
	}
	if c.MaxLoss > 0 {
		if err := p.limitLoss(ctx); err != nil {
			return nil, err
		}
	}
	return p.result(), nil
}

// plan knows the layers of a network that can be quantized, and the ranges of their data.
type plan struct {
	*sites
	Config
	data   dataio.Iter
	report []Layer
	usable map[*op.Node]bool // layers that can be quantized
	now    map[*op.Node]bool // layers that are
}

// prepare folds the model, finds its layers and calibrates their data.
func prepare(ctx context.Context, m *checkpoint.Model, data dataio.Iter, c Config) (*plan, error) {
	net, err := fold(m)
	if err != nil {
		return nil, err
	}
	p := &plan{sites: &sites{network: net, of: map[op.Entry]*site{},
		sums: map[op.Entry]*op.Node{}}, Config: c, data: data, usable: map[*op.Node]bool{},
		now: map[*op.Node]bool{}}
	if err := errors.Join(p.checkData(m.Symbol), p.choose()); err != nil {
		return nil, err
	}
	for _, l := range net.layers {
		if p.usable[l.node] {
			p.want(l.node.In[0])
		}
	}
	if c.Mode != None {
		p.wantSums()
		if err := p.collect(ctx); err != nil {
			return nil, err
		}
	}
	p.describe()
	return p, nil
}

// checkData reports data of the iterator that are no inputs of the network.
func (p *plan) checkData(s *sym.Symbol) error {
	known := s.Arguments()
	for _, d := range p.data.ProvideData() {
		if !slices.Contains(known, d.Name) {
			return fmt.Errorf("quantize: the network has no input %q, which the iterator provides",
				d.Name)
		}
	}
	return nil
}

// choose decides which layers can be quantized.
func (p *plan) choose() error {
	known := map[string]bool{}
	for _, l := range p.layers {
		known[l.node.Name] = true
		reason := p.reason(l)
		if slices.Contains(p.Exclude, l.node.Name) {
			reason = "excluded by name"
		}
		p.report = append(p.report, Layer{Name: l.node.Name, Operator: l.node.Op.Name,
			Reason: reason})
		p.usable[l.node] = reason == ""
	}
	for _, name := range p.Exclude {
		if !known[name] {
			return fmt.Errorf("quantize: layer %q to exclude is not in the network: it has %s", name,
				names(p.report))
		}
	}
	return nil
}

func names(list []Layer) string {
	var out []string
	for _, l := range list {
		out = append(out, l.Name)
	}
	if len(out) == 0 {
		return "no convolutions and no dense layers"
	}
	return strings.Join(out, ", ")
}

// reason says why a layer cannot be quantized; it is empty where it can.
func (p *plan) reason(l *layer) string {
	switch q := l.node.Params.(type) {
	case nn.ConvolutionParams:
		switch {
		case q.NumGroup != 1 && p.ForMXNet:
			return fmt.Sprintf("%d groups; MXNet's operator has none", q.NumGroup)
		case len(q.Kernel) != 2 && len(q.Kernel) != 3:
			return fmt.Sprintf("%d axes; the operator has two or three", len(q.Kernel))
		case p.Mode == None && !allPositive(l.node.In[0]):
			return "data may be negative, and mode none knows no range to move them by"
		}
	case nn.FullyConnectedParams:
		if q.NoFlatten {
			return "the last axis alone is transformed; the operator has two axes"
		}
	}
	return ""
}

// allPositive reports whether none of the arrays behind e can hold a negative number.
func allPositive(e op.Entry) bool {
	return !slices.ContainsFunc(sources(e), func(e op.Entry) bool { return !positive(e) })
}

// wantSums asks for integers of one operand of a residual sum where quantized layers compute both
// operands and nothing else reads that operand's integers.
func (p *plan) wantSums() {
	for _, n := range op.Topo(p.outs) {
		if n.IsVar() || !adds(n) || !p.computed(n.In[0], p.usable) ||
			!p.computed(n.In[1], p.usable) {
			continue
		}
		if p.of[n.In[0]] == nil && p.of[n.In[1]] == nil {
			p.want(n.In[1])
			p.sums[n.In[1]] = n
		}
	}
}

// collect runs the network in float32 over the data and sets the ranges.
func (p *plan) collect(ctx context.Context) error {
	if len(p.list) == 0 {
		return nil
	}
	var watched []op.Entry
	var into []*stats
	for _, s := range p.list {
		s.stats = &stats{counted: p.Mode != Naive}
		for _, e := range s.entries {
			watched, into = append(watched, e), append(into, s.stats)
		}
	}
	run, err := p.bind(watched, p.args)
	if err != nil {
		return err
	}
	defer run.Close()
	batches := 0
	err = p.each(ctx, func(b *dataio.Batch) error {
		batches++
		outs, err := run.on(b)
		if err != nil {
			return err
		}
		for i, o := range outs {
			v, err := o.Float32s()
			if err != nil {
				return err
			}
			into[i].add(v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if batches == 0 {
		return errors.New("quantize: the iterator has no batch, want at least one")
	}
	for _, s := range p.list {
		if err := s.settle(p.Config); err != nil {
			return fmt.Errorf("quantize: range of %v: %w", s.entries[0], err)
		}
	}
	return nil
}

// each calls f with the batches that calibration reads.
func (p *plan) each(ctx context.Context, f func(b *dataio.Batch) error) error {
	if err := p.data.Reset(); err != nil {
		return err
	}
	for n := 0; p.Batches == 0 || n < p.Batches; n++ {
		b, err := p.data.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// run is a bound graph that batches are given to.
type run struct {
	*sym.Executor
	feeds []string
}

// bind binds outputs of a graph with parameters and the shapes of the data.
func (p *plan) bind(outs []op.Entry, args map[string]*nd.Array) (*run, error) {
	s := sym.FromEntries(outs...)
	c := sym.BindConfig{DefaultReq: op.ReqNull, Shapes: map[string]dtype.Shape{},
		Types: map[string]dtype.Type{}, Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{}}
	r := &run{}
	known := s.Arguments()
	for _, d := range p.data.ProvideData() {
		r.feeds = append(r.feeds, d.Name)
		if !slices.Contains(known, d.Name) {
			continue
		}
		c.Shapes[d.Name], c.Types[d.Name] = d.Shape, d.DType
	}
	for _, name := range known {
		if a := args[name]; a != nil {
			c.Args[name] = a
		}
	}
	for _, name := range s.AuxStates() {
		if a := p.aux[name]; a != nil {
			c.Aux[name] = a
		}
	}
	ex, err := s.SimpleBind(c)
	if err != nil {
		return nil, fmt.Errorf("quantize: %w", err)
	}
	r.Executor = ex
	return r, nil
}

// on computes the outputs for a batch.
func (r *run) on(b *dataio.Batch) ([]*nd.Array, error) {
	if len(b.Data) != len(r.feeds) {
		return nil, fmt.Errorf("quantize: a batch has %d arrays, want %d", len(b.Data),
			len(r.feeds))
	}
	for i, name := range r.feeds {
		if r.Args[name] == nil {
			continue
		}
		if err := r.Feed(name, b.Data[i]); err != nil {
			return nil, fmt.Errorf("quantize: %s: %w", name, err)
		}
	}
	return r.Outputs(), r.Forward(false)
}

// describe notes the ranges of the data of quantized layers.
func (p *plan) describe() {
	for i, l := range p.layers {
		d := &p.report[i]
		p.now[l.node] = p.usable[l.node]
		if d.Quantized = p.usable[l.node]; !d.Quantized {
			continue
		}
		s := p.at(l.node.In[0])
		d.Low, d.High, d.DType = s.low, s.high, "uint8"
		if l.node.Op == nn.FullyConnected.Op && (s.signed() || p.Mode == None && !s.positive) {
			d.DType = "int8"
		}
	}
}

// graph builds the graph in which some layers are quantized.
func (p *plan) graph(quantized map[*op.Node]bool) ([]op.Entry, map[string]*nd.Array) {
	return build(p.sites, quantized, p.Mode == None)
}

// result makes the model of the layers that are chosen now.
func (p *plan) result() *Result {
	outs, args := p.graph(p.now)
	s := sym.FromEntries(outs...)
	aux := map[string]*nd.Array{}
	for _, name := range s.AuxStates() {
		if a := p.aux[name]; a != nil {
			aux[name] = a
		}
	}
	return &Result{Model: &checkpoint.Model{Symbol: s, Args: args, Aux: aux}, Layers: p.report}
}
