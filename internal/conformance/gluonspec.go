package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// blockSpec describes a block of MXNet's Gluon: its class and the arguments of its constructor.
type blockSpec struct {
	Class, Module string
	Args          map[string]json.RawMessage
	Children      []blockSpec
}

// blockArgs are the arguments of a constructor. An argument that is not read is an error, so that
// no part of a case is ignored.
type blockArgs struct {
	args map[string]json.RawMessage
	read map[string]bool
	err  error // the first
}

func (s *blockSpec) arguments() *blockArgs {
	return &blockArgs{args: s.Args, read: map[string]bool{"prefix": true}}
}

// left returns the error of an argument, or of one that has not been read.
func (b *blockArgs) left(class string) error {
	if b.err != nil {
		return fmt.Errorf("%s: %w", class, b.err)
	}
	for _, name := range slices.Sorted(maps.Keys(b.args)) {
		if !b.read[name] {
			return missing("%s with %s = %s", class, name, b.args[name])
		}
	}
	return nil
}

// arg reads an argument, or returns another value if it is not given or null.
func arg[T any](b *blockArgs, name string, other T) T {
	b.read[name] = true
	raw, ok := b.args[name]
	if !ok || string(raw) == "null" {
		return other
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil && b.err == nil {
		b.err = fmt.Errorf("%s = %s: %w", name, raw, err)
	}
	return v
}

// ints reads a number or a list of numbers; a number counts for n axes if n is above 0.
func (b *blockArgs) ints(name string, n int) []int {
	raw := arg[json.RawMessage](b, name, nil)
	if raw == nil {
		return nil
	}
	var list []int
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var one int
	if err := json.Unmarshal(raw, &one); err != nil && b.err == nil {
		b.err = fmt.Errorf("%s = %s: %w", name, raw, err)
	}
	return slices.Repeat([]int{one}, max(1, n))
}

// tolerance is that of the block, or the larger one if it or a part of it is one of looseClasses.
func (s *blockSpec) tolerance() Tolerance {
	if slices.ContainsFunc(looseClasses, func(part string) bool {
		return strings.Contains(s.Class, part)
	}) {
		return Tolerance{1e-4, 1e-3}
	}
	t := Tolerance{1e-5, 1e-4}
	for i := range s.Children {
		if c := s.Children[i].tolerance(); c.Abs > t.Abs {
			t = c
		}
	}
	return t
}
