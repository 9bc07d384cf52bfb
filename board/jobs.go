package board

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gomx/kvstore"
	"gomx/launch"
)

// job is a running job as its processes describe it.
type job struct {
	Name    string           `json:"name"` // folder or address
	Program []string         `json:"program"`
	Began   time.Time        `json:"began"`
	Seen    time.Time        `json:"seen"` // when a process has last answered
	Over    bool             `json:"over"` // no process answers any more
	Nodes   []kvstore.Status `json:"nodes"`
	Changes []kvstore.Change `json:"changes"`

	known map[string]bool // changes, by view and text
}

// watcher asks the processes of jobs for their states.
type watcher struct {
	given []string

	asking sync.Mutex // held while processes are asked; taken before mu
	last   time.Time  // of the last look; guarded by asking

	mu   sync.Mutex
	jobs map[string]*job
}

func newWatcher(given []string) *watcher {
	return &watcher{given: given, jobs: map[string]*job{}}
}

const (
	askEvery = 300 * time.Millisecond // least time between two looks
	askFor   = 2 * time.Second        // time that a process has to answer
	mostJobs = 64
)

// list returns the jobs, the newest first.
func (w *watcher) list() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*job, 0, len(w.jobs))
	for _, j := range w.jobs {
		c := *j
		list = append(list, &c)
	}
	slices.SortFunc(list, func(a, b *job) int {
		return cmp.Or(b.Began.Compare(a.Began), strings.Compare(a.Name, b.Name))
	})
	return list
}

// update asks all processes, and reports whether there is any job.
func (w *watcher) update(ctx context.Context) bool {
	w.asking.Lock()
	defer w.asking.Unlock()
	if time.Since(w.last) < askEvery {
		return false
	}
	for _, h := range w.places() {
		nodes := ask(ctx, h.Dir)
		w.mu.Lock()
		w.note(h, nodes)
		w.mu.Unlock()
	}
	w.last = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		if time.Since(j.Seen) > 2*askFor {
			j.Over = true
		}
	}
	return len(w.jobs) > 0
}

// places returns the folders and addresses to ask.
func (w *watcher) places() []launch.Holder {
	if w.given != nil {
		list := make([]launch.Holder, len(w.given))
		for i, name := range w.given {
			list[i].Dir = name
		}
		return list
	}
	list, err := launch.Jobs()
	if err != nil {
		return nil // a machine on which no job has run
	}
	return list[:min(len(list), mostJobs)]
}

// note keeps the answers of a job's processes. mu is held.
func (w *watcher) note(h launch.Holder, nodes []kvstore.Status) {
	j := w.jobs[h.Dir]
	if len(nodes) == 0 {
		return
	}
	if j == nil {
		j = &job{Name: h.Dir, Program: h.Program, Began: h.Began, known: map[string]bool{}}
		w.jobs[h.Dir] = j
	}
	if j.Began.IsZero() {
		j.Began = time.Now().Add(-time.Duration(nodes[0].Seconds * float64(time.Second)))
	}
	j.Seen, j.Over, j.Nodes = time.Now(), false, nodes
	list := slices.Clone(j.Changes)
	for i := range nodes {
		for _, c := range nodes[i].Changes {
			key := fmt.Sprint(c.View, c.Text)
			if !j.known[key] {
				j.known[key] = true
				list = append(list, c)
			}
		}
		nodes[i].Changes = nil
	}
	slices.SortStableFunc(list, func(a, b kvstore.Change) int { return a.Time.Compare(b.Time) })
	j.Changes = list
}

// ask asks the processes at an address, or in the folder of a job, for their states, all at once.
func ask(ctx context.Context, where string) []kvstore.Status {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	addrs := []string{where}
	if info, err := os.Stat(where); err == nil && info.IsDir() {
		addrs = nil
		files, _ := filepath.Glob(filepath.Join(where, "status-*")) // the pattern is valid
		for _, name := range files {
			if b, err := os.ReadFile(name); err == nil {
				addrs = append(addrs, string(b))
			}
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var list []kvstore.Status
	for _, a := range addrs {
		wg.Go(func() {
			st, err := kvstore.ReadStatus(ctx, a)
			if err != nil {
				return // it has ended, or is about to
			}
			mu.Lock()
			defer mu.Unlock()
			list = append(list, st)
		})
	}
	wg.Wait()
	slices.SortFunc(list, func(a, b kvstore.Status) int { return strings.Compare(a.Node, b.Node) })
	return list
}
