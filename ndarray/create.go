package ndarray

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
	"gomx/op/random"
)

// Empty returns an array whose values are undefined.
func Empty(shape Shape, opts ...Option) *Array {
	if err := checkShape(shape); err != nil {
		panic(misuse("Empty", "shape", "%v", err))
	}
	o := collect(opts)
	a, err := newArray(o.eng, o.dev, o.dtype, append(Shape{}, shape...), o.name)
	if err != nil {
		panic(misuse("Empty", "", "%v", err))
	}
	return a
}

// Zeros returns an array of zeros.
func Zeros(shape Shape, opts ...Option) *Array { return Full(0, shape, opts...) }

// Ones returns an array of ones.
func Ones(shape Shape, opts ...Option) *Array { return Full(1, shape, opts...) }

// Full returns an array whose elements are v.
func Full(v float64, shape Shape, opts ...Option) *Array {
	a := Empty(shape, opts...)
	fill(a, v)
	return a
}

// Uniform returns uniformly distributed random numbers in [lo, hi).
func Uniform(lo, hi float64, shape Shape, opts ...Option) *Array {
	a := Empty(shape, opts...)
	fillWith(a, random.Uniform.Op, random.UniformParams{Low: lo, High: op.Some(hi),
		DType: op.Some(a.dtype), Shape: []int{a.Size()}}, opts)
	return a
}

// Normal returns normally distributed random numbers.
func Normal(mean, sd float64, shape Shape, opts ...Option) *Array {
	if sd == 0 {
		return Full(mean, shape, opts...)
	}
	a := Empty(shape, opts...)
	fillWith(a, random.Normal.Op, random.NormalParams{Loc: mean, Scale: op.Some(sd),
		DType: op.Some(a.dtype), Shape: []int{a.Size()}}, opts)
	return a
}

// Arange returns the vector start, start+step, … up to but not including stop.
func Arange(start, stop, step float64, opts ...Option) *Array {
	if step == 0 {
		panic(misuse("Arange", "step", "0, want another number"))
	}
	return applyNew(prim.Arange.Op, prim.ArangeParams{Start: start, Stop: op.Some(stop),
		Step: op.Some(step), DType: collect(opts).dtype}, opts)
}

// Fill sets all elements of a to v.
func (a *Array) Fill(v float64) {
	a.mem("Fill")
	a.checkWritable("Fill")
	fill(a, v)
}

// fill sets all elements of a.
func fill(a *Array, v float64) {
	fillWith(a, prim.Full.Op, prim.FullParams{Shape: []int{a.Size()}, DType: a.dtype, Value: v},
		nil)
}

// fillWith overwrites a by an operator that makes a vector of a's size.
func fillWith(a *Array, o *op.Op, params any, opts []Option) {
	if a.Size() == 0 {
		return
	}
	flat := a.share(&Array{}, o.Name)
	defer flat.Close()
	flat.shape = Shape{a.Size()}
	with := collect(opts)
	iv := invocation{op: o, params: params, out: []*Array{flat}, seeded: with.seeded,
		seed: op.Seed{Key: with.seed}}
	iv.first()
}

// applyNew applies an operator without inputs.
func applyNew(made *op.Op, params any, opts []Option) *Array {
	o := collect(opts)
	if o.dtype != dtype.Float32 {
		params = typed(made, params, o.dtype)
	}
	iv := invocation{op: made, params: params, eng: o.eng, dev: o.dev, name: o.name,
		seeded: o.seeded, seed: op.Seed{Key: o.seed}}
	return iv.first()
}

// typed returns the parameters with t as the element type of the array that the operator makes.
func typed(made *op.Op, params any, t dtype.Type) any {
	p, err := made.Normalize(params)
	if err == nil {
		attrs := made.FormatParams(p)
		attrs["dtype"] = t.String()
		p, err = made.ParseParams(attrs)
	}
	if err != nil {
		panic(op.Errorf("As", "%s does not make arrays of %v: %v", made.Name, t, err))
	}
	return p
}
