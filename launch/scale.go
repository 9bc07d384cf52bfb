package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/wire"
)

// A running job gets other numbers of workers and servers by an order to its scheduler (gomx
// scale). The scheduler tells processes to leave; the launcher looks at its page and starts
// processes for new places. Without its pages a job keeps its size.

// lookEvery is how often the launcher looks at the page of the scheduler.
const lookEvery = 300 * time.Millisecond

// orderFile is the file in the folder of a job that holds the number of the job, which an order
// must name.
const orderFile = "job"

// begin starts the processes with which the job begins, the scheduler first. After an error it starts
// none that wait for the scheduler.
func (j *job) begin(ctx context.Context) error {
	j.size.Lock()
	for i := range j.Schedulers {
		j.launch(wire.Node{Role: wire.Scheduler, Rank: uint16(i)})
	}
	j.size.Unlock()
	err := j.awaitScheduler(ctx)
	j.size.Lock()
	defer j.size.Unlock()
	for _, role := range []wire.Role{wire.Server, wire.Worker} {
		for rank := range j.size.want[role] {
			j.launch(wire.Node{Role: role, Rank: uint16(rank)})
		}
	}
	return err
}

// follow starts processes for places that the job is to have, until the context ends.
func (j *job) follow(ctx context.Context) {
	if j.Remote != nil {
		return // places on hosts are given when the job begins
	}
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.over:
			return
		case <-t.C:
		}
		j.look(ctx)
	}
}

// look takes over the size that the job is to have from the page of the scheduler. It reports false
// when there is none: the scheduler is being started.
func (j *job) look(ctx context.Context) bool {
	addr, err := os.ReadFile(statusFile(j.env.Dir, wire.Node{Role: wire.Scheduler}))
	if err != nil {
		return false
	}
	st, err := kvstore.ReadStatus(ctx, string(addr))
	if err != nil || st.Group == nil {
		return false
	}
	j.resize(int(st.Group.Workers), int(st.Group.Servers))
	return true
}

// resize notes the size that the job is to have, and starts processes that are missing.
func (j *job) resize(workers, servers int) {
	j.size.Lock()
	defer j.size.Unlock()
	if j.size.workers == 0 || j.ended() {
		return // all workers have ended
	}
	if workers > 0 {
		j.size.want[wire.Worker] = workers
	}
	if servers > 0 {
		j.size.want[wire.Server] = servers
	}
	for role, want := range j.size.want {
		for rank := range want {
			if n := (wire.Node{Role: role, Rank: uint16(rank)}); !j.size.runs[n] {
				j.launch(n)
			}
		}
	}
}

// launch runs a node until it has done its work. The lock of size is held.
func (j *job) launch(n wire.Node) {
	j.size.runs[n] = true
	until, group := j.serving, &j.helpers
	if n.Role == wire.Worker {
		until, group = j.working, &j.workers
		j.size.workers++
	}
	group.Go(func() {
		gone := j.keep(until, j.fail, n)
		j.size.Lock()
		defer j.size.Unlock()
		if gone {
			delete(j.size.runs, n) // the place may be wanted again
		}
		if n.Role == wire.Worker {
			j.size.workers--
		}
	})
}

// wanted reports whether the job is to have a node that has left it. It asks the scheduler first,
// because the order by which the node has left may be later than the last look.
func (j *job) wanted(n wire.Node) bool {
	for range 10 {
		if j.Remote != nil || j.ended() || j.look(j.serving) {
			break
		}
		time.Sleep(lookEvery)
	}
	j.size.Lock()
	defer j.size.Unlock()
	return int(n.Rank) < j.size.want[n.Role] && !j.ended()
}

// OrderJob returns the address of the pages of a job's scheduler and the number of the job, which
// an order must name, from the folder of a job of gomx launch.
func OrderJob(dir string) (addr string, id uint64, err error) {
	b, err := os.ReadFile(statusFile(dir, wire.Node{Role: wire.Scheduler}))
	if err != nil {
		return "", 0, fmt.Errorf("launch: the scheduler of the job in %s serves no pages: %w", dir,
			err)
	}
	text, err := os.ReadFile(filepath.Join(dir, orderFile))
	if err == nil {
		id, err = strconv.ParseUint(string(text), 16, 64)
	}
	if err != nil {
		return "", 0, fmt.Errorf("launch: number of the job in %s: %w", dir, err)
	}
	return string(b), id, nil
}
