package rnn

import (
	"fmt"
	"maps"

	nd "gomx/ndarray"
	"gomx/op"
)

// weights describes the parameters of a cell: the parameters of each gate, and the arrays that
// hold them one after the other.
type weights struct {
	joined []string   // names of the arrays
	parts  [][]string // for each array the names of its parts, in order
	// shape returns the shape of a part of an array, which has the shape whole
	shape func(array, part int, whole nd.Shape) nd.Shape
}

// weigher is a cell with parameters that Unpack divides.
type weigher interface{ weights() []weights }

// weightsOf describes the parameters of a cell.
func weightsOf(c Cell) []weights {
	if w, ok := c.(weigher); ok {
		return w.weights()
	}
	return nil
}

// Unpack divides the parameters of a cell's gates: lstm_i2h_weight becomes lstm_i2h_i_weight,
// lstm_i2h_f_weight, lstm_i2h_c_weight and lstm_i2h_o_weight. Other arrays stay. The result has
// copies. Parameters that cells share have the prefix of their Params.
//
// MXNet: BaseRNNCell.unpack_weights.
func Unpack(c Cell, args map[string]*nd.Array) (out map[string]*nd.Array, err error) {
	defer op.Recover(&err)
	out = maps.Clone(args)
	done := map[string]bool{} // cells may share parameters
	for _, w := range weightsOf(c) {
		for i, name := range w.joined {
			if done[name] {
				continue
			}
			done[name] = true
			whole := out[name]
			if whole == nil {
				return nil, fmt.Errorf("rnn: Unpack: parameter %s is missing", name)
			}
			delete(out, name)
			if err := w.unpack(out, i, whole); err != nil {
				return nil, fmt.Errorf("rnn: Unpack: parameter %s: %w", name, err)
			}
		}
	}
	return out, nil
}

// unpack copies the parts of an array.
func (w weights) unpack(out map[string]*nd.Array, array int, whole *nd.Array) error {
	flat, at := whole.Reshape(-1), 0
	for k, part := range w.parts[array] {
		shape := w.shape(array, k, whole.Shape())
		if n := shape.Size(); n <= 0 || at+n > flat.Size() {
			return fmt.Errorf("shape %v has no room for part %s", whole.Shape(), part)
		}
		out[part] = flat.Slice(at, at+shape.Size()).Copy().Reshape(shape...)
		at += shape.Size()
	}
	if at != flat.Size() {
		return fmt.Errorf("%d numbers, want %d", flat.Size(), at)
	}
	return nil
}

// Pack joins the parameters of a cell's gates: the inverse of Unpack.
//
// MXNet: BaseRNNCell.pack_weights.
func Pack(c Cell, args map[string]*nd.Array) (out map[string]*nd.Array, err error) {
	defer op.Recover(&err)
	out = maps.Clone(args)
	done := map[string]bool{}
	for _, w := range weightsOf(c) {
		for i, name := range w.joined {
			if done[name] {
				continue
			}
			done[name] = true
			var list []*nd.Array
			for _, part := range w.parts[i] {
				if out[part] == nil {
					return nil, fmt.Errorf("rnn: Pack: parameter %s is missing", part)
				}
				x := out[part]
				if len(w.joined) == 1 { // a vector of everything
					x = x.Reshape(-1)
				}
				list = append(list, x)
				delete(out, part)
			}
			out[name] = nd.Concat(list, nd.ConcatParams{Dim: nd.Some(0)})
		}
	}
	return out, nil
}

// single describes the parameters of a cell with gates of the given names.
func single(p *Params, hidden int, gates ...string) []weights {
	w := weights{shape: func(_, _ int, whole nd.Shape) nd.Shape {
		return append(nd.Shape{hidden}, whole[1:]...)
	}}
	for _, name := range []string{"i2h%s_weight", "i2h%s_bias", "h2h%s_weight", "h2h%s_bias"} {
		w.joined = append(w.joined, p.prefix+fmt.Sprintf(name, ""))
		var parts []string
		for _, g := range gates {
			parts = append(parts, p.prefix+fmt.Sprintf(name, g))
		}
		w.parts = append(w.parts, parts)
	}
	return []weights{w}
}

// gateNames are the suffixes of the gates by kind of cell.
var gateNames = map[string][]string{LSTM: {"_i", "_f", "_c", "_o"}, GRU: {"_r", "_z", "_o"},
	Tanh: {""}, ReLU: {""}}

func (c *RNNCell) weights() []weights { return single(c.params(), c.Hidden, "") }

func (c *LSTMCell) weights() []weights { return single(c.params(), c.Hidden, gateNames[LSTM]...) }

func (c *GRUCell) weights() []weights { return single(c.params(), c.Hidden, gateNames[GRU]...) }

func (c *ConvRNNCell) weights() []weights { return single(c.params(), c.Hidden, "") }

func (c *ConvLSTMCell) weights() []weights {
	return single(c.params(), c.Hidden, gateNames[LSTM]...)
}

func (c *ConvGRUCell) weights() []weights { return single(c.params(), c.Hidden, gateNames[GRU]...) }

func (s Stack) weights() (list []weights) {
	for _, c := range s {
		list = append(list, weightsOf(c)...)
	}
	return list
}

func (r *Residual) weights() []weights { return weightsOf(r.Cell) }

func (z *Zoneout) weights() []weights { return weightsOf(z.Cell) }

func (b *Bidirectional) weights() []weights {
	return append(weightsOf(b.Left), weightsOf(b.Right)...)
}

// weights describes the vector of Fused: the weights of all layers and directions, then the biases;
// each for the input, then for the last output.
func (f *Fused) weights() []weights {
	gates, h, d := gateNames[f.mode()], f.Hidden, len(f.directions())
	var names []string
	var widths []int // of the weights, -1: the size of the input; 0 of biases
	for _, kind := range []string{"weight", "bias"} {
		for layer := range f.layers() {
			for _, direction := range f.directions() {
				for _, part := range []string{"i2h", "h2h"} {
					width := h
					switch {
					case kind == "bias":
						width = 0
					case part == "i2h" && layer == 0:
						width = -1
					case part == "i2h":
						width = d * h
					}
					for _, g := range gates {
						names = append(names, fmt.Sprintf("%s%s%d_%s%s_%s", f.prefix(), direction,
							layer, part, g, kind))
						widths = append(widths, width)
					}
				}
			}
		}
	}
	return []weights{{joined: []string{f.params().prefix + "parameters"}, parts: [][]string{names},
		shape: func(_, part int, whole nd.Shape) nd.Shape {
			switch width := widths[part]; width {
			case 0:
				return nd.Shape{h}
			case -1:
				rest := (f.layers() - 1) * (h + d*h + 2)
				return nd.Shape{h, whole.Size()/(d*h*len(gates)) - rest - h - 2}
			default:
				return nd.Shape{h, width}
			}
		}}}
}
