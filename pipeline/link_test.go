package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/pipeline"
	"gomx/pipeline/flow"
)

// work is the work of a stage whose values are numbers: each stage adds one to what it gets.
type work struct {
	links []flow.Link
	do    func(a flow.Action) error // nil: nothing
	mu    sync.Mutex
	last  map[flow.Tensor]byte
}

func (w *work) Take(t flow.Tensor, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(data) != int(w.links[t.Link].Bytes) {
		return fmt.Errorf("%d bytes of tensor %+v", len(data), t)
	}
	for i, b := range data {
		if b != data[0]+byte(i) {
			return fmt.Errorf("byte %d of tensor %+v is %d", i, t, b)
		}
	}
	if w.last == nil {
		w.last = map[flow.Tensor]byte{}
	}
	w.last[t] = data[0]
	return nil
}

func (w *work) Run(a flow.Action) error {
	if w.do == nil {
		return nil
	}
	return w.do(a)
}

func (w *work) Give(_ context.Context, t flow.Tensor, data []byte) error {
	for i := range data {
		data[i] = byte(t.Link+7*t.Micro) + byte(i)
	}
	return nil
}

// chain connects neighbours, and the first stage to the last.
func chain(stages int, bytes int64) []flow.Link {
	var list []flow.Link
	for q := range stages - 1 {
		list = append(list, flow.Link{From: q, To: q + 1, Bytes: bytes, Grad: true})
	}
	if stages > 2 {
		list = append(list, flow.Link{From: 0, To: stages - 1, Bytes: 1, Grad: true})
	}
	return list
}

// each runs f for all stages at once and returns their errors.
func each(list []*pipeline.Link, f func(q int, l *pipeline.Link) error) []error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for q, l := range list {
		wg.Go(func() { errs[q] = f(q, l) })
	}
	wg.Wait()
	return errs
}

// TestLinks sends tensors of many sizes, which are larger than the window, of several slices, or
// small, over steps of all orders, and looks at the bytes on their way.
func TestLinks(t *testing.T) {
	for name, open := range openers(t) {
		for _, bytes := range []int64{1, 1000, 1<<20 + 1, 3 << 20} {
			t.Run(fmt.Sprint(name, " ", bytes), func(t *testing.T) {
				config := chain(3, bytes)
				list := links(t, 3, 5, config, open, func(c *flow.Config) { c.Window = 2 << 20 })
				for _, o := range []flow.Order{flow.OneForwardOneBackward, flow.InTurn,
					flow.ForwardOnly, flow.OneForwardOneBackward} {
					errs := each(list, func(_ int, l *pipeline.Link) error {
						return l.Step(t.Context(), o, &work{links: config})
					})
					if err := errors.Join(errs...); err != nil {
						t.Fatal(err)
					}
				}
				for q, l := range list {
					for to := range list {
						if got := l.Peak(to); got > max(2<<20, bytes) {
							t.Errorf("%d bytes on their way from %d to %d", got, q, to)
						}
					}
				}
			})
		}
	}
}

// quick makes links lose patience soon.
func quick(c *flow.Config) { c.Patience = flow.Time(400 * time.Millisecond) }

// TestStageStalls lets a stage work without end: the others end within their patience with an error
// that names its rank.
func TestStageStalls(t *testing.T) {
	for bad := range 3 {
		config := chain(3, 10)
		list := links(t, 3, 6, config, onNetwork(), quick)
		release := make(chan struct{})
		errs := each(list, func(q int, l *pipeline.Link) error {
			w := &work{links: config}
			if q == bad {
				w.do = func(a flow.Action) error {
					if a.Micro == 2 {
						<-release
					}
					return nil
				}
				time.AfterFunc(3*time.Second, func() { close(release) })
			}
			return l.Step(t.Context(), flow.OneForwardOneBackward, w)
		})
		for q, err := range errs {
			var rank *pipeline.RankError
			if !errors.As(err, &rank) || rank.Stage != bad || rank.Rank != 10+bad {
				t.Errorf("stage %d stalls: stage %d ends with %v", bad, q, err)
			}
		}
	}
}

// TestStageDies closes the network of a stage in the middle of a step, as if its machine had gone.
func TestStageDies(t *testing.T) {
	for bad := range 3 {
		network := mem.NewNetwork(1)
		config := chain(3, 10)
		list := links(t, 3, 6, config, func(c transport.Config) (transport.Endpoint, error) {
			return mem.Open(network, c)
		}, quick)
		start := time.Now()
		errs := each(list, func(q int, l *pipeline.Link) error {
			w := &work{links: config}
			if q == bad {
				w.do = func(a flow.Action) error {
					if a.Micro == 2 {
						l.Close()
					}
					return nil
				}
			}
			return l.Step(t.Context(), flow.OneForwardOneBackward, w)
		})
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("stage %d dies: the others took %v", bad, took)
		}
		for q, err := range errs {
			var rank *pipeline.RankError
			if q != bad && (!errors.As(err, &rank) || rank.Stage != bad) {
				t.Errorf("stage %d dies: stage %d ends with %v", bad, q, err)
			}
		}
	}
}

// TestStageFails lets the work of a stage fail: all others end at once with its text.
func TestStageFails(t *testing.T) {
	config := chain(3, 10)
	list := links(t, 3, 6, config, onNetwork(), nil)
	errs := each(list, func(q int, l *pipeline.Link) error {
		w := &work{links: config}
		if q == 1 {
			w.do = func(a flow.Action) error {
				if a.Micro == 3 {
					return errors.New("no more memory")
				}
				return nil
			}
		}
		return l.Step(t.Context(), flow.OneForwardOneBackward, w)
	})
	for q, err := range errs {
		var rank *pipeline.RankError
		if !errors.As(err, &rank) || rank.Rank != 11 ||
			!strings.Contains(err.Error(), "no more memory") ||
			errors.Is(err, pipeline.ErrReported) != (q != 1) {
			t.Errorf("stage %d ends with %v", q, err)
		}
	}
	if err := list[0].Step(t.Context(), flow.InTurn, &work{links: config}); err == nil {
		t.Error("a step after an error runs")
	}
}

// TestContextEnds ends the context of a stage that waits: the error names the stage that it waits
// for.
func TestContextEnds(t *testing.T) {
	config := chain(2, 10)
	list := links(t, 2, 6, config, onNetwork(), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := list[1].Step(ctx, flow.OneForwardOneBackward, &work{links: config})
	var rank *pipeline.RankError
	if !errors.As(err, &rank) || rank.Rank != 10 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline and worker 10", err)
	}
}
