package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/monitor"

	"github.com/rs/zerolog"
)

// log returns a logger of state changes to standard error, at the level of PS_VERBOSE.
func (e *Environ) log(n wire.Node) zerolog.Logger { return e.logTo(os.Stderr, n) }

// logTo returns a logger whose lines have the fields job, role and rank. Package kvstore adds the
// field step.
func (e *Environ) logTo(w io.Writer, n wire.Node) zerolog.Logger {
	level := zerolog.WarnLevel
	switch {
	case e.Verbose == 1:
		level = zerolog.InfoLevel
	case e.Verbose > 1:
		level = zerolog.DebugLevel
	}
	if !e.LogJSON {
		w = zerolog.ConsoleWriter{Out: w, NoColor: true, TimeFormat: time.TimeOnly}
	}
	c := zerolog.New(w).Level(level).With().Timestamp().Str("job",
		strconv.FormatUint(e.Job, 16)).Stringer("role", n.Role)
	if n.Role != wire.Scheduler {
		c = c.Uint16("rank", n.Rank)
	}
	return c.Logger()
}

// traceTimeout is the time that a process has at its end to export its last spans.
const traceTimeout = 5 * time.Second

// trace lets a process record spans, if the job wants that. The scheduler has none. end exports the
// last ones.
func (e *Environ) trace(n wire.Node, c *kvstore.JobConfig) (end func(), err error) {
	if e.Trace == "" || n.Role == wire.Scheduler {
		return func() {}, nil
	}
	t, err := monitor.OpenTraces(context.Background(), e.Trace, n, e.Job)
	if err != nil {
		return nil, err
	}
	c.Tracer, c.TraceEvery = t, uint64(e.TraceEvery)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), traceTimeout)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "gomx: %s: %v\n", n, err)
		}
	}, nil
}
