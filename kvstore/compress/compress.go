package compress

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Kind is a compression code. The zero value sends float32 unchanged.
type Kind uint8

// The codes.
const (
	None   Kind = iota // float32, little endian
	TwoBit             // +threshold, -threshold or 0
	OneBit             // two values, chosen by sign
	TopK               // the largest elements
	Half               // float16
	BHalf              // bfloat16
)

var kindNames = [...]string{None: "none", TwoBit: "2bit", OneBit: "1bit", TopK: "topk",
	Half: "fp16", BHalf: "bf16"}

// String returns none, 2bit, 1bit, topk, fp16 or bf16.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind%d", uint8(k))
	}
	return kindNames[k]
}

// Method is a compression code with its parameters. The zero value does not compress.
type Method struct {
	Kind      Kind
	Threshold float32 // for TwoBit: positive; 0 means 0.5
	Ratio     float64 // for TopK: share of the elements that is sent, at most 1; 0 means 0.01
}

// Parse makes a method from MXNet's parameters: type (2bit, 1bit, topk, fp16, bf16 or none), threshold
// and ratio, as in {"type": "2bit", "threshold": 0.5}.
func Parse(params map[string]any) (Method, error) {
	var m Method
	for key, v := range params {
		number, isNumber := asFloat(v)
		switch {
		case key == "type":
			name, _ := v.(string)
			k, err := parseKind(name)
			if err != nil {
				return Method{}, err
			}
			m.Kind = k
		case key == "threshold" && isNumber:
			m.Threshold = float32(number)
		case key == "ratio" && isNumber:
			m.Ratio = number
		default:
			return Method{}, fmt.Errorf(
				"compress: parameter %s = %v, want type, threshold or ratio", key, v)
		}
	}
	return m, m.Validate()
}

func asFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case float32:
		return float64(x), true
	case int:
		return float64(x), true
	}
	return 0, false
}

func parseKind(name string) (Kind, error) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), nil
		}
	}
	return None, fmt.Errorf("compress: type %q, want none, 2bit, 1bit, topk, fp16 or bf16", name)
}

// Validate returns an error for an unknown kind and for parameters out of range.
func (m Method) Validate() error {
	t := float64(m.Threshold)
	switch {
	case int(m.Kind) >= len(kindNames):
		return fmt.Errorf("compress: unknown %v", m.Kind)
	case m.Threshold < 0 || math.IsNaN(t) || math.IsInf(t, 0):
		return fmt.Errorf("compress: threshold %v, want a positive number", m.Threshold)
	case m.Ratio < 0 || m.Ratio > 1 || math.IsNaN(m.Ratio):
		return fmt.Errorf("compress: ratio %v, want more than 0 and at most 1", m.Ratio)
	}
	return nil
}

// Size returns the size in bytes of the payload for n elements.
func (m Method) Size(n int) int {
	switch m.Kind {
	case TwoBit:
		return 4 + 4*((n+15)/16)
	case OneBit:
		return 8 + (n+7)/8
	case TopK:
		return 8 * m.kept(n)
	case Half, BHalf:
		return 2 * n
	}
	return 4 * n
}

// Append encodes grad plus residual, appends the payload to dst and sets residual to the difference
// that the payload does not represent. residual has the length of grad; it is not used when the
// kind is None. Append fails only if the method is invalid or the lengths differ.
func (m Method) Append(dst []byte, grad, residual []float32) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return dst, err
	}
	if m.Kind != None && len(residual) != len(grad) {
		return dst, fmt.Errorf("compress: residual has %d elements, the gradient %d", len(residual),
			len(grad))
	}
	start, size := len(dst), m.Size(len(grad))
	dst = grow(dst, size)
	out := dst[start:]
	switch m.Kind {
	case TwoBit:
		m.twoBit(out, grad, residual)
	case OneBit:
		oneBit(out, grad, residual)
	case TopK:
		m.topK(out, grad, residual)
	case Half:
		half(out, grad, residual)
	case BHalf:
		bhalf(out, grad, residual)
	default:
		for i, v := range grad {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
		}
	}
	return dst, nil
}

// grow extends b by n bytes, whose content is undefined.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	next := make([]byte, len(b)+n, len(b)+n+(len(b)+n)/4)
	copy(next, b)
	return next
}

// Add decodes a payload and adds it to sum, element by element. On an error sum is unchanged.
func Add(sum []float32, k Kind, payload []byte) error {
	if err := Check(len(sum), k, payload); err != nil {
		return err
	}
	switch k {
	case TwoBit:
		addTwoBit(sum, payload)
	case OneBit:
		addOneBit(sum, payload)
	case TopK:
		addTopK(sum, payload)
	case Half:
		addHalf(sum, payload)
	case BHalf:
		addBHalf(sum, payload)
	default:
		for i := range sum {
			sum[i] += float(payload[4*i:])
		}
	}
	return nil
}

// Decode decodes a payload into dst. On an error dst is unchanged.
func Decode(dst []float32, k Kind, payload []byte) error {
	if err := Check(len(dst), k, payload); err != nil {
		return err
	}
	clear(dst)
	return Add(dst, k, payload)
}

// Check returns an error unless the payload is valid for n elements; Add and Decode do not fail on
// a valid one.
func Check(n int, k Kind, payload []byte) error {
	if int(k) >= len(kindNames) {
		return fmt.Errorf("compress: payload of unknown %v", k)
	}
	if k == TopK {
		return checkTopK(n, payload)
	}
	if want := (Method{Kind: k}).Size(n); len(payload) != want {
		return fmt.Errorf("compress: %v payload of %d bytes for %d elements, want %d", k,
			len(payload), n, want)
	}
	return nil
}

// float reads a float32.
func float(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// putFloat writes a float32.
func putFloat(b []byte, v float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(v)) }
