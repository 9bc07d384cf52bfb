package engine

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
)

// ErrGoexit is the failure of an operation whose body ended its goroutine with runtime.Goexit.
var ErrGoexit = errors.New("the body called runtime.Goexit")

// OpError is the failure of an operation. It poisons the variables that the operation was to write
// and everything computed from them, and every wait for one of these variables returns it.
type OpError struct {
	Op     string // name of the operation
	Lane   Lane   // where it ran
	Detail string // text of Task.Describe
	Site   string // file:line of the push; empty unless Config.CallSites is on
	Err    error  // error of the body, or a *PanicError
}

// Error names the operation, its device, its arguments and the line that pushed it.
func (e *OpError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %v", e.Op, e.Lane)
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	if e.Site != "" {
		fmt.Fprintf(&b, ", pushed at %s", e.Site)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns the error of the body.
func (e *OpError) Unwrap() error { return e.Err }

// PanicError is the failure of an operation whose body panicked.
type PanicError struct {
	Value any    // argument of panic
	Stack string // the stack of the panic
}

// Error shows the value of the panic, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic when that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// recovered returns the error of a body that did not return. p is the result of recover.
func recovered(p any) error {
	if p == nil {
		return ErrGoexit
	}
	return &PanicError{p, string(debug.Stack())}
}

// opError returns the failure of o for the error of its body, nil for none. It calls the program's
// Describe, so no lock may be held.
func opError(o *oper, err error) *OpError {
	if err == nil {
		return nil
	}
	return &OpError{Op: o.name, Lane: o.spec.laneOf(), Detail: describe(o.describe),
		Site: o.site.String(), Err: err}
}

// describe returns the text of say about the arguments of an operation, also when say panics.
func describe(say func() string) (detail string) {
	if say == nil {
		return ""
	}
	defer func() {
		if p := recover(); p != nil {
			detail = fmt.Sprintf("describing it panicked: %v", p)
		}
	}()
	return say()
}

// site is a call stack, resolved to a line on demand.
type site struct {
	pc [12]uintptr
	n  int
}

// capture records the stack above its caller's caller.
func (s *site) capture() { s.n = runtime.Callers(3, s.pc[:]) }

// String returns file:line of the first frame outside of the framework's packages, else of the
// first frame outside of this package, else the empty string.
func (s *site) String() string {
	if s == nil || s.n == 0 {
		return ""
	}
	own := reflect.TypeFor[Engine]().PkgPath()
	module := strings.TrimSuffix(own, "engine")
	first := ""
	frames := runtime.CallersFrames(s.pc[:s.n])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, own+".") {
			at := fmt.Sprintf("%s:%d", f.File, f.Line)
			if first == "" {
				first = at
			}
			if !inFramework(module, f.Function) {
				return at
			}
		}
		if !more {
			return first
		}
	}
}

// inFramework reports whether the function belongs to one of the packages through which programs
// reach the engine. module is the path of the module with a slash behind it.
func inFramework(module, function string) bool {
	path, ok := strings.CutPrefix(function, module)
	if !ok {
		return strings.HasPrefix(function, "runtime.")
	}
	head := path[:strings.IndexAny(path+"/", "./")]
	switch head {
	case "examples", "cmd", "internal":
		return false
	}
	return !strings.HasSuffix(head, "_test")
}
