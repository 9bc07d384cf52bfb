package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// pickler writes the opcodes of pickle protocol 3 that optimizer states need.
type pickler struct {
	w   *bufio.Writer
	err error
}

func (p *pickler) op(c byte, data ...byte) {
	if p.err == nil {
		p.err = p.w.WriteByte(c)
	}
	p.raw(data)
}

func (p *pickler) raw(data []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(data)
	}
}

func (p *pickler) int(v int) {
	p.op('J')
	p.raw(binary.LittleEndian.AppendUint32(nil, uint32(int32(v))))
}

func (p *pickler) str(s string) {
	p.op('X')
	p.raw(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.raw([]byte(s))
}

func (p *pickler) bytes(b []byte) {
	if len(b) > math.MaxUint32 {
		p.err = errors.Join(p.err, fmt.Errorf(
			"checkpoint: state of %d bytes, want less than 4 GiB", len(b)))
		return
	}
	p.op('B')
	p.raw(binary.LittleEndian.AppendUint32(nil, uint32(len(b))))
	p.raw(b)
}

// global writes a reference to a Python object.
func (p *pickler) global(module, name string) { p.op('c', []byte(module+"\n"+name+"\n")...) }
