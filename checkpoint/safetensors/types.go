package safetensors

import (
	"fmt"

	"gomx/checkpoint"
	"gomx/dtype"
)

// kind describes a type of the format.
type kind struct {
	name string
	bits int        // size of an element
	own  dtype.Type // type of gomx's arrays; dtype.Unknown: gomx has none
}

// kinds are the types of the format in the order of Python's library, which writes arrays of later
// types first. The names are the format's.
var kinds = [...]kind{
	{"BOOL", 8, dtype.Bool}, {"F4", 4, dtype.Unknown}, {"F6_E2M3", 6, dtype.Unknown},
	{"F6_E3M2", 6, dtype.Unknown}, {"U8", 8, dtype.Uint8}, {"I8", 8, dtype.Int8},
	{"F8_E5M2", 8, dtype.Unknown}, {"F8_E4M3", 8, dtype.Unknown}, {"F8_E8M0", 8, dtype.Unknown},
	{"F8_E4M3FNUZ", 8, dtype.Unknown}, {"F8_E5M2FNUZ", 8, dtype.Unknown},
	{"I16", 16, dtype.Int16}, {"U16", 16, dtype.Uint16}, {"F16", 16, dtype.Float16},
	{"BF16", 16, dtype.BFloat16}, {"I32", 32, dtype.Int32}, {"U32", 32, dtype.Uint32},
	{"F32", 32, dtype.Float32}, {"C64", 64, dtype.Unknown}, {"F64", 64, dtype.Float64},
	{"I64", 64, dtype.Int64}, {"U64", 64, dtype.Uint64},
}

// kindNamed returns the place in kinds of a name of the format.
func kindNamed(name string) (int, error) {
	for i, k := range kinds {
		if k.name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("type %q is not one of the format, such as F32 or BF16", name)
}

// kindOf returns the place in kinds of an element type.
func kindOf(t dtype.Type) (int, error) {
	for i, k := range kinds {
		if k.own == t && t != dtype.Unknown {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the format has no type for elements of type %v", t)
}

// bytesOf returns the size of an array; ok is false if it is no whole number of bytes or if no
// memory can hold it.
func (k kind) bytesOf(shape dtype.Shape) (n int64, ok bool) {
	n, ok = checkpoint.ByteSize(dtype.Uint8, shape)
	if !ok || n > 1<<56 {
		return 0, false
	}
	n *= int64(k.bits)
	return n / 8, n%8 == 0
}
