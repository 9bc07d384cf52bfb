package module

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// SymGen makes the network of a bucket. It is called once for each bucket that a batch has. All
// networks share the parameters of the default bucket's; one may leave some out.
type SymGen func(bucket any) (*sym.Symbol, error)

// BucketingModule is a Module whose network depends on the bucket of a batch, such as the length of
// its sentences. Every bucket has an executor of its own; parameters, gradients, states and the
// planned memory are shared, so that all buckets together take the memory of the largest. Save
// writes the network of the default bucket as every module does and, where buckets are integers,
// the networks of all buckets as MXNet's BucketingModule does; LoadBucketing reads both.
//
// An output belongs to its bucket: once a batch of another bucket has been forwarded it is closed.
type BucketingModule struct{ *Module }

// NewBucketing returns a module for networks that gen makes, as MXNet's BucketingModule is. The
// default bucket is the one that the iterator describes: the largest, with all parameters. Batches
// without a bucket belong to it.
func NewBucketing(gen SymGen, defaultBucket any, opts ...Option) (*BucketingModule, error) {
	return newBucketing(&buckets{gen: gen, key: defaultBucket}, opts)
}

func newBucketing(b *buckets, opts []Option) (*BucketingModule, error) {
	if b.key == nil {
		return nil, errors.New("module: the default bucket is nil, want what an iterator's " +
			"batches have, such as a length")
	}
	s, err := b.make(b.key)
	if err != nil {
		return nil, err
	}
	m := New(s, opts...)
	m.buckets = b
	return &BucketingModule{m}, nil
}

// DefaultBucket returns the bucket that the module was made for.
func (m *BucketingModule) DefaultBucket() any { return m.buckets.key }

// Buckets returns how many buckets have had batches, or been switched to, since Bind.
func (m *BucketingModule) Buckets() int { return len(m.buckets.known) }

// SwitchBucket binds a bucket for the shapes of its data and labels, which Forward does by itself
// for every batch.
func (m *BucketingModule) SwitchBucket(bucket any, data, label []dataio.Desc) (err error) {
	defer op.Recover(&err)
	if !m.Bound() {
		return errNotBound
	}
	shapes := map[string]dtype.Shape{}
	bk, err := m.buckets.of(m.Module, bucket)
	if err != nil {
		return err
	}
	for _, f := range bk.fed {
		list := data
		if f.label {
			list = label
		}
		if f.index < len(list) {
			shapes[f.name] = list[f.index].Shape
		}
	}
	return m.buckets.turn(m.Module, bk, shapes)
}

// buckets are the networks of a BucketingModule.
type buckets struct {
	gen         SymGen
	key         any                 // the default
	saved       map[int]*sym.Symbol // from a checkpoint, used instead of gen's networks
	kept        map[int]*sym.Symbol // from the process before this one: saved again, not used
	data, label []dataio.Desc
	known       map[any]*bucket
	now         *bucket
	grads       *group         // the default bucket's executors, whose gradients all buckets share
	config      sym.BindConfig // that the default bucket was bound with
}

// bucket is one network, and where the arrays of a batch go in it.
type bucket struct {
	key    any
	symbol *sym.Symbol
	roles
}

// make returns the network of a bucket: from the checkpoint if it has one, else from gen.
func (b *buckets) make(key any) (*sym.Symbol, error) {
	if k, ok := integer(key); ok && b.saved[k] != nil {
		return b.saved[k], nil
	}
	if b.gen == nil {
		return nil, fmt.Errorf("module: no network of bucket %v: the checkpoint has those of "+
			"%v, and there is no generator", key, slices.Sorted(maps.Keys(b.saved)))
	}
	s, err := b.gen(key)
	if err == nil && s == nil {
		err = errors.New("no symbol")
	}
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("module: network of bucket %v: %w", key, err)
	}
	return s, nil
}

// begin records the executors and the configuration that the default bucket has been bound with.
func (b *buckets) begin(m *Module, c sym.BindConfig, data, label []dataio.Desc) {
	b.data, b.label, b.config, b.grads = data, label, c, m.replicas.current
	b.now = &bucket{b.key, m.net.symbol, m.net.roles}
	b.known = map[any]*bucket{b.key: b.now}
}

// of returns the network of a bucket, which is made at the first use.
func (b *buckets) of(m *Module, key any) (*bucket, error) {
	if key == nil {
		key = b.key
	}
	if bk := b.known[key]; bk != nil {
		return bk, nil
	}
	s, err := b.make(key)
	if err != nil {
		return nil, err
	}
	c := m.config
	c.fixed = slices.DeleteFunc(slices.Clone(c.fixed),
		func(name string) bool { return !slices.Contains(s.Arguments(), name) })
	r, err := assign(s, &c, b.data, b.label, m.replicas.training)
	if err != nil {
		return nil, fmt.Errorf("bucket %v: %w", key, err)
	}
	for _, p := range r.params {
		if m.net.first().args[p] == nil {
			return nil, fmt.Errorf("module: bucket %v has the parameter %q, which the default "+
				"bucket %v has not", key, p, b.key)
		}
	}
	for _, a := range s.AuxStates() {
		if m.net.first().aux[a] == nil {
			return nil, fmt.Errorf("module: bucket %v has the auxiliary state %q, which the "+
				"default bucket %v has not", key, a, b.key)
		}
	}
	bk := &bucket{key, s, r}
	b.known[key] = bk
	return bk, nil
}

// choose makes current the executor for the bucket and the shapes of a batch.
func (b *buckets) choose(m *Module, batch *dataio.Batch) error {
	bk, err := b.of(m, batch.Bucket)
	if err != nil {
		return err
	}
	if bk == b.now && m.replicas.current.suits(bk.fed, batch) {
		return nil
	}
	shapes := map[string]dtype.Shape{}
	for _, f := range bk.fed {
		if a := f.of(batch); a != nil {
			shapes[f.name] = a.Shape()
		}
	}
	return b.turn(m, bk, shapes)
}

// turn makes current the executor of a bucket for shapes.
func (b *buckets) turn(m *Module, bk *bucket, shapes map[string]dtype.Shape) error {
	key := ""
	if bk.key != b.key {
		key = fmt.Sprintf("%T %v: ", bk.key, bk.key)
	}
	for _, f := range bk.fed {
		if s, ok := shapes[f.name]; ok {
			key += f.name + s.String()
		}
	}
	g := m.replicas.groups[key]
	if g == nil {
		var err error
		if g, err = b.bind(m, bk, shapes); err != nil {
			return fmt.Errorf("module: bucket %v: %w", bk.key, err)
		}
		m.replicas.groups[key] = g
		m.replicas.current.closeOutputs()
	} else if g != m.replicas.current {
		for k, before := range m.replicas.current.parts {
			if err := hand(before, g.parts[k]); err != nil {
				return err
			}
		}
		m.replicas.current.closeJoined()
	}
	b.now, m.replicas.current = bk, g
	m.net.fed, m.net.dataNames, m.net.labelNames = bk.fed, bk.dataNames, bk.labelNames
	return nil
}

// bind makes executors that share all but inputs and outputs with the others.
func (b *buckets) bind(m *Module, bk *bucket, shapes map[string]dtype.Shape) (*group, error) {
	c := b.config
	c.Shapes, c.GradReq = shapes, map[string]op.Req{}
	for _, name := range bk.symbol.Arguments() {
		c.GradReq[name] = op.ReqNull
		if r, ok := b.config.GradReq[name]; ok {
			c.GradReq[name] = r
		}
	}
	c.Monitor = m.replicas.monitor
	return m.replicas.bind(bk.symbol, c, bk.fed, func(k int, c *sym.BindConfig) {
		have := m.net.on(k)
		c.Shared = m.replicas.current.parts[k]
		c.Args, c.Grads, c.Aux = map[string]*nd.Array{}, map[string]*nd.Array{},
			map[string]*nd.Array{}
		for _, name := range bk.params {
			if a := have.args[name]; a != nil {
				c.Args[name] = a
			}
			if g := b.grads.parts[k].Grads[name]; g != nil {
				c.Grads[name] = g
			}
		}
		for _, name := range bk.symbol.AuxStates() {
			c.Aux[name] = have.aux[name]
		}
	})
}

// hand gives ex output arrays. It takes over an output of the executor before where shape, type and
// device are the same, allocates the others, and closes the outputs of before that are left.
func hand(before, ex *sym.Executor) (err error) {
	defer op.Recover(&err)
	old := slices.Clone(before.Outputs())
	for i, a := range ex.Outputs() {
		k := slices.IndexFunc(old, func(o *nd.Array) bool {
			return o.Shape().Equal(a.Shape()) && o.DType() == a.DType() && o.Device() == a.Device()
		})
		if k >= 0 {
			a, old = old[k], slices.Delete(old, k, k+1)
		} else {
			a = nd.Empty(a.Shape(), nd.On(a.Device()), nd.As(a.DType()))
		}
		if err := ex.Redirect(i, a); err != nil {
			return err
		}
	}
	closeAll(old)
	return nil
}
