package conformance

import (
	"gomx/device"
	"gomx/op"
)

// heavy is the number of elements of parameters and activations from which a network is left out on
// slow kernels. With it the 23 networks take seconds instead of minutes.
const heavy = 1 << 20

// LeaveOut separates the cases that are too large for a slow environment: without the C kernels, on
// a lower tier, under the race detector, or on a slow device. Without all it separates slow
// ones, too.
func LeaveOut(cases []Case, tiers []device.Tier, slow, all bool) (kept []Case, left []string) {
	slow = slow || raceDetector || !op.Lookup("Convolution").HasKernel(device.KindCPU, device.TierC)
	for _, t := range tiers {
		slow = slow || t < device.TierC
	}
	for _, c := range cases {
		if slow && c.Weight > heavy || !all && c.Slow {
			left = append(left, c.ID)
			continue
		}
		kept = append(kept, c)
	}
	return kept, left
}
