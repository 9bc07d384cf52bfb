package board

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gomx/runs"
)

// collection holds the runs below a folder.
type collection struct {
	root string

	mu   sync.Mutex
	runs map[string]*run
}

// run is a run with the error of its last update.
type run struct {
	*runs.Data
	err error
}

func newCollection(root string) *collection {
	return &collection{root: root, runs: map[string]*run{}}
}

// update reads the records that have been written since, and reports whether anything has changed.
func (c *collection) update() (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, err := runs.List(c.root)
	if err != nil {
		return false
	}
	for name, r := range c.runs {
		if !slices.Contains(names, name) {
			_ = r.Close()
			delete(c.runs, name)
			changed = true
		}
	}
	for _, name := range names {
		r := c.runs[name]
		if r == nil {
			d, err := runs.Load(filepath.Join(c.root, filepath.FromSlash(name)))
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed just now
			}
			c.runs[name] = &run{d, err}
			changed = true
			continue
		}
		more, err := r.Update()
		changed = changed || more
		r.err = err
	}
	return changed
}

// versions returns a number for every run that grows when it changes.
func (c *collection) versions() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := map[string]int{}
	for name, r := range c.runs {
		m[name] = r.Version
	}
	return m
}

// with calls f with a run, nil if there is none of the name.
func (c *collection) with(name string, f func(r *run)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.runs[name])
}

func (c *collection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, r := range c.runs {
		err = errors.Join(err, r.Close())
	}
	c.runs = map[string]*run{}
	return err
}

// about describes a run in the list of runs.
type about struct {
	Name    string              `json:"name"`
	Begun   time.Time           `json:"begun"`
	Changed time.Time           `json:"changed"`
	Ended   bool                `json:"ended"`
	Starts  int                 `json:"starts"` // processes that have written it
	Program []string            `json:"program"`
	Host    string              `json:"host"`
	Steps   int64               `json:"steps"`
	Hyper   map[string]any      `json:"hyper"`
	Scores  map[string]*float64 `json:"scores"`
	Curves  []string            `json:"curves"`
	Parts   []string            `json:"parts"` // pages that have content
	Error   string              `json:"error,omitempty"`
	Version int                 `json:"version"`
}

// list describes all runs, the newest first.
func (c *collection) list() []about {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]about, 0, len(c.runs))
	for name, r := range c.runs {
		list = append(list, r.about(name))
	}
	slices.SortFunc(list, func(a, b about) int {
		if n := b.Begun.Compare(a.Begun); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// about describes the run.
func (r *run) about(name string) about {
	a := about{Name: name, Changed: r.Changed, Ended: r.Ended, Starts: len(r.Begins),
		Hyper: r.Hyper, Scores: map[string]*float64{}, Curves: []string{}, Version: r.Version}
	if len(r.Begins) > 0 {
		first, last := r.Begins[0], r.Begins[len(r.Begins)-1]
		a.Begun, a.Program, a.Host = first.Time, last.Program, last.Host
	}
	for name, v := range r.Scores {
		a.Scores[name] = finite(v)
	}
	for _, c := range r.Curves {
		a.Curves = append(a.Curves, c.Name)
		if n := len(c.Step); n > 0 {
			a.Steps = max(a.Steps, c.Step[n-1])
		}
	}
	for _, p := range []struct {
		name string
		has  bool
	}{{"graph", r.Graph != nil}, {"memory", r.Memory != nil}, {"trace", r.Timeline != nil},
		{"histograms", len(r.Histograms) > 0}, {"results", r.Matrix != nil || len(r.Samples) > 0},
		{"events", len(r.Events) > 0}} {
		if p.has {
			a.Parts = append(a.Parts, p.name)
		}
	}
	if r.err != nil {
		a.Error = r.err.Error()
	}
	return a
}

// finite returns a pointer to a number, nil for NaN and infinities, which JSON has not.
func finite(v float64) *float64 {
	if v-v != 0 {
		return nil
	}
	return &v
}
