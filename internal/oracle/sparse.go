package oracle

import (
	"regexp"
	"slices"

	"gomx/autograd"
	"gomx/dtype"
	"gomx/op"

	nd "gomx/ndarray"
)

// without matches operators that have no calls here: they end MXNet when an operand is sparse, or
// zeros among their operands have no meaning.
var without = regexp.MustCompile("quantize|calibrate|_linalg_|_random_pdf_")

// GenerateSparse draws a call of o with operands in sparse storage; ok is false where none of them
// can be sparse. The same seed gives the same call. A third of the calls is imperative, with outputs
// of some storage now and then, a third a graph whose storage types are inferred, and a third is on
// a tape.
func GenerateSparse(o *op.Op, seed uint64) (c *Call, ok bool) {
	if o.Random || o.Update || without.MatchString(o.Name) {
		return nil, false
	}
	if c, ok = Generate(o, seed); !ok {
		return nil, false
	}
	d := drawer{randomOf(seed, "sparse "+o.Name)}
	c.Sparse = true
	sparse := drawStorage(d, c.In)
	for i := range c.In {
		c.Views[i] = false
		if c.Same[i] >= 0 {
			c.In[i] = c.In[c.Same[i]]
		}
		if c.Req[i] == "add" {
			c.Req[i] = "write"
		}
	}
	if drawStorage(d, c.Out) {
		sparse = true
	}
	aux := c.aux()
	for i := range aux {
		if aux[i] {
			return nil, false // states stay dense
		}
	}
	if c.Heads != nil && d.IntN(2) == 0 {
		c.Tape = true
		drawTape(d, c)
	}
	return c, sparse
}

// drawTape draws the storage of gradients and heads: that of the inputs, or dense.
func drawTape(d drawer, c *Call) {
	params, err := c.params()
	if err != nil {
		return
	}
	in := make([]op.Storage, len(c.In))
	for i, x := range c.In {
		in[i] = x.Storage
	}
	out, _ := c.Op.OutStorage(params, in)
	for i := range c.Heads {
		if d.IntN(2) == 0 {
			c.Heads[i] = drawSparse(d, c.Heads[i], out[i])
		}
	}
	like := d.IntN(2) == 0
	for i := range c.Grads {
		if like {
			c.Grads[i] = drawSparse(d, c.Grads[i], in[i])
		}
	}
}

// drawStorage makes half of the operands sparse, where they can be, and reports whether it has
// changed any.
func drawStorage(d drawer, list []Operand) (any bool) {
	for i, x := range list {
		if len(x.Shape) == 0 || x.Shape.Size() == 0 || x.DType == dtype.Bool || d.IntN(2) > 0 {
			continue
		}
		s := op.RowSparse
		if len(x.Shape) == 2 && d.IntN(2) == 0 {
			s = op.CSR
		}
		list[i] = drawSparse(d, x, s)
		any = true
	}
	return any
}

// drawSparse gives x a storage type, with values at places that it draws: none, some or all. One value
// in eight is zero.
func drawSparse(d drawer, x Operand, s op.Storage) Operand {
	if s == op.Dense {
		return x
	}
	x.Storage = s
	density := []float64{0, 0.2, 0.5, 1}[d.IntN(4)]
	row, size := x.Shape.Size()/x.Shape[0], x.DType.Size()
	old := x.Data
	x.Data = make([]byte, len(old))
	take := func(from, n int) {
		for k := from; k < from+n; k++ {
			if d.IntN(8) > 0 {
				copy(x.Data[k*size:(k+1)*size], old[k*size:])
			}
		}
	}
	if s == op.CSR {
		x.Starts = []int64{0}
	}
	for r := range x.Shape[0] {
		if s == op.RowSparse {
			if d.Float64() < density {
				x.Indices = append(x.Indices, int64(r))
				take(r*row, row)
			}
			continue
		}
		for k := range row {
			if d.Float64() < density {
				x.Indices = append(x.Indices, int64(k))
				take(r*row+k, 1)
			}
		}
		x.Starts = append(x.Starts, int64(len(x.Indices)))
	}
	return x
}

// places calls f with the place of each run of stored values in the dense value, in elements.
func (a Operand) places(f func(stored, dense, n int)) {
	row := a.Shape.Size() / max(a.Shape[0], 1)
	if a.Storage == op.RowSparse {
		for i, r := range a.Indices {
			f(i*row, int(r)*row, row)
		}
		return
	}
	for r := range a.Shape[0] {
		for i := a.Starts[r]; i < a.Starts[r+1]; i++ {
			f(int(i), r*row+int(a.Indices[i]), 1)
		}
	}
}

// content returns the content of an array.
func (a Operand) content() *op.Sparse {
	s := op.NewSparse(a.Storage, a.DType, a.Shape.Clone())
	s.Room(len(a.Indices))
	copy(s.Indices, a.Indices)
	copy(s.Starts, a.Starts)
	size := a.DType.Size()
	a.places(func(stored, dense, n int) {
		copy(s.Bytes()[stored*size:(stored+n)*size], a.Data[dense*size:])
	})
	return s
}

// downloadSparse reads a sparse array into x, an operand of zeros.
func downloadSparse(x *Operand, a *nd.Array) error {
	s, err := a.Content()
	if err != nil {
		return err
	}
	x.Storage, x.Indices, x.Starts = s.Storage, slices.Clone(s.Indices), slices.Clone(s.Starts)
	size := x.DType.Size()
	x.places(func(stored, dense, n int) {
		copy(x.Data[dense*size:(dense+n)*size], s.Bytes()[stored*size:])
	})
	return nil
}

// runTape computes the call and its gradients with a tape.
func (c *Call) runTape(a *Answer) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	tape := autograd.Train()
	in, watched := make([]*nd.Array, len(c.In)), make([]*nd.Array, len(c.In))
	for i, x := range c.In {
		if c.Same[i] >= 0 {
			in[i], watched[i] = in[c.Same[i]], watched[c.Same[i]]
			continue
		}
		if in[i], err = upload(x); err != nil {
			return err
		}
		if c.Req[i] != "null" {
			in[i].AttachGradOf(c.Grads[i].Storage)
		}
		watched[i] = tape.Watch(in[i])
	}
	res, err := nd.Invoke(c.Op, params, watched, nil)
	if err != nil {
		return err
	}
	res = res[:c.Op.NumVisible(params)]
	if a.Outputs, err = downloadAll(res); err != nil {
		return err
	}
	heads := make([]*nd.Array, len(c.Heads))
	for i, x := range c.Heads {
		if heads[i], err = upload(x); err != nil {
			return err
		}
	}
	if err := autograd.Backward(res, autograd.HeadGrads(heads...)); err != nil {
		return err
	}
	a.Grads = map[string]Operand{}
	for i, name := range c.names() {
		if c.Req[i] != "null" && c.Same[i] < 0 {
			if a.Grads[name], err = download(in[i].Grad()); err != nil {
				return err
			}
		}
	}
	return nil
}

// tapeRequest is the question to the peer.
func (c *Call) tapeRequest() map[string]any {
	stored := make([]string, len(c.In))
	for i := range stored {
		stored[i] = op.Dense.String()
		if c.Grads != nil {
			stored[i] = c.Grads[i].Storage.String()
		}
	}
	return map[string]any{"mode": "tape", "op": c.Op.Name, "attrs": c.attrs(),
		"inputs": append([]Operand{}, c.In...), "same": c.Same, "req": c.Req,
		"gradstypes": stored, "heads": append([]Operand{}, c.Heads...)}
}
