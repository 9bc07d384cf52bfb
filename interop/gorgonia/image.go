package gorgonia

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
)

// window is the kernel, padding, stride and dilation of a convolution.
type window struct {
	kernel, pad, stride, dilation []int
}

// windowOf returns the window of an im2col operation.
func windowOf(o operation) (window, error) {
	if len(o.ints) != 8 {
		return window{}, fmt.Errorf("has %d parameters, want 8", len(o.ints))
	}
	return window{o.ints[0:2], o.ints[2:4], o.ints[4:6], o.ints[6:8]}, nil
}

// convolution is a convolution, for which Conv2d makes six nodes: the product of the patches of the
// image as rows and of the filters as columns, and the restoration of the order of axes.
type convolution struct {
	image, filter *G.Node
	window        window
}

// convolutionAt recognizes the last node of a convolution. It checks the nodes of Conv2d from the
// last to the first: the transposition, a reshape, the product, a reshape of each factor, im2col.
func (g view) convolutionAt(n *G.Node) (conv convolution, ok bool) {
	if operationOf(n).text != "Aᵀ{0, 3, 1, 2}" {
		return conv, false
	}
	split, ok := g.only(n, "Reshape")
	if !ok {
		return conv, false
	}
	times, ok := g.only(split, "A × Bᵀ")
	if !ok {
		return conv, false
	}
	factors := g.operands(times)
	if len(factors) != 2 || operationOf(factors[0]).name != "Reshape" ||
		operationOf(factors[1]).name != "Reshape" {
		return conv, false
	}
	col, ok := g.only(factors[0], "im2col")
	if !ok {
		return conv, false
	}
	images, filters := g.operands(col), g.operands(factors[1])
	if len(images) != 1 || len(filters) != 1 {
		return conv, false
	}
	w, err := windowOf(operationOf(col))
	conv = convolution{images[0], filters[0], w}
	return conv, err == nil && conv.shapesMatch(n, split, col, factors[1])
}

// shapesMatch reports whether the reshapes are a convolution's, and not others at the same
// positions.
func (v *convolution) shapesMatch(out, split, col, rows *G.Node) bool {
	f, s := v.filter.Shape(), col.Shape()
	if len(f) != 4 || len(s) != 4 || len(v.image.Shape()) != 4 {
		return false
	}
	return f[1] == v.image.Shape()[1] && slices.Equal(f[2:], v.window.kernel) &&
		slices.Equal(rows.Shape(), []int{f[0], f[1] * f[2] * f[3]}) &&
		slices.Equal(split.Shape(), []int{s[0], s[1], s[2], f[0]}) &&
		slices.Equal(out.Shape(), []int{s[0], f[0], s[1], s[2]})
}

// only returns the operand of n if n has one operand and an operation of the given name.
func (g view) only(n *G.Node, name string) (*G.Node, bool) {
	in := g.operands(n)
	if len(in) != 1 || operationOf(in[0]).name != name {
		return nil, false
	}
	return in[0], true
}

// convolve converts a convolution.
func (c *converter) convolve(n *G.Node, v convolution) (value, error) {
	image, err := c.whole(v.image)
	if err != nil {
		return value{}, err
	}
	filter, err := c.whole(v.filter)
	if err != nil {
		return value{}, err
	}
	p := sym.ConvolutionParams{Kernel: v.window.kernel, Pad: v.window.pad, Stride: v.window.stride,
		Dilate:    v.window.dilation,
		NumFilter: v.filter.Shape()[0], NoBias: true}
	return value{sym: sym.Convolution(image, p, sym.With("weight", filter)), shape: shapeOf(n)}, nil
}

// patches converts im2col that is not part of a convolution. Gorgonia's last axis has the elements
// of a patch, in the order of the operator im2col.
func (c *converter) patches(n *G.Node, o operation) (value, error) {
	w, err := windowOf(o)
	if err != nil {
		return value{}, err
	}
	in, err := c.operandsOf(n, 1)
	if err != nil {
		return value{}, err
	}
	image, err := c.whole(in[0])
	if err != nil {
		return value{}, err
	}
	col := sym.Im2Col(image, sym.Im2ColParams{Kernel: w.kernel, Pad: w.pad, Stride: w.stride,
		Dilate: w.dilation})
	shape := shapeOf(n)
	col = sym.Transpose(col, sym.TransposeParams{Axes: []int{0, 2, 1}})
	return value{sym: sym.Reshape(col, sym.ReshapeParams{Shape: []int{0, shape[1], shape[2],
		shape[3]}}), shape: shape}, nil
}

// maxPool converts max pooling.
func (c *converter) maxPool(n *G.Node, o operation) (value, error) {
	if len(o.ints) != 10 {
		return value{}, fmt.Errorf("has %d parameters, want 10", len(o.ints))
	}
	kernel, stride := o.ints[4:6], o.ints[8:10]
	pad, err := padding(n.Op(), o.ints[6:8])
	if err != nil {
		return value{}, err
	}
	p := sym.PoolingParams{PoolType: "max", Kernel: kernel, Pad: pad, Stride: stride}
	return c.pool(n, p)
}

// padding returns the padding of an operation whose text contains the padding of the upper and left
// borders only. The other two matter too, so they are read from the operation by reflection.
func padding(o G.Op, pad []int) ([]int, error) {
	south, errS := number(o, "padSouth")
	east, errE := number(o, "padEast")
	if err := errors.Join(errS, errE); err != nil {
		return nil, err
	}
	if int(south) != pad[0] || int(east) != pad[1] {
		return nil, fmt.Errorf("pads %d above, %v below, %d left and %v right: different "+
			"paddings of opposite borders are not supported", pad[0], south, pad[1], east)
	}
	return pad, nil
}

// number reads a parameter that the text of an operation does not contain.
func number(o G.Op, field string) (float64, error) {
	v := reflect.ValueOf(o)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		switch f := v.FieldByName(field); {
		case f.IsValid() && f.CanInt():
			return float64(f.Int()), nil
		case f.IsValid() && f.CanFloat():
			return f.Float(), nil
		}
	}
	return 0, fmt.Errorf("has no parameter %s in this version of Gorgonia", field)
}

// globalPool converts the mean of each channel.
func (c *converter) globalPool(n *G.Node) (value, error) {
	return c.pool(n, sym.PoolingParams{PoolType: "avg", GlobalPool: true, Kernel: []int{1, 1}})
}

func (c *converter) pool(n *G.Node, p sym.PoolingParams) (value, error) {
	v, err := c.one(n, func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
		return sym.Pooling(x, p, opts...)
	})
	v.shape = dtype.Shape(n.Shape()).Clone()
	return v, err
}

// dropout converts dropout; both gomx and Gorgonia scale the kept elements in training.
func (c *converter) dropout(n *G.Node) (value, error) {
	p, err := number(n.Op(), "probability")
	if err != nil {
		return value{}, err
	}
	return c.one(n, func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
		return sym.Dropout(x, sym.DropoutParams{P: sym.Some(p)}, opts...)
	})
}
