package bench

import (
	"context"
	"fmt"
	"slices"

	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// Sizes of the suite oddconvs, which measures all combinations.
var (
	oddInputs  = []int{1, 3, 8, 16, 24, 32, 64}
	oddOutputs = []int{1, 4, 6, 12, 18, 21, 30, 36, 50, 255}
	oddSides   = []int{16, 56}
	oddBatches = []int{1, 16}
	oddGroups  = []int{2, 4, 32}
	// output channels of the two heads of a detector
	oddHeads    = [][2]int{{12, 21}, {36, 18}, {24, 126}}
	oddHeadBase = []int{18, 32} // input channels of the heads
)

// oddNet is one network of the suite oddconvs with the shape of its input.
type oddNet struct {
	name  string // name of the line without the mode; peers/oddconvs.py parses the sizes in it
	net   *sym.Symbol
	shape nd.Shape
}

// oddConv is the size of a convolution. The padding of a 3x3 window is 1.
type oddConv struct{ kernel, stride, groups, in, out int }

// apply returns the convolution of x, with bias.
func (c oddConv) apply(x *sym.Symbol, name string) *sym.Symbol {
	p := sym.ConvolutionParams{Kernel: []int{c.kernel, c.kernel}, Stride: []int{c.stride, c.stride},
		Pad: []int{c.kernel / 2, c.kernel / 2}, NumFilter: c.out, NumGroup: c.groups}
	return sym.Convolution(x, p, sym.Name(name))
}

// oddconvs lists convolutions whose numbers of channels are no multiple of a vector register, each
// for inference and for training.
func oddconvs() ([]Workload, error) {
	var list []Workload
	for _, n := range oddNets() {
		for _, mode := range []string{"infer", "train"} {
			run := func(ctx context.Context) (float64, error) {
				return n.cost(ctx, mode == "train")
			}
			list = append(list, Workload{Name: n.name + "." + mode, Unit: "us/op", Run: run})
		}
	}
	return list, nil
}

// oddNets lists single convolutions, then heads of detectors.
func oddNets() []oddNet {
	var list []oddNet
	eachImage := func(add func(side, batch int)) {
		for _, side := range oddSides {
			for _, batch := range oddBatches {
				add(side, batch)
			}
		}
	}
	for _, family := range []string{"dense", "depthwise", "grouped"} {
		for _, c := range oddFamily(family) {
			eachImage(func(side, batch int) {
				list = append(list, oddNet{
					fmt.Sprintf("oddconvs.%s.k%d.s%d.g%d.i%d.o%d.%d.bs%d", family, c.kernel,
						c.stride, c.groups, c.in, c.out, side, batch),
					c.apply(sym.Var("data"), "conv"), nd.Shape{batch, c.in, side, side}})
			})
		}
	}
	for _, in := range oddInputs {
		for _, base := range oddHeadBase {
			for _, heads := range oddHeads {
				eachImage(func(side, batch int) {
					list = append(list, oddNet{
						fmt.Sprintf("oddconvs.head.i%d.b%d.o%d+%d.%d.bs%d", in, base, heads[0],
							heads[1], side, batch),
						detectorHead(in, base, heads), nd.Shape{batch, in, side, side}})
				})
			}
		}
	}
	return list
}

// oddFamily lists the convolutions of one family. Dense convolutions have one group; depthwise
// convolutions have a group with one or two outputs for every input channel.
func oddFamily(family string) []oddConv {
	var list []oddConv
	for _, kernel := range []int{3, 1} {
		for _, stride := range []int{1, 2} {
			add := func(groups, in, out int) {
				list = append(list, oddConv{kernel, stride, groups, in, out})
			}
			for _, in := range oddInputs {
				switch {
				case family == "dense":
					for _, out := range oddOutputs {
						add(1, in, out)
					}
				case family == "grouped":
					for _, groups := range oddGroups {
						for _, out := range groupedOutputs(groups, in) {
							add(groups, in, out)
						}
					}
				case in > 1: // depthwise
					add(in, in, in)
					add(in, in, 2*in)
				}
			}
		}
	}
	return list
}

// groupedOutputs lists the numbers of output channels to measure for in input channels in groups.
// It returns none if in is no multiple of groups, or if the convolution would be depthwise.
func groupedOutputs(groups, in int) []int {
	if in%groups != 0 || in == groups {
		return nil
	}
	return slices.DeleteFunc([]int{12, 36, 64}, func(out int) bool { return out%groups != 0 })
}

// detectorHead is the head of an SSD detector: a convolution with a rectifier, and two convolutions
// of its output, whose results are transposed, flattened and joined.
func detectorHead(in, base int, heads [2]int) *sym.Symbol {
	x := relu(oddConv{3, 1, 1, in, base}.apply(sym.Var("data"), "base"))
	var parts []*sym.Symbol
	for i, out := range heads {
		h := oddConv{3, 1, 1, base, out}.apply(x, fmt.Sprintf("head%d", i))
		parts = append(parts, sym.Flatten(sym.Transpose(h,
			sym.TransposeParams{Axes: []int{0, 2, 3, 1}})))
	}
	return sym.Concat(parts, sym.ConcatParams{})
}

// cost returns microseconds of processor time per call of forward in inference, or of forward and
// backward in training, with gradients of all arguments and of the image.
func (n *oddNet) cost(ctx context.Context, training bool) (float64, error) {
	cfg := sym.BindConfig{Shapes: map[string]nd.Shape{"data": n.shape}, DefaultReq: op.ReqNull}
	if training {
		cfg.DefaultReq = op.ReqWrite
	}
	ex, err := n.net.SimpleBind(cfg)
	if err != nil {
		return 0, err
	}
	head := nd.Ones(ex.Outputs()[0].Shape())
	defer closeExecutor(ex, head)
	for _, a := range ex.Args {
		a.Set(nd.Uniform(-0.5, 0.5, a.Shape()))
	}
	step := func() error {
		if err := ex.Forward(training); err != nil || !training {
			return err
		}
		return ex.Backward(head)
	}
	return processorCost(ctx, step, nd.WaitAll)
}

// closeExecutor frees the memory of an executor and of other arrays.
func closeExecutor(ex *sym.Executor, others ...*nd.Array) {
	outputs := ex.Outputs()
	ex.Close()
	for _, m := range []map[string]*nd.Array{ex.Args, ex.Grads, ex.Aux} {
		for _, a := range m {
			a.Close()
		}
	}
	for _, a := range slices.Concat(outputs, others) {
		a.Close()
	}
}
