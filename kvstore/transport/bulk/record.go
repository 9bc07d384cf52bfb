package bulk

import (
	"crypto/cipher"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"gomx/kvstore/transport/bulk/gcm"
	"gomx/kvstore/wire"
)

// After its handshake a line carries records of our own in both directions. A record is
//
//	23, 3, 3              the first bytes of a record of TLS 1.3
//	length                2 bytes, big-endian: of the rest
//	content and seal      AES-256-GCM; the seal is 16 bytes, the first 5 bytes are authenticated
//
// The nonce is the number of the record in its direction, combined with a secret by exclusive or as
// in TLS 1.3. A record that is repeated, left out or moved has another number, and opens no more
// than a record of another line or direction, whose key is another one.
const (
	recordHead = 5
	sealSize   = 16
	recordSize = 255 << 8 // bytes of content of the longest record that is written
	longest    = 1<<16 - 1
	// long is the size of payloads that are sealed where they lie.
	long = 16 << 10
	// together is the number of sealed bytes from which they are written: four long records, which fit
	// four segments on the loopback.
	together = 250 << 10
	// roomSize is the size of the buffer into which a line reads.
	roomSize = 512 << 10
)

// Sizes of the keys of one direction.
const (
	keySize   = 32
	nonceSize = 12
)

// errForged means that bytes arrived on a line that its peer did not write there.
var errForged = errors.New("bulk: a record is not the peer's next one")

// lineKeys are the keys of the two directions of a line: key and secret of the nonces.
type lineKeys struct{ dialer, acceptor []byte }

// keysOf derives the keys of a line from its handshake (RFC 8446, section 7.5). They are as secret,
// as fresh and as well authenticated as the keys of TLS, and independent of them.
func keysOf(s *tls.ConnectionState) (k lineKeys, err error) {
	const n = keySize + nonceSize
	b, err := s.ExportKeyingMaterial("EXPORTER-"+protocol, nil, 2*n)
	if err != nil {
		return k, fmt.Errorf("bulk: keys of a line: %w", err)
	}
	return lineKeys{b[:n:n], b[n:]}, nil
}

// wipe overwrites the keys.
func (k *lineKeys) wipe() {
	clear(k.dialer)
	clear(k.acceptor)
}

// seal seals or opens the records of one direction.
type seal struct {
	aead   cipher.AEAD
	secret [nonceSize]byte
	nonce  [nonceSize]byte
	n      uint64 // records so far
}

func newSeal(key []byte) (s seal, err error) {
	s.aead, err = gcm.New(key[:keySize])
	copy(s.secret[:], key[keySize:])
	return s, err
}

// next returns the nonce of the next record.
func (s *seal) next() []byte {
	s.nonce = s.secret
	last := s.nonce[nonceSize-8:]
	binary.BigEndian.PutUint64(last, binary.BigEndian.Uint64(last)^s.n)
	s.n++
	return s.nonce[:]
}

// writer seals bytes into records and writes several of them at a time.
type writer struct {
	to     io.Writer
	seal   seal
	plain  []byte // content of the next record
	out    []byte // records that have not been written
	sealed uint64 // bytes of content so far
}

func newWriter(to io.Writer, key []byte) (*writer, error) {
	s, err := newSeal(key)
	return &writer{to: to, seal: s, plain: make([]byte, 0, long),
		out: make([]byte, 0, together+recordHead+recordSize+sealSize)}, err
}

// add collects bytes for the next record, and seals each record that is full.
func (w *writer) add(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), cap(w.plain)-len(w.plain))
		w.plain = append(w.plain, b[:n]...)
		b = b[n:]
		if len(w.plain) == cap(w.plain) {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// addLong seals a long payload where it lies, in records of its own.
func (w *writer) addLong(b []byte) error {
	err := w.end()
	for err == nil && len(b) > 0 {
		n := min(recordSize, len(b))
		err = w.record(b[:n])
		b = b[n:]
	}
	return err
}

// end seals the bytes that wait for a record.
func (w *writer) end() error {
	if len(w.plain) == 0 {
		return nil
	}
	err := w.record(w.plain)
	w.plain = w.plain[:0]
	return err
}

// record seals one record. It writes when enough bytes wait.
func (w *writer) record(b []byte) error {
	at := len(w.out)
	w.out = append(w.out, 23, 3, 3, 0, 0)
	head := w.out[at:]
	binary.BigEndian.PutUint16(head[3:], uint16(len(b)+sealSize))
	w.out = w.seal.aead.Seal(w.out, w.seal.next(), b, head)
	w.sealed += uint64(len(b))
	if len(w.out) >= together {
		return w.flush()
	}
	return nil
}

// flush writes the records that wait.
func (w *writer) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.out)
	w.out = w.out[:0]
	return err
}

// wipe overwrites the plain text.
func (w *writer) wipe() { clear(w.plain[:cap(w.plain)]) }

// source reads bytes as io.Reader does. least is a number of bytes that are under way and without
// which the caller cannot end its work, 0 if there are none: a source may sleep until so many have
// come.
type source interface {
	read(p []byte, least int) (int, error)
}

// reader opens records. It implements io.Reader.
type reader struct {
	from   source
	seal   seal
	room   []byte
	lo, hi int    // the part of room that has been read and not been opened
	plain  []byte // opened content, in room, that has not been passed on
}

func newReader(from source, key []byte) (*reader, error) {
	s, err := newSeal(key)
	return &reader{from: from, seal: s, room: make([]byte, roomSize)}, err
}

// Read implements io.Reader. It returns verified bytes only. Content that fits is opened into p.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.plain) == 0 {
		wanted := len(p)
		if wanted <= wire.HeaderSize {
			wanted = 0 // perhaps the peer has no message
		}
		record, err := r.next(wanted)
		if err != nil {
			return 0, err
		}
		head, body := record[:recordHead], record[recordHead:]
		if n := len(body) - sealSize; n <= len(p) {
			if _, err := r.seal.aead.Open(p[:0], r.seal.next(), body, head); err != nil {
				return 0, errForged
			}
			return n, nil
		}
		if r.plain, err = r.seal.aead.Open(body[:0], r.seal.next(), body, head); err != nil {
			return 0, errForged
		}
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// next returns the next record, which stays valid until the next call, of at least so many bytes of
// content in this and later records. io.EOF means that the stream ends between two records.
func (r *reader) next(wanted int) ([]byte, error) {
	for {
		have := r.room[r.lo:r.hi]
		want, least := recordHead, wanted-len(have)
		if len(have) >= recordHead {
			n := int(binary.BigEndian.Uint16(have[3:]))
			if have[0] != 23 || have[1] != 3 || have[2] != 3 || n <= sealSize {
				return nil, errForged
			}
			if want += n; len(have) >= want {
				r.lo += want
				return have[:want], nil
			}
		}
		if len(have) > 0 {
			least = max(least, want-len(have))
		}
		if r.lo == r.hi {
			r.lo, r.hi = 0, 0
		} else if r.lo+want > len(r.room) {
			r.hi = copy(r.room, have)
			r.lo = 0
		}
		n, err := r.from.read(r.room[r.hi:], max(0, least))
		if r.hi += n; err == nil {
			continue
		}
		if err == io.EOF && r.lo < r.hi {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
}

// wipe overwrites the plain text.
func (r *reader) wipe() { clear(r.room) }
