//go:build cgo

package loop

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
)

func sumRows(dst, src unsafe.Pointer, r RowSums, threads int) {
	cpu.SumRows{N: r.N, To: r.To, Starts: r.Starts, Order: r.Order, At: r.At, Factor: r.Factor,
		Threads: threads}.Run(dst, src)
}

func readRows(dst []int64, t op.Tensor, n int) (sorted, different bool) {
	return cpu.ReadRows(dst, t.Data, n)
}

func countRows(dst unsafe.Pointer, starts []int64, n, threads int) {
	cpu.CountRows(dst, starts, n, threads)
}

func gatherRows(dst, src unsafe.Pointer, at []int64, bytes, threads int) {
	cpu.GatherRows(dst, src, at, bytes, threads)
}

func addRows(dst, a unsafe.Pointer, ia []int32, b unsafe.Pointer, ib []int32, n, threads int) {
	cpu.AddRows(dst, a, ia, b, ib, n, threads)
}

func sumColumns(out op.Tensor, a *op.Sparse, src op.Tensor, n, threads int) bool {
	c := cpu.Columns{Starts: a.Starts, At: a.Indices, X: op.Slice[float32](a.Values()),
		Columns: a.Shape[1], Threads: threads}
	memory, err := device.Alloc(device.CPU(), c.Memory(), device.PurposeScratch)
	defer memory.Free()
	if err != nil {
		return false
	}
	found := c.Find(memory.Ptr)
	room, err := device.Alloc(device.CPU(), c.Room(memory.Ptr), device.PurposeScratch)
	defer room.Free()
	if err != nil {
		return false
	}
	if out.Sparse != nil {
		out.Sparse.Room(found)
		c.Sum(memory.Ptr, room.Ptr, out.Sparse.Indices, out.Sparse.Values().Data, false, src.Data,
			n)
		return true
	}
	keys, err := device.Alloc(device.CPU(), 8*found, device.PurposeScratch)
	defer keys.Free()
	if err != nil {
		return false
	}
	Clear(out)
	list := unsafe.Slice((*int64)(keys.Ptr), found)
	c.Sum(memory.Ptr, room.Ptr, list, out.Data, true, src.Data, n)
	return true
}
