package device_test

import (
	"testing"

	"gomx/device"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want device.Device
		ok   bool
	}{
		{"cpu(0)", device.CPU(), true},
		{"cpu", device.CPU(), true},
		{"gpu(3)", device.CUDA(3), true},
		{"null(1)", device.Null(1), true},
		{"gpu(", device.Device{}, false},
		{"gpu(-1)", device.Device{}, false},
		{"gpu(1", device.Device{}, false},
		{"tpu(0)", device.Device{}, false},
		{"", device.Device{}, false},
	} {
		got, err := device.Parse(c.in)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("Parse(%q) = %v, %v, want %v, ok %v", c.in, got, err, c.want, c.ok)
		}
	}
}

func TestParseReadsString(t *testing.T) {
	for _, d := range []device.Device{device.CPU(), device.CUDA(7), device.Null(2)} {
		if got, err := device.Parse(d.String()); err != nil || got != d {
			t.Errorf("Parse(%q) = %v, %v, want %v", d.String(), got, err, d)
		}
	}
}

func TestTierNames(t *testing.T) {
	for _, tier := range []device.Tier{device.TierRef, device.TierGo, device.TierC} {
		if got, err := device.ParseTier(tier.String()); err != nil || got != tier {
			t.Errorf("ParseTier(%q) = %v, %v, want %v", tier.String(), got, err, tier)
		}
	}
	if _, err := device.ParseTier("fast"); err == nil {
		t.Error("ParseTier(fast) succeeded, want an error")
	}
}

func TestThreads(t *testing.T) {
	for _, c := range []struct {
		cores int
		ns    float64
		want  int
	}{
		{1, 1e9, 1}, {8, 0, 1}, {8, 19e3, 1}, {8, 20e3, 2}, {8, 45e3, 4}, {8, 1e9, 8}, {0, 1e9, 1},
	} {
		if got := device.Threads(c.cores, c.ns); got != c.want {
			t.Errorf("Threads(%d, %g) = %d, want %d", c.cores, c.ns, got, c.want)
		}
	}
}

func TestUnknownDevice(t *testing.T) {
	if _, err := device.Alloc(device.Device{Kind: 77}, 1, device.PurposeArray); err == nil {
		t.Error("Alloc on an unknown kind succeeded, want an error")
	}
	if _, err := device.Alloc(device.CUDA(0), 1, device.PurposeArray); err == nil {
		t.Error("Alloc without a backend succeeded, want an error")
	}
	if n := device.Count(device.KindCUDA); n != 0 {
		t.Errorf("Count without a backend = %d, want 0", n)
	}
}
