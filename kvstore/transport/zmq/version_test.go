package zmq_test

import (
	"strings"
	"testing"

	"gomx/kvstore/transport/zmq"
)

func TestVersionNamesTheLibrary(t *testing.T) {
	if got := zmq.Version(); !strings.Contains(strings.ToLower(got), "zmq") &&
		!strings.Contains(got, "ZeroMQ") {
		t.Errorf("got %q, want the library's name", got)
	}
}
