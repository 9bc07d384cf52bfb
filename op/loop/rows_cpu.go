//go:build cgo

package loop

import (
	"unsafe"

	"gomx/device/cpu"
)

func sumRows(dst, src unsafe.Pointer, r RowSums, threads int) {
	cpu.SumRows{N: r.N, To: r.To, Starts: r.Starts, Order: r.Order, At: r.At, Factor: r.Factor,
		Threads: threads}.Run(dst, src)
}

func gatherRows(dst, src unsafe.Pointer, at []int64, bytes, threads int) {
	cpu.GatherRows(dst, src, at, bytes, threads)
}

func addRows(dst, a unsafe.Pointer, ia []int32, b unsafe.Pointer, ib []int32, n, threads int) {
	cpu.AddRows(dst, a, ia, b, ib, n, threads)
}
