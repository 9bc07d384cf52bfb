//go:build cuda

package loss

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// hingeArgs, entropyArgs, validArgs and sparseArgs are parameters of kernels in loss.cu.
type (
	hingeArgs struct {
		out, x, label            unsafe.Pointer
		samples, classes, linear int
		margin, scale            float64
	}
	entropyArgs struct {
		out, x, label, head, row unsafe.Pointer
		rows, classes            int
		least                    float64
	}
	validArgs struct {
		out, x, count unsafe.Pointer
		n             int
		least, value  float64
	}
	sparseArgs struct {
		out, average, x           unsafe.Pointer
		samples, units, train     int
		momentum, target, penalty float64
	}
)

func entropyCUDA(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	fixed := entropyArgs{rows: a.In[0].Shape[0], classes: a.In[0].Shape[1], least: leastProbability}
	each, join := cuda.Func("loss", "entropy", t), cuda.Func("loss", "entropy_join", t)
	return attach.OnQueue(8*fixed.rows, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.out, k.x, k.label, k.row = c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.Scratch
		if err := cuda.LaunchWith(q, each, attach.LaneGrid(k.rows, k.classes), &k); err != nil {
			return err
		}
		return cuda.LaunchWith(q, join, attach.LaneGrid(1, k.rows), &k)
	})
}

// validGradCUDA prepares the gradient of MakeLoss with normalization by the number of valid
// elements.
func validGradCUDA(p MakeLossParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	fixed := validArgs{n: a.Out[0].Shape.Size(), least: p.ValidThresh, value: p.GradScale.Value()}
	count, fill := cuda.Func("loss", "valid_count", t), cuda.Func("loss", "valid_fill", t)
	return attach.OnQueue(8, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.out, k.x, k.count = c.Out[0].Data, c.In[0].Data, c.Scratch
		if err := cuda.LaunchWith(q, count, attach.LaneGrid(1, k.n), &k); err != nil {
			return err
		}
		return cuda.LaunchWith(q, fill, q.Each(k.n), &k)
	})
}

func sparseCUDA(p SparseRegParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	fixed := sparseArgs{samples: a.In[0].Shape[0], units: a.In[1].Shape.Size(),
		train: attach.B2I(a.Train), momentum: p.Momentum.Value()}
	f, bytes := cuda.Func("loss", "sparse_average", t), a.Out[0].Bytes
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		k.out, k.average, k.x = c.Out[1].Data, c.In[1].Data, c.In[0].Data
		if err := cuda.LaunchWith(q, f, attach.LaneGrid(k.units, k.samples), &k); err != nil {
			return err
		}
		if c.Out[0].Data == nil || c.Out[0].Data == c.In[0].Data {
			return nil
		}
		return q.CopyFrom(c.Out[0].Data, q.Device(), c.In[0].Data, bytes)
	})
}

// ctcArgs is the parameter of the kernel in ctc.cu.
type ctcArgs struct {
	loss, grad, x, label, stepsOf, labelsOf attach.Any
	scratch                                 unsafe.Pointer
	steps, batch, classes, labels, blank    int
	padding                                 float64
}
