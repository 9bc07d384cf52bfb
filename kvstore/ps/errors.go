package ps

import (
	"errors"
	"fmt"

	"gomx/kvstore/wire"
)

// Errors that calls end with. They are wrapped in an Error that names the node that was waited for.
var (
	// ErrTimeout says that the deadline of a call passed. A push may still be applied later, once.
	ErrTimeout = errors.New("deadline passed")
	// ErrFenced says that another process has taken this one's place in the job.
	ErrFenced = errors.New("another process has taken this place")
	// ErrLeftBehind says that the job has gone on without this process, which was silent for too
	// long. Another process may take its place.
	ErrLeftBehind = fmt.Errorf("the job has gone on without this process, which had stood still: "+
		"%w", ErrFenced)
	// ErrViewChanged says that the job changed in a way that the call does not survive.
	ErrViewChanged = errors.New("the job's members changed")
	// ErrLost says that all copies of a shard are lost: the job continues from its last snapshot.
	ErrLost = errors.New("all copies of shards are lost")
	// ErrNoScheduler says that the scheduler has not been heard of for longer than Timing.Patience:
	// it is gone for good.
	ErrNoScheduler = errors.New("the scheduler is gone")
	// ErrRejected says that a server refused the call.
	ErrRejected = errors.New("refused by the server")
	// ErrUsage says that a call makes no sense.
	ErrUsage = errors.New("misuse")
	// ErrClosed says that the node has left the job.
	ErrClosed = errors.New("the node has left the job")
	// ErrOver says that a process wants to join a job that has ended well.
	ErrOver = errors.New("the job is over: all its workers have left")
)

// Error is how a call of a worker ended.
type Error struct {
	Op   string    // the call: "push", "pull"
	Key  uint32    // of which key, or NoKey
	Peer wire.Node // node that was waited for; zero when unknown
	// Waits is the node that the peer waited for itself when it was heard last; zero when unknown.
	Waits wire.Node
	Err   error // one of the errors above, perhaps wrapped
}

// NoKey stands in the place of a key where there is none.
const NoKey = ^uint32(0)

// Error names the call and the node, and says how it ended.
func (e *Error) Error() string {
	text := "kvstore: " + CallName(e.Op, e.Key)
	if !e.Peer.IsZero() {
		text += fmt.Sprintf(" at %s", e.Peer)
	}
	if !e.Peer.IsZero() && !e.Waits.IsZero() {
		text += fmt.Sprintf(", which waits for %s", e.Waits)
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

// CallName returns the name of a call in errors.
func CallName(op string, key uint32) string {
	if key == NoKey {
		return op
	}
	return fmt.Sprintf("%s of key %d", op, key)
}

// Unwrap returns the error below.
func (e *Error) Unwrap() error { return e.Err }

// LostError returns the error of a job of which shards are lost, nil when none is.
func LostError(v *wire.View) error {
	var names []byte
	n := 0
	for i := range v.Shards {
		if v.Shards[i].Lost {
			if n++; n > 1 {
				names = append(names, ", "...)
			}
			names = fmt.Append(names, i)
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d, numbers %s: the job can only go on from a snapshot", ErrLost,
		n, len(v.Shards), names)
}
