package device_test

import (
	"testing"
	"unsafe"

	"gomx/device"
	_ "gomx/device/cpu"
	_ "gomx/device/null"
)

// TestCopyBetweenDevices copies between every two of a few devices.
func TestCopyBetweenDevices(t *testing.T) {
	devices := []device.Device{device.CPU(), {ID: 1}, device.Null(0), device.Null(1)}
	const n = 1000
	for _, from := range devices {
		for _, to := range devices {
			src, err := device.Alloc(from, n, device.PurposeArray)
			if err != nil {
				t.Fatal(err)
			}
			dst, err := device.Alloc(to, n, device.PurposeArray)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]byte, n)
			for i := range want {
				want[i] = byte(i * 7)
			}
			src.CopyIn(0, want)
			if err := device.Copy(to, dst.Ptr, from, src.Ptr, n); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, n)
			dst.CopyOut(got, 0)
			if string(got) != string(want) {
				t.Errorf("from %v to %v: got other bytes", from, to)
			}
			src.Free()
			dst.Free()
		}
	}
	var b byte
	if err := device.Copy(device.Null(99), unsafe.Pointer(&b), device.CPU(), unsafe.Pointer(&b),
		1); err == nil {
		t.Error("copying to a device that does not exist: no error")
	}
	if err := device.Copy(device.CPU(), unsafe.Pointer(&b), device.Null(99), unsafe.Pointer(&b),
		1); err == nil {
		t.Error("copying from a device that does not exist: no error")
	}
}
