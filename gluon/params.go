package gluon

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
)

// Params is a list of parameters in structural order, each with all names that it has in a block.
type Params struct {
	names []string
	byKey map[string]*Param
	root  any  // block that all of them belong to; nil for a selection
	net   *Net // network that all of them belong to; nil for a block or a selection
}

// ParamsOf lists the parameters of a block. A parameter that two blocks share has two names.
func ParamsOf(block any) *Params {
	ps := &Params{byKey: map[string]*Param{}, root: block}
	visit(block, "", func(name string, c child) {
		p := c.param
		p.mu.Lock()
		if p.name == "" {
			p.name = name
		}
		p.mu.Unlock()
		if ps.byKey[name] == nil {
			ps.names = append(ps.names, name)
		}
		ps.byKey[name] = p
	})
	return ps
}

// Names returns the names in structural order.
func (ps *Params) Names() []string { return slices.Clone(ps.names) }

// Get returns a parameter by its name, nil if there is none.
func (ps *Params) Get(name string) *Param { return ps.byKey[name] }

// All returns the names and parameters in structural order; a shared parameter comes once for each
// name.
func (ps *Params) All() iter.Seq2[string, *Param] {
	return func(yield func(string, *Param) bool) {
		for _, name := range ps.names {
			if !yield(name, ps.byKey[name]) {
				return
			}
		}
	}
}

// distinct returns each parameter once, under its first name.
func (ps *Params) distinct() iter.Seq2[string, *Param] {
	return func(yield func(string, *Param) bool) {
		seen := map[*Param]bool{}
		for name, p := range ps.All() {
			if seen[p] {
				continue
			}
			seen[p] = true
			if !yield(name, p) {
				return
			}
		}
	}
}

// Select returns the parameters whose names match a regular expression, as MXNet's collect_params
// does. It is an error if none does.
func (ps *Params) Select(pattern string) (*Params, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("gluon: pattern of parameters: %w", err)
	}
	out := &Params{byKey: map[string]*Param{}}
	for name, p := range ps.All() {
		if re.MatchString(name) {
			out.names, out.byKey[name] = append(out.names, name), p
		}
	}
	if len(out.names) == 0 {
		return nil, fmt.Errorf("gluon: no parameter matches %q, there are %v", pattern, ps.names)
	}
	return out, nil
}

// InitOption is an option of Init.
type InitOption func(*start)

// On lets parameters live on devices; the processor is the default.
func On(devices ...device.Device) InitOption {
	return func(s *start) { s.devices = slices.Clone(devices) }
}

// Seed is the seed of the initial values, 0 by default. Values depend on seed and name alone.
func Seed(seed uint64) InitOption { return func(s *start) { s.seed = seed } }

// Init gives the parameters initial values: at once where the shape is known, otherwise at the
// first call of the block. A nil initializer is MXNet's default, Uniform{Scale: 0.07}. Parameters
// that have values get new ones.
func (ps *Params) Init(init initializer.Initializer, opts ...InitOption) (err error) {
	defer op.Recover(&err)
	if init == nil {
		init = initializer.Uniform{Scale: 0.07}
	}
	s := &start{init: init, devices: []device.Device{device.CPU()}}
	for _, o := range opts {
		o(s)
	}
	if len(s.devices) == 0 {
		return errors.New("gluon: Init on no device")
	}
	for name, p := range ps.distinct() {
		if err := p.begin(s); err != nil {
			return fmt.Errorf("gluon: parameter %s: %w", name, err)
		}
	}
	return nil
}

// begin gives a parameter initial values, now or at the first call.
func (p *Param) begin(s *start) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start = s
	if !p.known() {
		return nil
	}
	return p.fill(p.Shape)
}

// Set gives the parameters values by their names. Every parameter needs a value, unless
// AllowMissing; every value a parameter, unless IgnoreExtra.
func (ps *Params) Set(values map[string]*nd.Array, opts ...LoadOption) error {
	var o loading
	for _, f := range opts {
		f(&o)
	}
	done := map[*Param]bool{}
	for name, p := range ps.All() {
		v := values[name]
		if v == nil {
			continue
		}
		if o.cast {
			p.cast(v.DType())
		}
		set := p.Set
		if o.rows {
			set = table{p}.put
		}
		if err := set(v); err != nil {
			return err
		}
		done[p] = true
	}
	for name, p := range ps.All() {
		if !done[p] && !o.missing {
			return fmt.Errorf("gluon: no value for parameter %q, there are values for %v", name,
				slices.Sorted(maps.Keys(values)))
		}
	}
	if o.extra {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if ps.byKey[name] == nil {
			return fmt.Errorf("gluon: a value for %q, which is no parameter; there are %v", name,
				ps.names)
		}
	}
	return nil
}

// LoadOption changes how strictly values and parameters must fit.
type LoadOption func(*loading)

type loading struct{ missing, extra, cast, order, rows bool }

// ByOrder makes Load give the arrays of a file to the parameters in structural order; their names
// do not matter. It is for files of MXNet's collect_params().save, whose names depend on the order
// in which the program made its blocks. Numbers and shapes must fit.
func ByOrder() LoadOption { return func(l *loading) { l.order = true } }

// KeepRows leaves the rows of row_sparse parameters alone that the loaded arrays do not store:
// they begin as Init has said. It is for files of HeldRows. Without it these rows become zeros.
func KeepRows() LoadOption { return func(l *loading) { l.rows = true } }

// AllowMissing leaves parameters without values as they are.
func AllowMissing() LoadOption { return func(l *loading) { l.missing = true } }

// IgnoreExtra passes over values that belong to no parameter.
func IgnoreExtra() LoadOption { return func(l *loading) { l.extra = true } }

// CastToSaved gives parameters the element types of the loaded values; without it values are
// converted to the types of the parameters.
func CastToSaved() LoadOption { return func(l *loading) { l.cast = true } }

// Save writes the parameters into a file that MXNet's load_parameters reads, under their structural
// names. A parameter with several names is written under each, so that blocks that do not share it
// can load the file; Deduplicate writes it once.
//
// A row_sparse parameter is written with all rows that are not zeros, wherever they are. If all its
// rows take more than 256 MiB and begin with other values than zeros, that is an error; see
// HeldRows.
func (ps *Params) Save(path string, opts ...SaveOption) error {
	var o saving
	for _, f := range opts {
		f(&o)
	}
	list, seen := []checkpoint.Named{}, map[*Param]bool{}
	for name, p := range ps.All() {
		a, err := table{p}.written(o.held)
		switch {
		case err != nil:
			return fmt.Errorf("gluon: Save: parameter %q: %w", name, err)
		case a == nil:
			return fmt.Errorf("gluon: Save: parameter %q has no values: call the block first", name)
		case seen[p] && o.once:
			continue
		}
		seen[p] = true
		list = append(list, checkpoint.Named{Name: name, Array: a})
	}
	return checkpoint.SaveArrays(path, list)
}

// SaveOption is an option of Save.
type SaveOption func(*saving)

type saving struct{ once, held bool }

// HeldRows writes of row_sparse parameters only the rows that have memory, in this process or in
// its store. A process that loads the file makes the others, if it has called Init with the same
// initializer and seed, and says KeepRows.
func HeldRows() SaveOption { return func(s *saving) { s.held = true } }

// Deduplicate writes a shared parameter once, under its first name.
func Deduplicate() SaveOption { return func(s *saving) { s.once = true } }

// Load reads the parameters from a file that Save or MXNet's save_parameters has written, or from
// one of a Module or of export, whose names begin with arg: and aux:. Names may be structural, or
// MXNet's global ones with any prefix before them; see [Scoper].
func (ps *Params) Load(path string, opts ...LoadOption) error {
	list, err := ps.read(path)
	if err != nil {
		return err
	}
	values, err := ps.named(list, opts)
	if err == nil {
		err = ps.checkStored(values)
	}
	if err == nil {
		err = ps.Set(values, opts...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// read reads the arrays of a file: as they are stored if one of the parameters is row_sparse, or
// else dense.
func (ps *Params) read(path string) ([]checkpoint.Named, error) {
	for _, p := range ps.All() {
		if p.Storage != nd.Dense {
			return checkpoint.LoadArrays(path)
		}
	}
	return checkpoint.LoadArrays(path, checkpoint.DenseLimit(0))
}

// checkStored refuses sparse arrays for dense parameters of unknown shape: a file of a few bytes
// may claim any.
func (ps *Params) checkStored(values map[string]*nd.Array) error {
	for name, p := range ps.All() {
		if v := values[name]; v != nil && v.Storage() != nd.Dense && p.Storage == nd.Dense &&
			!p.known() {
			return fmt.Errorf("gluon: parameter %s: a %v array of shape %v, want a dense one "+
				"while the shape of the parameter is not known", name, v.Storage(), v.Shape())
		}
	}
	return nil
}

// named gives the arrays of a file the names of parameters.
func (ps *Params) named(list []checkpoint.Named, opts []LoadOption) (map[string]*nd.Array, error) {
	var o loading
	for _, f := range opts {
		f(&o)
	}
	values := make(map[string]*nd.Array, len(list))
	if !o.order {
		for _, n := range list {
			values[plainName(n.Name)] = n.Array
		}
		return ps.structural(values), nil
	}
	i := 0
	for name := range ps.distinct() {
		if i < len(list) {
			values[name] = list[i].Array
		}
		i++
	}
	if i != len(list) {
		return nil, fmt.Errorf("gluon: %d arrays for %d parameters", len(list), i)
	}
	return values, nil
}

// structural returns the arrays of a file under structural names if the file has MXNet's global
// names, and otherwise as they are.
func (ps *Params) structural(values map[string]*nd.Array) map[string]*nd.Array {
	for _, name := range ps.names {
		if values[name] != nil {
			return values
		}
	}
	if ps.root != nil {
		if found := nameBlocks(ps.root, "").structural(values); found != nil {
			return found
		}
	}
	return values
}

// plainName removes the kind of array that Module's files have before the name.
func plainName(name string) string {
	for _, kind := range []string{"arg:", "aux:"} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			return rest
		}
	}
	return name
}

// SetGradReq changes how Backward stores the gradients. Parameters that are declared without a
// gradient, such as running statistics, stay without; Param.SetGradReq changes one of them.
func (ps *Params) SetGradReq(r nd.GradReq) {
	for _, p := range ps.distinct() {
		if !p.untrained {
			p.SetGradReq(r)
		}
	}
}

// ZeroGrad sets all gradients to zero.
func (ps *Params) ZeroGrad() {
	for _, p := range ps.distinct() {
		p.ZeroGrad()
	}
}
