package graph

import "gomx/op"

// Pass is one transformation of a graph: it returns the new outputs, which stand for the old ones
// in order, and how many places it changed. It keeps facts up to date.
type Pass struct {
	Name   string
	Reason string // why it exists and why it stands where it stands
	Run    func(outs []op.Entry, f *Facts) ([]op.Entry, int)
}

// Inference lists the passes for graphs that only infer, in the order in which they run.
func Inference() []Pass {
	return []Pass{
		{"drop-dropout", "dropout passes data on in inference; before the fusions, whose patterns it would hide", dropDropout},
		{"fold-batchnorm", "in inference a batch norm is an affine map that the convolution before it can do; before sums and activations, because it brings sums and activations next to convolutions", foldBatchNorm},
		{"fuse-sum", "a convolution can add to what its output holds already; before activations, which come after the sum in residual networks", fuseSum},
		{"fuse-activation", "a rectifier costs nothing while results are still in registers", fuseActivation},
		{"adopt-convolutions", "convolutions that nothing was fused into shall pass blocked arrays on as well; after the fusions, which look for them", adoptConvolutions},
		{"winograd", "3x3 windows cost less than half the multiplications by Winograd's algorithm; it works on blocked channels, so one choice is made for the whole graph", chooseWinograd},
	}
}

// Applied says what a pass did.
type Applied struct {
	Pass    Pass
	Changes int
}

// Run applies passes one after the other and reports what each did.
func Run(passes []Pass, outs []op.Entry, f *Facts) ([]op.Entry, []Applied) {
	report := make([]Applied, len(passes))
	for i, p := range passes {
		report[i].Pass = p
		outs, report[i].Changes = p.Run(outs, f)
	}
	return outs, report
}
