package measure

import "slices"

// median returns the middle of some numbers, 0 of none.
func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile returns the number below which a share of the numbers lies, interpolated; 0 of none.
func quantile(list []float64, share float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	at := share * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}
