package measure

import (
	"context"
	"fmt"

	"gomx/plan"
)

// Phases of the calibration of the allreduce store: a small key, which goes from every worker to
// every other one, and keys whose slices have owners. The last phase exceeds the caches.
var ringPhases = []phase{{Keys: 1, Bytes: 4 << 10, Rounds: 200, Single: true},
	{Keys: 32, Bytes: 64 << 10, Rounds: 20}, {Keys: 8, Bytes: 1 << 20, Rounds: 25},
	{Keys: 24, Bytes: 1 << 20, Rounds: 8}}

// ringJobs are the jobs of that calibration. A worker alone exchanges nothing: its times are the
// times of the optimizer.
var ringJobs = []struct {
	way     string
	workers int
}{{plan.WayShared, 1}, {plan.WayShared, 3}, {plan.WayTCP, 3}, {plan.WayBulk, 3}, {plan.WayCurve, 3}}

// rings measures the messages of the allreduce store and its optimizer.
func (m *Measurer) rings(ctx context.Context, h *plan.Host) error {
	for _, j := range ringJobs {
		m.report("messages of %s by %s with %d workers", plan.StoreRing, j.way, j.workers)
		list, err := m.phases(ctx, jobSpec{workers: j.workers, way: j.way,
			task: task{Kind: taskStore, Store: plan.StoreRing, Phases: ringPhases}})
		if err != nil {
			return fmt.Errorf("%s, %s, %d workers: %w", plan.StoreRing, j.way, j.workers, err)
		}
		if j.workers == 1 {
			h.Updates = updatesOf(list)
		} else {
			h.Ways[j.way].Rings = ringsOf(list, h.Updates, j.workers)
		}
	}
	return nil
}

// updatesOf returns the times of the optimizer, of the last phase with each size.
func updatesOf(list []phaseFigures) (updates []plan.Update) {
	for i, f := range list {
		u := plan.Update{Bytes: float64(ringPhases[i].Bytes), Seconds: f.Workers}
		if n := len(updates); n > 0 && updates[n-1].Bytes == u.Bytes {
			updates = updates[:n-1]
		}
		updates = append(updates, u)
	}
	return updates
}

// ringsOf returns the times of messages: the processor time of a key without the optimizer's,
// divided by the number of messages.
func ringsOf(list []phaseFigures, updates []plan.Update, workers int) (points []plan.Point) {
	for i, f := range list {
		count, size := plan.RingMessages(ringPhases[i].Bytes, workers)
		p := plan.Point{Workers: workers, Bytes: size}
		for _, u := range updates {
			if u.Bytes == float64(ringPhases[i].Bytes) {
				p.Worker = max(0, f.Workers/float64(workers)-u.Seconds) / float64(count)
			}
		}
		if n := len(points); n > 0 && points[n-1].Bytes == size {
			points = points[:n-1]
		}
		points = append(points, p)
	}
	return points
}
