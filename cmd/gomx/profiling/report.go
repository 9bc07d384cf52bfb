package profiling

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"gomx/launch/profile"
)

// Report sums up the operators of all processes of a program.
type Report struct {
	Processes int     `json:"processes"`
	Wall      float64 `json:"seconds"` // until the last event of the longest process
	Limits    Limits  `json:"limits"`
	Total     float64 `json:"operator_seconds"`
	Rows      []*Row  `json:"rows"`

	rows map[string]*Row
}

// Row sums up the runs of one operator. Times are seconds.
type Row struct {
	Name   string  `json:"name"`
	Op     string  `json:"operator,omitempty"`
	Count  int     `json:"count"`
	Total  float64 `json:"total"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
	Bytes  int64   `json:"bytes"` // of all runs
	FLOPs  int64   `json:"flops"`
	GFLOPs float64 `json:"gflops_per_second"`
	GBytes float64 `json:"gbytes_per_second"`
	// Roofline is the time at best divided by the time that it took: 0 to 1, 0 if unknown.
	Roofline float64 `json:"roofline"`
	Share    float64 `json:"share"` // of the time of all operators
}

// read adds the events of a file.
func (r *Report) read(path, by string, trace *traceFile) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	last := int64(0)
	process := r.Processes
	head, err := profile.Read(in, func(e *profile.Event) {
		last = max(last, e.At+e.Dur)
		if e.Kind == profile.Kernel {
			name := e.Op
			if by == "node" {
				name = e.Name
			}
			r.add(name, e)
		}
		if trace != nil {
			trace.event(process, e)
		}
	})
	if err != nil {
		return err
	}
	if trace != nil {
		trace.process(process, head)
	}
	r.Processes++
	r.Wall = max(r.Wall, float64(last)/1e9)
	return nil
}

func (r *Report) add(name string, e *profile.Event) {
	row := r.rows[name]
	took := float64(e.Dur) / 1e9
	if row == nil {
		row = &Row{Name: name, Op: e.Op, Min: took}
		r.rows[name] = row
	}
	row.Count++
	row.Total += took
	row.Min, row.Max = min(row.Min, took), max(row.Max, took)
	row.Bytes += e.Bytes
	row.FLOPs += e.FLOPs
}

// finish computes the derived figures and keeps the rows with the longest times.
func (r *Report) finish(l Limits, top int) {
	r.Limits = l
	for _, row := range r.rows {
		r.Total += row.Total
		r.Rows = append(r.Rows, row)
	}
	for _, row := range r.Rows {
		row.Mean = row.Total / float64(row.Count)
		if row.Total > 0 {
			row.GFLOPs = float64(row.FLOPs) / row.Total / 1e9
			row.GBytes = float64(row.Bytes) / row.Total / 1e9
			row.Share = row.Total / r.Total
			row.Roofline = l.best(row) / row.Total
		}
	}
	slices.SortFunc(r.Rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	if top > 0 && len(r.Rows) > top {
		r.Rows = r.Rows[:top]
	}
}

// write prints the table.
func (r *Report) write(w io.Writer, by string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tcount\ttotal ms\tmin us\tmax us\tmean us\tMiB\tGFLOP/s\tGB/s\t"+
		"roofline\tshare\t\n", by)
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.0f %%\t%.1f %%\t\n",
			row.Name, row.Count, row.Total*1e3, row.Min*1e6, row.Max*1e6, row.Mean*1e6,
			float64(row.Bytes)/(1<<20), row.GFLOPs, row.GBytes, 100*row.Roofline, 100*row.Share)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	left := ""
	if n := len(r.rows) - len(r.Rows); n > 0 {
		left = fmt.Sprintf(", %d rows with less time left out", n)
	}
	_, err := fmt.Fprintf(w, "%d processes, %.3f s in operators of %.3f s; roofline of %.1f "+
		"GFLOP/s and %.1f GB/s%s\n", r.Processes, r.Total, r.Wall, r.Limits.GFLOPs,
		r.Limits.GBytes, left)
	return err
}
