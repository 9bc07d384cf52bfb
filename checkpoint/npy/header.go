package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gomx/checkpoint"
	"gomx/dtype"
)

// magic begins a file; the two bytes of the version follow.
const magic = "\x93NUMPY"

// maxHeader is the largest header in bytes.
const maxHeader = 1 << 20

// maxAxes bounds the number of axes that a file may claim; NumPy 2 has 64.
const maxAxes = 64

// Header describes the array of a file.
type Header struct {
	DType   dtype.Type
	Shape   dtype.Shape // empty for a scalar
	Big     bool        // the elements are big endian
	Fortran bool        // the first axis varies fastest

	bytes int64 // size of the values
}

// ReadHeader reads the header of a .npy file; the values follow it.
func ReadHeader(r io.Reader) (Header, error) {
	var start [10]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return Header{}, fmt.Errorf("header: %w", short(err))
	}
	if string(start[:6]) != magic {
		return Header{}, fmt.Errorf("begins with %q, want %q", start[:6], magic)
	}
	n := int(binary.LittleEndian.Uint16(start[8:]))
	switch start[6] {
	case 1:
	case 2, 3:
		var more [2]byte
		if _, err := io.ReadFull(r, more[:]); err != nil {
			return Header{}, fmt.Errorf("header: %w", short(err))
		}
		n |= int(binary.LittleEndian.Uint16(more[:])) << 16
	default:
		return Header{}, fmt.Errorf("version %d.%d of the format, want 1, 2 or 3", start[6], start[7])
	}
	if n > maxHeader {
		return Header{}, fmt.Errorf("the header claims %d bytes, want at most %d", n, maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, fmt.Errorf("header: %w", short(err))
	}
	p := literal{rest: string(text)}
	h, err := p.header()
	if err != nil {
		return Header{}, fmt.Errorf("header %.200q: %w", text, err)
	}
	return h, nil
}

// short names the end of a file as such.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// setType sets the element type by NumPy's description, such as <f4.
func (h *Header) setType(descr string) error {
	order, name := "", descr
	if descr != "" && strings.Contains("<>|=", descr[:1]) {
		order, name = descr[:1], descr[1:]
	}
	for t, n := range names {
		if n == name {
			h.DType, h.Big = t, order == ">" && t.Size() > 1 && t != dtype.BFloat16
			return nil
		}
	}
	return fmt.Errorf("elements of type %q, want numbers or booleans of gomx's types", descr)
}

// names are NumPy's descriptions of the element types.
var names = map[dtype.Type]string{
	dtype.Float32: "f4", dtype.Float64: "f8", dtype.Float16: "f2", dtype.BFloat16: "V2",
	dtype.Int8: "i1", dtype.Int16: "i2", dtype.Int32: "i4", dtype.Int64: "i8",
	dtype.Uint8: "u1", dtype.Uint16: "u2", dtype.Uint32: "u4", dtype.Uint64: "u8",
	dtype.Bool: "b1",
}

// measure computes the size of the values.
func (h *Header) measure() error {
	n, ok := checkpoint.ByteSize(h.DType, h.Shape)
	if !ok {
		return fmt.Errorf("shape %v, which no memory can hold", h.Shape)
	}
	h.bytes = n
	return nil
}

// literal parses the Python literal of a header.
type literal struct{ rest string }

// eat removes white space and then text; it reports whether text was there.
func (p *literal) eat(text string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok {
		p.rest = rest
	}
	return ok
}

// fail describes the place of an error.
func (p *literal) fail(want string) error {
	return fmt.Errorf("found %.20q, want %s", strings.TrimSpace(p.rest), want)
}

// header parses a dictionary of descr, fortran_order and shape.
func (p *literal) header() (h Header, err error) {
	if !p.eat("{") {
		return h, p.fail("{")
	}
	seen := map[string]bool{}
	for !p.eat("}") {
		key, err := p.quoted()
		if err != nil {
			return h, err
		}
		if !p.eat(":") {
			return h, p.fail(":")
		}
		if seen[key] {
			return h, fmt.Errorf("the key %q occurs twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			err = p.descr(&h)
		case "fortran_order":
			if h.Fortran = p.eat("True"); !h.Fortran && !p.eat("False") {
				err = p.fail("True or False")
			}
		case "shape":
			h.Shape, err = p.shape()
		default:
			err = fmt.Errorf("the key %q, want descr, fortran_order and shape", key)
		}
		if err != nil {
			return h, err
		}
		if !p.eat(",") && !strings.HasPrefix(strings.TrimSpace(p.rest), "}") {
			return h, p.fail("a comma or }")
		}
	}
	if len(seen) != 3 {
		return h, errors.New("want the keys descr, fortran_order and shape")
	}
	if p.eat(""); p.rest != "" {
		return h, p.fail("the end")
	}
	return h, h.measure()
}

// descr parses the element type.
func (p *literal) descr(h *Header) error {
	if p.eat("[") {
		return errors.New("elements are records, want numbers or booleans")
	}
	text, err := p.quoted()
	if err != nil {
		return err
	}
	return h.setType(text)
}

// quoted parses a string without escapes.
func (p *literal) quoted() (string, error) {
	for _, q := range []string{"'", `"`} {
		if p.eat(q) {
			text, rest, ok := strings.Cut(p.rest, q)
			if !ok {
				return "", p.fail("a closing " + q)
			}
			p.rest = rest
			return text, nil
		}
	}
	return "", p.fail("a string")
}

// shape parses a tuple of extents.
func (p *literal) shape() (dtype.Shape, error) {
	if !p.eat("(") {
		return nil, p.fail("a tuple")
	}
	shape := dtype.Shape{}
	for !p.eat(")") {
		p.eat("")
		n := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		d, err := strconv.Atoi(p.rest[:n])
		if err != nil {
			return nil, p.fail("an extent")
		}
		if len(shape) == maxAxes {
			return nil, fmt.Errorf("more than %d axes", maxAxes)
		}
		shape, p.rest = append(shape, d), strings.TrimPrefix(p.rest[n:], "L")
		if !p.eat(",") && !strings.HasPrefix(strings.TrimSpace(p.rest), ")") {
			return nil, p.fail("a comma or )")
		}
	}
	return shape, nil
}

// growDigits is the number of digits for which NumPy leaves room, so that the first extent of a
// file can grow in place.
const growDigits = 21

// headerBytes returns the header of a file with an array in C's order, as NumPy writes it.
func headerBytes(t dtype.Type, shape dtype.Shape) ([]byte, error) {
	name, ok := names[t]
	if !ok {
		return nil, fmt.Errorf("elements of type %v, which the format does not have", t)
	}
	order := "<"
	if t.Size() == 1 {
		order = "|"
	}
	dims, room := "", 0
	for _, d := range shape {
		dims += strconv.Itoa(d) + ", "
	}
	if len(shape) > 0 {
		room = growDigits - len(strconv.Itoa(shape[0]))
	}
	if dims = strings.TrimSuffix(dims, " "); len(shape) > 1 {
		dims = strings.TrimSuffix(dims, ",")
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }%s", order, name,
		dims, strings.Repeat(" ", room))
	const before = len(magic) + 4
	text += strings.Repeat(" ", 63-(before+len(text))%64) + "\n"
	b := append([]byte(magic), 1, 0)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...), nil
}
