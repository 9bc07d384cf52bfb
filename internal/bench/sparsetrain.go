package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gomx/examples/data"
	"gomx/kvstore/wire"
	"gomx/launch"
)

// sparsePlan is one job of the suite sparse-train; the peer's script reads the same JSON. Every
// worker trains on a file of its own in LibSVM's format. After Warm steps it reports the loss of
// the last batch; after a barrier, Steps steps are measured.
type sparsePlan struct {
	Model    string  `json:"model"`    // linear or fm
	Store    string  `json:"store"`    // dist_sync or dist_async
	Folder   string  `json:"folder"`   // of the files
	Features int     `json:"features"` // number of columns
	Rank     int     `json:"rank"`     // factors of a column, of fm
	Batch    int     `json:"batch"`
	Workers  int     `json:"workers"`
	Servers  int     `json:"servers"`
	Warm     int     `json:"warm"`
	Steps    int     `json:"steps"`
	Rate     float64 `json:"rate"`
}

// Sizes of the samples: as many columns as in Criteo's log of advertisements.
const (
	sparseTrainFields  = 39
	sparseTrainSamples = 50_000 // of each worker
)

// sparseTrainSteps are the numbers of measured steps of every line, for gomx and for mxnet.
var sparseTrainSteps = map[string][2]int{"linear": {300, 60}, "fm": {200, 30}}

// file is the file of a worker.
func (p *sparsePlan) file(rank int) string {
	return filepath.Join(p.Folder, "part-"+strconv.Itoa(rank))
}

// text is the plan as the processes of a job read it, with a number of steps.
func (p sparsePlan) text(store string, steps int) (string, error) {
	p.Store, p.Steps = store, steps
	b, err := json.Marshal(&p)
	return string(b), err
}

// runSparseTrain measures the training of sparse models in gomx and in mxnet: three workers and two
// servers, in step and asynchronously.
func runSparseTrain(ctx context.Context, c *Config) error {
	for _, p := range c.Peers {
		if p.Name != "mxnet" {
			return fmt.Errorf("bench: sparse-train: peer %s, want mxnet", p.Name)
		}
		if err := checkPlatformPeer(ctx, p); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "gomx-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := peerScripts(dir, "sparsetrain"); err != nil {
		return err
	}
	plan := sparsePlan{Folder: dir, Features: 1_000_000, Batch: 1000, Workers: 3, Servers: 2,
		Warm: 10, Rate: 0.1}
	clicks := data.Clicks{Features: plan.Features, Fields: sparseTrainFields, Seed: c.Seed}
	for rank := range plan.Workers {
		if _, err := clicks.Write(plan.file(rank), sparseTrainSamples, uint64(rank)); err != nil {
			return err
		}
	}
	touched, err := plan.touched()
	if err != nil {
		return err
	}
	printHeader(c)
	var all means
	for _, model := range []string{"linear", "fm"} {
		if !strings.Contains(model, c.Match) {
			continue
		}
		if plan.Model = model; model == "fm" {
			plan.Rank = 16
		}
		line := sparseLine{plan: plan, dir: dir, touched: touched,
			best: map[string]platformSide{}}
		for round := range c.Rounds {
			if err := line.round(ctx, c, round+1); err != nil {
				return fmt.Errorf("bench: sparse-train: %s: %w", model, err)
			}
		}
		if err := line.print(c, &all); err != nil {
			return err
		}
	}
	all.print(c.Out, c.Suite)
	return nil
}

// touched returns the largest number of different columns in the samples of a worker.
func (p *sparsePlan) touched() (most int, err error) {
	for rank := range p.Workers {
		text, err := os.ReadFile(p.file(rank))
		if err != nil {
			return 0, err
		}
		seen, n := make([]bool, p.Features), 0
		for field := range bytes.FieldsSeq(text) {
			column, _, ok := bytes.Cut(field, []byte(":"))
			if !ok {
				continue // a label
			}
			i, err := strconv.Atoi(string(column))
			if err != nil || i < 0 || i >= p.Features {
				return 0, fmt.Errorf("bench: %s: column %q, want 0 to %d", p.file(rank), column,
					p.Features-1)
			}
			if !seen[i] {
				seen[i] = true
				n++
			}
		}
		most = max(most, n)
	}
	return most, nil
}

// bound returns the memory that a worker may need, in bytes: 100 MiB, and one and a half times the
// rows of its batches.
func (l *sparseLine) bound() float64 {
	const base, share = 100 << 20, 1.5
	row := 4 * (1 + l.plan.Rank)
	return base + share*float64(l.touched*row)
}

// sparseStores are the stores in which the suite trains.
var sparseStores = []string{"dist_async", "dist_sync"}

// sparseLine has the best round of every system in every store, by names such as
// "mxnet dist_sync".
type sparseLine struct {
	plan    sparsePlan
	dir     string
	touched int // most different columns in a worker's samples
	best    map[string]platformSide
}

// round measures every system once in every store.
func (l *sparseLine) round(ctx context.Context, c *Config, number int) error {
	steps := sparseTrainSteps[l.plan.Model]
	keep := func(name string, s platformSide) {
		logf(c.Log, "%s round %d: %s %s\n", l.plan.Model, number, name, &s)
		if s.Rate > l.best[name].Rate {
			l.best[name] = s
		}
	}
	for _, store := range sparseStores {
		text, err := l.plan.text(store, steps[0])
		if err != nil {
			return err
		}
		s, err := runSparseJob(ctx, &l.plan, text)
		if err != nil {
			return fmt.Errorf("%s %s: %w", ourName, store, err)
		}
		keep(ourName+" "+store, s)
		if text, err = l.plan.text(store, steps[1]); err != nil {
			return err
		}
		for _, p := range c.Peers {
			for _, v := range oneOrTwoThreads(p) {
				s, err := runPeerJob(ctx, v, &peerJob{peer: p, dir: l.dir, plan: text,
					speak: l.plan.Workers, servers: l.plan.Servers, main: "sparsetrain_mxnet.py"},
					startMXNet)
				if err != nil {
					return fmt.Errorf("%s %s: %w", v.name, store, err)
				}
				keep("mxnet "+store, s)
			}
		}
	}
	return nil
}

// sparseAgrees is the largest difference of the losses after the same steps in step.
const sparseAgrees = 1e-4

// print writes the lines of a model: samples per second of the faster store on both sides, memory
// of a worker, then the lines of both stores.
func (l *sparseLine) print(c *Config, all *means) error {
	const mib = 1 << 20
	ours, theirs := l.best[ourName+" dist_sync"].Loss, l.best["mxnet dist_sync"].Loss
	if len(c.Peers) > 0 && !(math.Abs(ours-theirs) <= sparseAgrees*math.Abs(theirs)) {
		return fmt.Errorf("bench: sparse-train: after %d steps of %s the loss of gomx is %v, of "+
			"mxnet %v", l.plan.Warm, l.plan.Model, ours, theirs)
	}
	write := func(name string, stores []string, all *means) {
		res, us, them := &result{by: map[string]float64{}}, platformSide{}, platformSide{}
		for _, store := range stores {
			if s := l.best[ourName+" "+store]; s.Rate > us.Rate {
				us = s
			}
			if s := l.best["mxnet "+store]; s.Rate > them.Rate {
				them, res.bestPeer = s, "mxnet "+store
			}
		}
		res.ours, res.best = us.Rate, them.Rate
		if them.Rate > 0 {
			res.by["mxnet"] = them.Rate
		}
		w := &Workload{Name: name, Unit: "samples/s"}
		res.print(c.Out, w)
		if all != nil {
			all.add(w, res)
		}
		memory := &result{ours: us.Worker.Memory / mib, best: them.Worker.Memory / mib,
			bestPeer: res.bestPeer}
		memory.print(c.Out, &Workload{Name: name + ".memory", Unit: "MiB"})
		bound := &result{ours: memory.ours, best: l.bound() / mib, bestPeer: "bound"}
		bound.print(c.Out, &Workload{Name: name + ".memory.bound", Unit: "MiB"})
	}
	write(l.plan.Model, sparseStores, all)
	for _, store := range sparseStores {
		write(l.plan.Model+"."+strings.TrimPrefix(store, "dist_"), []string{store}, nil)
	}
	return nil
}

// runSparseJob runs a job of gomx with package launch; this program is the scheduler, the servers
// and the workers.
func runSparseJob(ctx context.Context, p *sparsePlan, text string) (platformSide, error) {
	exe, err := os.Executable()
	if err != nil {
		return platformSide{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, platformJobTime)
	defer cancel()
	r := newPlatformRun()
	var said bytes.Buffer
	l := launch.Local{Program: []string{exe, SparseTrainCommand, text}, Workers: p.Workers,
		Servers: p.Servers, Restarts: -1, Stdout: &workerOutput{line: r.line}, Stderr: &said,
		Started: func(n wire.Node, pid int) { r.watch.add(n.String(), pid) }}
	err = l.Run(ctx)
	side, missing := r.finish(p.Workers)
	if err != nil {
		return side, fmt.Errorf("%w: %s", err, lastLine(said.String()))
	}
	return side, missing
}
