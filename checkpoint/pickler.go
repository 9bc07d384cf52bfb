package checkpoint

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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

// call1 calls the function below the top of the stack with the top as its argument.
func (p *pickler) call1() {
	p.op(0x85)
	p.op('R')
}

// Call is a Python object in a file, as the call that makes it: of a function or class of a module,
// with arguments. Arguments are nil, bool, int, float64, string, json.Number, lists as []any, and
// calls.
type Call struct {
	Module, Name string
	Args         []any
	Keywords     map[string]any
}

// value writes an argument of a call.
func (p *pickler) value(v any) error {
	switch v := v.(type) {
	case nil:
		p.op('N')
	case bool:
		if v {
			p.op(0x88)
		} else {
			p.op(0x89)
		}
	case int:
		if v < math.MinInt32 || v > math.MaxInt32 {
			return fmt.Errorf("checkpoint: number %d, want one of 32 bits", v)
		}
		p.int(v)
	case float64:
		p.op('G')
		p.raw(binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return p.value(n)
		}
		f, err := v.Float64()
		if err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		return p.value(f)
	case string:
		p.str(v)
	case []any:
		p.op(']')
		p.op('(')
		for _, item := range v {
			if err := p.value(item); err != nil {
				return err
			}
		}
		p.op('e')
	case Call:
		return p.call(v)
	default:
		return fmt.Errorf("checkpoint: %T in a call, want a number, a text, a list or a call", v)
	}
	return p.err
}

// call writes a call. A pickle has no keyword arguments; functools.partial brings them in, whose
// state is the function, the arguments and the keywords.
func (p *pickler) call(c Call) error {
	p.global("functools", "partial")
	p.global(c.Module, c.Name)
	p.call1()
	p.op('(')
	p.global(c.Module, c.Name)
	p.op('(')
	for _, v := range c.Args {
		if err := p.value(v); err != nil {
			return err
		}
	}
	p.op('t')
	p.op('}')
	for _, k := range slices.Sorted(maps.Keys(c.Keywords)) {
		p.str(k)
		if err := p.value(c.Keywords[k]); err != nil {
			return err
		}
		p.op('s')
	}
	p.op('N')
	p.op('t')
	p.op('b')
	p.op(')')
	p.op('R')
	return p.err
}
