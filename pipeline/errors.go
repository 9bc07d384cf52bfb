package pipeline

import (
	"errors"
	"fmt"
)

// RankError says which process of a job ends a pipeline.
type RankError struct {
	Rank  int // worker of the job
	Stage int
	Cause error // the reason, as the process that noticed it gives it
}

// Error names the rank, its stage and the cause.
func (e *RankError) Error() string {
	return fmt.Sprintf("pipeline: worker %d (stage %d): %v", e.Rank, e.Stage, e.Cause)
}

// Unwrap returns the cause.
func (e *RankError) Unwrap() error { return e.Cause }

// ErrReported wraps the text of an error that another process has reported.
var ErrReported = errors.New("reported by another worker")
