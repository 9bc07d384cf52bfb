package compress

const defaultThreshold = 0.5

// twoBit writes the threshold, then sixteen elements in every four bytes, the first one in the
// highest bits of the first byte: 11 for +threshold, 10 for -threshold, 00 for 0. This is the
// arithmetic of MXNet's quantize_2bit, whose results depend on the order of its two comparisons.
func (m Method) twoBit(out []byte, grad, residual []float32) {
	t := m.Threshold
	if t == 0 {
		t = defaultThreshold
	}
	putFloat(out, t)
	out = out[4:]
	clear(out)
	residual = residual[:len(grad)]
	for i, g := range grad {
		r := residual[i] + g
		switch {
		case r >= t:
			r -= t
			out[i>>2] |= 0xc0 >> (2 * (i & 3))
		case r <= -t:
			r += t
			out[i>>2] |= 0x80 >> (2 * (i & 3))
		}
		residual[i] = r
	}
}

func addTwoBit(sum []float32, payload []byte) {
	t := float(payload)
	values := [4]float32{2: -t, 3: t}
	payload = payload[4:]
	for i := range sum {
		sum[i] += values[payload[i>>2]>>(6-2*(i&3))&3]
	}
}
