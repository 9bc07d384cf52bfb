package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// row is a prediction as JSON shows it: one flat object.
type row struct {
	rowJob
	rowMemory
	Step        float64            `json:"step_seconds"`
	Throughput  float64            `json:"samples_per_second"`
	Cores       float64            `json:"core_use"`
	Traffic     int64              `json:"worker_traffic_bytes"`
	ServerBytes int64              `json:"server_traffic_bytes"`
	Limit       string             `json:"limit,omitempty"`
	Gains       map[string]float64 `json:"gains,omitempty"`
}

// rowJob is the configuration of a row.
type rowJob struct {
	Store       string `json:"store"`
	Workers     int    `json:"workers"`
	Servers     int    `json:"servers"`
	Staleness   int    `json:"staleness"`
	Compression string `json:"compression"`
	Batch       int    `json:"batch"`
	Threads     int    `json:"threads"`
}

// rowMemory is the memory of a row.
type rowMemory struct {
	Worker  int64 `json:"worker_bytes"`
	Server  int64 `json:"server_bytes"`
	Machine int64 `json:"machine_bytes"`
	Fits    bool  `json:"fits"`
}

func (p *Prediction) row() row {
	j := &p.Job
	r := row{Step: p.Step, Throughput: p.Throughput, Cores: p.Cores, Traffic: p.Worker.Total(),
		Limit: p.Limit, Gains: p.Gains}
	r.rowJob = rowJob{j.Store, j.Workers, j.Servers, j.Staleness, j.Compression.Kind.String(),
		p.Batch, j.Threads()}
	r.rowMemory = rowMemory{p.Memory.Worker, p.Memory.Server(), p.Memory.Machine, p.Fits()}
	for _, t := range p.Servers {
		r.ServerBytes = max(r.ServerBytes, t.Total())
	}
	return r
}

// WriteJSON writes predictions as a list of objects.
func WriteJSON(w io.Writer, list []*Prediction) error {
	rows := make([]row, len(list))
	for i, p := range list {
		rows[i] = p.row()
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// WriteTable writes predictions as lines of a table.
func WriteTable(w io.Writer, list []*Prediction) error {
	const mib = 1 << 20
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "store\tworkers\tservers\tstaleness\tcompression\tbatch\tsamples/s\tms/step\t"+
		"cores\tworker MiB\tserver MiB\tMB/step\tlimit\t\n")
	for _, p := range list {
		r := p.row()
		servers, server := "-", "-"
		if r.Servers > 0 {
			servers, server = fmt.Sprint(r.Servers), fmt.Sprintf("%.0f", float64(r.Server)/mib)
		}
		staleness := "-"
		if r.Store == "dist_ssp" {
			staleness = fmt.Sprint(r.Staleness)
		}
		limit := r.Limit
		if limit == "" {
			limit = "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%d\t%.4g\t%.4g\t%.0f %%\t%.0f\t%s\t%.3g\t%s\t\n",
			r.Store, r.Workers, servers, staleness, r.Compression, r.Batch, r.Throughput,
			r.Step*1e3, r.Cores*100, float64(r.Worker)/mib, server, float64(r.Traffic)/1e6, limit)
	}
	return t.Flush()
}

// WriteBest writes a sentence about the first prediction.
func WriteBest(w io.Writer, list []*Prediction) error {
	if len(list) == 0 {
		return nil
	}
	p := list[0]
	if !p.Fits() {
		_, err := fmt.Fprintf(w, "No job fits: the smallest need is %.0f MiB on a machine.\n",
			float64(smallest(list))/(1<<20))
		return err
	}
	text := map[string]string{
		LimitCompute:    "kernels twice as fast",
		LimitServer:     "servers twice as fast",
		LimitNetwork:    "messages twice as fast",
		LimitStragglers: "steps of equal length",
	}[p.Limit]
	_, err := fmt.Fprintf(w, "Best: %s, batch %d: %.4g samples/s. Its limit is %s: %s would give "+
		"%.0f %% more.\n", p.Job.String(), p.Batch, p.Throughput, p.Limit, text,
		100*p.Gains[p.Limit])
	return err
}

// smallest returns the least memory that a job needs on one machine.
func smallest(list []*Prediction) int64 {
	least := list[0].Memory.Machine
	for _, p := range list {
		least = min(least, p.Memory.Machine)
	}
	return least
}
