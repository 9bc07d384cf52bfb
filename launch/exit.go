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

// Exit codes of the processes of a job, by which they tell a launcher, or anything else that starts
// them, how they ended. A crash of the Go runtime ends with 2, a signal with 128 plus its number in
// a shell's words: neither is a declaration.
const (
	ExitOK     = 0
	ExitFailed = 1  // a worker's program failed: it would fail again
	ExitUsage  = 64 // flags or environment make no sense; declared before the process joins
	// all copies of a shard are lost: the job continues from a snapshot, or not at all
	ExitLost  = 74
	ExitRetry = 75 // something outside failed: running the process again may help
	// another process has taken this place: running this one again would take it back
	ExitReplaced = 76
)

// ErrUsage says that a job cannot be started as it is described: flags, environment or folders make
// no sense.
var ErrUsage = errors.New("launch: wrong usage")

// usageError marks a mistake of the person or script that started the process.
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
	case errors.Is(err, ps.ErrLost):
		return ExitLost
	case errors.Is(err, ps.ErrFenced), errors.Is(err, kvstore.ErrReplaced):
		return ExitReplaced
	case errors.Is(err, ps.ErrTimeout), errors.Is(err, ps.ErrViewChanged),
		errors.Is(err, ps.ErrNoScheduler), errors.Is(err, errOrphan),
		errors.Is(err, context.DeadlineExceeded):
		return ExitRetry
	}
	return ExitFailed
}

// ExitError says that a process ended in a way that ends the job.
type ExitError struct {
	Node wire.Node
	Code int // 128 plus the number of the signal that ended the process
	Runs int // how often the process was started
}

// Error says which process ended and how.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("launch: %s ended with exit code %d after %d runs", e.Node, e.Code, e.Runs)
	switch e.Code {
	case ExitUsage:
		text += ": its arguments or its environment make no sense"
	case ExitLost:
		text += ": all copies of a shard are lost; run the job again with --resume if it has snapshots"
	case ExitReplaced:
		text += ": another process has taken its place"
	}
	return text
}

// A crash of the Go runtime and a program that refuses its flags before it calls Run both end with
// code 2. A process that does so crashLoop times in a row, each time within crashSoon, ends the
// job.
const (
	exitCrash = 2
	crashLoop = 3
	crashSoon = 2 * time.Second
)

// deaths counts how a process has ended so far.
type deaths struct {
	runs  int
	quick int // runs in a row that ended with exitCrash within crashSoon
}

// verdict says what the end of a process means for its job.
type verdict int

const (
	finished verdict = iota // it has done its work
	again                   // it died, and is started again
	hopeless                // starting it again would not help: the job ends
)

// judge decides what the end of a run means. restarts is how often a process may be started again.
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
	case code == ExitUsage, code == ExitLost, code == ExitReplaced, code == ExitFailed &&
		role == wire.Worker:
		return hopeless
	case restarts < d.runs, d.quick == crashLoop:
		return hopeless
	}
	return again
}
