//go:build cuda

package nn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// normDNN is batch normalization in cuDNN. The library learns and goes back as MXNet does, but for
// three things: it wants a gamma where ours is fixed, its moving averages take the unbiased
// variance, and it has no gradient where moving averages were used. It is not told that results may
// lie over operands.
type normDNN struct {
	lib     *cuda.Norm // nil: our own kernels are taken
	learns  bool       // the statistics are those of the batch
	stat    dtype.Type
	average *cuda.Function
}

// newNormDNN looks for the library; like holds the fields that stay the same from run to run.
func newNormDNN(like *normArgs, data op.Desc, stat dtype.Type) *normDNN {
	d := &normDNN{stat: stat, average: cuda.Func("norm", "batch_moved", data.DType)}
	dims := cuda.NormDims{Outer: like.outer, Channels: like.channels, Inner: like.inner}
	if dims.Last = attach.IsLast(data); dims.Last {
		dims.Outer = data.Shape[0]
		dims.Inner = like.outer / max(dims.Outer, 1)
	}
	if like.eps >= 0 {
		d.lib = cuda.NewNorm(data.DType, stat, dims)
	}
	d.learns = d.lib != nil && like.batchStats != 0
	return d
}

// scale returns gamma, or ones in scratch memory where it is fixed.
func (d *normDNN) scale(q *cuda.Queue, k *normArgs, s *attach.CUDAScratch) (unsafe.Pointer, error) {
	ones := s.Take(k.perChannel())
	if k.fixGamma == 0 {
		return k.gamma, nil
	}
	return ones, attach.FillOn(q, d.stat, ones, k.channels, 1)
}

// forward puts the layer on q. The statistics are wanted, or nobody reads them; late says that they
// stay until the next mark of q, so that one launch can update the moving averages of several
// layers.
func (d *normDNN) forward(q *cuda.Queue, k *normArgs, s *attach.CUDAScratch, wanted,
	late bool) error {
	if d.lib == nil || k.out == k.x || k.out == nil || !d.learns && (wanted || k.batchStats != 0) {
		return cuda.ErrNotServed
	}
	gamma, err := d.scale(q, k, s)
	if err != nil {
		return err
	}
	if !d.learns {
		err = q.PutLate() // averages of a layer that shares them
	}
	if err != nil {
		return err
	}
	args := cuda.NormArgs{Out: k.out, X: k.x, Gamma: gamma, Beta: k.beta, Mean: k.mean, Inv: k.inv,
		Eps: k.eps}
	if !d.learns {
		args.Mean, args.Var = k.movingMean, k.movingVar
		return d.lib.Infer(q, &args)
	}
	if err := d.lib.Learn(q, &args); err != nil {
		return err
	}
	averages := cuda.Late(q, newMovedNorms)
	if err := averages.add(q, d.average, k); err != nil || late {
		return err
	}
	return averages.Put(q)
}

// backward puts the gradient on q.
func (d *normDNN) backward(q *cuda.Queue, k *normArgs, s attach.CUDAScratch) error {
	if !d.learns || k.out == nil || k.out == k.x || k.out == k.dy {
		return cuda.ErrNotServed
	}
	gamma, err := d.scale(q, k, &s)
	if err != nil {
		return err
	}
	args := cuda.NormArgs{Out: k.out, X: k.x, DY: k.dy, Gamma: gamma, Mean: k.mean, Inv: k.inv,
		DGamma: k.unless(k.dgamma, &s), DBeta: k.unless(k.dbeta, &s), Eps: k.eps}
	if err := d.lib.Backward(q, &args); err != nil || k.fixGamma == 0 || k.dgamma == nil {
		return err
	}
	return q.Clear(k.dgamma, k.channels*d.stat.Size())
}
