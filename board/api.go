package board

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gomx/runs"
)

// answer sends a value as JSON, compressed if the page can read that.
func answer(w http.ResponseWriter, r *http.Request, v any) {
	w.Header().Set("Content-Type", "application/json")
	out := io.Writer(w)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that exists
		defer z.Close()
		out = z
	}
	// A reader that has gone away is no reason to do anything.
	_ = json.NewEncoder(out).Encode(v)
}

func (b *Board) listRuns(w http.ResponseWriter, r *http.Request) {
	b.runs.update()
	answer(w, r, b.runs.list())
}

// mostPoints is the greatest number of points of one curve that a page may ask for.
const mostPoints = 20000

// curves answers with curves of one name, in several runs.
func (b *Board) curves(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n := 1000
	if text := q.Get("max"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 4 || n > mostPoints {
			http.Error(w, fmt.Sprintf("max=%q, want 4 to %d", text, mostPoints),
				http.StatusBadRequest)
			return
		}
	}
	type curve struct {
		Run  string `json:"run"`
		Name string `json:"name"`
		points
	}
	list := []curve{}
	for _, name := range q["run"] {
		b.runs.with(name, func(r *run) {
			if r == nil {
				return
			}
			for _, tag := range q["name"] {
				if c := r.Curve(tag); c != nil {
					list = append(list, curve{name, tag, thin(c, n)})
				}
			}
		})
	}
	answer(w, r, list)
}

// part answers with the content of one page of a run.
func (b *Board) part(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var found, known bool
	var text []byte
	b.runs.with(q.Get("run"), func(run *run) {
		if found = run != nil; !found {
			return
		}
		var v any
		if v, known = partOf(run, q.Get("part")); known {
			text, _ = json.Marshal(v) // while nothing changes; all types here can be marshalled
		}
	})
	switch {
	case !found:
		http.Error(w, fmt.Sprintf("no run %q", q.Get("run")), http.StatusNotFound)
	case !known:
		http.Error(w, fmt.Sprintf("no part %q of a run", q.Get("part")), http.StatusNotFound)
	default:
		answer(w, r, json.RawMessage(text))
	}
}

// partOf returns the content of a page.
func partOf(r *run, part string) (v any, known bool) {
	switch part {
	case "graph":
		return map[string]any{"graph": r.Graph, "times": times(r.Timeline)}, true
	case "memory":
		return r.Memory, true
	case "trace":
		return map[string]any{"step": r.TimelineStep, "trace": r.Timeline}, true
	case "histograms":
		return histograms(r.Histograms), true
	case "results":
		return map[string]any{"matrix": r.Matrix, "matrixStep": r.MatrixStep, "samples": r.Samples,
			"samplesStep": r.SamplesStep}, true
	case "events":
		begins := r.Begins
		return map[string]any{"events": r.Events, "begins": begins}, true
	}
	return nil, false
}

// times sums up the microseconds of a trace by node, forward and backward apart.
func times(t *runs.Timeline) map[string][2]float64 {
	m := map[string][2]float64{}
	if t == nil {
		return m
	}
	for _, b := range t.Boxes {
		if b.Op == "" {
			continue
		}
		name, backward := b.Name, 0
		if i := strings.Index(name, "_backward"); i > 0 {
			name, backward = name[:i], 1
		}
		for part := range strings.SplitSeq(name, "+") {
			v := m[part]
			v[backward] += b.Dur
			m[part] = v
		}
	}
	return m
}

// ridge are the histograms of one name.
type ridge struct {
	Name string           `json:"name"`
	List []runs.Histogram `json:"list"`
}

// mostRidges is the greatest number of histograms of a name that are sent.
const mostRidges = 60

// histograms lists histograms by name, evenly thinned.
func histograms(all map[string][]runs.Histogram) []ridge {
	list := []ridge{}
	for name, h := range all {
		if n := len(h); n > mostRidges {
			thinned := make([]runs.Histogram, mostRidges)
			for i := range thinned {
				thinned[i] = h[i*(n-1)/(mostRidges-1)]
			}
			h = thinned
		}
		list = append(list, ridge{name, h})
	}
	slices.SortFunc(list, func(a, b ridge) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (b *Board) listJobs(w http.ResponseWriter, r *http.Request) {
	b.jobs.update(r.Context())
	answer(w, r, b.jobs.list())
}
