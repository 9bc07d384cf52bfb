package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/internal/viewtest"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
)

// TestAnotherSchedulerTakesOver loses the scheduler of a job in several ways: another candidate
// leads, and training and barriers go on as if nothing had happened.
func TestAnotherSchedulerTakesOver(t *testing.T) {
	const steps, workers = 12, 2
	for name, lose := range map[string]func(c *cluster.Cluster, m *viewtest.Memory){
		"it dies": func(c *cluster.Cluster, m *viewtest.Memory) {
			n := wire.Node{Role: wire.Scheduler}
			if m.Leader().Addr != cluster.SchedulerAddr(0) {
				n.Rank = 1
			}
			c.Kill(n)
		},
		"its lease ends": func(_ *cluster.Cluster,
			m *viewtest.Memory) {
			m.Depose(true)
		},
		"its lease ends and it does not know": func(_ *cluster.Cluster,
			m *viewtest.Memory) {
			m.Depose(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := viewtest.NewMemory()
			c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2, View: m,
				Schedulers: 2, Heartbeat: 50 * time.Millisecond, Dead: 500 * time.Millisecond})
			work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
				out := nd.Zeros(nd.Shape{5})
				if err := s.Broadcast(ctx, "w", nd.Zeros(nd.Shape{5}), out); err != nil {
					return err
				}
				for step := range steps {
					if step == steps/2 && s.Rank() == 0 {
						lose(c, m)
					}
					if err := s.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{5})},
						[]*nd.Array{out}); err != nil {
						return err
					}
					if err := s.Barrier(ctx); err != nil {
						return err
					}
				}
				// With no optimizer the sum of a round replaces the value.
				if v, err := out.Float32s(); err != nil || v[0] != workers {
					return fmt.Errorf("the value is %v, %v, want %d", v, err, workers)
				}
				return nil
			})
			if l := m.Leader(); l.Term < 2 {
				t.Errorf("the last leader is %+v, want a later term than 1", l)
			}
			if v := m.View(); v == nil || !v.Over() {
				t.Errorf("the store has %+v, want the view of a job that is over", v)
			}
		})
	}
}

// TestProcessesComeAfterTheEnd starts processes of a job again that is over: without a scheduler,
// when the store of the view tells them, and with one that is started again beside them.
func TestProcessesComeAfterTheEnd(t *testing.T) {
	m := viewtest.NewMemory()
	c := cluster.Start(cluster.Config{Workers: 1, View: m, Heartbeat: 50 * time.Millisecond,
		Dead: 500 * time.Millisecond})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		return s.Init(ctx, "w", nd.Ones(nd.Shape{5}))
	})
	again := func(patience time.Duration) {
		t.Helper()
		cfg := kvstore.JobConfig{Node: wire.Node{Role: wire.Worker}, ID: 1, Workers: 1, Servers: 1,
			View: m, Heartbeat: 50 * time.Millisecond, Dead: 500 * time.Millisecond,
			Patience: patience,
			Open: func(cfg transport.Config) (transport.Endpoint, error) {
				return mem.Open(c.Network, cfg)
			}}
		if _, err := kvstore.Join(t.Context(), cfg); !errors.Is(err, ps.ErrOver) {
			t.Errorf("a worker gets %v, want %v", err, ps.ErrOver)
		}
		cfg.Node.Role = wire.Server
		if err := kvstore.Serve(t.Context(), cfg); err != nil {
			t.Errorf("a server gets %v, want nil", err)
		}
	}
	again(time.Second)
	c.Restart(wire.Node{Role: wire.Scheduler})
	time.Sleep(300 * time.Millisecond) // the others come later
	start := time.Now()
	again(time.Minute)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("beside a scheduler they take %v, want them to hear of the end from it", took)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// TestTrainingGoesOnWithoutAStore lets the store of the view refuse all writes for a while:
// training goes on, and a barrier waits for the store.
func TestTrainingGoesOnWithoutAStore(t *testing.T) {
	m := viewtest.NewMemory()
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, View: m, Schedulers: 2})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		out := nd.Zeros(nd.Shape{5})
		if err := s.Broadcast(ctx, "w", nd.Zeros(nd.Shape{5}), out); err != nil {
			return err
		}
		m.Silence(true)
		for range 10 {
			if err := s.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{5})},
				[]*nd.Array{out}); err != nil {
				return err
			}
		}
		if err := out.Wait(ctx); err != nil {
			return err
		}
		waited := time.Now()
		time.AfterFunc(300*time.Millisecond, func() { m.Silence(false) })
		if err := s.Barrier(ctx); err != nil {
			return err
		}
		if d := time.Since(waited); d < 300*time.Millisecond {
			return fmt.Errorf("a barrier was passed after %v though no view could be saved", d)
		}
		if l := m.Leader(); l.Term != 1 {
			return fmt.Errorf("the last leader is %+v, want the first one: a silent store deposes "+
				"nobody", l)
		}
		return nil
	})
}

// TestAGuestFindsTheLeader lets a process without a rank ask whichever scheduler leads.
func TestAGuestFindsTheLeader(t *testing.T) {
	m := viewtest.NewMemory()
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, View: m, Schedulers: 2})
	cfg := c.Worker(0)
	rank, err := kvstore.AskRank(t.Context(), cfg)
	if err != nil || rank != 0 {
		t.Errorf("the rank is %d, %v, want 0", rank, err)
	}
	work(t, c, "dist_sync", func(context.Context, *kvstore.KV) error { return nil })
}
