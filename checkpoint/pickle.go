package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Values of a pickle are nil, bool, int64, float64, string, []byte and these.
type (
	pyTuple  []any
	pyList   struct{ items []any }
	pyDict   struct{ keys, values []any }
	pyGlobal struct{ module, name string }
	// pyObject is a call in the pickle: a Python object that the call would make. Nothing is
	// called.
	pyObject struct {
		class any
		args  pyTuple
		state any
		items *pyDict // that the pickle puts into the object; nil: none
	}
	pyMark struct{}
)

// unpickler is the stack machine of Python's pickle module, protocols 0 to 5, without execution: a
// global stays a name, and a call stays a record of the callable and its arguments.
type unpickler struct {
	r     *bytes.Reader
	stack []any
	memo  map[int64]any
	err   error
}

// unpickle decodes one pickle. The size of data bounds memory and time.
func unpickle(data []byte) (any, error) {
	u := &unpickler{r: bytes.NewReader(data), memo: map[int64]any{}}
	for u.err == nil {
		at := int64(len(data)) - int64(u.r.Len())
		c, err := u.r.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("truncated at byte %d: the pickle does not stop: %w", at,
				io.ErrUnexpectedEOF)
		}
		if c == '.' {
			return u.pop(), u.wrap(at, c)
		}
		u.step(c)
		if u.err != nil {
			return nil, u.wrap(at, c)
		}
	}
	return nil, u.err
}

func (u *unpickler) wrap(at int64, c byte) error {
	if u.err == nil {
		return nil
	}
	return fmt.Errorf("byte %d: pickle opcode %q: %w", at, c, u.err)
}

// fail keeps the first error.
func (u *unpickler) fail(format string, args ...any) {
	if u.err == nil {
		u.err = fmt.Errorf(format, args...)
	}
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() any {
	if len(u.stack) == 0 {
		u.fail("the stack is empty")
		return nil
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v
}

func (u *unpickler) top() any {
	v := u.pop()
	if u.err == nil {
		u.push(v)
	}
	return v
}

// sinceMark pops all values above the last mark, and the mark.
func (u *unpickler) sinceMark() []any {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pyMark); ok {
			items := append([]any{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items
		}
	}
	u.fail("no mark on the stack")
	return nil
}

// step executes one opcode.
func (u *unpickler) step(c byte) {
	if u.literal(c) || u.container(c) {
		return
	}
	switch c {
	case 0x80: // PROTO
		if p := u.uint(1); p > 5 {
			u.fail("protocol %d, want at most 5", p)
		}
	case 0x95: // FRAME: its length is not needed
		u.uint(8)
	case '(':
		u.push(pyMark{})
	case '0':
		u.pop()
	case '1':
		u.sinceMark()
	case '2':
		u.push(u.top())
	case 'q':
		u.memo[u.uint(1)] = u.top()
	case 'r':
		u.memo[u.uint(4)] = u.top()
	case 'p':
		u.memo[u.lineInt()] = u.top()
	case 0x94:
		u.memo[int64(len(u.memo))] = u.top()
	case 'h':
		u.recall(u.uint(1))
	case 'j':
		u.recall(u.uint(4))
	case 'g':
		u.recall(u.lineInt())
	case 'c':
		u.push(pyGlobal{u.line(), u.line()})
	case 0x93:
		name, _ := u.pop().(string)
		module, _ := u.pop().(string)
		u.push(pyGlobal{module, name})
	case 'R', 0x81: // REDUCE, NEWOBJ
		args, ok := u.pop().(pyTuple)
		if !ok {
			u.fail("found arguments of another type, want a tuple")
		}
		u.push(&pyObject{class: u.pop(), args: args})
	case 'b':
		state := u.pop()
		if o, ok := u.top().(*pyObject); ok {
			o.state = state
		}
	default:
		u.fail("the opcode is not supported")
	}
}

func (u *unpickler) recall(key int64) {
	v, ok := u.memo[key]
	if !ok {
		u.fail("memo entry %d is missing", key)
	}
	u.push(v)
}

// literal executes an opcode that pushes a number, a string or a constant.
func (u *unpickler) literal(c byte) bool {
	switch c {
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(c == 0x88)
	case 'K':
		u.push(u.uint(1))
	case 'M':
		u.push(u.uint(2))
	case 'J':
		u.push(int64(int32(u.uint(4))))
	case 'I', 'L':
		u.push(u.lineInt())
	case 0x8a:
		u.push(u.long(u.bytes(u.uint(1))))
	case 'F':
		f, err := strconv.ParseFloat(u.line(), 64)
		if err != nil {
			u.fail("not a number: %w", err)
		}
		u.push(f)
	case 'G':
		b := u.bytes(8)
		if u.err == nil {
			u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
	case 0x8c, 'U':
		u.push(string(u.bytes(u.uint(1))))
	case 'X', 'T':
		u.push(string(u.bytes(u.uint(4))))
	case 0x8d:
		u.push(string(u.bytes(u.uint(8))))
	case 'V':
		u.push(u.line())
	case 'C':
		u.push(u.bytes(u.uint(1)))
	case 'B':
		u.push(u.bytes(u.uint(4)))
	case 0x8e, 0x96: // BINBYTES8, BYTEARRAY8
		u.push(u.bytes(u.uint(8)))
	default:
		return false
	}
	return true
}

// container executes an opcode that makes or fills a tuple, list or dictionary.
func (u *unpickler) container(c byte) bool {
	switch c {
	case ')':
		u.push(pyTuple{})
	case 0x85, 0x86, 0x87:
		t := make(pyTuple, c-0x84)
		for i := len(t) - 1; i >= 0; i-- {
			t[i] = u.pop()
		}
		u.push(t)
	case 't':
		u.push(pyTuple(u.sinceMark()))
	case ']':
		u.push(&pyList{})
	case 'l':
		u.push(&pyList{u.sinceMark()})
	case 'a':
		v := u.pop()
		u.extend([]any{v})
	case 'e':
		u.extend(u.sinceMark())
	case '}':
		u.push(&pyDict{})
	case 'd':
		items := u.sinceMark()
		u.push(&pyDict{})
		u.set(items)
	case 's':
		v := u.pop()
		u.set([]any{u.pop(), v})
	case 'u':
		u.set(u.sinceMark())
	default:
		return false
	}
	return true
}

func (u *unpickler) extend(items []any) {
	if l, ok := u.top().(*pyList); ok {
		l.items = append(l.items, items...)
		return
	}
	u.fail("no list to append to")
}

func (u *unpickler) set(items []any) {
	d, ok := u.top().(*pyDict)
	if o, object := u.top().(*pyObject); object { // a dictionary that a call returns
		if o.items == nil {
			o.items = &pyDict{}
		}
		d, ok = o.items, true
	}
	if !ok || len(items)%2 != 0 {
		u.fail("no dictionary to put %d items into", len(items))
		return
	}
	for i := 0; i < len(items); i += 2 {
		d.keys, d.values = append(d.keys, items[i]), append(d.values, items[i+1])
	}
}

// bytes reads n bytes; the result shares memory with the input.
func (u *unpickler) bytes(n int64) []byte {
	if u.err != nil || n < 0 || n > int64(u.r.Len()) {
		u.fail("wants %d bytes, %d left: %w", n, u.r.Len(), io.ErrUnexpectedEOF)
		return nil
	}
	b := make([]byte, n)
	io.ReadFull(u.r, b)
	return b
}

// uint reads a little-endian number of n bytes.
func (u *unpickler) uint(n int64) int64 {
	var b [8]byte
	copy(b[:], u.bytes(n))
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// long decodes a little-endian two's complement integer.
func (u *unpickler) long(b []byte) int64 {
	if len(b) > 8 {
		u.fail("an integer of %d bytes, want at most 8", len(b))
		return 0
	}
	var v int64
	for i, x := range b {
		v |= int64(x) << (8 * i)
	}
	if n := len(b); n > 0 && n < 8 && b[n-1] >= 0x80 {
		v -= 1 << (8 * n)
	}
	return v
}

// line reads to the end of the line.
func (u *unpickler) line() string {
	var b strings.Builder
	for {
		c, err := u.r.ReadByte()
		if err != nil {
			u.fail("the line does not end: %w", io.ErrUnexpectedEOF)
			return ""
		}
		if c == '\n' {
			return b.String()
		}
		b.WriteByte(c)
	}
}

func (u *unpickler) lineInt() int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(u.line(), "L"), 10, 64)
	if err != nil {
		u.fail("not an integer: %w", err)
	}
	return n
}
