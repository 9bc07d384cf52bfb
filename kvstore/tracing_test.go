package kvstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"

	"github.com/rs/zerolog"
)

// lines collects the lines of a log.
type lines struct{ output.Buffer }

// find returns the first line with a message.
func (l *lines) find(t *testing.T, message string) map[string]any {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if fields["message"] == message {
			return fields
		}
	}
	t.Errorf("the log has no line %q:\n%s", message, l.String())
	return nil
}

// TestLogsNameTheStep reads the log of a worker: lines name the step under way, and lines before the
// first step name none.
func TestLogsNameTheStep(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	network, p := mem.NewNetwork(1), newPages()
	var log lines
	config := func(n wire.Node) kvstore.JobConfig {
		c := p.config(network, n)
		c.Workers = 1
		if n.Role == wire.Worker {
			c.Log = zerolog.New(&log)
		}
		return c
	}
	var wg sync.WaitGroup
	for _, n := range []wire.Node{{Role: wire.Scheduler}, {Role: wire.Server}} {
		wg.Go(func() {
			if err := kvstore.Serve(ctx, config(n)); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", n, err)
			}
		})
	}
	job, err := kvstore.Join(ctx, config(wire.Node{Role: wire.Worker}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := kvstore.Open(kvstore.WithJob(ctx, job), "dist_sync")
	if err != nil {
		t.Fatal(err)
	}
	a, out := nd.Ones(nd.Shape{4}), nd.Zeros(nd.Shape{4})
	err = s.Init(ctx, "a", a)
	for range 2 {
		err = errors.Join(err, s.PushPull("a", 0, []*nd.Array{a}, []*nd.Array{out}))
	}
	if err = errors.Join(err, out.Wait(ctx)); err != nil {
		t.Fatal(err)
	}
	kvstore.LogOf(job).Info().Msg("in the second step")
	if got := log.find(t, "in the second step"); got["step"] != 2.0 {
		t.Errorf("the worker's line has the fields %v, want step 2", got)
	}
	if got := log.find(t, "health and metrics"); got["step"] != nil {
		t.Errorf("a line before the first step has the fields %v, want no step", got)
	}
	if err := errors.Join(s.Close(), job.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}
