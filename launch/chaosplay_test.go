//go:build cgo && linux

package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"gomx/kvstore"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

func init() {
	plays["chaos"] = func(string, string) int {
		full := make(chan os.Signal, 1)
		signal.Notify(full, memorySignal)
		go func() { <-full; exhaust() }()
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err := launch.Run(ctx, chaosPlay)
		if err != nil {
			fmt.Println(err)
		}
		if code := launch.ExitCode(err); code != launch.ExitFailed || ctx.Err() == nil {
			return code
		}
		return launch.ExitRetry // as launch.Main
	}
}

// memorySignal makes a process of chaosPlay exhaust its memory.
const memorySignal = syscall.SIGUSR1

// A job of chaosPlay has chaosSteps steps, and a barrier and a snapshot before each chaosEvery-th.
const (
	chaosSteps = 60
	chaosEvery = 15
)

// mark prints the place of a worker, for the nemesis.
func mark(moment string) { fmt.Printf("at %s\n", moment) }

// chaosPlay trains with barriers and snapshots and prints its progress. A successor that resumes at
// a step can repeat the step.
func chaosPlay(ctx context.Context) error {
	mark("init")
	timeout, _ := time.ParseDuration(os.Getenv("LAUNCH_TEST_TIMEOUT"))
	s, err := kvstore.Open(ctx, "dist_sync", kvstore.Timeout(timeout))
	if err != nil {
		return err
	}
	p := &player{KV: s, out: map[string]*nd.Array{}, grad: map[string]*nd.Array{}}
	for _, key := range playKeys {
		n := trainSize[key]
		p.out[key], p.grad[key] = nd.Zeros(nd.Shape{n}), nd.Zeros(nd.Shape{n})
		if err := s.Broadcast(ctx, key, nd.Ones(nd.Shape{n}), p.out[key]); err != nil {
			return err
		}
	}
	if err := initTable(ctx, s); err != nil {
		return err
	}
	if err := s.SetOptimizer(ctx, optimizer.SGD{LR: 0.125, Momentum: 0.5}); err != nil {
		return err
	}
	first := int(s.Resumed())
	if first > 0 {
		fmt.Printf("resumes at step %d\n", first)
	}
	for step := first; step < chaosSteps; step++ {
		if err := p.step(ctx, step, first); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	fmt.Printf("longest step %v\n", p.longest)
	for _, key := range playKeys {
		v, err := p.out[key].Float32s()
		if err != nil {
			return err
		}
		fmt.Printf("result %s %08x\n", key, checksum(v))
	}
	all := nd.Zeros(nd.Shape{tableRows, tableWidth})
	if err := s.Pull("rows", 0, all); err != nil {
		return err
	}
	v, err := all.Float32s()
	if err != nil {
		return err
	}
	fmt.Printf("result rows %08x\n", checksum(v))
	return s.Close()
}

var playKeys = []string{"a", "b"}

type player struct {
	*kvstore.KV
	out, grad map[string]*nd.Array
	longest   time.Duration // step, without barriers and snapshots
}

// step is one step of a worker.
func (p *player) step(ctx context.Context, step, first int) error {
	time.Sleep(10 * time.Millisecond) // stands for the work of a step
	if step > 0 && step%chaosEvery == 0 {
		mark("barrier")
		time.Sleep(time.Duration(p.Rank()) * 10 * time.Millisecond) // the others wait
		if err := p.Barrier(ctx); err != nil {
			return err
		}
		mark("snapshot")
		if err := p.Snapshot(ctx, uint64(step)); err != nil {
			return err
		}
	}
	switch step {
	case first + 2, chaosSteps / 2:
		mark("step")
	case chaosSteps - 1:
		mark("last")
	}
	began := time.Now()
	for _, key := range playKeys {
		g := make([]float32, trainSize[key])
		for i := range g {
			g[i] = pushed(key, p.Rank(), step, i)
		}
		if err := nd.CopyFrom(p.grad[key], g); err != nil {
			return err
		}
		if err := p.PushPull(key, 0, []*nd.Array{p.grad[key]},
			[]*nd.Array{p.out[key]}); err != nil {
			return err
		}
	}
	table, err := pushTable(p.KV, step)
	if err != nil {
		return err
	}
	if err := errors.Join(p.out["a"].Wait(ctx), table.Wait(ctx)); err != nil {
		return err
	}
	p.longest = max(p.longest, time.Since(began))
	if limit, _ := strconv.Atoi(os.Getenv("LAUNCH_TEST_TRACE")); limit > 0 {
		fmt.Printf("step %d done\n", step)
	}
	return nil
}
