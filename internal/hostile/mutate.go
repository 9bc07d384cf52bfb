package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
)

// mutator makes damaged files.
type mutator struct {
	k   Kind
	rng *rand.Rand
}

func newMutator(k Kind, seed uint64) *mutator {
	return &mutator{k, rand.New(rand.NewPCG(seed, 0))}
}

// numbers are values that counts, offsets and extents often handle wrongly.
var numbers = []int64{0, 1, -1, 2, 7, 127, 128, 255, 256, 1 << 15, 1<<16 - 1, 1 << 20, 1 << 24,
	1<<31 - 1, 1 << 31, 1<<32 - 1,
	1 << 33, 1 << 40, 1 << 48, 1 << 62, 1<<63 - 1, -1 << 63, -2}

// number returns a hostile number to replace old in a file of size bytes.
func (m *mutator) number(old int64, size int) int64 {
	switch m.rng.IntN(4) {
	case 0:
		return old + int64(m.rng.IntN(9)) - 4
	case 1:
		return int64(size) + int64(m.rng.IntN(9)) - 4
	}
	return numbers[m.rng.IntN(len(numbers))]
}

// next returns mutation n with a description.
func (m *mutator) next(n int) (file []byte, story string) {
	i := n % len(m.k.Seeds)
	file = bytes.Clone(m.k.Seeds[i])
	// Several changes at once pass checks of single fields.
	for range 1 + m.rng.IntN(3)*m.rng.IntN(2) {
		var what string
		if m.rng.IntN(3) < 2 {
			file, what = m.field(file)
		} else {
			file, what = m.bytes(file)
		}
		story += what + ", "
	}
	if m.k.Seal != nil {
		m.k.Seal(file)
	}
	return file, fmt.Sprintf("%sof file %d", story, i)
}

// field changes a number.
func (m *mutator) field(file []byte) ([]byte, string) {
	if m.k.Text {
		return m.digits(file)
	}
	if len(file) == 0 {
		return file, "nothing"
	}
	width := []int{1, 2, 4, 4, 4, 8, 8}[m.rng.IntN(7)]
	if width > len(file) {
		width = 1
	}
	// Headers are at the beginning of files, and most formats align their words.
	end := len(file) - width + 1
	if m.rng.IntN(2) == 0 {
		end = min(end, 128)
	}
	at := m.rng.IntN(end)
	if m.rng.IntN(3) > 0 {
		at -= at % min(width, 4)
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if m.rng.IntN(4) == 0 {
		order = binary.BigEndian
	}
	word := file[at:][:width]
	var v int64
	switch width {
	case 1:
		v = m.number(int64(word[0]), len(file))
		word[0] = byte(v)
	case 2:
		v = m.number(int64(order.Uint16(word)), len(file))
		order.PutUint16(word, uint16(v))
	case 4:
		v = m.number(int64(order.Uint32(word)), len(file))
		order.PutUint32(word, uint32(v))
	case 8:
		v = m.number(int64(order.Uint64(word)), len(file))
		order.PutUint64(word, uint64(v))
	}
	return file, fmt.Sprintf("%d bytes at %d set to %d", width, at, v)
}

var decimal = regexp.MustCompile(`-?[0-9]+`)

// digits changes a number in a text file.
func (m *mutator) digits(file []byte) ([]byte, string) {
	places := decimal.FindAllIndex(file, -1)
	if len(places) == 0 {
		return m.bytes(file)
	}
	p := places[m.rng.IntN(len(places))]
	old, _ := strconv.ParseInt(string(file[p[0]:p[1]]), 10, 64)
	v := strconv.FormatInt(m.number(old, len(file)), 10)
	return slices.Concat(file[:p[0]], []byte(v), file[p[1]:]), fmt.Sprintf("number at %d set to %s",
		p[0], v)
}

// bytes changes any bytes.
func (m *mutator) bytes(file []byte) ([]byte, string) {
	at := 0
	if len(file) > 0 {
		at = m.rng.IntN(len(file))
	}
	switch m.rng.IntN(5) {
	case 0:
		return file[:at], fmt.Sprintf("cut to %d bytes", at)
	case 1: // the head of this file and the tail of another
		other := m.k.Seeds[m.rng.IntN(len(m.k.Seeds))]
		from := m.rng.IntN(len(other) + 1)
		return slices.Concat(file[:at], other[from:]), fmt.Sprintf("spliced at %d", at)
	case 2: // repeat a part
		end := min(len(file), at+1+m.rng.IntN(64))
		return slices.Concat(file[:end], file[at:]), fmt.Sprintf("%d bytes at %d repeated", end-at,
			at)
	case 3: // leave out a part
		end := min(len(file), at+1+m.rng.IntN(16))
		return slices.Concat(file[:at], file[end:]), fmt.Sprintf("%d bytes at %d removed", end-at,
			at)
	}
	if len(file) == 0 {
		return []byte{byte(m.rng.Uint32())}, "one byte"
	}
	n := 1 + m.rng.IntN(8)
	for range n {
		file[m.rng.IntN(len(file))] = byte(m.rng.Uint32())
	}
	return file, fmt.Sprintf("%d random bytes", n)
}
