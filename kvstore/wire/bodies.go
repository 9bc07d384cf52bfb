package wire

import (
	"encoding/binary"
	"fmt"
)

// Hello is how a process asks the scheduler for a place in the job. It repeats its hello,
// unchanged, until a view names it.
type Hello struct {
	Nonce uint64 // drawn by the process, never 0
	Rank  int32  // place it wants; -1: any that is free
	Addr  string // where it listens
}

// Append appends the hello's encoding.
func (h *Hello) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, h.Nonce)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Rank))
	return appendString(dst, h.Addr)
}

// maxAddr is the longest address that a process may announce.
const maxAddr = 1 << 10

// DecodeHello reads a hello.
func DecodeHello(b []byte) (Hello, error) {
	r := &reader{b: b}
	h := Hello{Nonce: r.u64(), Rank: int32(r.u32())}
	addr := r.bytes()
	if err := r.end("hello"); err != nil {
		return Hello{}, err
	}
	switch {
	case h.Nonce == 0:
		return Hello{}, fmt.Errorf("%w: hello with nonce 0", ErrBody)
	case h.Rank < -1 || h.Rank > 1<<16-1:
		return Hello{}, fmt.Errorf("%w: hello for rank %d, want -1 to 65535", ErrBody, h.Rank)
	case len(addr) > maxAddr:
		return Hello{}, fmt.Errorf("%w: hello with an address of %d bytes, want at most %d",
			ErrBody, len(addr), maxAddr)
	}
	h.Addr = string(addr)
	return h, nil
}

// Heartbeat is a node's word to the scheduler about itself, for people to see. The scheduler
// decides by it which barriers a worker that took over a place has left behind it, and who may come
// and go.
type Heartbeat struct {
	// rounds or steps of a server's furthest key, or that a worker has begun of its furthest key
	Clock  uint64
	Queue  uint64 // bytes held for others
	Parked uint32 // pulls that wait
	// rank that a server's oldest open round waits for, or a call of a worker, -1: none
	Waiting int32
	Start   uint64 // steps that processes before this one, a worker, have ended
	Loose   bool   // a worker has keys, and none with rounds: others may come and go at any time
	Leaves  bool   // the process asks to leave
}

// Append appends the heartbeat's encoding.
func (h *Heartbeat) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, h.Clock)
	dst = binary.LittleEndian.AppendUint64(dst, h.Queue)
	dst = binary.LittleEndian.AppendUint32(dst, h.Parked)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Waiting))
	dst = binary.LittleEndian.AppendUint64(dst, h.Start)
	return binary.LittleEndian.AppendUint32(dst, uint32(bit(h.Loose, 0)|bit(h.Leaves, 1)))
}

// DecodeHeartbeat reads a heartbeat.
func DecodeHeartbeat(b []byte) (Heartbeat, error) {
	r := &reader{b: b}
	h := Heartbeat{Clock: r.u64(), Queue: r.u64(), Parked: r.u32(), Waiting: int32(r.u32()),
		Start: r.u64()}
	bits := r.u32()
	h.Loose, h.Leaves = bits&1 != 0, bits&2 != 0
	return h, r.end("heartbeat")
}

// Spec is an optimizer on its way to the servers: a name and an encoding of its parameters that the
// store understands, never code. Version orders the specs of a job.
type Spec struct {
	Version uint64
	Name    string
	Params  []byte
	Rows    []byte // states of rows that servers take over with it (rows.States); nil: none
}

// Append appends the spec's encoding.
func (s *Spec) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, s.Version)
	dst = appendString(dst, s.Name)
	dst = appendBytes(dst, s.Params)
	if len(s.Rows) > 0 {
		dst = appendBytes(dst, s.Rows)
	}
	return dst
}

// DecodeSpec reads a spec. It shares no memory with b.
func DecodeSpec(b []byte) (Spec, error) {
	r := &reader{b: b}
	s := Spec{Version: r.u64(), Name: string(r.bytes())}
	s.Params = append([]byte(nil), r.bytes()...)
	if len(r.b) > 0 {
		s.Rows = append([]byte(nil), r.bytes()...)
		r.bad = r.bad || len(s.Rows) == 0
	}
	if err := r.end("optimizer"); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// CursorEntry says how far the pushes of one worker to one slice are committed.
type CursorEntry struct {
	Key     uint32
	Slice   uint16
	Slices  uint16
	DType   uint8
	Direct  bool
	Table   bool   // without rounds, and pushed once in each step of the worker
	Total   uint64 // bytes of the whole key
	Clock   uint64 // last committed push of the worker
	Version uint64 // of the value; without rounds, the highest push of any worker
}

// Cursor says where a worker that took over a place continues: the answer of one shard.
type Cursor struct {
	Away    bool // nobody waits for the worker before it has said where it starts
	Entries []CursorEntry
}

const cursorSize = 4 + 2 + 2 + 4 + 3*8

// Append appends the cursor's encoding.
func (c *Cursor) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(bit(c.Away, 0)))
	dst = le.AppendUint32(dst, uint32(len(c.Entries)))
	for _, e := range c.Entries {
		dst = le.AppendUint32(dst, e.Key)
		dst = le.AppendUint16(dst, e.Slice)
		dst = le.AppendUint16(dst, e.Slices)
		dst = append(dst, e.DType, bit(e.Direct, 0)|bit(e.Table, 1), 0, 0)
		dst = le.AppendUint64(dst, e.Total)
		dst = le.AppendUint64(dst, e.Clock)
		dst = le.AppendUint64(dst, e.Version)
	}
	return dst
}

// DecodeCursor reads a cursor. It shares no memory with b.
func DecodeCursor(b []byte) (Cursor, error) {
	r := &reader{b: b}
	c := Cursor{Away: r.u32() != 0}
	if n := r.count(cursorSize); n > 0 {
		c.Entries = make([]CursorEntry, n)
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		e.Key, e.Slice, e.Slices, e.DType = r.u32(), r.u16(), r.u16(), r.u8()
		bits, pad := r.u8(), r.u16()
		e.Direct, e.Table = bits&1 != 0, bits&2 != 0
		e.Total, e.Clock, e.Version = r.u64(), r.u64(), r.u64()
		if bits > 3 || pad != 0 || e.Slice != 0 && e.Slice >= e.Slices {
			return Cursor{}, fmt.Errorf("%w: cursor entry %d names slice %d of %d", ErrBody, i,
				e.Slice, e.Slices)
		}
	}
	if err := r.end("cursor"); err != nil {
		return Cursor{}, err
	}
	return c, nil
}

// SnapshotFile is one shard's file of a snapshot.
type SnapshotFile struct {
	Shard    uint32
	Checksum uint32 // CRC-32C of the file without its last 4 bytes, which hold this number
	Size     uint64
	Name     string
}

// Manifest lists the files of a snapshot. It is written last: a snapshot without a manifest does
// not exist.
type Manifest struct {
	Job   uint64
	Clock uint64
	Files []SnapshotFile
}

const (
	manifestMagic   = "gomxsnap"
	manifestVersion = 2
)

// Append appends the manifest's encoding, which ends in a checksum of itself.
func (m *Manifest) Append(dst []byte) []byte {
	le := binary.LittleEndian
	start := len(dst)
	dst = append(dst, manifestMagic...)
	dst = le.AppendUint32(dst, manifestVersion)
	dst = le.AppendUint64(dst, m.Job)
	dst = le.AppendUint64(dst, m.Clock)
	dst = le.AppendUint32(dst, uint32(len(m.Files)))
	for _, f := range m.Files {
		dst = le.AppendUint32(dst, f.Shard)
		dst = le.AppendUint32(dst, f.Checksum)
		dst = le.AppendUint64(dst, f.Size)
		dst = appendString(dst, f.Name)
	}
	return le.AppendUint32(dst, Checksum(dst[start:]))
}

// DecodeManifest reads a manifest and verifies its checksum.
func DecodeManifest(b []byte) (*Manifest, error) {
	if len(b) < len(manifestMagic)+4 || string(b[:len(manifestMagic)]) != manifestMagic {
		return nil, fmt.Errorf("%w: not a manifest of a snapshot", ErrBody)
	}
	body, tail := b[:len(b)-4], b[len(b)-4:]
	if got, want := Checksum(body), binary.LittleEndian.Uint32(tail); got != want {
		return nil, fmt.Errorf("%w: manifest with checksum %#x, it says %#x", ErrBody, got, want)
	}
	r := &reader{b: body[len(manifestMagic):]}
	if v := r.u32(); v != manifestVersion {
		return nil, fmt.Errorf("%w: manifest of version %d, want %d", ErrBody, v, manifestVersion)
	}
	m := &Manifest{Job: r.u64(), Clock: r.u64()}
	n := r.count(20)
	for range n {
		m.Files = append(m.Files, SnapshotFile{Shard: r.u32(), Checksum: r.u32(), Size: r.u64(),
			Name: string(r.bytes())})
	}
	if err := r.end("manifest"); err != nil {
		return nil, err
	}
	return m, nil
}
