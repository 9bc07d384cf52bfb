package compress

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

const defaultRatio = 0.01

// kept returns the number of elements that are sent of n elements: at least one.
func (m Method) kept(n int) int {
	ratio := m.Ratio
	if ratio == 0 {
		ratio = defaultRatio
	}
	return min(n, max(1, int(math.Ceil(ratio*float64(n)))))
}

// topK writes the indices of the largest elements in ascending order, each with its value. Among
// equal elements the first ones are taken; NaN counts as the largest, so that it is sent.
func (m Method) topK(out []byte, grad, residual []float32) {
	for i, g := range grad {
		residual[i] += g
	}
	k := m.kept(len(grad))
	if k == 0 {
		return
	}
	bound, equal := threshold(residual, k)
	n := 0
	for i, r := range residual {
		a := magnitude(r)
		if a < bound || a == bound && equal == 0 {
			continue
		}
		if a == bound {
			equal--
		}
		binary.LittleEndian.PutUint32(out[8*n:], uint32(i))
		putFloat(out[8*n+4:], r)
		residual[i] = 0
		n++
	}
}

// magnitude orders floats by absolute value: the bits without the sign are ordered like the
// numbers.
func magnitude(v float32) uint32 { return math.Float32bits(v) &^ (1 << 31) }

// threshold returns the magnitude of the k-th largest element, and the number of elements with this
// magnitude among the k largest. It determines the magnitude byte by byte, in four passes.
func threshold(v []float32, k int) (bound uint32, equal int) {
	for shift := 24; shift >= 0; shift -= 8 {
		var count [256]int
		for _, x := range v {
			if a := magnitude(x); a>>shift>>8 == bound>>shift>>8 {
				count[a>>shift&255]++
			}
		}
		b := 255
		for ; count[b] < k; b-- {
			k -= count[b]
		}
		bound |= uint32(b) << shift
	}
	return bound, k
}

// checkTopK returns an error unless the indices of a payload ascend and are below n.
func checkTopK(n int, payload []byte) error {
	if len(payload)%8 != 0 {
		return fmt.Errorf("compress: topk payload of %d bytes, want a multiple of 8", len(payload))
	}
	last := -1
	for ; len(payload) > 0; payload = payload[8:] {
		i := binary.LittleEndian.Uint32(payload)
		if cmp.Compare(int64(i), int64(last)) <= 0 || int64(i) >= int64(n) {
			return fmt.Errorf("compress: topk payload names element %d after %d of %d", i, last, n)
		}
		last = int(i)
	}
	return nil
}

func addTopK(sum []float32, payload []byte) {
	for pair := range slices.Chunk(payload, 8) {
		sum[binary.LittleEndian.Uint32(pair)] += float(pair[4:])
	}
}
