package conformance

import (
	"fmt"
	"slices"

	"gomx/autograd"
	"gomx/op"

	nd "gomx/ndarray"
)

// SparseCases reads the cases below sparse/.
func SparseCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[sparseCase](g, "sparse/ops.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		list = append(list, Case{ID: c.ID, Run: c.run})
	}
	for _, part := range []func(g *Golden) ([]Case, error){LibSVMCases, sparseOptimCases,
		sparseTrainCases, sparseStoreCases} {
		more, err := part(g)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// sparseCase is one case of an operator with sparse operands.
type sparseCase struct {
	ID, File, Op, Alias string
	Attrs               map[string]string
	IsTrain             bool   `json:"is_train"`
	GradReq             string `json:"grad_req"`
	Inputs, Outputs     []storedRef
	HeadGrads           []storedRef `json:"head_grads"`
	Grads               []storedRef
	Via                 string // autograd: the gradients were computed by a tape
}

func (c *sparseCase) run(env Env) error {
	c.File = "sparse/ops.npz"
	o := op.Lookup(c.Op)
	if o == nil || op.Lookup(c.Alias) != o {
		return missing("operator %s", c.Op)
	}
	params, err := o.ParseParams(c.Attrs)
	if err != nil {
		return err
	}
	in := make([]*nd.Array, len(c.Inputs))
	for i, r := range c.Inputs {
		if in[i], err = env.stored(c.File, r); err != nil {
			return err
		}
	}
	params = o.WithCount(params, len(in))
	tape := autograd.Predict()
	if c.IsTrain {
		tape = autograd.Train()
	}
	var wrt []*nd.Array
	for _, r := range c.Grads {
		i := slices.IndexFunc(c.Inputs, func(in storedRef) bool { return in.Name == r.Name })
		if i < 0 {
			return fmt.Errorf("found a gradient of %s, want an input", r.Name)
		}
		in[i].AttachGradOf(c.gradStorage(o, params, i))
		wrt = append(wrt, in[i])
	}
	for i, a := range in {
		in[i] = tape.Watch(a)
	}
	out, err := nd.Invoke(o, params, in, nil)
	if err != nil {
		return err
	}
	for i, r := range c.Outputs {
		if err := compareStored(env.Golden, "output "+r.Name, out[i], c.File, r); err != nil {
			return err
		}
	}
	if len(wrt) == 0 {
		return nil
	}
	heads := make([]*nd.Array, len(c.HeadGrads))
	for i, r := range c.HeadGrads {
		if heads[i], err = env.stored(c.File, r); err != nil {
			return err
		}
		if c.Via == "" {
			heads[i] = heads[i].ToStorage(out[i].Storage())
		}
	}
	if err := autograd.Backward(out[:len(heads)], autograd.HeadGrads(heads...)); err != nil {
		return err
	}
	for i, r := range c.Grads {
		if err := compareStored(env.Golden, "gradient of "+r.Name, wrt[i].Grad(), c.File,
			r); err != nil {
			return err
		}
	}
	return nil
}

// gradStorage returns the storage type of the gradient of input i.
func (c *sparseCase) gradStorage(o *op.Op, params any, i int) op.Storage {
	stored := func(list []storedRef) []op.Storage {
		s := make([]op.Storage, len(list))
		for i, r := range list {
			s[i], _ = op.ParseStorage(r.Stype)
		}
		return s
	}
	if c.Via == "autograd" {
		return stored(c.Inputs)[i]
	}
	return o.GradStorage(params, stored(c.Inputs), stored(c.Outputs))[i]
}

// stored reads an array with its storage type.
func (env Env) stored(file string, r storedRef) (*nd.Array, error) {
	if r.Stype == "" || r.Stype == "default" {
		list, err := env.upload(file, []Ref{r.Ref})
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	s, err := env.Golden.content(file, r)
	if err != nil {
		return nil, err
	}
	return nd.FromContent(s)
}

// content reads the stored parts of a sparse array.
func (g *Golden) content(file string, r storedRef) (*op.Sparse, error) {
	kind, err := op.ParseStorage(r.Stype)
	if err != nil {
		return nil, err
	}
	dense, err := g.Array(file, r.Ref)
	if err != nil {
		return nil, err
	}
	if r.Data == nil || r.Indices == nil || (kind == op.CSR) != (r.Indptr != nil) {
		return nil, fmt.Errorf("%s is %v without its parts", r.Name, kind)
	}
	data, err := g.Array(file, *r.Data)
	if err != nil {
		return nil, err
	}
	indices, err := g.Array(file, *r.Indices)
	if err != nil {
		return nil, err
	}
	s := op.NewSparse(kind, dense.DType, dense.Shape)
	s.Room(indices.Shape.Size())
	copy(s.Indices, Elements[int64](indices))
	copy(s.Bytes(), data.Data)
	if kind == op.CSR {
		starts, err := g.Array(file, *r.Indptr)
		if err != nil {
			return nil, err
		}
		copy(s.Starts, Elements[int64](starts))
	}
	return s, s.Check()
}

// compareStored compares storage type, structure and values of an array.
func compareStored(g *Golden, what string, x *nd.Array, file string, r storedRef) error {
	return compareStoredWithin(g, what, x, file, r, sparseTolerance)
}

// compareStoredWithin is compareStored with a tolerance of the values.
func compareStoredWithin(g *Golden, what string, x *nd.Array, file string, r storedRef,
	tolerance func(want *Array) Tolerance) error {
	if got := x.Storage().String(); got != r.Stype {
		return fmt.Errorf("%s is %s, want %s", what, got, r.Stype)
	}
	want, err := g.Array(file, r.Ref)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := compare(what, got, want, tolerance(want)); err != nil {
		return err
	}
	if x.Storage() == op.Dense {
		return nil
	}
	s, err := g.content(file, r)
	if err != nil {
		return err
	}
	indices, err := x.Indices()
	if err != nil {
		return err
	}
	if !slices.Equal(indices, s.Indices) {
		return fmt.Errorf("%s stores %v, want %v", what, indices, s.Indices)
	}
	if x.Storage() == op.CSR {
		starts, err := x.IndPtr()
		if err != nil {
			return err
		}
		if !slices.Equal(starts, s.Starts) {
			return fmt.Errorf("%s has the starts of rows %v, want %v", what, starts, s.Starts)
		}
	}
	return nil
}

// sparseTolerance is the tolerance of the cases of operators with sparse operands.
func sparseTolerance(want *Array) Tolerance {
	if want.DType.IsFloat() {
		return Tolerance{1e-5, 1e-4}
	}
	return Tolerance{}
}
