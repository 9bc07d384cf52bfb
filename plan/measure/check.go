package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"gomx/kvstore"
	"gomx/plan"
)

// checked are the configurations of the check: every network with every number of workers and every
// store. None of them is used to calibrate.
var checked = struct {
	models  []string
	workers []int
	stores  []string
}{[]string{"lenet", "resnet18-small", "lstm"}, []int{1, 3}, []string{"dist_sync", plan.StoreRing}}

// Settings of the check.
const (
	checkRounds  = 4   // jobs of each configuration; the fastest counts, and the median of the memory
	checkSeconds = 3.0 // measured time of a job
	checkWarm    = 4   // steps before the measured ones
)

// Check predicts the configurations of the check, prints the predictions, then measures real jobs
// beside them. The last line has the worst and the median error of the throughput.
func (c *Cache) Check(ctx context.Context, out io.Writer) error {
	host, err := c.Host(ctx)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	list, missing, err := c.predictions(ctx, host)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "predictions for %s, %d cores:\n", host.Processor, host.Cores)
	for _, x := range list {
		fmt.Fprintf(out, "%-14s %-20s %9.1f samples/s  worker %6.1f MiB  server %6.1f MiB  "+
			"limit %s\n", x.model, x.name(), x.p.Throughput, mib(x.p.Memory.Worker),
			mib(x.p.Memory.Server()), x.p.Limit)
	}
	fmt.Fprintln(out, "measured:")
	for round := range checkRounds {
		for _, x := range list {
			c.m.report("%s, %s, job %d of %d", x.model, x.name(), round+1, checkRounds)
			if err := x.measure(ctx, c.m, checkSeconds); err != nil {
				return fmt.Errorf("%s, %s: %w", x.model, x.name(), err)
			}
		}
	}
	var errs, memory []float64
	for _, x := range list {
		x.print(out)
		errs = append(errs, math.Abs(x.off()))
		for _, off := range x.memoryOff() {
			memory = append(memory, math.Abs(off))
		}
	}
	fmt.Fprintf(out, "memory: worst %.1f %%, median %.1f %%\n", 100*slices.Max(memory),
		100*median(memory))
	fmt.Fprintf(out, "worst %.1f %%, median %.1f %%\n", 100*slices.Max(errs), 100*median(errs))
	return missing
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// checkCase is a configuration of the check.
type checkCase struct {
	model   string
	network network
	p       *plan.Prediction
	rates   []float64 // measured samples per second
	workers []float64 // measured memory of the worker that needs most, in bytes
	servers []float64 // measured memory of the server, in bytes; 0 without servers
}

// name describes the job.
func (x *checkCase) name() string {
	return fmt.Sprintf("%s, %d workers", x.p.Job.Store, x.p.Job.Workers)
}

// prepare measures the networks that the file does not have, each twice, with the others between:
// other programs slow a machine down for seconds, and the faster measurement counts.
func (c *Cache) prepare(ctx context.Context) error {
	var again []func() error
	for _, name := range checked.models {
		model, _ := plan.FindModel(name)
		s := model.Symbol()
		for _, threads := range []int{1, runtime.NumCPU()} {
			if c.has(s, model.Shapes, threads) {
				continue
			}
			if _, _, err := c.measured(ctx, s, model.Shapes, threads); err != nil {
				return err
			}
			again = append(again, func() error { return c.again(ctx, s, model.Shapes, threads) })
		}
	}
	for _, f := range again {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// predictions predicts all configurations. A store that kvstore does not have is an error, which
// does not keep the others from being measured.
func (c *Cache) predictions(ctx context.Context, h *plan.Host) (list []*checkCase, missing error,
	err error) {
	machine := plan.Machines{Count: 1, Cores: runtime.NumCPU()}
	for _, name := range checked.models {
		model, _ := plan.FindModel(name)
		s := model.Symbol()
		net, err := c.m.network(s, model.Shapes)
		if err != nil {
			return nil, nil, err
		}
		for _, workers := range checked.workers {
			for _, store := range checked.stores {
				if !slices.Contains(kvstore.Names(), store) {
					missing = errors.Join(missing, fmt.Errorf("%s, %s, %d workers: this build has "+
						"no store %q", name, store, workers, store))
					continue
				}
				j := plan.Job{Store: store, Workers: workers, Servers: 1, Machines: machine}
				if store == plan.StoreRing {
					j.Servers = 0
				}
				n, w, err := c.Compute(ctx, s, model.Shapes, j.Threads())
				if err != nil {
					return nil, nil, err
				}
				p, err := plan.Predict(n, w, h, j, 0)
				if err != nil {
					return nil, nil, err
				}
				list = append(list, &checkCase{model: name, network: net, p: p})
			}
		}
	}
	return list, missing, nil
}

// measure runs a job once, for about so many seconds.
func (x *checkCase) measure(ctx context.Context, m *Measurer, seconds float64) error {
	steps := min(max(8, int(seconds/x.p.Step)), 4000)
	lines, err := m.run(ctx, jobSpec{workers: x.p.Job.Workers, servers: x.p.Job.Servers,
		way: plan.WayShared, task: task{Kind: taskTrain, Network: x.network, Store: x.p.Job.Store,
			Warm: checkWarm, Steps: steps}})
	if err != nil {
		return err
	}
	rate, worker, server := 0.0, int64(0), int64(0)
	for _, line := range lines {
		var f trainFigures
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		rate += float64(f.Samples) / f.Seconds
		worker, server = max(worker, f.Worker), max(server, f.Server)
	}
	x.workers = append(x.workers, float64(worker))
	x.servers = append(x.servers, float64(server))
	x.rates = append(x.rates, rate)
	return nil
}

// rate returns the measured throughput. Other programs of the machine only slow jobs down.
func (x *checkCase) rate() float64 { return slices.Max(x.rates) }

// off returns the relative error of the predicted throughput.
func (x *checkCase) off() float64 { return x.p.Throughput/x.rate() - 1 }

// memoryOff returns the relative errors of the predicted memory of the worker and, if there is one,
// of the server.
func (x *checkCase) memoryOff() []float64 {
	list := []float64{float64(x.p.Memory.Worker)/median(x.workers) - 1}
	if server := median(x.servers); server > 0 {
		list = append(list, float64(x.p.Memory.Server())/server-1)
	}
	return list
}

// print writes the line of a configuration.
func (x *checkCase) print(out io.Writer) {
	fmt.Fprintf(out, "%-14s %-20s %9.1f samples/s, predicted %9.1f (%+.1f %%)", x.model, x.name(),
		x.rate(), x.p.Throughput, 100*x.off())
	parts := []struct {
		name                string
		measured, predicted float64
	}{{"worker", median(x.workers), float64(x.p.Memory.Worker)},
		{"server", median(x.servers), float64(x.p.Memory.Server())}}
	for i, off := range x.memoryOff() {
		fmt.Fprintf(out, "  %s %.1f MiB, predicted %.1f (%+.1f %%)", parts[i].name,
			parts[i].measured/(1<<20), parts[i].predicted/(1<<20), 100*off)
	}
	fmt.Fprintln(out)
}
