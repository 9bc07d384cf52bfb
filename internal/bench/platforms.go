package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

// platformResult is the result of a case: the best round of every system.
type platformResult struct {
	Name  string                  `json:"name"`
	Date  string                  `json:"date"`
	Sides map[string]platformSide `json:"sides"` // by system; gomx is one of them
}

// ourName is the name of gomx among the systems.
const ourName = "gomx"

// runPlatforms measures distributed training in gomx and in other platforms, with real processes on
// this machine.
func runPlatforms(ctx context.Context, c *Config) error {
	for _, p := range c.Peers {
		if err := checkPlatformPeer(ctx, p); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "gomx-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := peerScripts(dir, "platforms"); err != nil {
		return err
	}
	printHeader(c)
	var all means
	var results []platformResult
	for _, pc := range platformCases() {
		if !strings.Contains(pc.name, c.Match) {
			continue
		}
		r, err := pc.measure(ctx, c, dir)
		if err != nil {
			return fmt.Errorf("bench: %s: %w", pc.name, err)
		}
		pc.print(c, r, &all)
		results = append(results, *r)
	}
	all.print(c.Out, c.Suite)
	if c.Docs == "" {
		return nil
	}
	return writePlatformPages(c.Docs, results)
}

// measure runs a case in all systems, in turn.
func (pc *platformCase) measure(ctx context.Context, c *Config, dir string) (*platformResult,
	error) {
	r := &platformResult{Name: pc.name, Date: time.Now().Format(time.DateOnly),
		Sides: map[string]platformSide{}}
	better := func(system string, s platformSide) {
		if s.Rate > r.Sides[system].Rate {
			r.Sides[system] = s
		}
	}
	for round := range c.Rounds {
		s, err := runPlatform(ctx, pc.planFor(ourName))
		if err != nil {
			return nil, err
		}
		logf(c.Log, "%s round %d: %s %s\n", pc.name, round+1, ourName, &s)
		better(ourName, s)
		for _, p := range c.Peers {
			if pc.steps[p.Name] == 0 {
				continue
			}
			for _, v := range platformPeers[p.Name].variants {
				s, err := runPlatformPeer(ctx, p, v, dir, pc.planFor(p.Name))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", v.name, err)
				}
				logf(c.Log, "%s round %d: %s %s\n", pc.name, round+1, v.name, &s)
				better(p.Name, s)
			}
		}
	}
	return r, pc.agree(r)
}

// planFor returns the job with the number of steps for a system.
func (pc *platformCase) planFor(system string) *platformPlan {
	p := pc.plan
	p.Steps = pc.steps[system]
	return &p
}

// String formats the figures for the log.
func (s *platformSide) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("%.4g samples/s in %.1f s; worker %.2f cores %.0f MiB, server %.2f cores "+
		"%.0f MiB; network %.1f MB/s; loss %.6g, accuracy %.4f",
		s.Rate, s.Seconds, s.Worker.CPU, s.Worker.Memory/mib, s.Server.CPU, s.Server.Memory/mib,
		s.Network/1e6, s.Loss, s.Accuracy)
}

// Largest differences of losses after the same steps from the same weights on the same data. Sums
// in another order stay far below the first. TensorFlow's synchronous optimizer may take two
// gradients of one worker in a step.
const (
	mxnetAgrees      = 1e-4
	tensorflowAgrees = 0.05
)

// agree compares the losses of the systems, so that all compute the same. Asynchronous workers are
// not compared: their results vary.
func (pc *platformCase) agree(r *platformResult) error {
	ours := r.Sides[ourName]
	if math.IsNaN(ours.Loss) || math.IsInf(ours.Loss, 0) {
		return fmt.Errorf("the loss of %s is %v", ourName, ours.Loss)
	}
	if pc.plan.Async {
		return nil
	}
	for name, tolerance := range map[string]float64{"mxnet": mxnetAgrees,
		"tensorflow": tensorflowAgrees} {
		theirs, ok := r.Sides[name]
		if ok && !(math.Abs(ours.Loss-theirs.Loss) <= tolerance*math.Abs(theirs.Loss)) {
			return fmt.Errorf("after %d steps the loss of %s is %v, that of %s %v", pc.plan.Warm,
				ourName, ours.Loss, name, theirs.Loss)
		}
	}
	return nil
}

// perSample is the processor time of all processes in microseconds per sample.
func (s *platformSide) perSample() float64 {
	return (s.Worker.CPU*float64(s.Workers) + s.Server.CPU) / s.Rate * 1e6
}

// print writes the lines of a case: samples per second, memory of a worker, processor time and
// traffic.
func (pc *platformCase) print(c *Config, r *platformResult, all *means) {
	const mib = 1 << 20
	for _, line := range []struct {
		end, unit string
		of        func(s *platformSide) float64
	}{
		{"", "samples/s", func(s *platformSide) float64 { return s.Rate }},
		{".memory", "MiB", func(s *platformSide) float64 { return s.Worker.Memory / mib }},
		{".cpu", "us/sample", func(s *platformSide) float64 { return s.perSample() }},
	} {
		w := Workload{Name: pc.name + line.end, Unit: line.unit}
		res := &result{by: map[string]float64{}}
		for name, s := range r.Sides {
			v := line.of(&s)
			if name == ourName {
				res.ours = v
				continue
			}
			res.by[name] = v
			if b := better(w.Unit, res.best, v); b != res.best {
				res.best, res.bestPeer = b, name
			}
		}
		res.print(c.Out, &w)
		if line.end == "" {
			all.add(&w, res)
		}
	}
	ours := r.Sides[ourName]
	fmt.Fprintf(c.Out, "%s.network\t%.4g\t-\t-\tMB/s\t-\n", pc.name, ours.Network/1e6)
}

// errNoFigures is the error of a run that measured nothing.
var errNoFigures = errors.New("bench: --match selects no case, want at least one")
