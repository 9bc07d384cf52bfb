package fault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gomx/launch"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// usage is a mistake in the arguments.
type usage struct{ error }

// Is makes a usage error one of launch.ErrUsage, whose exit code is 2.
func (usage) Is(target error) bool { return target == launch.ErrUsage }

// Usage marks an error as a mistake in the arguments.
func Usage(err error) error { return usage{err} }

// hinted is an error with a sentence about its remedy.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error without the hint.
func (h hinted) Unwrap() error { return h.error }

// Hint adds the remedy to an error.
func Hint(err error, text string) error { return hinted{err, text} }

// HintOf returns the remedy of an error of a command, "" if nothing general can be said. The caller
// marks mistakes in the arguments.
func HintOf(cmd *cobra.Command, err error, mistake bool) string {
	var h hinted
	switch {
	case errors.As(err, &h):
		return h.hint
	case mistake && cmd != nil && cmd.HasParent():
		return fmt.Sprintf("%s --help shows arguments, flags and examples", cmd.CommandPath())
	case errors.Is(err, fs.ErrNotExist):
		if dir, err := os.Getwd(); err == nil {
			return "check the name; relative names begin at " + dir
		}
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file: ls -l"
	}
	return ""
}

// Report writes an error and its hint, in colours on a terminal unless NO_COLOR is set.
func Report(w io.Writer, err error, hint string) {
	red, grey, plain := "", "", ""
	if _, without := os.LookupEnv("NO_COLOR"); terminal(w) && !without {
		red, grey, plain = "\x1b[31m", "\x1b[90m", "\x1b[0m"
	}
	fmt.Fprintf(w, "%sgomx: %v%s\n", red, err, plain)
	if hint != "" {
		fmt.Fprintf(w, "%shint: %s%s\n", grey, hint, plain)
	}
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
