package runs

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	magic = "gomxrun\n"
	// Version is the version of the files that this package writes.
	Version    = 1
	headerSize = len(magic) + 4
	frameSize  = 8 // length and checksum before the body of a record
	// maxRecord is the greatest number of bytes of a body. Larger ones are refused by writers and
	// readers.
	maxRecord = 64 << 20
)

// kind is the first byte of a record's body.
type kind byte

const (
	kindBegin     kind = iota + 1 // a process begins to write: JSON of Begin
	kindTag                       // name of a curve; its number is its place among the names
	kindScalars                   // step, time, pairs of tag and value
	kindHistogram                 // step, time, tag, statistics and counts
	kindNote                      // everything else: name, step, time, JSON
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginFrame appends an empty frame of a kind. The caller appends the body, then calls endFrame
// with the length that b had before.
func beginFrame(b []byte, k kind) []byte {
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(k))
}

// endFrame completes the frame that begins at an offset of b.
func endFrame(b []byte, at int) {
	body := b[at+frameSize:]
	binary.LittleEndian.PutUint32(b[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(body, castagnoli))
}

// header returns the first bytes of a file.
func header() []byte { return binary.LittleEndian.AppendUint32([]byte(magic), Version) }
