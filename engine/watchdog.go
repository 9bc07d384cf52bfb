package engine

import (
	"strings"
	"time"
)

// watchdog reports an engine that has pending operations and completes none: once for each time it gets stuck.
type watchdog struct {
	e        *Engine
	stop     chan struct{}
	done     uint64 // operations complete at the last look
	reported bool
}

// watch looks every half of limit until stop is closed.
func (d *watchdog) watch(limit time.Duration) {
	defer d.e.workers.Done()
	tick := time.NewTicker(limit / 2)
	defer tick.Stop()
	still := 0
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
		}
		s := d.e.Stats()
		if s.Pending == 0 || s.Completed != d.done {
			d.done, d.reported, still = s.Completed, false, 0
			continue
		}
		if still++; still < 2 || d.reported {
			continue
		}
		d.reported = true
		var b strings.Builder
		if err := d.e.Dump(&b); err == nil {
			d.e.cfg.Logger.Warn().Dur("for", limit).Str("dump", b.String()).Msg("no operation has finished")
		}
	}
}
