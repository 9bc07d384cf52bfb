package device_test

import (
	"fmt"
	"unsafe"

	"gomx/device"
	_ "gomx/device/null"
)

func ExampleAlloc() {
	b, err := device.Alloc(device.Null(0), 4*3, device.PurposeArray)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := unsafe.Slice((*float32)(b.Ptr), 3)
	copy(x, []float32{1, 2, 3})
	fmt.Println(x, device.Usage(device.Null(0)).Used[device.PurposeArray])
	b.Free()
	fmt.Println(device.Usage(device.Null(0)).Used[device.PurposeArray])
	// Output:
	// [1 2 3] 64
	// 0
}

func ExampleThreads() {
	small, large := device.Work{Bytes: 1e4}, device.Work{Flops: 1e9}
	fmt.Println(device.Threads(8, small.NS()), device.Threads(8, large.NS()))
	// Output: 1 8
}
