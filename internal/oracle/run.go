package oracle

import (
	"context"
	"fmt"
	"slices"

	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// Answer is the result of a call.
type Answer struct {
	Error    string
	Crash    string // of the peer
	Outputs  []Operand
	After    []Operand          // inputs after an imperative call
	Grads    map[string]Operand // by argument
	AuxAfter map[string]Operand
}

// Run computes the call with this framework.
func (c *Call) Run() (a Answer) {
	var err error
	func() {
		defer op.Recover(&err)
		switch {
		case c.Tape:
			err = c.runTape(&a)
		case c.Imperative:
			err = c.runImperative(&a)
		default:
			err = c.runGraph(&a)
		}
	}()
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return a
}

func upload(x Operand) (*nd.Array, error) {
	if x.Storage != op.Dense {
		return nd.FromContent(x.content())
	}
	a := nd.Empty(x.Shape, nd.As(x.DType))
	return a, a.WriteBytes(x.Data)
}

func download(a *nd.Array) (Operand, error) {
	x := newOperand(a.DType(), a.Shape())
	if a.Storage() != op.Dense {
		return x, downloadSparse(&x, a)
	}
	return x, a.ReadBytes(context.Background(), x.Data)
}

func downloadAll(list []*nd.Array) ([]Operand, error) {
	out := make([]Operand, len(list))
	for i, a := range list {
		var err error
		if out[i], err = download(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// viewOf puts x into the middle of a larger array.
func viewOf(x Operand) (*nd.Array, error) {
	s := x.Shape.Clone()
	s[0] += 2
	big := nd.Zeros(s, nd.As(x.DType))
	v := big.Slice(1, 1+x.Shape[0])
	return v, v.WriteBytes(x.Data)
}

func (c *Call) runImperative(a *Answer) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	in := make([]*nd.Array, len(c.In))
	for i, x := range c.In {
		switch {
		case c.Same[i] >= 0:
			in[i] = in[c.Same[i]]
		case c.Views[i]:
			in[i], err = viewOf(x)
		default:
			in[i], err = upload(x)
		}
		if err != nil {
			return err
		}
	}
	var out []*nd.Array
	for _, x := range c.Out {
		y, err := upload(x)
		if err != nil {
			return err
		}
		out = append(out, y)
	}
	if out != nil {
		for range len(c.Op.Outputs(params)) - len(out) {
			out = append(out, nil)
		}
	}
	res, err := nd.Invoke(c.Op, params, in, out)
	if err != nil {
		return err
	}
	if a.Outputs, err = downloadAll(res[:c.Op.NumVisible(params)]); err != nil {
		return err
	}
	a.After, err = downloadAll(in)
	return err
}

func (c *Call) runGraph(a *Answer) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	text, err := c.graph(c.Op.NumVisible(params))
	if err != nil {
		return err
	}
	s, err := sym.Load(text)
	if err != nil {
		return err
	}
	cfg := sym.BindConfig{Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{},
		Grads:   map[string]*nd.Array{},
		GradReq: map[string]op.Req{}, DefaultReq: op.ReqNull, Seed: 1}
	aux := c.aux()
	for i, name := range c.names() {
		if c.Same[i] >= 0 {
			continue
		}
		x, err := upload(c.In[i])
		if err != nil {
			return err
		}
		if aux[i] {
			cfg.Aux[name] = x
			continue
		}
		cfg.Args[name] = x
		if cfg.GradReq[name], err = op.ParseReq(c.Req[i]); err != nil {
			return err
		}
		if c.Req[i] != "null" && !c.Sparse {
			if cfg.Grads[name], err = upload(c.Grads[i]); err != nil {
				return err
			}
		}
	}
	ex, err := s.SimpleBind(cfg)
	if err != nil {
		return err
	}
	return c.runBound(ex, a)
}

func (c *Call) runBound(ex *sym.Executor, a *Answer) (err error) {
	if err := ex.Forward(c.Train); err != nil {
		return err
	}
	if a.Outputs, err = downloadAll(ex.Outputs()); err != nil {
		return err
	}
	if c.Heads != nil {
		heads := make([]*nd.Array, len(c.Heads))
		for i, x := range c.Heads {
			if heads[i], err = upload(x); err != nil {
				return err
			}
		}
		if err := ex.Backward(heads...); err != nil {
			return err
		}
	}
	a.Grads, a.AuxAfter = map[string]Operand{}, map[string]Operand{}
	for i, name := range c.names() {
		if c.Req[i] != "null" {
			if a.Grads[name], err = download(ex.Grads[name]); err != nil {
				return fmt.Errorf("gradient of %s: %w", name, err)
			}
		}
	}
	for name, x := range ex.Aux {
		if a.AuxAfter[name], err = download(x); err != nil {
			return err
		}
	}
	return nil
}

// request is the question to the peer.
func (c *Call) request() (map[string]any, error) {
	if c.Tape {
		return c.tapeRequest(), nil
	}
	if c.Imperative {
		out := c.Out
		if out == nil {
			out = []Operand{}
		}
		return map[string]any{"mode": "imperative", "op": c.Op.Name, "attrs": c.attrs(),
			"inputs": append([]Operand{}, c.In...), "views": c.Views,
			"same": c.Same, "out": out}, nil
	}
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	text, err := c.graph(c.Op.NumVisible(params))
	if err != nil {
		return nil, err
	}
	args, grads, aux, req := map[string]Operand{}, map[string]Operand{}, map[string]Operand{},
		map[string]string{}
	isAux := c.aux()
	for i, name := range c.names() {
		switch {
		case isAux[i]:
			aux[name] = c.In[i]
		case c.Same[i] < 0:
			args[name], req[name] = c.In[i], c.Req[i]
			if c.Req[i] != "null" && !c.Sparse {
				grads[name] = c.Grads[i]
			}
		}
	}
	mode := "symbolic"
	if c.Sparse {
		mode = "stored"
	}
	return map[string]any{"mode": mode, "json": string(text), "args": args, "grads": grads,
		"aux": aux, "req": req, "train": c.Train,
		"heads": slices.Clip(append([]Operand{}, c.Heads...))}, nil
}
