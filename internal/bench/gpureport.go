package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// gpuResult is a line of results.jsonl, see device/cuda/first.sh. Peer is empty if the figure has
// none; Ratio is above 1 if gomx is better.
type gpuResult struct {
	Stage string   `json:"stage"`
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
	Unit  string   `json:"unit"`
	Peer  string   `json:"peer"`
	Other float64  `json:"peer_value"`
	Ratio float64  `json:"ratio"`
}

// GPUReport prints the figures in dir/results.jsonl as one table of Markdown for each stage, stages
// and figures in the order of the file. Of figures with one name the last counts.
func GPUReport(w io.Writer, dir string) error {
	path := filepath.Join(dir, "results.jsonl")
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("bench: figures of a GPU: %w", err)
	}
	defer f.Close()
	var stages []string
	names, last := map[string][]string{}, map[[2]string]gpuResult{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var r gpuResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("bench: %s, line %d: %w", path, n, err)
		}
		if r.Stage == "" || r.Name == "" || r.Value == nil {
			return fmt.Errorf("bench: %s, line %d has no stage, name or value: %s", path, n,
				lines.Text())
		}
		if names[r.Stage] == nil {
			stages = append(stages, r.Stage)
		}
		key := [2]string{r.Stage, r.Name}
		if _, old := last[key]; !old {
			names[r.Stage] = append(names[r.Stage], r.Name)
		}
		last[key] = r
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("bench: %s: %w", path, err)
	}
	if len(stages) == 0 {
		return fmt.Errorf("bench: %s has no figures", path)
	}
	out := bufio.NewWriter(w)
	for i, stage := range stages {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "| %s | gomx | peer | ratio | unit |\n|---|---|---|---|---|\n", stage)
		for _, name := range names[stage] {
			r := last[[2]string{stage, name}]
			peer, ratio := "", ""
			if r.Peer != "" {
				peer, ratio = r.Peer+" "+gpuFigure(r.Other), gpuFigure(r.Ratio)
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", name, gpuFigure(*r.Value), peer, ratio,
				r.Unit)
		}
	}
	return out.Flush()
}

// gpuFigure formats a number with four digits.
func gpuFigure(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
