package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// stalenessCase is a job of the suite staleness.
type stalenessCase struct {
	name string
	plan stalenessPlan
}

// stalenessBounds are the bounds that are compared; the first one is the measure of the others.
var stalenessBounds = []int{0, 1, 3, 10}

// stalenessStep is the time of a clock where one worker in turn sleeps four times as long in
// addition.
const stalenessStep = 40 * time.Millisecond

// stalenessModels are the models of the comparison, with their titles.
var stalenessModels = []struct {
	name, title string
	plan        stalenessPlan
}{
	{"matrix", "matrix factorization", stalenessPlan{Rows: 150, Columns: 8, Samples: 3000,
		Batch: 300, Clocks: 60, Rate: 0.05}},
	{"logistic", "logistic regression", stalenessPlan{Columns: 500, Samples: 3000, Batch: 100,
		Clocks: 60, Rate: 0.03}},
}

// stalenessCases lists the jobs: every model with every bound, and logistic regression with batches
// of one sample, as fast as it goes.
func stalenessCases() (list []stalenessCase) {
	for _, m := range stalenessModels {
		for _, s := range stalenessBounds {
			p := m.plan
			p.Model, p.Staleness, p.Workers, p.Step, p.Slow = m.name, s, 3, stalenessStep, 4
			if p.Points = p.Clocks; s > 0 {
				p.Clocks += p.Clocks / 3 // so that a slower descent by clocks reaches the same loss
			}
			list = append(list, stalenessCase{fmt.Sprintf("staleness.%s.s%d", m.name, s), p})
		}
	}
	one := stalenessPlan{Model: "logistic", Staleness: 3, Workers: 3, Columns: 10_000,
		Samples: 3333, Mini: 1, Rate: 1e-4, Points: 2}
	each, hundred := one, one
	each.Batch, each.Clocks = 1, 3333
	hundred.Batch, hundred.Clocks = 100, 200
	return append(list, stalenessCase{"staleness.batch1.s3.clock1", each},
		stalenessCase{"staleness.batch1.s3.clock100", hundred})
}

// stalenessResult is the results of a case, one for each round.
type stalenessResult struct {
	stalenessCase
	rounds []*stalenessJob
}

// runStaleness repeats the experiment of bounded staleness (Ho et al., 2013): of three workers one
// in turn is slow for a clock.
func runStaleness(ctx context.Context, c *Config) error {
	if c.Docs != "" && c.Match != "" {
		return errors.New("bench: --docs with --match: the page of staleness compares all cases, " +
			"want one of both")
	}
	if len(c.Peers) > 0 {
		return fmt.Errorf("bench: suite %s has no script for peer %s", c.Suite, c.Peers[0].Name)
	}
	printHeader(c)
	var list []*stalenessResult
	for _, sc := range stalenessCases() {
		if strings.Contains(sc.name, c.Match) {
			list = append(list, &stalenessResult{stalenessCase: sc})
		}
	}
	if len(list) == 0 {
		return errNoFigures
	}
	for round := range c.Rounds {
		for _, r := range list {
			j, err := r.plan.run(ctx)
			if err != nil {
				return fmt.Errorf("bench: %s: %w", r.name, err)
			}
			logf(c.Log, "%s round %d: %.4g samples/s, loss %.4g after %.2f s\n", r.name, round+1,
				j.rate, j.last().Loss, j.last().At)
			r.rounds = append(r.rounds, j)
		}
	}
	for _, r := range list {
		(&result{ours: r.rate()}).print(c.Out, &Workload{Name: r.name, Unit: "samples/s"})
		if base := baseOf(list, r); base != nil {
			(&result{ours: r.share(base)}).print(c.Out, &Workload{Name: r.name + ".time",
				Unit: "of s0"})
		}
	}
	if c.Docs == "" {
		return nil
	}
	return writeStalenessPages(c.Docs, list)
}

// baseOf returns the result without staleness that another one is compared with, or nil.
func baseOf(list []*stalenessResult, r *stalenessResult) *stalenessResult {
	if r.plan.Step == 0 {
		return nil
	}
	i := slices.IndexFunc(list, func(b *stalenessResult) bool {
		return b.plan.Model == r.plan.Model && b.plan.Staleness == 0 && b.plan.Step > 0
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

// rate is the median of the samples per second of all workers.
func (r *stalenessResult) rate() float64 {
	return r.median(func(i int) float64 { return r.rounds[i].rate })
}

// seconds is the median of the time until the loss is that of base at its end.
func (r *stalenessResult) seconds(base *stalenessResult) float64 {
	return r.median(func(i int) float64 { return r.rounds[i].reaches(base.rounds[i].last().Loss) })
}

// share is the median of the same time as a share of the time of base, round by round.
func (r *stalenessResult) share(base *stalenessResult) float64 {
	return r.median(func(i int) float64 {
		want := base.rounds[i].last().Loss
		return r.rounds[i].reaches(want) / base.rounds[i].reaches(want)
	})
}

func (r *stalenessResult) median(of func(round int) float64) float64 {
	list := make([]float64, len(r.rounds))
	for i := range list {
		list[i] = of(i)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// typical is the round with the median of samples per second.
func (r *stalenessResult) typical() *stalenessJob {
	list := slices.Clone(r.rounds)
	slices.SortFunc(list, func(a, b *stalenessJob) int { return cmp.Compare(a.rate, b.rate) })
	return list[len(list)/2]
}
