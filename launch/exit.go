package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Exit codes of the processes of a job. They tell the launcher, or another parent, whether to start
// the process again. A crash of the Go runtime has code 2, and the end by a signal counts as 128
// plus its number.
const (
	ExitOK     = 0
	ExitFailed = 1  // the program of a worker failed, and would fail again
	ExitUsage  = 64 // flags or environment are wrong; found before the process joins the job
	// All copies of a shard are lost: the job can continue from a snapshot only.
	ExitLost  = 74
	ExitRetry = 75 // a failure outside the process: running it again may help
	// Another process has this place in the job: running this one again would take it back.
	ExitReplaced = 76
	// The process has left a job that goes on: its place may be taken again.
	ExitDrained = 77
)

// ErrUsage is the error for wrong flags, a wrong environment or wrong folders of a job.
var ErrUsage = errors.New("launch: wrong usage")

// usageError marks a mistake of the person or the script that started the process.
type usageError struct{ error }

// Unwrap returns the mistake.
func (e usageError) Unwrap() error { return e.error }

// Is makes the mistake an ErrUsage.
func (usageError) Is(target error) bool { return target == ErrUsage }

// ExitCode returns the exit code for the error of a run.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case errors.Is(err, kvstore.ErrLeft):
		return ExitDrained
	case errors.Is(err, ps.ErrLost):
		return ExitLost
	case errors.Is(err, ps.ErrLeftBehind):
		return ExitRetry
	case errors.Is(err, ps.ErrFenced), errors.Is(err, kvstore.ErrReplaced):
		return ExitReplaced
	case errors.Is(err, ps.ErrTimeout), errors.Is(err, ps.ErrViewChanged),
		errors.Is(err, ps.ErrNoScheduler), errors.Is(err, errOrphan),
		errors.Is(err, context.DeadlineExceeded):
		return ExitRetry
	}
	return ExitFailed
}

// ExitError is the error of a job that ended because one of its processes ended.
type ExitError struct {
	Node wire.Node // nobody: the engine that started the processes does not tell
	Code int       // exit code, or 128 plus the number of a signal
	Runs int       // number of times the process was started
}

// Error names the process and its exit code.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("launch: %s ended with exit code %d after %d runs", e.Node, e.Code, e.Runs)
	if e.Node.IsZero() {
		text = fmt.Sprintf("launch: the job ended with exit code %d", e.Code)
	}
	switch e.Code {
	case ExitUsage:
		text += ": its arguments or its environment are wrong"
	case ExitLost:
		text += ": all copies of a shard are lost; run the job again with --resume if it has snapshots"
	case ExitReplaced:
		text += ": another process has taken its place"
	}
	return text
}

// A crash of the Go runtime and a program that rejects its flags before it calls Run both end with
// code 2. When a process does so crashLoop times in a row, each time within crashSoon, the job
// ends.
const (
	exitCrash = 2
	crashLoop = 3
	crashSoon = 2 * time.Second
)

// deaths counts the ends of a process.
type deaths struct {
	runs  int
	quick int // runs in a row that ended with exitCrash within crashSoon
}

// verdict is the consequence of the end of a process for its job.
type verdict int

const (
	finished verdict = iota // the process has done its work
	again                   // the process died: start it again
	hopeless                // starting the process again would not help: end the job
	drained                 // the process has left the job, which goes on
)

// judge decides the consequence of the end of a run. restarts is the number of times that a process
// may be started again.
func (d *deaths) judge(role wire.Role, code int, lived time.Duration, restarts int) verdict {
	d.runs++
	if code == exitCrash && lived < crashSoon {
		d.quick++
	} else {
		d.quick = 0
	}
	switch {
	case code == ExitOK:
		return finished
	case code == ExitDrained:
		return drained
	case code == ExitUsage, code == ExitLost, code == ExitReplaced, code == ExitFailed &&
		role == wire.Worker:
		return hopeless
	case restarts < d.runs, d.quick == crashLoop:
		return hopeless
	}
	return again
}
