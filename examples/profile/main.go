// Profile shows in which operators the time of training steps goes: a table by operator, and a file
// for ui.perfetto.dev. Programs that do not ask for a profile get the same by
// gomx profile -- PROGRAM.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"time"

	"gomx/autograd"
	"gomx/engine"
	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// least is the share of the time that the operators of the network must have: the rest is the time
// of the program between them.
const least = 0.5

func main() {
	trace := flag.String("trace", "", "file of the trace, none by default")
	flag.Parse()
	share, err := run(context.Background(), *trace, 40)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("share of operators %.3f\n", share)
	if share < least {
		log.Fatalf("want at least %v", least)
	}
}

// sum adds up the runs of an operator.
type sum struct {
	op           string
	count        int
	time         time.Duration
	bytes, flops int64
}

// table prints the operators, the longest total first, and returns the time of all.
func table(p *engine.Profile) (all time.Duration) {
	sums := map[string]*sum{}
	for _, k := range p.Kernels() {
		s := sums[k.Op]
		if s == nil {
			s = &sum{op: k.Op}
			sums[k.Op] = s
		}
		s.count++
		s.time += k.End - k.Start
		s.bytes += k.Bytes
		s.flops += k.FLOPs
		all += k.End - k.Start
	}
	fmt.Printf("%-28s %6s %10s %8s %8s\n", "operator", "count", "total", "GFLOP/s", "GB/s")
	for _, s := range slices.SortedFunc(maps.Values(sums),
		func(a, b *sum) int { return cmp.Compare(b.time, a.time) }) {
		ns := max(1, float64(s.time))
		fmt.Printf("%-28s %6d %10v %8.1f %8.1f\n", s.op, s.count, s.time.Round(time.Microsecond),
			float64(s.flops)/ns, float64(s.bytes)/ns)
	}
	return all
}

// run profiles some training steps and returns the share of their time that operators have.
func run(ctx context.Context, trace string, steps int) (float64, error) {
	train, _, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	conv := func(channels int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(3), Pad: nn.Square(1),
			Activation: "relu"}
	}
	net := gluon.New(nn.Sequential{conv(32), conv(64), &nn.MaxPool2D{}, conv(128),
		&nn.Dense{Units: 256, Activation: "relu"}, &nn.Dense{Units: 10}})
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 1e-3})
	if err != nil {
		return 0, err
	}
	var p *engine.Profile
	var start time.Time
	step := 0
	for batch, err := range data.NewLoader(data.Arrays(train...), 32,
		data.LastBatch(data.Discard)).Batches(ctx) {
		if err != nil {
			return 0, err
		}
		if step == 2 { // the first steps make memory and compile
			if err := nd.WaitAll(ctx); err != nil {
				return 0, err
			}
			p, start = engine.Default().StartProfile(), time.Now()
		}
		loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(batch.Data)),
			batch.Label).Backward()
		if err := trainer.Step(batch.Size); err != nil {
			return 0, err
		}
		if step++; step == steps+2 {
			break
		}
	}
	if err := nd.WaitAll(ctx); err != nil {
		return 0, err
	}
	took := time.Since(start)
	p.Stop()
	share := float64(table(p)) / float64(took)
	if trace == "" {
		return share, nil
	}
	f, err := os.Create(trace)
	if err != nil {
		return 0, err
	}
	return share, errors.Join(p.WriteTrace(f), f.Close())
}
