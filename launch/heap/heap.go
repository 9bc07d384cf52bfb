package heap

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Garbage in the heap of a process that serves. Nearly all of its heap are values, which it uses
// again and again: the default of Go, as much garbage as there are values, would double its memory
// and save next to no time.
const (
	garbageShare = 10       // percent of the values
	garbageFloor = 32 << 20 // bytes: with few values the collector would run all the time
	garbageCheck = time.Second
)

// LimitGarbage lowers the share of garbage until stop is called, unless GOGC sets it.
func LimitGarbage() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	const begin = 100
	former, end, ended := debug.SetGCPercent(begin), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		percent := begin
		tick := time.NewTicker(garbageCheck)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			metrics.Read(live)
			// The collector is told of large changes only: each stops the process for an instant.
			if p := garbagePercent(live[0].Value.Uint64()); p < percent*9/10 || p > percent*11/10 {
				percent = p
				debug.SetGCPercent(p)
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		debug.SetGCPercent(former)
	}
}

// garbagePercent returns the share of garbage, in percent, for a heap with so many bytes of values.
func garbagePercent(live uint64) int {
	return int(min(100, max(garbageShare, 100*garbageFloor/max(live, 1))))
}
