//go:build cgo

package compile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// square is a convolution with its window's extent and stride.
func square(x *sym.Symbol, filters, kernel, stride int) *sym.Symbol {
	return sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
		Stride: []int{stride, stride},
		Pad:    []int{kernel / 2, kernel / 2}, NumFilter: filters})
}

func rectified(x *sym.Symbol) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: "relu"})
}

// grown doubles the extents of x.
func grown(x *sym.Symbol, filters int) *sym.Symbol {
	return sym.Deconvolution(x, sym.DeconvolutionParams{Kernel: []int{4, 4}, Stride: []int{2, 2},
		Pad: []int{1, 1}, NumFilter: filters})
}

// bent is a rectifier with learned slopes.
func bent(x *sym.Symbol, name string) *sym.Symbol {
	return sym.LeakyReLU(x, sym.LeakyReLUParams{ActType: "prelu"}, sym.Name(name))
}

// transposed is the end of a detector's head: channels last, one row per image.
func transposed(x *sym.Symbol) *sym.Symbol {
	return sym.Flatten(sym.Transpose(x, sym.TransposeParams{Axes: []int{0, 2, 3, 1}}))
}

// chain is a chain of rectified convolutions.
func chain(kernel int, filters ...int) *sym.Symbol {
	return lengthened(sym.Var("data"), kernel, filters...)
}

func lengthened(x *sym.Symbol, kernel int, filters ...int) *sym.Symbol {
	for _, n := range filters {
		x = rectified(square(x, n, kernel, 1))
	}
	return x
}

// oddNetworks have convolutions whose channels fill no blocks next to those whose channels do.
func oddNetworks() map[string]*sym.Symbol {
	list := map[string]*sym.Symbol{
		"32 to 32 to 12": chain(3, 32, 32, 12),
		"16 to 18":       chain(3, 16, 18),
		"mixed 1x1":      chain(1, 16, 24, 32, 10, 64, 255, 48),
	}
	base := chain(3, 32)
	list["detector"] = sym.Concat([]*sym.Symbol{transposed(square(base, 12, 3, 1)),
		transposed(square(base, 63, 3, 1))}, sym.ConcatParams{})
	var heads []*sym.Symbol
	data := sym.Var("data")
	for _, n := range []int{8, 16} {
		x := lengthened(data, 3, n)
		x = sym.Concat([]*sym.Symbol{square(x, n, 3, 1), rectified(square(x, n/2, 1, 1)),
			square(rectified(square(x, n/2, 3, 1)), n/2, 3, 1)}, sym.ConcatParams{})
		for _, out := range []int{4, 8, 20} {
			heads = append(heads, transposed(square(rectified(x), out, 1, 1)))
		}
	}
	list["faces"] = sym.Concat(heads, sym.ConcatParams{})
	data = sym.Var("data")
	x := sym.Convolution(lengthened(data, 3, 32), sym.ConvolutionParams{Kernel: []int{3, 3},
		Stride: []int{2, 2}, Pad: []int{1, 1}, NumFilter: 64, NoBias: true})
	x = sym.BatchNorm(x, sym.BatchNormParams{})
	list["segmentation"] = sym.Crop([]*sym.Symbol{grown(square(rectified(x), 21, 1, 1), 21), data},
		sym.CropParams{NumArgs: 2})
	list["autoencoder"] = grown(rectified(
		grown(rectified(square(rectified(square(sym.Var("data"), 16, 3, 2)), 10, 3, 2)), 16)), 3)
	x = sym.Reshape(square(chain(3, 64, 32), 4*9, 3, 1),
		sym.ReshapeParams{Shape: []int{0, 4, 3, 3, 16, 16}})
	list["resolution"] = sym.Transpose(x, sym.TransposeParams{Axes: []int{0, 1, 4, 2, 5, 3}})
	x = sym.Pooling(chain(3, 10), sym.PoolingParams{Kernel: []int{3, 3}, Stride: []int{2, 2},
		PoolType: "max", PoolingConvention: "full"})
	list["pooled"] = square(square(x, 16, 3, 1), 32, 3, 2)
	x = bent(square(bent(square(sym.Var("data"), 10, 3, 1), "a"), 16, 3, 1), "b")
	list["bent"] = bent(square(bent(square(x, 32, 3, 2), "c"), 21, 1, 1), "d")
	return list
}

// TestNoNaiveKernels: no operator of a bound graph runs a kernel that oneDNN calls its reference.
func TestNoNaiveKernels(t *testing.T) {
	if !strings.HasPrefix(cpu.Library(), "oneDNN") || device.MaxTier() < device.TierC {
		t.Skip("built without oneDNN")
	}
	for name, net := range oddNetworks() {
		for _, batch := range []int{1, 4} {
			for _, train := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/batch %d/train %v", name, batch, train), func(t *testing.T) {
					e, err := sym.Explain(net,
						sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {batch, 3, 16, 16}}},
						train)
					if err != nil {
						t.Fatal(err)
					}
					if len(e.Library) == 0 {
						t.Error("no operator says which kernels of the library it calls")
					}
					for _, u := range e.Library {
						if slices.ContainsFunc(u.Impls,
							func(impl string) bool { return strings.HasPrefix(impl, "ref") }) {
							t.Errorf("%s (%s) runs %v", u.Node, u.Op, u.Impls)
						}
					}
				})
			}
		}
	}
}

// TestOddNetworksAgree compares networks with those whose arrays are all plain.
func TestOddNetworksAgree(t *testing.T) {
	for name, net := range oddNetworks() {
		for _, train := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/train %v", name, train), func(t *testing.T) {
				shapes := map[string]dtype.Shape{"data": {2, 3, 16, 16}}
				plain, laid := bindOdd(t, net, sym.BindConfig{Shapes: shapes, NoFusion: true}),
					bindOdd(t, net, sym.BindConfig{Shapes: shapes})
				r := rand.New(rand.NewPCG(3, 4))
				for _, arg := range net.Arguments() {
					v := make([]float32, plain.Args[arg].Shape().Size())
					for i := range v {
						v[i] = (r.Float32() - 0.5) / 2
					}
					a := nd.FromSlice(v, plain.Args[arg].Shape()...)
					plain.Args[arg].Set(a)
					laid.Args[arg].Set(a)
				}
				for _, ex := range []*sym.Executor{plain, laid} {
					if err := ex.Forward(train); err != nil {
						t.Fatal(err)
					}
					if !train {
						continue
					}
					if err := ex.Backward(nd.Ones(ex.Outputs()[0].Shape())); err != nil {
						t.Fatal(err)
					}
				}
				alikeArrays(t, "output", laid.Outputs()[0], plain.Outputs()[0])
				for arg, g := range plain.Grads {
					if train && g != nil {
						alikeArrays(t, "gradient of "+arg, laid.Grads[arg], g)
					}
				}
			})
		}
	}
}

func bindOdd(t *testing.T, net *sym.Symbol, c sym.BindConfig) *sym.Executor {
	t.Helper()
	ex, err := net.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ex.Close() })
	return ex
}

// alikeArrays compares two arrays up to rounding, relative to the largest number or one.
func alikeArrays(t *testing.T, what string, got, want *nd.Array) {
	t.Helper()
	g, err := got.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	w, err := want.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	most := 1.0
	for _, v := range w {
		most = max(most, math.Abs(float64(v)))
	}
	for i := range w {
		if math.Abs(float64(g[i]-w[i])) > 1e-4*most {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g[i], w[i])
		}
	}
}

// TestBlockedJoins joins blocked arrays along channels, and checks every program of layouts.
func TestBlockedJoins(t *testing.T) {
	for _, filters := range []int{32, 24} {
		x := sym.Var("data")
		var list []*sym.Symbol
		for i := range 2 {
			y := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
				NumFilter: filters}, sym.Name(fmt.Sprint("conv", i)))
			list = append(list, sym.Relu(sym.BatchNorm(y, sym.BatchNormParams{}).At(0)))
		}
		both := sym.Concat(list, sym.ConcatParams{})
		net := sym.Group(sym.Convolution(both, sym.ConvolutionParams{Kernel: []int{3, 3},
			NumFilter: 32}, sym.Name("last")), sym.Sigmoid(both), sym.Sum(both, sym.ReduceParams{}))
		for _, train := range []bool{false, true} {
			o := training(net)
			o.Train, o.Target, o.Verify = train, thisMachine(), true
			p := mustCompile(t, source(t, net, map[string]dtype.Shape{"data": {2, 32, 8, 8}}), o)
			if err := p.Check(); err != nil {
				t.Errorf("%d filters, train %v: %v", filters, train, err)
			}
			var text strings.Builder
			if err := p.WriteText(&text); err != nil ||
				!strings.Contains(p.Explain().String(), "operators composed") {
				t.Errorf("%d filters: %v", filters, err)
			}
		}
	}
}
