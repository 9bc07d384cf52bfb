package prim

import (
	"slices"
	"strconv"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// PointwiseParams configures FusedPointwise.
type PointwiseParams struct {
	Code    string `op:"code,required" doc:"the program, as Chain spells it"`
	Inputs  int    `op:"inputs,required" min:"0" max:"4096" doc:"its number of inputs"`
	Outputs int    `op:"outputs,required" min:"1" max:"4096" doc:"its number of outputs"`
}

// Params returns the parameters of the operator that computes c.
func (c *Chain) Params() PointwiseParams {
	return PointwiseParams{Code: c.Code(), Inputs: c.Inputs, Outputs: len(c.Outs)}
}

// parse reads the program and checks the numbers that go with it.
func (p PointwiseParams) parse() (*Chain, error) {
	c, err := ParseChain(p.Code)
	if err == nil && (c.Inputs != p.Inputs || len(c.Outs) != p.Outputs) {
		return nil, op.Errorf("code", "%d inputs and %d outputs, want %d and %d", c.Inputs,
			len(c.Outs), p.Inputs, p.Outputs)
	}
	return c, err
}

// FusedPointwise computes a chain of pointwise operators in one pass over memory, block by block,
// and gives the same bits as the operators one by one. Passes make it after the gradient.
var FusedPointwise = op.Declare[PointwiseParams]("_fused_pointwise")

// chainArgs is the number of inputs and outputs that may share memory; kernels find out at run time
// which ones do.
const chainArgs = 16

func init() {
	var pairs [][2]int
	for i := range chainArgs {
		for o := range chainArgs / 2 {
			pairs = append(pairs, [2]int{i, o})
		}
	}
	FusedPointwise.Define(op.Spec[PointwiseParams]{
		Traits: op.Traits{Hidden: true, Pointwise: true, NoGrad: "it is made after the gradient",
			Inplace: pairs},
		Inputs: func(p PointwiseParams) []op.Input { return args(p.Inputs) },
		Outputs: func(p PointwiseParams) []string {
			names := make([]string, p.Outputs)
			for i := range names {
				names[i] = "output" + strconv.Itoa(i)
			}
			return names
		},
		Infer: func(p PointwiseParams, in, out []dtype.Shape) error {
			c, err := p.parse()
			if err != nil {
				return err
			}
			return c.infer(in, out)
		},
		InferType: func(p PointwiseParams, in, out []dtype.Type) error {
			c, err := p.parse()
			switch {
			case err != nil:
				return err
			case slices.Contains(in, dtype.Unknown) && c.casts():
				return nil
			case slices.Contains(in, dtype.Unknown):
				return op.FloatType(p, in, out)
			}
			types, err := c.types(in)
			if err != nil {
				return err
			}
			for k, v := range c.Outs {
				if err := requireType("output", &out[k], types[v]); err != nil {
					return err
				}
			}
			return nil
		},
		Ref: func(p PointwiseParams, c *op.Call) error {
			a := &op.Args{Threads: 1, Train: c.Train}
			for _, t := range c.In {
				a.In = append(a.In, t.Desc)
			}
			for _, t := range c.Out {
				a.Out = append(a.Out, t.Desc)
			}
			k, err := prepareBlocks(p, a, device.TierRef)
			if err != nil {
				return err
			}
			call := *c
			call.Scratch = unsafe.Pointer(unsafe.SliceData(make([]uint64, k.Scratch/8+1)))
			return k.Run(&call)
		},
	})
}

// chainBlock is the number of elements that Go kernels compute at a time.
const chainBlock = 1024

// blocks computes a chain with the kernels of its operators, block by block.
type blocks struct {
	*Chain
	n            int
	types        []dtype.Type // of the values
	widest       int          // bytes of the widest element
	each, repeat []int        // per input; repeat 0: as large as the output
	whole, tail  []*op.Prepared
	// buffers is the size in bytes of the values' blocks in scratch memory; the kernels' own
	// scratch memory follows.
	buffers int
}

// prepareBlocks prepares every operator for one block, with kernels up to a tier.
func prepareBlocks(p PointwiseParams, a *op.Args, tier device.Tier) (*op.Prepared, error) {
	c, err := p.parse()
	if err != nil {
		return nil, err
	}
	b := &blocks{Chain: c, n: a.Out[0].Shape.Size()}
	if b.types, err = c.types(typesOf(a.In)); err != nil {
		return nil, err
	}
	for _, t := range b.types {
		b.widest = max(b.widest, t.Size())
	}
	for k, d := range a.In {
		each, size, ok := Repeats(d.Shape, a.Out[0].Shape)
		if !ok {
			return nil, op.Errorf("arg"+strconv.Itoa(k),
				"shape %v does not repeat along %v in one way", d.Shape, a.Out[0].Shape)
		}
		b.each, b.repeat = append(b.each, each), append(b.repeat, size)
	}
	inner := 0
	for at, s := range c.Steps {
		for i, m := range []int{chainBlock, b.n % chainBlock} {
			args := stepArgs(b.types[s.Args[0]], min(m, b.n), len(s.Args), a.Train)
			args.Out[0] = op.Plain(b.types[c.Inputs+at], args.Out[0].Shape)
			k, err := s.Op.Prepare(device.CPU(), tier, s.Params, args)
			if err != nil {
				return nil, err
			}
			inner = max(inner, k.Scratch)
			if i == 0 {
				b.whole = append(b.whole, k)
			} else {
				b.tail = append(b.tail, k)
			}
		}
	}
	b.buffers = len(b.types) * chainBlock * b.widest
	return &op.Prepared{Scratch: b.buffers + inner, Run: b.run}, nil
}

// stepArgs describes operands of m elements each.
func stepArgs(t dtype.Type, m, inputs int, train bool) *op.Args {
	d := op.Plain(t, dtype.Shape{m})
	a := &op.Args{Threads: 1, Train: train, Out: []op.Desc{d}}
	for range inputs {
		a.In = append(a.In, d)
	}
	return a
}

func (b *blocks) run(c *op.Call) error {
	values := make([]op.Tensor, b.Inputs+len(b.Steps))
	for at := 0; at < b.n; at += chainBlock {
		m, kernels := min(chainBlock, b.n-at), b.whole
		if m < chainBlock && b.n > chainBlock {
			kernels = b.tail
		}
		for v := range values {
			values[v] = op.Tensor{Desc: op.Plain(b.types[v], dtype.Shape{m}),
				Data: unsafe.Add(c.Scratch, v*chainBlock*b.widest)}
		}
		for k := range c.In {
			b.load(&values[k], c.In[k], k, at, m)
		}
		for i, s := range b.Steps {
			call := op.Call{Train: c.Train, Out: values[b.Inputs+i : b.Inputs+i+1],
				Scratch: unsafe.Add(c.Scratch, b.buffers)}
			for _, a := range s.Args {
				call.In = append(call.In, values[a])
			}
			if err := kernels[i].Run(&call); err != nil {
				return err
			}
		}
		for k, v := range b.Outs {
			if c.Out[k].Data != nil {
				copy(b.bytes(v, c.Out[k].Data, at, m), b.bytes(v, values[v].Data, 0, m))
			}
		}
	}
	return nil
}

// bytes views elements at to at+n of the memory at p as value v has them.
func (b *blocks) bytes(v int, p unsafe.Pointer, at, n int) []byte {
	size := b.types[v].Size()
	return unsafe.Slice((*byte)(unsafe.Add(p, at*size)), n*size)
}

// load brings elements at to at+m of input k, as it is broadcast, into its block.
func (b *blocks) load(block *op.Tensor, t op.Tensor, k, at, m int) {
	if b.repeat[k] == 0 {
		block.Data = unsafe.Add(t.Data, at*b.types[k].Size())
		return
	}
	for i := range m {
		copy(b.bytes(k, block.Data, i, 1), b.bytes(k, t.Data, (at+i)/b.each[k]%b.repeat[k], 1))
	}
}
