package ring

// buffers is memory for contributions that wait, which all keys share. Its zero value is empty.
type buffers struct {
	free [][]byte
	lent int // bytes of contributions that wait in memory of the transport
}

// loose is the number of bytes by which a buffer may be longer than twice the need.
const loose = 4 << 10

// get returns n bytes of room in an empty slice: the shortest free buffer that is long enough and
// not much too long, or a new one.
func (b *buffers) get(n int) []byte {
	best := -1
	for i, f := range b.free {
		if cap(f) >= n && cap(f) <= 2*n+loose && (best < 0 || cap(f) < cap(b.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]byte, 0, n)
	}
	f, last := b.free[best], len(b.free)-1
	b.free[best] = b.free[last]
	b.free[last] = nil
	b.free = b.free[:last]
	return f[:0]
}

// put takes a buffer back.
func (b *buffers) put(f []byte) { b.free = append(b.free, f) }
