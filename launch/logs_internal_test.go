package launch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"gomx/kvstore/wire"
)

// TestLogFields reads lines of the log in both formats.
func TestLogFields(t *testing.T) {
	e := Environ{Job: 0xabc, Verbose: 1, LogJSON: true}
	var b bytes.Buffer
	log := e.logTo(&b, wire.Node{Role: wire.Worker, Rank: 3})
	log.Info().Msg("hello")
	log.Debug().Msg("too much")
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"job": "abc", "role": "worker", "rank": 3.0,
		"level": "info", "message": "hello"} {
		if got[name] != want {
			t.Errorf("field %s is %v, want %v, in %s", name, got[name], want, b.String())
		}
	}
	if got["time"] == nil {
		t.Errorf("a line without a time: %s", b.String())
	}
	b.Reset()
	e.LogJSON = false
	log = e.logTo(&b, wire.Node{Role: wire.Scheduler})
	log.Warn().Msg("hello")
	for _, want := range []string{"hello", "job=abc", "role=scheduler"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("line %q lacks %q", b.String(), want)
		}
	}
	if strings.Contains(b.String(), "rank=") {
		t.Errorf("the scheduler has a rank in %q", b.String())
	}
}
