package dtype

import "fmt"

// Type is an element type. Its numbers are MXNet's type codes, as stored in .params files;
// the zero value is Float32, MXNet's default.
type Type int8

// The element types, in MXNet's numbering.
const (
	Unknown Type = iota - 1 // not inferred yet
	Float32
	Float64
	Float16
	Uint8
	Int32
	Int8
	Int64
	Bool
	Int16
	Uint16
	Uint32
	Uint64
	BFloat16
)

// info describes one element type.
type info struct {
	name string
	size int
}

var infos = [...]info{
	Float32: {"float32", 4}, Float64: {"float64", 8}, Float16: {"float16", 2},
	Uint8: {"uint8", 1}, Int32: {"int32", 4}, Int8: {"int8", 1}, Int64: {"int64", 8},
	Bool: {"bool", 1}, Int16: {"int16", 2}, Uint16: {"uint16", 2},
	Uint32: {"uint32", 4}, Uint64: {"uint64", 8}, BFloat16: {"bfloat16", 2},
}

// Valid reports whether t is a known element type.
func (t Type) Valid() bool { return t >= 0 && int(t) < len(infos) }

// Size returns the bytes of one element, 0 when t is not valid.
func (t Type) Size() int {
	if !t.Valid() {
		return 0
	}
	return infos[t].size
}

// String returns MXNet's (and NumPy's) name of the type.
func (t Type) String() string {
	if !t.Valid() {
		return "unknown"
	}
	return infos[t].name
}

// IsFloat reports whether t is a floating-point type.
func (t Type) IsFloat() bool {
	return t == Float32 || t == Float64 || t == Float16 || t == BFloat16
}

// IsInt reports whether t is an integer type; Bool is not.
func (t Type) IsInt() bool { return t.Valid() && !t.IsFloat() && t != Bool }

// Parse returns the type with the given name.
func Parse(name string) (Type, error) {
	for t, i := range infos {
		if i.name == name {
			return Type(t), nil
		}
	}
	return Unknown, fmt.Errorf("dtype: unknown element type %q", name)
}
