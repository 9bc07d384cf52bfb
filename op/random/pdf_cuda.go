//go:build cuda

package random

import (
	"strings"

	"gomx/op"
	"gomx/op/attach"
)

// densityArgs and vectorsArgs are parameters of the kernels in draw.cu for densities.
type (
	densityArgs struct {
		out, dx, da, db, x, a, b, dy, y attach.Any
		n, each, kind, isLog            int
	}
	vectorsArgs struct {
		out, dx, da, x, a, dy, y attach.Any
		count, each, size, isLog int
	}
)

func init() {
	for kind, h := range []op.Handle[PDFParams]{pdfUniform, pdfNormal, pdfExponential, pdfGamma,
		pdfPoisson, pdfNegative, pdfDispersed} {
		attach.CUDA(h, func(p PDFParams, a *op.Args) (*op.Prepared, error) {
			k := newDensityArgs(p, kind, a.In[0], a.In[1])
			return attach.CUDAEach(attach.AnyFunc("draw", "density"), k.n, k,
				func(k densityArgs, c *op.Call) densityArgs {
					k.out, k.x, k.a = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
						attach.AnyOf(c.In[1])
					if len(c.In) > 2 {
						k.b = attach.AnyOf(c.In[2])
					}
					return k
				})
		})
		attach.CUDA(densityGrads[strings.TrimPrefix(h.Name, "_random_pdf_")],
			func(p PDFParams, a *op.Args) (*op.Prepared, error) {
				k := newDensityArgs(p, kind, a.In[2], a.In[3])
				if k.n == 0 {
					return nil, op.ErrUnsupported
				}
				return attach.CUDABlocks(attach.AnyFunc("draw", "density_grad"), k.n/k.each, k.each,
					k,
					func(k densityArgs, c *op.Call) densityArgs {
						k.dy, k.y, k.x, k.a = attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1]),
							attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
						if k.dx, k.da = attach.AnyOf(c.Out[0]),
							attach.AnyOf(c.Out[1]); len(c.In) > 4 {
							k.b, k.db = attach.AnyOf(c.In[4]), attach.AnyOf(c.Out[2])
						}
						return k
					})
			})
	}
	attach.CUDA(pdfDirichlet, func(p PDFParams, a *op.Args) (*op.Prepared, error) {
		k := newVectorsArgs(p, a.In[0], a.In[1])
		return attach.CUDAEach(attach.AnyFunc("draw", "dirichlet"), k.count, k,
			func(k vectorsArgs, c *op.Call) vectorsArgs {
				k.out, k.x, k.a = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
					attach.AnyOf(c.In[1])
				return k
			})
	})
	attach.CUDA(densityGrads["dirichlet"], func(p PDFParams, a *op.Args) (*op.Prepared, error) {
		k := newVectorsArgs(p, a.In[2], a.In[3])
		return attach.CUDAEach(attach.AnyFunc("draw", "dirichlet_grad"), k.count/k.each*k.size, k,
			func(k vectorsArgs, c *op.Call) vectorsArgs {
				k.dy, k.y, k.x, k.a = attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1]),
					attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
				k.dx, k.da = attach.AnyOf(c.Out[0]), attach.AnyOf(c.Out[1])
				return k
			})
	})
}

func newDensityArgs(p PDFParams, kind int, sample, params op.Desc) densityArgs {
	n := sample.Shape.Size()
	return densityArgs{n: n, each: max(n/max(params.Shape.Size(), 1), 1), kind: kind,
		isLog: attach.B2I(p.IsLog)}
}

func newVectorsArgs(p PDFParams, sample, params op.Desc) vectorsArgs {
	size := sample.Shape[len(sample.Shape)-1]
	return vectorsArgs{count: sample.Shape.Size() / max(size, 1),
		each: max(sample.Shape.Size()/max(params.Shape.Size(), 1), 1), size: size,
		isLog: attach.B2I(p.IsLog)}
}
