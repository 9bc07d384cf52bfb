//go:build cgo

package cpu_test

import (
	"fmt"
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
)

func ExampleZip() {
	a, b := []float32{1, 2, 3}, []float32{10, 20, 30}
	cpu.Zip{Op: cpu.Add}.Run(unsafe.Pointer(&a[0]), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), 3)
	fmt.Println(a)
	// Output: [11 22 33]
}

func ExampleReduce() {
	x, d := []float32{1, 2, 3, 4, 5, 6}, make([]float32, 3)
	mean := cpu.NewReduce(cpu.Sum, dtype.Shape{2, 3}, []bool{true, false}, 0.5, 1)
	work, err := device.Alloc(device.CPU(), mean.Scratch(), device.PurposeScratch)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer work.Free()
	mean.Run(unsafe.Pointer(&d[0]), unsafe.Pointer(&x[0]), work.Ptr)
	fmt.Println(d)
	// Output: [2.5 3.5 4.5]
}
