package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomx/dtype"
	"gomx/op"
)

// Operand is an array on the host. A sparse one has its dense value, and the places of the values
// that it stores.
type Operand struct {
	DType   dtype.Type
	Shape   dtype.Shape
	Data    []byte // little endian, row-major
	Storage op.Storage
	Indices []int64 // rows of a row_sparse operand; columns of a csr operand, row by row
	Starts  []int64 // csr: where the elements of each row begin among Indices, and their number
}

// MarshalJSON writes an operand as the peer reads it.
func (a Operand) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"dtype": a.DType.String(), "shape": append([]int{},
		a.Shape...), "data": a.Data, "stype": a.Storage.String(), "indices": a.Indices,
		"starts": a.Starts})
}

// UnmarshalJSON reads an operand.
func (a *Operand) UnmarshalJSON(b []byte) (err error) {
	var x struct {
		DType, SType    string
		Shape           []int
		Data            []byte
		Indices, Starts []int64
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	a.Shape, a.Data = append(dtype.Shape{}, x.Shape...), x.Data
	a.Indices, a.Starts = x.Indices, x.Starts
	if a.Storage, err = op.ParseStorage(x.SType); err != nil {
		return err
	}
	a.DType, err = dtype.Parse(x.DType)
	return err
}

// Call is one application of an operator.
type Call struct {
	Op         *op.Op
	Attrs      map[string]string
	In         []Operand
	Same       []int // per input: the earlier input that is used again, or -1
	Views      []bool
	Imperative bool
	Out        []Operand // outputs that are given, with their old content; nil: none
	Train      bool
	Heads      []Operand // gradients of the outputs; nil: forward only
	Grads      []Operand // per input: old content of its gradient
	Req        []string  // per input: write, add or null

	Sparse bool // with sparse operands: simple_bind chooses the storage of gradients
	Tape   bool // with a tape instead of a graph: Grads have the storage of gradients
}

// names returns the names of the arguments, auxiliary states included: the k-th for input k, and
// the name of the earlier input where one is used again.
func (c *Call) names() []string {
	list := make([]string, len(c.In))
	for i := range list {
		if list[i] = fmt.Sprintf("x%d", i); c.Same[i] >= 0 {
			list[i] = list[c.Same[i]]
		}
	}
	return list
}

// aux reports which inputs are auxiliary states.
func (c *Call) aux() []bool {
	list := make([]bool, len(c.In))
	if params, err := c.params(); err == nil {
		for i, in := range c.Op.Inputs(params) {
			list[i] = i < len(list) && in.Role == op.Aux
		}
	}
	return list
}

// params parses the attributes.
func (c *Call) params() (any, error) {
	params, err := c.Op.ParseParams(c.Attrs)
	if err == nil && c.Op.Variadic {
		params = c.Op.WithCount(params, len(c.In))
	}
	return params, err
}

// attrs are the attributes with the number of inputs.
func (c *Call) attrs() map[string]string {
	attrs := maps.Clone(c.Attrs)
	for _, p := range c.Op.Params() {
		if p.Auto {
			attrs[p.Name] = fmt.Sprint(len(c.In))
		}
	}
	return attrs
}

// graph returns the file of a network of this one operator.
func (c *Call) graph(outputs int) ([]byte, error) {
	type node struct {
		Op     string            `json:"op"`
		Name   string            `json:"name"`
		Attrs  map[string]string `json:"attrs,omitempty"`
		Inputs [][3]int          `json:"inputs"`
	}
	var nodes []node
	at := map[string]int{}
	last := node{Op: c.Op.Name, Name: "op", Attrs: c.attrs(), Inputs: [][3]int{}}
	args := []int{}
	for _, name := range c.names() {
		if _, ok := at[name]; !ok {
			at[name] = len(nodes)
			args = append(args, len(nodes))
			nodes = append(nodes, node{Op: "null", Name: name, Inputs: [][3]int{}})
		}
		last.Inputs = append(last.Inputs, [3]int{at[name], 0, 0})
	}
	nodes = append(nodes, last)
	heads := [][3]int{}
	for i := range outputs {
		heads = append(heads, [3]int{len(nodes) - 1, i, 0})
	}
	return json.Marshal(map[string]any{"nodes": nodes, "arg_nodes": args, "heads": heads,
		"node_row_ptr": []int{}, "attrs": map[string]any{"mxnet_version": []any{"int", 10901}}})
}

// String describes the call in one line.
func (c *Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s{", c.Op.Name)
	for i, k := range slices.Sorted(maps.Keys(c.Attrs)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%s", k, c.Attrs[k])
	}
	b.WriteString("}(")
	for i, x := range c.In {
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case c.Same[i] >= 0:
			fmt.Fprintf(&b, "input %d", c.Same[i])
			continue
		case c.Views[i]:
			b.WriteString("view of ")
		}
		if x.Storage != op.Dense {
			fmt.Fprintf(&b, "%v ", x.Storage)
		}
		fmt.Fprintf(&b, "%v %v", x.DType, x.Shape)
	}
	b.WriteString(")")
	switch {
	case c.Tape:
		b.WriteString(" tape, gradients")
		for i, g := range c.Grads {
			if c.Req[i] != "null" {
				fmt.Fprintf(&b, " %v", g.Storage)
			}
		}
		fmt.Fprintf(&b, ", head %v", c.Heads[0].Storage)
	case c.Imperative && c.Out != nil && c.Sparse:
		fmt.Fprintf(&b, " imperative, out %v given", c.Out[0].Storage)
	case c.Imperative && c.Out != nil:
		b.WriteString(" imperative, out given")
	case c.Imperative:
		b.WriteString(" imperative")
	case c.Heads != nil:
		fmt.Fprintf(&b, " graph, train %v, backward %s", c.Train, strings.Join(c.Req, " "))
	default:
		fmt.Fprintf(&b, " graph, train %v", c.Train)
	}
	return b.String()
}
