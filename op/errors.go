package op

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// ErrUnsupported is returned by a kernel's Prepare for a dtype, shape or parameter that the kernel
// does not serve. The next plainer kernel is tried then.
var ErrUnsupported = errors.New("unsupported by this kernel")

// Error is the misuse of an operator. It names the operator, the argument, the value found and the
// value wanted.
// Imperative functions panic with it; module, symbol and checkpoint return it as an error.
type Error struct {
	Op   string // operator name, as registered
	Node string // name of the node in a graph, empty for imperative calls
	Arg  string // argument or attribute, empty when no single one is to blame
	Msg  string // what was found and what was wanted
	Site string // file:line that made the call or the node, when known
}

// Error formats e as "Convolution conv1 (net.go:12): weight: shape (3, 3), want 4 axes".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Node != "" && e.Node != e.Op {
		b.WriteString(" " + e.Node)
	}
	if e.Site != "" {
		b.WriteString(" (" + e.Site + ")")
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Arg != "" {
		b.WriteString(e.Arg + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errorf returns an *Error that blames argument arg (empty: none). The operator's name is filled
// in by the caller of the function that returned it.
func Errorf(arg, format string, args ...any) error {
	return &Error{Arg: arg, Msg: fmt.Sprintf(format, args...)}
}

// WithOp fills in operator, node and call site of the *Error in err, or wraps err in one.
// Fields that are set stay as they are.
func WithOp(err error, opName, node, site string) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Op: opName, Node: node, Site: site, Msg: err.Error()}
	}
	c := *e
	if c.Op == "" {
		c.Op = opName
	}
	if c.Op == opName && c.Node == "" {
		c.Node = node
	}
	if c.Op == opName && c.Site == "" {
		c.Site = site
	}
	return &c
}

// Recover turns a panic with *Error into *err; other panics go on. Use it deferred, at the
// border of packages that return errors:
//
//	defer op.Recover(&err)
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

// CallSite returns the file:line of the nearest caller outside gomx's own packages, without
// directories. It costs about 200 ns per frame, so it is for building graphs, not for running.
func CallSite() string {
	var pcs [24]uintptr
	n := runtime.Callers(2, pcs[:])
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		if !internalFrame(f.Function, f.File) {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return ""
		}
	}
}

// ownCaller reports whether the caller of the function that calls it belongs to a program, and not
// to this module's packages of operators.
func ownCaller() bool {
	var pcs [1]uintptr
	n := runtime.Callers(3, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:n]).Next()
	rest, ok := strings.CutPrefix(f.Function, reflect.TypeFor[Error]().PkgPath()+"/")
	family, _, _ := strings.Cut(rest, ".")
	return !ok || strings.HasSuffix(family, "_test")
}

// internalFrame reports whether a stack frame belongs to the library: its packages, but not its
// tests, examples and programs; or to package fmt, which calls methods of arrays.
func internalFrame(function, file string) bool {
	if strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "fmt.") {
		return true
	}
	module := strings.TrimSuffix(reflect.TypeFor[Error]().PkgPath(), "op") // with a slash behind it
	rest, ok := strings.CutPrefix(function, module)
	return ok && !strings.HasSuffix(file, "_test.go") &&
		!strings.HasPrefix(rest, "examples/") && !strings.HasPrefix(rest, "cmd/")
}
