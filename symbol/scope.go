package symbol

import (
	"maps"
	"strconv"
	"sync/atomic"
)

// Scope holds the prefix of names and the attributes, such as the device group, that the nodes of
// one part of a program share. It takes the place of MXNet's AttrScope and name.Prefix without
// state of the whole process:
//
//	encoder := sym.NewScope("encoder_", sym.CtxGroup("dev1"))
//	net = sym.FullyConnected(net, p, encoder.Name("fc1"))   // encoder_fc1, encoder_fc1_weight, … in group dev1
//
// A scope may be used from several goroutines; then Auto gives names in the order of the calls.
type Scope struct {
	prefix string
	attrs  map[string]string
	next   *atomic.Int64
}

// NewScope makes a scope. Of the options those that attach attributes count.
func NewScope(prefix string, opts ...Option) *Scope {
	attrs := config(opts).attrs
	if attrs == nil {
		attrs = map[string]string{}
	}
	return &Scope{prefix: prefix, attrs: attrs, next: &atomic.Int64{}}
}

// Scope makes a scope inside s: its names begin with both prefixes, its attributes win over those
// of s.
func (s *Scope) Scope(prefix string, opts ...Option) *Scope {
	t := NewScope(s.prefix+prefix, opts...)
	merged := maps.Clone(s.attrs)
	maps.Copy(merged, t.attrs)
	t.attrs = merged
	return t
}

// Prefix returns the text with which the names in the scope begin.
func (s *Scope) Prefix() string { return s.prefix }

// Name names a node in the scope and gives it the scope's attributes; those given to the node
// itself win.
func (s *Scope) Name(name string) Option {
	return func(c *options) {
		c.name = s.prefix + name
		Attrs(s.attrs)(c)
	}
}

// Auto is Name with a counted name: hint0, hint1, ….
func (s *Scope) Auto(hint string) Option {
	return func(c *options) { s.Name(hint + strconv.FormatInt(s.next.Add(1)-1, 10))(c) }
}

// Var declares a variable in the scope.
func (s *Scope) Var(name string, opts ...Option) *Symbol {
	return Var(s.prefix+name, append([]Option{Attrs(s.attrs)}, opts...)...)
}

// CtxGroup puts a node into a group that BindConfig may place on a device of its own.
func CtxGroup(name string) Option { return Attr("__ctx_group__", name) }

// ForceMirroring asks for a node to be computed again in the backward part instead of being kept.
func ForceMirroring() Option { return Attr("__force_mirroring__", "True") }

// After makes a node run after others, although it reads nothing of them.
func After(others ...*Symbol) Option {
	return func(c *options) { c.after = append(c.after, others...) }
}
