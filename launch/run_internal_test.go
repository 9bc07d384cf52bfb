package launch

import (
	"errors"
	"strings"
	"testing"

	"gomx/kvstore/ps"
)

// TestTheProgramsErrorDecides gives up a place, which fails: the exit code is the program's.
func TestTheProgramsErrorDecides(t *testing.T) {
	broken := errors.New("the program is broken")
	if err := abandoned(broken, nil); err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
	err := abandoned(broken, ps.ErrTimeout)
	if !errors.Is(err, broken) || ExitCode(err) != ExitFailed ||
		!strings.Contains(err.Error(), ps.ErrTimeout.Error()) {
		t.Errorf("%v: exit code %d, want %d", err, ExitCode(err), ExitFailed)
	}
	if code := ExitCode(abandoned(ps.ErrLost, ps.ErrTimeout)); code != ExitLost {
		t.Errorf("exit code %d, want %d", code, ExitLost)
	}
}
