package engine

import (
	"fmt"
	"runtime"
	"strings"
)

// site is a call stack, resolved to a line only when somebody asks.
type site struct {
	pc [12]uintptr
	n  int
}

// capture records the stack above its caller's caller.
func (s *site) capture() { s.n = runtime.Callers(3, s.pc[:]) }

// String returns file:line of the first frame outside of the framework's own packages, or of the first outside of this one, or nothing.
func (s *site) String() string {
	if s == nil || s.n == 0 {
		return ""
	}
	first := ""
	frames := runtime.CallersFrames(s.pc[:s.n])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "gomx/engine.") {
			at := fmt.Sprintf("%s:%d", f.File, f.Line)
			if first == "" {
				first = at
			}
			if !inFramework(f.Function) {
				return at
			}
		}
		if !more {
			return first
		}
	}
}

// inFramework reports whether the function belongs to one of the packages through which programs reach the engine.
func inFramework(function string) bool {
	path, ok := strings.CutPrefix(function, "gomx/")
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
