//go:build cgo

package prim

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, h := range []op.Handle[ConcatParams]{Concat, RNNParamConcat} {
		attach.TierC(h, func(p ConcatParams, a *op.Args) (*op.Prepared, error) {
			rows, threads, err := stripes(p.Dim.Value(), a, a.Out[0], a.In)
			if err != nil {
				return nil, err
			}
			return attach.Kernel(threads, 0, func(c *op.Call) {
				for i, r := range rows {
					r.join(c.Out[0], c.In[i])
				}
			}), nil
		})
	}
	attach.TierC(ConcatGrad, func(p ConcatParams, a *op.Args) (*op.Prepared, error) {
		rows, threads, err := stripes(p.Dim.Value(), a, a.In[0], a.Out)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) { cutUp(rows, c.In[0], c.Out) }), nil
	})
}

// stripe is the place of a part in the whole: rows of Bytes bytes that begin at offset in each row
// of the whole.
type stripe struct {
	offset, bytes, pitch, count, threads int
}

// stripes lays parts next to each other along an axis of the whole. Parts may lack the axis.
func stripes(axis int, a *op.Args, whole op.Desc, parts []op.Desc) ([]stripe, int, error) {
	axis, err := Axis("axis", axis, len(whole.Shape))
	if err != nil {
		return nil, 0, err
	}
	count := whole.Shape[:axis].Size()
	threads := attach.Threads(a, device.Work{Bytes: 2 * float64(whole.Bytes)})
	list, offset := make([]stripe, len(parts)), 0
	for i, d := range parts {
		if d.DType != whole.DType || d.Layout != nil || whole.Layout != nil || count == 0 {
			return nil, 0, op.ErrUnsupported
		}
		list[i] = stripe{offset, d.Bytes / count, whole.Bytes / count, count, threads}
		offset += list[i].bytes
	}
	return list, threads, nil
}

// join copies a part into the whole.
func (s stripe) join(whole, part op.Tensor) {
	r := cpu.Rows{Count: s.count, Bytes: s.bytes, DPitch: s.pitch, SPitch: s.bytes,
		Threads: s.threads}
	r.Copy(unsafe.Add(whole.Data, s.offset), part.Data)
}

// cutUp copies the parts that are wanted out of the whole.
func cutUp(rows []stripe, whole op.Tensor, parts []op.Tensor) {
	for i, s := range rows {
		if parts[i].Data != nil {
			r := cpu.Rows{Count: s.count, Bytes: s.bytes, DPitch: s.bytes, SPitch: s.pitch,
				Threads: s.threads}
			r.Copy(parts[i].Data, unsafe.Add(whole.Data, s.offset))
		}
	}
}

// sliceC prepares cutting windows out of input 0.
func sliceC(a *op.Args, windows func(dtype.Shape) ([]window, error)) (*op.Prepared, error) {
	list, err := windows(a.In[0].Shape)
	if err != nil {
		return nil, err
	}
	v := windowView(op.Tensor{Desc: a.In[0]}, list)
	return viewC(a, v.Strides, v.Off)
}
