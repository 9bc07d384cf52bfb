package device

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is a kind of device.
type Kind uint8

// The kinds of devices. CUDA exists in binaries built with the cuda tag only.
const (
	KindCPU  Kind = iota // the processor; all of its cores are one device
	KindCUDA             // a GPU of NVIDIA
	KindNull             // a simulated device that computes nothing
)

var kindNames = [...]string{KindCPU: "cpu", KindCUDA: "gpu", KindNull: "null"}

// String returns MXNet's name of the kind: cpu or gpu; null exists in gomx only.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "kind" + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

// Device names one device, which has memory and runs operations. The zero value is CPU().
type Device struct {
	Kind Kind
	ID   int
}

// CPU returns the processor.
func CPU() Device { return Device{} }

// CUDA returns GPU number id.
func CUDA(id int) Device { return Device{KindCUDA, id} }

// Null returns null device number id.
func Null(id int) Device { return Device{KindNull, id} }

// String formats d as MXNet does: "cpu(0)", "gpu(1)".
func (d Device) String() string { return fmt.Sprintf("%s(%d)", d.Kind, d.ID) }

// Parse parses a result of String; the number may be left out.
func Parse(s string) (Device, error) {
	name, id := s, 0
	if open := strings.IndexByte(s, '('); open >= 0 {
		n, err := strconv.Atoi(strings.TrimSuffix(s[open+1:], ")"))
		if err != nil || n < 0 || !strings.HasSuffix(s, ")") {
			return Device{}, fmt.Errorf("device: %q is not a device, want for example \"cpu(0)\"",
				s)
		}
		name, id = s[:open], n
	}
	for k, n := range kindNames {
		if n == name {
			return Device{Kind(k), id}, nil
		}
	}
	return Device{}, fmt.Errorf("device: unknown kind in %q, want cpu, gpu or null", s)
}

// Tier is a family of kernels for the CPU, from the plainest to the fastest.
type Tier uint8

// The kernel tiers. A binary built without cgo has TierRef and TierGo.
const (
	TierRef Tier = iota // plain Go loops that define the operators
	TierGo              // optimized pure Go
	TierC               // oneDNN and C kernels of gomx
)

var tierNames = [...]string{TierRef: "ref", TierGo: "go", TierC: "c"}

// String returns ref, go or c.
func (t Tier) String() string { return tierNames[t] }

// ParseTier reads what Tier.String writes.
func ParseTier(s string) (Tier, error) {
	for t, n := range tierNames {
		if n == s {
			return Tier(t), nil
		}
	}
	return 0, fmt.Errorf("device: unknown kernel tier %q, want ref, go or c", s)
}
