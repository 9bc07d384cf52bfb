package ndarray

import (
	"slices"
	"strings"
	"sync"

	"gomx/op"
)

// Invoke applies an operator, asynchronously, and returns all its outputs, hidden ones included.
// params is the operator's parameter struct, nil for defaults. Where out is nil or holds nil the
// output is allocated, otherwise overwritten; an output may be one of the inputs. Operators with
// auxiliary states change them in place when a training tape is watching. Update operators write
// into their first input unless out is given. Tapes do not record writes to explicit outputs.
//
// Misuse is returned as *op.Error at once. An operation that fails later poisons its outputs: every
// wait for them, or for arrays computed from them, returns the error.
func Invoke(o *op.Op, params any, in []*Array, out []*Array) ([]*Array, error) {
	iv := invocation{op: o, params: params, in: in, out: out}
	p, err := iv.prepare()
	if err != nil {
		return nil, blame(err, o.Name)
	}
	results := make([]*Array, len(p.out))
	if err := iv.push(p, results); err != nil {
		return nil, blame(err, o.Name)
	}
	return results, nil
}

// InvokeInto is Invoke with every output given. It allocates nothing in steady state.
func InvokeInto(o *op.Op, params any, in, out []*Array) error {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.out = append(iv.room.out[:0], out...)
	if _, err := iv.perform(); err != nil {
		return blame(err, o.Name)
	}
	return nil
}

// Apply applies an operator and returns its first output. It panics with *op.Error on misuse.
func Apply[P any](h op.Handle[P], p P, in ...*Array) *Array { return apply1(h.Op, p, in...) }

// apply1 is Apply with erased parameters.
func apply1(o *op.Op, params any, in ...*Array) *Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	return iv.first()
}

// applyMany applies an operator and returns its visible outputs. names has the meaning of
// applyNamed; it is nil for operators all of whose inputs are mandatory.
func applyMany(o *op.Op, params any, names []string, with []Input, in ...*Array) []*Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.fill(names, with)
	return iv.visible()
}

// applyNamed is apply1 for operators whose inputs depend on the parameters: in is the longest list
// of inputs, names their names; inputs that the parameters switch off are nil. Inputs given by name
// replace nils.
func applyNamed(o *op.Op, params any, names []string, with []Input, in ...*Array) *Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.fill(names, with)
	return iv.first()
}

// fill stores the inputs that were given by name at their positions in iv.in.
func (iv *invocation) fill(names []string, with []Input) {
	iv.names = names
	for _, w := range with {
		i := slices.Index(names, w.name)
		switch {
		case i < 0:
			panic(misuse(iv.op.Name, w.name, "no input of this name, want one of %s",
				strings.Join(names, ", ")))
		case w.array == nil:
			panic(misuse(iv.op.Name, w.name, "the array given by With is nil"))
		case iv.in[i] != nil:
			panic(misuse(iv.op.Name, w.name, "the input is given twice"))
		}
		iv.in[i] = w.array
	}
}

// applyTo applies an operator whose result overwrites out, which is returned.
func applyTo(out *Array, o *op.Op, params any, in ...*Array) *Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.room.out[0] = out
	iv.out = iv.room.out[:]
	return iv.first()
}

// newInvocation returns a pooled invocation with a copy of in, so that callers need not allocate
// their list.
func newInvocation(o *op.Op, params any, in []*Array) *invocation {
	iv := invocations.Get().(*invocation)
	iv.op, iv.params, iv.in = o, params, append(iv.room.in[:0], in...)
	return iv
}

var invocations = sync.Pool{New: func() any { return &invocation{} }}

// release returns an invocation to the pool.
func (iv *invocation) release() {
	*iv = invocation{}
	invocations.Put(iv)
}

// first performs the invocation and returns the first output; it panics on misuse.
func (iv *invocation) first() *Array {
	a, err := iv.perform()
	if err != nil {
		panic(blame(err, iv.op.Name))
	}
	return a
}

// perform performs the invocation and returns the first output.
func (iv *invocation) perform() (*Array, error) {
	p, err := iv.prepare()
	if err != nil {
		return nil, err
	}
	var buf [4]*Array
	results := buf[:]
	if len(p.out) > len(results) {
		results = make([]*Array, len(p.out))
	}
	if err := iv.push(p, results[:len(p.out)]); err != nil {
		return nil, err
	}
	return results[0], nil
}

// visible performs the invocation and returns its visible outputs; it panics on misuse.
func (iv *invocation) visible() []*Array {
	p, err := iv.prepare()
	if err == nil {
		results := make([]*Array, len(p.out))
		if err = iv.push(p, results); err == nil {
			return results[:iv.op.NumVisible(p.params)]
		}
	}
	panic(blame(err, iv.op.Name))
}
