package bulk

import (
	"io"

	"gomx/kvstore/wire"
)

// frames reads messages from a stream of bytes that TLS has verified: a header, which says how long
// its payload is, and the payload.
type frames struct {
	from   io.Reader
	most   int // bytes of the longest payload
	pool   *buffers
	header [wire.HeaderSize]byte
}

// next reads one message. The payload is in b, which the caller releases. io.EOF means that the
// stream ends between two messages. Memory grows with the bytes that have arrived, not with the
// length that a header claims, beyond the largest pooled buffer.
func (f *frames) next(m *wire.Message) (b *buffer, err error) {
	if _, err := io.ReadFull(f.from, f.header[:]); err != nil {
		return nil, err
	}
	n, err := wire.PayloadSize(f.header[:], f.most)
	if err != nil {
		return nil, err
	}
	b = f.pool.get(min(n, largest))
	for have := 0; have < n; have = len(b.b) {
		if have > 0 { // longer than the largest pooled buffer
			more := f.pool.get(min(n, 2*have))
			copy(more.b, b.b)
			b.Release()
			b = more
		}
		if _, err := io.ReadFull(f.from, b.b[have:]); err != nil {
			b.Release()
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	if err := wire.Decode(f.header[:], b.b, m); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}
