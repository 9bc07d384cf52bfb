package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// LayerNormParams configures LayerNorm.
type LayerNormParams struct {
	Axis          op.Opt[int]     `op:"axis" default:"-1" doc:"axis that is normalized"`
	Eps           op.Opt[float64] `op:"eps" default:"1e-05" doc:"added to the variance"`
	OutputMeanVar bool            `op:"output_mean_var" doc:"also return mean and deviation"`
}

// InstanceNormParams configures InstanceNorm.
type InstanceNormParams struct {
	Eps op.Opt[float64] `op:"eps" default:"0.001" doc:"added to the variance"`
}

// GroupNormParams configures GroupNorm.
type GroupNormParams struct {
	NumGroups     int             `op:"num_groups" default:"1" min:"1" doc:"number of groups of channels"`
	Eps           op.Opt[float64] `op:"eps" default:"1e-05" doc:"added to the variance"`
	OutputMeanVar bool            `op:"output_mean_var" doc:"also return mean and deviation"`
}

// The normalizations that do not look at the batch, and their gradients: from the gradient of the
// output, data, gamma, mean and deviation to the gradients of data, gamma and beta.
var (
	// LayerNorm normalizes along one axis.
	LayerNorm = op.Declare[LayerNormParams]("LayerNorm")
	// LayerNormGrad is the gradient of LayerNorm.
	LayerNormGrad = op.Declare[LayerNormParams]("_backward_LayerNorm")
	// InstanceNorm normalizes every channel of every sample.
	InstanceNorm = op.Declare[InstanceNormParams]("InstanceNorm")
	// InstanceNormGrad is the gradient of InstanceNorm.
	InstanceNormGrad = op.Declare[InstanceNormParams]("_backward_InstanceNorm")
	// GroupNorm normalizes groups of channels of every sample.
	GroupNorm = op.Declare[GroupNormParams]("GroupNorm")
	// GroupNormGrad is the gradient of GroupNorm.
	GroupNormGrad = op.Declare[GroupNormParams]("_backward_GroupNorm")
)

func init() {
	defineNorm(LayerNorm, LayerNormGrad, normalization[LayerNormParams]{
		doc: `LayerNorm normalizes along one axis: (x - mean)·gamma/sqrt(var + eps) + beta.

Mean and (biased) variance are taken over the axis for every position of the other axes; gamma and
beta have one element per position of the axis. The second and third output are the mean and
sqrt(var + eps), of the shape of data with the axis of extent 1; their gradients are ignored.`,
		aliases: []string{"_npx_layer_norm"},
		visible: func(p LayerNormParams) int { return visibleStats(p.OutputMeanVar) },
		eps:     func(p LayerNormParams) float64 { return p.Eps.Value() },
		shapes: func(p LayerNormParams, data dtype.Shape) (param, stats dtype.Shape, err error) {
			a, err := axisOf("axis", p.Axis.Value(), len(data))
			if err != nil {
				return nil, nil, err
			}
			stats = data.Clone()
			stats[a] = 1
			return dtype.Shape{data[a]}, stats, nil
		},
		refine: func(p LayerNormParams, data, param, stats dtype.Shape) dtype.Shape {
			a, _ := axisOf("axis", p.Axis.Value(), len(data))
			x := stats.Clone()
			x[a] = param[0]
			return x
		},
		layout: func(p LayerNormParams, data dtype.Shape) affine {
			v := newChannels(data, p.Axis.Value())
			return affine{
				group: func(i int) int { return i/v.inner/v.count*v.inner + i%v.inner },
				param: func(i int) int { return i / v.inner % v.count },
			}
		},
		seen: func(p LayerNormParams) view { return view{nil, p.Axis.Value(), p.Axis.Value()} },
	})
	defineNorm(InstanceNorm, InstanceNormGrad, instanceNorm())
	defineNorm(GroupNorm, GroupNormGrad, groupNorm())
}

func instanceNorm() normalization[InstanceNormParams] {
	return normalization[InstanceNormParams]{
		doc: `InstanceNorm normalizes every channel of every sample: (x - mean)·gamma/sqrt(var + eps) + beta.

Data has shape (n, c, ...); mean and (biased) variance are taken over all axes but the first two;
gamma and beta have one element per channel.`,
		visible: func(InstanceNormParams) int { return 1 },
		eps:     func(p InstanceNormParams) float64 { return p.Eps.Value() },
		shapes: func(_ InstanceNormParams, data dtype.Shape) (param, stats dtype.Shape, err error) {
			if len(data) < 3 {
				return nil, nil, op.Errorf("data", "shape %v, want at least 3 axes", data)
			}
			return dtype.Shape{data[1]}, data[:2].Clone(), nil
		},
		refine: func(_ InstanceNormParams, data, param, stats dtype.Shape) dtype.Shape {
			x := unknown(len(data))
			x[0], x[1] = stats[0], param[0]
			if x[1] == -1 {
				x[1] = stats[1]
			}
			return x
		},
		layout: func(_ InstanceNormParams, data dtype.Shape) affine {
			inner, c := data[2:].Size(), data[1]
			return affine{group: func(i int) int { return i / inner },
				param: func(i int) int { return i / inner % c }}
		},
		seen: func(InstanceNormParams) view { return view{[]int{0, 0, -1}, 2, 1} },
	}
}

func groupNorm() normalization[GroupNormParams] {
	return normalization[GroupNormParams]{
		doc: `GroupNorm normalizes groups of channels of every sample: (x - mean)·gamma/sqrt(var + eps) + beta.

Data has shape (n, c, ...); mean and (biased) variance are taken over c/num_groups channels and all
further axes; gamma and beta have one element per group, as in MXNet. The second and third output
are the mean and sqrt(var + eps), of shape (n, num_groups); their gradients are ignored.`,
		visible: func(p GroupNormParams) int { return visibleStats(p.OutputMeanVar) },
		eps:     func(p GroupNormParams) float64 { return p.Eps.Value() },
		shapes: func(p GroupNormParams, data dtype.Shape) (param, stats dtype.Shape, err error) {
			if len(data) < 3 {
				return nil, nil, op.Errorf("data", "shape %v, want at least 3 axes", data)
			}
			if data[1] != -1 && data[1]%p.NumGroups != 0 {
				return nil, nil, op.Errorf("data",
					"shape %v has %d channels, want a multiple of num_groups %d", data, data[1],
					p.NumGroups)
			}
			return dtype.Shape{p.NumGroups}, dtype.Shape{data[0], p.NumGroups}, nil
		},
		refine: func(_ GroupNormParams, data, _, stats dtype.Shape) dtype.Shape {
			x := unknown(len(data))
			x[0] = stats[0]
			return x
		},
		layout: func(p GroupNormParams, data dtype.Shape) affine {
			inner := data[1:].Size() / p.NumGroups
			return affine{group: func(i int) int { return i / inner },
				param: func(i int) int { return i / inner % p.NumGroups }}
		},
		seen: func(p GroupNormParams) view { return view{[]int{0, p.NumGroups, -1}, 2, 1} },
	}
}
