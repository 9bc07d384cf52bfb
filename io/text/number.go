package text

import (
	"math"
	"strconv"
)

// tens are the powers of ten that float64 holds exactly.
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
	1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Float parses the number at the beginning of b, which ends before a space, a comma, a number sign
// or a colon. It returns the nearest float32 and the length of the number, 0 if there is none.
func Float(b []byte) (v float32, n int) {
	i := 0
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		i = 1
	}
	var w uint64
	first := i
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		w = w*10 + uint64(d)
	}
	digits, exponent := i-first, 0
	if i < len(b) && b[i] == '.' {
		i++
		first = i
		for ; i < len(b); i++ {
			d := b[i] - '0'
			if d > 9 {
				break
			}
			w = w*10 + uint64(d)
		}
		exponent = first - i
		digits += i - first
	}
	if i < len(b) && b[i]|0x20 == 'e' && digits > 0 {
		e, k := smallInt(b[i+1:])
		if k == 0 {
			return slowFloat(b)
		}
		exponent += e
		i += 1 + k
	}
	if digits == 0 || digits > 19 || i < len(b) && !isEnd(b[i]) {
		return slowFloat(b)
	}
	v, ok := scaled(w, exponent)
	if !ok {
		return slowFloat(b)
	}
	if negative {
		v = -v
	}
	return v, i
}

// scaled returns the float32 nearest to w·10^exponent; ok is false where it cannot tell.
func scaled(w uint64, exponent int) (v float32, ok bool) {
	if exponent == 0 && w <= 1<<24 {
		return float32(w), true
	}
	if exponent < -22 || exponent > 22 {
		return 0, w == 0
	}
	f := float64(w)
	if exponent < 0 {
		f /= tens[-exponent]
	} else {
		f *= tens[exponent]
	}
	if w == 0 {
		return 0, true
	}
	if f < 0x1p-126 || f > math.MaxFloat32 {
		return 0, false
	}
	// f is off by at most two units in its last place. It has the same nearest float32 as the
	// exact number unless the middle between two float32 lies within this distance.
	const middle = 1 << 28
	if low := int64(math.Float64bits(f) & (1<<29 - 1)); low >= middle-2 && low <= middle+2 {
		return 0, false
	}
	return float32(f), true
}

// smallInt parses an integer of up to four digits at the beginning of b.
func smallInt(b []byte) (v, n int) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		n = 1
	}
	first := n
	for n < len(b) && b[n]-'0' <= 9 {
		v = v*10 + int(b[n]-'0')
		if n++; n-first > 4 {
			return 0, 0
		}
	}
	if n == first {
		return 0, 0
	}
	if negative {
		v = -v
	}
	return v, n
}

// slowFloat is Float for every number that strconv.ParseFloat knows.
func slowFloat(b []byte) (v float32, n int) {
	for n < len(b) && !isEnd(b[n]) {
		n++
	}
	f, err := strconv.ParseFloat(string(b[:n]), 32)
	if err != nil {
		return 0, 0
	}
	return float32(f), n
}

// isEnd reports whether c ends a number.
func isEnd(c byte) bool { return isSpace(c) || c == ',' || c == ':' || c == '#' }
