package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"gomx/dtype"
)

// maxHeader is the largest header in bytes, as the format's own library has it.
const maxHeader = 100_000_000

// metadataKey is the name in a header that stands for no array.
const metadataKey = "__metadata__"

// Tensor describes an array of a file.
type Tensor struct {
	Name  string
	Type  string      // the format's name of the element type, such as F32
	DType dtype.Type  // dtype.Unknown if gomx has no such type
	Shape dtype.Shape // empty for a scalar
	Bytes int64       // size of the values

	begin int64 // offset of the values behind the header
	part  int   // number of the file in the sorted list of the files of an index
}

// header is the content of a header.
type header struct {
	tensors []Tensor // by their places in the file
	meta    map[string]string
	size    int64 // bytes before the values
}

// parse reads the header of a file with the given content and checks all places against its size.
func parse(file []byte) (header, error) {
	if len(file) < 8 {
		return header{}, fmt.Errorf("truncated: %d bytes, want at least 8 for the length of the "+
			"header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader {
		return header{}, fmt.Errorf("the header claims %d bytes, want at most %d", n, maxHeader)
	}
	if n > uint64(len(file)-8) {
		return header{}, fmt.Errorf("truncated: the header claims %d bytes, %d left", n,
			len(file)-8)
	}
	text := file[8 : 8+n]
	if !bytes.HasPrefix(text, []byte("{")) {
		return header{}, fmt.Errorf("the header begins with %q, want \"{\"", text[:min(1, n)])
	}
	if !utf8.Valid(text) {
		return header{}, errors.New("the header is not valid UTF-8")
	}
	h := header{size: int64(8 + n), meta: map[string]string{}}
	if err := h.decode(text); err != nil {
		return header{}, fmt.Errorf("header: %w", err)
	}
	return h, h.checkPlaces(int64(len(file)) - h.size)
}

// decode reads the JSON of a header.
func (h *header) decode(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	err := object(d, func(name string) error {
		if name == metadataKey {
			if err := h.decodeMeta(d); err != nil {
				return fmt.Errorf("%s: %w", metadataKey, err)
			}
			return nil
		}
		t := Tensor{Name: name}
		if err := t.decode(d); err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		h.tensors = append(h.tensors, t)
		return nil
	})
	if err != nil {
		return err
	}
	if rest := strings.TrimRight(string(text[d.InputOffset():]), " \t\r\n\x00"); rest != "" {
		return fmt.Errorf("%.20q behind the object, want blanks", rest)
	}
	return nil
}

// object reads a JSON object. It calls field with each name, which occurs once, and field reads the
// value.
func object(d *json.Decoder, field func(name string) error) error {
	t, err := d.Token()
	if err != nil {
		return jsonError(err)
	}
	if t != json.Delim('{') {
		return fmt.Errorf("found %v, want an object", t)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return jsonError(err)
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("the name %q occurs twice, want different names", name)
		}
		seen[name] = true
		if err := field(name); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return jsonError(err)
}

// jsonError replaces the end of the input by an error that says so.
func jsonError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends early")
	}
	return err
}

// decodeMeta reads pairs of strings.
func (h *header) decodeMeta(d *json.Decoder) error {
	return object(d, func(name string) error {
		var v any
		if err := d.Decode(&v); err != nil {
			return jsonError(err)
		}
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("%q is %v, want a string", name, v)
		}
		h.meta[name] = s
		return nil
	})
}

// decode reads the description of an array. Fields that the format does not have are passed over.
func (t *Tensor) decode(d *json.Decoder) error {
	var name *string
	var shape, place *[]int64
	err := object(d, func(field string) error {
		var err error
		switch field {
		case "dtype":
			err = d.Decode(&name)
		case "shape":
			err = d.Decode(&shape)
		case "data_offsets":
			err = d.Decode(&place)
		default:
			var other any
			err = d.Decode(&other)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", field, jsonError(err))
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case name == nil || shape == nil || place == nil:
		return errors.New("want the fields dtype, shape and data_offsets")
	case len(*place) != 2:
		return fmt.Errorf("data_offsets %v, want two numbers", *place)
	}
	return t.set(*name, *shape, (*place)[0], (*place)[1])
}

// maxAxes bounds the number of axes that a file may claim.
const maxAxes = 32

// set fills in a description and compares its shape with its place.
func (t *Tensor) set(name string, shape []int64, begin, end int64) error {
	i, err := kindNamed(name)
	if err != nil {
		return err
	}
	if len(shape) > maxAxes {
		return fmt.Errorf("%d axes, want at most %d", len(shape), maxAxes)
	}
	t.Type, t.DType, t.Shape = name, kinds[i].own, make(dtype.Shape, len(shape))
	for i, d := range shape {
		if d < 0 || int64(int(d)) != d {
			return fmt.Errorf("shape %v: extent %d, want 0 or more", shape, d)
		}
		t.Shape[i] = int(d)
	}
	if begin < 0 || end < begin {
		return fmt.Errorf("data_offsets [%d, %d], want 0 or more in ascending order", begin, end)
	}
	want, ok := kinds[i].bytesOf(t.Shape)
	if !ok {
		return fmt.Errorf("shape %v of %s is no whole number of bytes that memory can hold",
			t.Shape, name)
	}
	if t.begin, t.Bytes = begin, end-begin; t.Bytes != want {
		return fmt.Errorf("data_offsets [%d, %d] are %d bytes, want %d for shape %v of %s",
			begin, end, t.Bytes, want, t.Shape, name)
	}
	return nil
}

// checkPlaces sorts the arrays by their places and demands that they cover size bytes without gaps
// and overlaps.
func (h *header) checkPlaces(size int64) error {
	slices.SortStableFunc(h.tensors, func(a, b Tensor) int {
		if a.begin != b.begin {
			return int(min(1, max(-1, a.begin-b.begin)))
		}
		return int(min(1, max(-1, a.Bytes-b.Bytes)))
	})
	at := int64(0)
	for i, t := range h.tensors {
		switch {
		case t.begin < at:
			return fmt.Errorf("array %q begins at byte %d of the values, inside array %q, which "+
				"ends at %d", t.Name, t.begin, h.tensors[i-1].Name, at)
		case t.begin > at:
			return fmt.Errorf("array %q begins at byte %d of the values, want %d: a gap of %d "+
				"bytes", t.Name, t.begin, at, t.begin-at)
		case t.Bytes > size-at:
			return fmt.Errorf("truncated: array %q (%s %v) wants bytes %d to %d of the values, "+
				"the file has %d", t.Name, t.Type, t.Shape, at, at+t.Bytes, size)
		}
		at += t.Bytes
	}
	if at != size {
		return fmt.Errorf("%d bytes behind the last array, want none", size-at)
	}
	return nil
}
