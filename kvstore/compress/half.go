package compress

import (
	"encoding/binary"

	"gomx/dtype"
)

// half writes float16. Overflow gives the largest finite number, so that the residual stays finite.
func half(out []byte, grad, residual []float32) {
	for i, g := range grad {
		v := residual[i] + g
		h := dtype.HalfOf(min(max(v, -maxHalf), maxHalf))
		residual[i] = v - h.Float32()
		binary.LittleEndian.PutUint16(out[2*i:], uint16(h))
	}
}

const maxHalf = 65504

func addHalf(sum []float32, payload []byte) {
	for i := range sum {
		sum[i] += dtype.Half(binary.LittleEndian.Uint16(payload[2*i:])).Float32()
	}
}

// bhalf is half with bfloat16.
func bhalf(out []byte, grad, residual []float32) {
	for i, g := range grad {
		v := residual[i] + g
		h := dtype.BF16Of(min(max(v, -maxBHalf), maxBHalf))
		residual[i] = v - h.Float32()
		binary.LittleEndian.PutUint16(out[2*i:], uint16(h))
	}
}

// maxBHalf is the largest finite bfloat16.
const maxBHalf = 0x1.fep127

func addBHalf(sum []float32, payload []byte) {
	for i := range sum {
		sum[i] += dtype.BF16(binary.LittleEndian.Uint16(payload[2*i:])).Float32()
	}
}
