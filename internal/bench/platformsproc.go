package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// processWatch samples processes and their descendants from /proc.
type processWatch struct {
	mu     sync.Mutex
	roots  map[string]int   // process id by name in the job, such as "worker 0"
	trees  map[string][]int // each root with its descendants, as of looked
	looked time.Time
	list   map[string][]processSample
	spent  map[int]float64 // processor seconds of each tree, by its root
	each   map[int]float64 // processor seconds of each process so far
	stop   chan struct{}
	done   sync.WaitGroup
}

// processSample is the state of a process at an instant.
type processSample struct {
	at  time.Time
	cpu float64 // seconds so far
	rss float64 // bytes
}

// processTick is the unit of processor time in /proc, in seconds. It is the same on all Linux
// systems.
const processTick = 0.01

// watchProcesses samples the added processes at intervals of every.
func watchProcesses(every time.Duration) *processWatch {
	w := &processWatch{roots: map[string]int{}, trees: map[string][]int{}, spent: map[int]float64{},
		each: map[int]float64{}, list: map[string][]processSample{}, stop: make(chan struct{})}
	w.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-t.C:
				w.sample()
			}
		}
	})
	return w
}

// close ends the sampling.
func (w *processWatch) close() {
	close(w.stop)
	w.done.Wait()
}

// add begins to sample a process. It replaces an earlier process of the same name.
func (w *processWatch) add(name string, pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.roots[name] = pid
}

// processLook is the interval at which the watch looks for new descendants, which costs more than a
// sample.
const processLook = time.Second

// sample samples every process once.
func (w *processWatch) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	look := now.Sub(w.looked) > processLook
	if look {
		w.looked = now
	}
	for name, pid := range w.roots {
		tree := w.trees[name]
		if look || len(tree) == 0 || tree[0] != pid {
			tree = descend(nil, pid)
			w.trees[name] = tree
		}
		if s, ok := w.read(tree); ok {
			w.list[name] = append(w.list[name], s)
		}
	}
}

// read sums up a process and its descendants; ok reports whether the process exists. The processor
// time of ended descendants stays in the sum.
func (w *processWatch) read(tree []int) (s processSample, ok bool) {
	s.at = time.Now()
	for i, id := range tree {
		cpu, rss, err := readProcess(id)
		if err != nil {
			if i == 0 {
				return s, false
			}
			continue
		}
		s.rss += rss
		w.spent[tree[0]] += max(0, cpu-w.each[id])
		w.each[id] = max(w.each[id], cpu)
	}
	s.cpu = w.spent[tree[0]]
	return s, true
}

// descend appends a process and its descendants.
func descend(list []int, pid int) []int {
	list = append(list, pid)
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range threads {
		children, _ := os.ReadFile(name)
		for _, c := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(c); err == nil {
				list = descend(list, n)
			}
		}
	}
	return list
}

// readProcess returns the processor seconds and the resident bytes of a process.
func readProcess(pid int) (cpu, rss float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold any character; field 3, the state, follows it.
	line := string(text)
	f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(f) < 22 {
		return 0, 0, fmt.Errorf("/proc/%d/stat: found %q, want 24 fields", pid, line)
	}
	number := func(field int) (v float64) {
		if err == nil {
			v, err = strconv.ParseFloat(f[field-3], 64)
		}
		return v
	}
	cpu = (number(14) + number(15)) * processTick
	rss = number(24) * float64(os.Getpagesize())
	return cpu, rss, err
}

// processUse is the average use of the processes of one role between two instants.
type processUse struct {
	CPU    float64 `json:"cpu"`    // processor seconds per second
	Memory float64 `json:"memory"` // resident bytes, the largest of all samples
}

// use returns the use of the processes whose names begin with a role.
func (w *processWatch) use(role string, from, to time.Time) (u processUse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for name, list := range w.list {
		if !strings.HasPrefix(name, role) {
			continue
		}
		list = slices.DeleteFunc(slices.Clone(list),
			func(s processSample) bool { return s.at.Before(from) || s.at.After(to) })
		if len(list) < 2 {
			continue
		}
		first, last := list[0], list[len(list)-1]
		n++
		u.CPU += (last.cpu - first.cpu) / last.at.Sub(first.at).Seconds()
		most := 0.0
		for _, s := range list {
			most = max(most, s.rss)
		}
		u.Memory += most
	}
	if n > 0 {
		u.CPU /= float64(n)
		u.Memory /= float64(n)
	}
	return u
}
