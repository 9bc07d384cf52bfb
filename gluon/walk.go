package gluon

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Declarer is a block that makes its parameters itself: Declare sets the fields that are nil. It is
// called before the parameters of a block are listed, and may be called again.
type Declarer interface{ Declare() }

// child is a part of a block: a parameter or another block.
type child struct {
	name  string
	param *Param // nil: it is a block
	block any

	place  reflect.Value // field or element that holds the part
	symbol *SymbolBlock  // block that holds the parameter; nil: place holds the part
}

// visit calls f for the parameters of a block in structural order, with their names: first the
// block itself, then its children.
func visit(block any, prefix string, f func(name string, c child)) {
	list := childrenOf(block)
	for _, c := range list {
		if c.param != nil {
			f(prefix+c.name, c)
		}
	}
	for _, c := range list {
		if c.param == nil {
			visit(c.block, prefix+c.name+".", f)
		}
	}
}

// Apply calls f for the parts of a block and their parts, then for the block itself, with their
// paths: the prefixes of the names of their parameters without the last dot, empty for the block
// itself. A part that the block holds in two places comes twice. Parameters are no parts here; see
// [ParamsOf].
//
// MXNet: gluon.Block.apply.
func Apply(block any, f func(path string, block any)) {
	apply(child{block: block}, "", func(path string, c child) { f(path, c.block) })
}

// apply calls f for the parts of a block, then for itself.
func apply(c child, path string, f func(path string, c child)) {
	for _, part := range childrenOf(c.block) {
		if part.param != nil {
			continue
		}
		name := part.name
		if path != "" {
			name = path + "." + name
		}
		apply(part, name, f)
	}
	f(path, c)
}

// childrenOf finds the parts of a block: in the exported fields of a struct, or the elements of a
// slice.
func childrenOf(block any) []child {
	if d, ok := block.(Declarer); ok {
		d.Declare()
	}
	switch b := block.(type) {
	case *SymbolBlock:
		return b.parts()
	case *Net:
		return childrenOf(b.root)
	case holder:
		return childrenOf(b.Held())
	}
	v := reflect.ValueOf(block)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		return elements(v, "")
	case reflect.Struct:
		return fields(v)
	}
	return nil
}

// fields finds the parts in the exported fields of a struct. Those of an embedded struct, and the
// elements of a slice whose tag is "+", belong to the struct itself.
func fields(v reflect.Value) (list []child) {
	t := v.Type()
	for i := range t.NumField() {
		f, name := t.Field(i), ""
		if name = f.Tag.Get("gluon"); name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" {
			list = append(list, embedded(v.Field(i))...)
			continue
		}
		if name == "+" {
			list = append(list, elements(v.Field(i), "")...)
			continue
		}
		if name == "" {
			name = snake(f.Name)
		}
		list = append(list, partOf(v.Field(i), name)...)
	}
	return list
}

// embedded finds the parts of an embedded struct.
func embedded(v reflect.Value) []child {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	return fields(v)
}

// partOf returns a value as a part of a block, or the elements of a slice as parts; it returns none
// if the value is neither parameter nor block.
func partOf(v reflect.Value, name string) []child {
	place := v
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if p, ok := v.Interface().(*Param); ok {
			return []child{{name: name, param: p, place: place}}
		}
		if isBlock(v) {
			return []child{{name: name, block: v.Interface(), place: place}}
		}
	case reflect.Slice, reflect.Array:
		if isBlock(v) {
			return []child{{name: name, block: v.Interface(), place: place}}
		}
		return elements(v, name+".")
	case reflect.Struct:
		if v.CanAddr() && isBlock(v.Addr()) {
			return []child{{name: name, block: v.Addr().Interface(), place: place}}
		}
	case reflect.Func:
		if v.IsNil() {
			return nil
		}
	}
	if v.IsValid() && isBlock(v) {
		return []child{{name: name, block: v.Interface(), place: place}}
	}
	return nil
}

// elements finds the parts among the elements of a slice; their names are numbers.
func elements(v reflect.Value, prefix string) (list []child) {
	switch e := v.Type().Elem(); e.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Struct:
	default:
		if e.NumMethod() == 0 {
			return nil
		}
	}
	for i := range v.Len() {
		list = append(list, partOf(v.Index(i), prefix+strconv.Itoa(i))...)
	}
	return list
}

// isBlock reports whether a value has a method that computes arrays from arrays.
func isBlock(v reflect.Value) bool {
	if _, ok := v.Interface().(Declarer); ok {
		return true
	}
	_, ok := v.Type().MethodByName("Forward")
	return ok
}

// snake returns a field's name in snake case: Conv1 is conv1, RunningMean is running_mean and
// I2HWeight is i2h_weight.
func snake(name string) string {
	var b strings.Builder
	list := []rune(name)
	for i, r := range list {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(list[i-1]) ||
			i+1 < len(list) && unicode.IsLower(list[i+1]) && !unicode.IsDigit(list[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
