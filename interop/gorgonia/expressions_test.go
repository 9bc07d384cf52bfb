package gorgonia_test

import (
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// expression is one that Gorgonia and we compute.
type expression struct {
	name  string
	build func(b *builder) *G.Node
}

// expressions are those of which Gorgonia computes value and gradient correctly.
func expressions() []expression {
	return slices.Concat(unaryExpressions(), binaryExpressions(), productExpressions(),
		imageExpressions(), layoutExpressions(), wholeExpressions())
}

func unaryExpressions() (list []expression) {
	for _, f := range []struct {
		name   string
		f      func(*G.Node) (*G.Node, error)
		lo, hi float64
	}{
		{"abs", G.Abs, -1, 1}, {"sin", G.Sin, -2, 2}, {"cos", G.Cos, -2, 2}, {"exp", G.Exp, -2, 2},
		{"log", G.Log, 0.1, 3},
		{"neg", G.Neg, -1, 1}, {"square", G.Square, -2, 2}, {"sqrt", G.Sqrt, 0.1, 3},
		{"inverse", G.Inverse, 0.2, 3},
		{"cube", G.Cube, -2, 2}, {"tanh", G.Tanh, -2, 2}, {"sigmoid", G.Sigmoid, -3, 3},
		{"log1p", G.Log1p, -0.5, 2}, {"expm1", G.Expm1, -2, 2},
		{"softplus", G.Softplus, -3, 3}, {"rectify", G.Rectify, -1, 1}, {"mish", G.Mish, -2, 2},
		{"leaky", func(n *G.Node) (*G.Node, error) { return G.LeakyRelu(n, 0.1) }, -1, 1},
	} {
		list = append(list, expression{f.name, func(b *builder) *G.Node {
			b.lo, b.hi = f.lo, f.hi
			return b.must(f.f(b.input("x", 3, 5)))
		}})
	}
	return list
}

func binaryExpressions() (list []expression) {
	for _, f := range []struct {
		name   string
		f      func(a, b *G.Node) (*G.Node, error)
		spread func(a, b *G.Node, left, right []byte) (*G.Node, error)
	}{
		{"add", G.Add, G.BroadcastAdd}, {"sub", G.Sub, G.BroadcastSub}, {"mul", G.HadamardProd,
			G.BroadcastHadamardProd},
		{"div", G.HadamardDiv, G.BroadcastHadamardDiv}, {"pow", G.Pow, G.BroadcastPow},
	} {
		for _, operands := range []expression{
			{"same", func(b *builder) *G.Node {
				return b.must(f.f(b.input("x", 3, 4), b.input("y", 3, 4)))
			}},
			{"number right", func(b *builder) *G.Node {
				return b.must(f.f(b.input("x", 3, 4), G.NewConstant(1.5)))
			}},
			{"number left", func(b *builder) *G.Node {
				return b.must(f.f(G.NewConstant(1.5), b.input("x", 3, 4)))
			}},
			{"row", func(b *builder) *G.Node {
				return b.must(f.spread(b.input("x", 3, 4), b.input("y", 4), nil, []byte{0}))
			}},
			{"column", func(b *builder) *G.Node {
				return b.must(f.spread(b.input("x", 3, 4), b.input("y", 3), nil, []byte{1}))
			}},
			{"channels", func(b *builder) *G.Node {
				return b.must(f.spread(b.input("x", 2, 3, 4, 4), b.input("y", 1, 3, 1, 1), nil,
					[]byte{0, 2, 3}))
			}},
			{"left", func(b *builder) *G.Node {
				return b.must(f.spread(b.input("x", 1, 4), b.input("y", 3, 4), []byte{0}, nil))
			}},
		} {
			list = append(list, expression{f.name + " " + operands.name, func(b *builder) *G.Node {
				b.lo, b.hi = 0.5, 2
				return operands.build(b)
			}})
		}
	}
	for _, f := range []struct {
		name string
		f    func(a, b *G.Node, same bool) (*G.Node, error)
	}{{"lt", G.Lt}, {"gt", G.Gt}, {"lte", G.Lte}, {"gte", G.Gte}, {"eq", G.Eq}, {"ne", G.Ne}} {
		list = append(list, expression{f.name + " same",
			func(b *builder) *G.Node {
				return b.mask(b.must(f.f(b.fixed(3, 4), b.fixed(3, 4), true)))
			}},
			expression{f.name + " number right",
				func(b *builder) *G.Node {
					return b.mask(b.must(f.f(b.fixed(3, 4), G.NewConstant(2.0), true)))
				}},
			expression{f.name + " number left",
				func(b *builder) *G.Node {
					return b.mask(b.must(f.f(G.NewConstant(2.0), b.fixed(3, 4), true)))
				}})
	}
	return append(list,
		expression{"min", func(b *builder) *G.Node {
			return b.must(G.MinBetween(b.input("x", 3, 4), b.input("y", 3, 4)))
		}},
		expression{"max", func(b *builder) *G.Node {
			return b.must(G.MaxBetween(b.input("x", 3, 4), b.input("y", 3, 4)))
		}})
}

// fixed returns a tensor that never changes, with values 1, 2 and 3, so that some are equal.
func (b *builder) fixed(shape ...int) *G.Node {
	values := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range values {
		values[i] = float64(1 + b.rng.IntN(3))
	}
	return b.g.Constant(b.tensor(values, shape))
}

// mask returns an input times n, which has no gradient.
func (b *builder) mask(n *G.Node) *G.Node {
	return b.must(G.HadamardProd(b.input("x", n.Shape()...), n))
}

func productExpressions() []expression {
	transposed := func(b *builder, n *G.Node) *G.Node { return b.must(G.Transpose(n, 1, 0)) }
	return []expression{
		{"matrices", func(b *builder) *G.Node {
			return b.must(G.Mul(b.input("x", 3, 4), b.input("y", 4, 5)))
		}},
		{"transposed left", func(b *builder) *G.Node {
			return b.must(G.Mul(transposed(b, b.input("x", 4, 3)), b.input("y", 4, 5)))
		}},
		{"transposed right", func(b *builder) *G.Node {
			return b.must(G.Mul(b.input("x", 3, 4), transposed(b, b.input("y", 5, 4))))
		}},
		{"matrix vector", func(b *builder) *G.Node {
			return b.must(G.Mul(b.input("x", 3, 4), b.input("y", 4)))
		}},
		{"vector matrix", func(b *builder) *G.Node {
			return b.must(G.Mul(b.input("y", 4), b.input("x", 4, 3)))
		}},
		{"matrix column", func(b *builder) *G.Node {
			column := G.NewVector(b.g, b.dt, G.WithShape(4, 1), G.WithName("y"),
				G.WithValue(b.tensor(b.random(4), []int{4})))
			b.inputs = append(b.inputs, column)
			return b.must(G.Mul(b.input("x", 3, 4), column))
		}},
		{"inner", func(b *builder) *G.Node {
			return b.must(G.Mul(b.input("x", 4), b.input("y", 4)))
		}},
		{"batches", func(b *builder) *G.Node {
			return b.must(G.BatchedMatMul(b.input("x", 2, 3, 4), b.input("y", 2, 4, 5)))
		}},
	}
}

func imageExpressions() (list []expression) {
	for _, w := range []struct {
		name                  string
		height, width         int
		kernel                tensor.Shape
		pad, stride, dilation []int
	}{
		{"convolution", 6, 7, tensor.Shape{3, 3}, []int{0, 0}, []int{1, 1}, []int{1, 1}},
		{"convolution padded", 6, 7, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}},
		{"convolution strided", 7, 8, tensor.Shape{3, 2}, []int{1, 0}, []int{2, 3}, []int{1, 1}},
		{"convolution dilated", 8, 9, tensor.Shape{3, 3}, []int{2, 1}, []int{1, 1}, []int{2, 2}},
		{"convolution of points", 4, 4, tensor.Shape{1, 1}, []int{0, 0}, []int{1, 1}, []int{1, 1}},
	} {
		list = append(list, expression{w.name, func(b *builder) *G.Node {
			x, f := b.input("x", 2, 3, w.height, w.width), b.input("f", 4, 3, w.kernel[0],
				w.kernel[1])
			return b.must(G.Conv2d(x, f, w.kernel, w.pad, w.stride, w.dilation))
		}})
	}
	for _, w := range []struct {
		name        string
		kernel      tensor.Shape
		pad, stride []int
	}{
		{"max pooling", tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}},
		{"max pooling overlapping", tensor.Shape{3, 2}, []int{0, 0}, []int{1, 1}},
		{"max pooling padded", tensor.Shape{3, 3}, []int{1, 1}, []int{2, 2}},
	} {
		list = append(list, expression{w.name, func(b *builder) *G.Node {
			return b.must(G.MaxPool2D(b.input("x", 2, 3, 7, 6), w.kernel, w.pad, w.stride))
		}})
	}
	return append(list,
		expression{"convolution of a line", func(b *builder) *G.Node {
			return b.must(G.Conv1d(b.input("x", 2, 3, 1, 9), b.input("f", 4, 3, 1, 3), 3, 1, 2, 1))
		}},
		expression{"patches", func(b *builder) *G.Node {
			return b.must(G.Im2Col(b.input("x", 2, 3, 5, 6), tensor.Shape{3, 2}, tensor.Shape{1, 0},
				tensor.Shape{2, 1}, tensor.Shape{1, 1}))
		}})
}

func layoutExpressions() []expression {
	return []expression{
		{"reshape", func(b *builder) *G.Node {
			return b.must(G.Reshape(b.input("x", 3, 4), tensor.Shape{2, 6}))
		}},
		{"flatten", func(b *builder) *G.Node {
			return b.must(G.Reshape(b.input("x", 2, 3, 4), tensor.Shape{2, 12}))
		}},
		{"images", func(b *builder) *G.Node {
			return b.must(G.Reshape(b.input("x", 2, 12), tensor.Shape{2, 1, 3, 4}))
		}},
		{"ravel", func(b *builder) *G.Node { return b.must(G.Ravel(b.input("x", 3, 4))) }},
		{"transpose", func(b *builder) *G.Node {
			return b.must(G.Transpose(b.input("x", 2, 3, 4), 2, 0, 1))
		}},
		{"transpose of images", func(b *builder) *G.Node {
			return b.must(G.Transpose(b.input("x", 2, 3, 4, 5), 0, 3, 1, 2))
		}},
		{"broadcast in a function", func(b *builder) *G.Node {
			x, _, err := G.Broadcast(b.input("x", 3), b.fixed(4, 3),
				G.NewBroadcastPattern([]byte{0}, nil))
			return b.must(G.Tanh(b.must(x, err)))
		}},
		{"two broadcasts", func(b *builder) *G.Node {
			like := b.input("y", 4, 3)
			u, _, err := G.Broadcast(b.input("u", 3), like, G.NewBroadcastPattern([]byte{0}, nil))
			v, _, err2 := G.Broadcast(b.input("v", 4), like, G.NewBroadcastPattern([]byte{1}, nil))
			return b.must(G.Add(b.must(G.HadamardProd(b.must(u, err), b.must(v, err2))), like))
		}},
		{"slice", func(b *builder) *G.Node {
			return b.must(G.Slice(b.input("x", 4, 5), G.S(1, 3)))
		}},
		{"concat", func(b *builder) *G.Node {
			return b.must(G.Concat(1, b.input("x", 3, 4), b.input("y", 3, 2)))
		}},
		{"sum", func(b *builder) *G.Node { return b.must(G.Sum(b.input("x", 3, 4))) }},
		{"sum of rows", func(b *builder) *G.Node { return b.must(G.Sum(b.input("x", 3, 4), 1)) }},
		{"sum of columns", func(b *builder) *G.Node {
			return b.must(G.Sum(b.input("x", 3, 4), 0))
		}},
		{"mean", func(b *builder) *G.Node { return b.must(G.Mean(b.input("x", 3, 4))) }},
		{"mean of rows", func(b *builder) *G.Node { return b.must(G.Mean(b.input("x", 3, 4), 1)) }},
		{"mean of samples", func(b *builder) *G.Node {
			return b.must(G.Mean(b.input("x", 2, 3, 4, 5), 1, 2, 3))
		}},
		{"max of rows", func(b *builder) *G.Node { return b.must(G.Max(b.input("x", 3, 4), 1)) }},
		{"norm", func(b *builder) *G.Node { return b.must(G.Norm(b.input("x", 3, 4), 1, 2)) }},
		{"softmax", func(b *builder) *G.Node { return b.must(G.SoftMax(b.input("x", 3, 4))) }},
		{"softmax of columns", func(b *builder) *G.Node {
			return b.must(G.SoftMax(b.input("x", 3, 4), 0))
		}},
		{"softmax of a vector", func(b *builder) *G.Node {
			return b.must(G.SoftMax(b.input("x", 5)))
		}},
		{"softmax of a row", func(b *builder) *G.Node {
			return b.must(G.SoftMax(b.input("x", 1, 5)))
		}},
		{"log softmax", func(b *builder) *G.Node {
			return b.must(G.LogSoftMax(b.input("x", 3, 4), 1))
		}},
		{"log of softmax", func(b *builder) *G.Node {
			return b.must(G.Log(b.must(G.SoftMax(b.input("x", 3, 4), 1))))
		}},
	}
}

// wholeExpressions are networks up to their losses.
func wholeExpressions() []expression {
	return []expression{
		{"dense network", func(b *builder) *G.Node {
			hidden := b.must(G.Tanh(b.must(G.Mul(b.input("x", 5, 4), b.input("w1", 4, 6)))))
			out := b.must(G.Sigmoid(b.must(G.BroadcastAdd(b.must(G.Mul(hidden,
				b.input("w2", 6, 3))), b.input("b2", 3), nil, []byte{0}))))
			return b.must(G.Mean(b.must(G.Square(b.must(G.Sub(out, b.input("y", 5, 3)))))))
		}},
		{"binary cross entropy", func(b *builder) *G.Node {
			b.lo, b.hi = 0.1, 0.9
			return b.must(G.Mean(b.must(G.BinaryXent(b.input("p", 4, 3), b.input("y", 4, 3)))))
		}},
		{"scalar parameters", func(b *builder) *G.Node {
			line := b.must(G.Add(b.must(G.Mul(b.input("x", 6), b.input("slope"))),
				b.input("offset")))
			return b.must(G.Mean(b.must(G.Square(b.must(G.Sub(line, b.input("y", 6)))))))
		}},
		{"shared input", func(b *builder) *G.Node {
			x := b.input("x", 3, 3)
			return b.must(G.Add(b.must(G.Mul(x, x)), b.must(G.HadamardProd(x, b.must(G.Tanh(x))))))
		}},
	}
}
