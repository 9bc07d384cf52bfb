//go:build cgo

package attach

import (
	"unsafe"

	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
)

// BFloat16 reports whether all operands are dense bfloat16 arrays.
func BFloat16(a *op.Args) bool { return AllOf(dtype.BFloat16, a.In) && AllOf(dtype.BFloat16, a.Out) }

// NarrowProduct prepares a product of bfloat16 matrices. Where the processor or the library has no
// fast kernel for it, or there is nothing to add up, it returns ErrUnsupported.
func NarrowProduct(s cpu.MatmulSpec) (cpu.Matmul, error) {
	if s.M*s.N*s.K*s.Inner*s.Outer == 0 || !cpu.HasBFloat16() {
		return cpu.Matmul{}, op.ErrUnsupported
	}
	k, err := cpu.NewMatmul(s)
	if err != nil {
		return k, op.ErrUnsupported
	}
	return k, nil
}

// Factors chooses the operands of a product from those of a call.
type Factors func(c *op.Call) (out, a, b, bias unsafe.Pointer)

// Products is a sequence of products of bfloat16 matrices.
type Products struct {
	list    []cpu.Matmul
	factors []Factors
	scratch int
}

// Add appends a product. It is left out of a run in which its output is nil.
func (p *Products) Add(s cpu.MatmulSpec, f Factors) error {
	k, err := NarrowProduct(s)
	if err != nil {
		return err
	}
	p.list, p.factors = append(p.list, k), append(p.factors, f)
	p.scratch = max(p.scratch, k.Scratch())
	return nil
}

// Prepared returns the kernel that computes the products one after the other.
func (p *Products) Prepared(threads int) *op.Prepared {
	k := &op.Prepared{Threads: threads, Scratch: p.scratch, Run: func(c *op.Call) error {
		for i, k := range p.list {
			out, a, b, bias := p.factors[i](c)
			if out == nil {
				continue
			}
			if err := k.Run(out, a, b, bias, c.Scratch); err != nil {
				return err
			}
		}
		return nil
	}}
	for _, m := range p.list {
		k.Impls = append(k.Impls, m.Impls()...)
	}
	return k
}
