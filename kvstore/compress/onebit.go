package compress

// oneBit writes the mean of the elements below zero, the mean of the other elements, then one bit
// per element, the first in the highest bit: 0 for elements below zero, 1 for the others.
func oneBit(out []byte, grad, residual []float32) {
	var low, high float64
	highs := 0
	for i, g := range grad {
		r := residual[i] + g
		residual[i] = r
		if r < 0 {
			low += float64(r)
		} else {
			high += float64(r)
			highs++
		}
	}
	var values [2]float32
	if lows := len(grad) - highs; lows > 0 {
		values[0] = float32(low / float64(lows))
	}
	if highs > 0 {
		values[1] = float32(high / float64(highs))
	}
	putFloat(out, values[0])
	putFloat(out[4:], values[1])
	out = out[8:]
	clear(out)
	for i, r := range residual {
		bit := 0
		if !(r < 0) {
			bit = 1
			out[i>>3] |= 0x80 >> (i & 7)
		}
		residual[i] = r - values[bit]
	}
}

func addOneBit(sum []float32, payload []byte) {
	values := [2]float32{float(payload), float(payload[4:])}
	payload = payload[8:]
	for i := range sum {
		sum[i] += values[payload[i>>3]>>(7-i&7)&1]
	}
}
