package null_test

import (
	"fmt"
	"testing"

	"gomx/device"
	"gomx/device/null"
)

func Example() {
	b, err := device.Alloc(device.Null(2), 1000, device.PurposeArena)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Device(), b.Bytes, device.Usage(device.Null(2)).Total() >= 1000,
		device.Usage(device.Null(1)).Total())
	b.Free()
	// Output: null(2) 1000 true 0
}

func TestCount(t *testing.T) {
	if n := device.Count(device.KindNull); n != null.Devices {
		t.Errorf("Count = %d, want %d", n, null.Devices)
	}
	if _, err := device.Alloc(device.Null(null.Devices), 1, device.PurposeArray); err == nil {
		t.Error("a device too many could be used")
	}
}
