package gluon_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/internal/nettest"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

const (
	elasticSize   = 5  // samples of a batch
	elasticCount  = 17 // batches of an epoch
	elasticEpochs = 5
)

var (
	errDies       = errors.New("the worker dies")
	elasticRate   = optimizer.FactorScheduler{Step: 7, Factor: 0.5}
	elasticMethod = optimizer.Adam{LR: 0.05, Common: optimizer.Common{Schedule: elasticRate}}
)

// elasticData are points of the plane, of which samples have numbers.
func elasticData() data.Dataset[data.Sample] {
	x, y := samples(1, elasticSize*elasticCount)
	return data.Arrays(x, y)
}

// part is a batch of a worker that has made its step. The workers of a group that changes later may
// take the step back.
type part struct {
	epoch int
	group []int // ranks
	index []int // samples
	loss  []float32
	sum   int     // state of the program: the sum of the numbers of all steps before
	rate  float64 // of the step
}

// elasticJob is a job whose workers die and come.
type elasticJob struct {
	mu    sync.Mutex
	die   map[int]int             // by rank: steps of the job after which the worker dies
	parts map[uint64]map[int]part // by steps and rank: of the last group that had this step
	steps uint64                  // of the whole job
}

// note notes a part. A step that is made again by another group counts as it is then.
func (j *elasticJob) note(step uint64, rank int, p part) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.parts[step]
	for _, other := range m {
		if !slices.Equal(other.group, p.group) {
			m = nil
			break
		}
	}
	if m == nil {
		m = map[int]part{}
		j.parts[step] = m
	}
	m[rank] = p
}

// elasticNet returns the network of the job with its first values.
func elasticNet() (*gluon.Net, error) {
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 6, Activation: "tanh"}, &nn.Dense{Units: 2}})
	err := net.Init(initializer.Xavier{}, gluon.Seed(3))
	net.Forward(nd.Zeros(nd.Shape{1, 2}))
	return net, err
}

// elasticLoader reads the points in the order of the job.
func elasticLoader() *data.Loader {
	return data.NewLoader(elasticData(), elasticSize, data.Shuffle(9))
}

// work trains as a worker, and returns its parameters.
func (j *elasticJob) work(ctx context.Context) ([]float32, error) {
	net, err := elasticNet()
	if err != nil {
		return nil, err
	}
	tr, err := gluon.NewTrainer(net.Params(), elasticMethod, gluon.InJob(ctx),
		gluon.Store("allreduce", kvstore.Timeout(60*time.Second)))
	if err != nil {
		return nil, err
	}
	loader, sum := elasticLoader(), 0
	e, err := gluon.NewElastic(tr, loader, gluon.Keep(&sum))
	if err != nil {
		return nil, err
	}
	for {
		err := j.train(ctx, net, tr, e, loader, &sum)
		if err == nil {
			break
		}
		if !errors.Is(err, gluon.ErrRegrouped) {
			return nil, err
		}
		if err := e.Recover(); err != nil {
			return nil, err
		}
	}
	j.mu.Lock()
	j.steps = tr.Steps()
	j.mu.Unlock()
	var list []float32
	for _, p := range net.Params().All() {
		v, err := p.Data().Float32s()
		if err != nil {
			return nil, err
		}
		list = append(list, v...)
	}
	return list, tr.Close()
}

// train trains to the end.
func (j *elasticJob) train(ctx context.Context, net *gluon.Net, tr *gluon.Trainer, e *gluon.Elastic,
	loader *data.Loader, sum *int) error {
	rank := kvstore.JobOf(ctx).Rank()
	for loader.Epoch() < elasticEpochs {
		for b, err := range loader.Batches(ctx) {
			if err != nil {
				return err
			}
			j.mu.Lock()
			dies, found := j.die[rank]
			j.mu.Unlock()
			if found && tr.Steps() >= uint64(dies) {
				return errDies
			}
			l := loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(b.Data)), b.Label)
			l.Backward()
			group := gluon.GroupOf(e)
			if err := tr.Step(elasticSize * tr.Workers()); err != nil {
				return err
			}
			v, err := l.Float32s()
			if err != nil {
				return err
			}
			for _, p := range net.Params().All() {
				if err := p.Data().Wait(ctx); err != nil {
					return err
				}
			}
			p := part{loader.Epoch(), group, slices.Clone(b.Index), v, *sum, tr.LearningRate()}
			*sum += int(tr.Steps())
			j.note(tr.Steps(), rank, p) // the step may count although Commit finds another group
			if err := e.Commit(); err != nil {
				return err
			}
		}
	}
	return e.Settle()
}

// replay trains on the parts in one process, and returns the parameters.
func (j *elasticJob) replay(t *testing.T, began int) []float32 {
	t.Helper()
	net, err := elasticNet()
	ok(t, err)
	o := elasticMethod
	o.Rescale = 1 / float64(elasticSize*began)
	u, err := optimizer.NewUpdater(o, nil)
	ok(t, err)
	x, y := samples(1, elasticSize*elasticCount)
	epochs := map[int]map[int]bool{}
	sum := 0
	for step := uint64(1); step <= j.steps; step++ {
		m, sums := j.parts[step], map[string]*nd.Array{}
		var group []int
		for _, p := range m {
			group = p.group
		}
		if len(m) == 0 || len(m) != len(group) {
			t.Fatalf("step %d has %d parts, the group is %v", step, len(m), group)
		}
		for _, rank := range group {
			p := m[rank]
			if p.sum != sum {
				t.Errorf("step %d of worker %d: state %d, want %d", step, rank, p.sum, sum)
			}
			if epochs[p.epoch] == nil {
				epochs[p.epoch] = map[int]bool{}
			}
			for _, i := range p.index {
				if epochs[p.epoch][i] {
					t.Errorf("step %d: sample %d is in epoch %d twice", step, i, p.epoch)
				}
				epochs[p.epoch][i] = true
			}
			ids := nd.FromSlice(int64s(p.index))
			l := loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(x.Take(ids, 0))), y.Take(ids, 0))
			l.Backward()
			nettest.SameBits(t, fmt.Sprintf("losses of step %d, worker %d", step, rank), p.loss,
				nettest.Values(t, l))
			for name, q := range net.Params().All() {
				if sums[name] == nil {
					sums[name] = q.Grad().Copy()
				} else {
					sums[name].AddInPlace(q.Grad())
				}
			}
		}
		sum += int(step)
		i := 0
		for name, q := range net.Params().All() {
			if len(group) != began {
				sums[name].MulScalarInPlace(float64(began) / float64(len(group)))
			}
			ok(t, u.Update(i, q.Data(), sums[name]))
			i++
		}
		if p := m[group[0]]; p.rate != u.LR() {
			t.Errorf("step %d: learning rate %v, want %v", step, p.rate, u.LR())
		}
	}
	sizes := map[int]int{}
	for step, m := range j.parts {
		if step <= j.steps { // else it was taken back, and the job has ended before it
			sizes[len(m)]++
		}
	}
	t.Logf("steps by the number of workers: %v", sizes)
	if len(epochs) != elasticEpochs {
		t.Errorf("%d epochs, want %d", len(epochs), elasticEpochs)
	}
	for epoch, m := range epochs { // the loader leaves out the remainder
		if n := elasticSize * elasticCount; len(m) > n || len(m) < n-(began-1)*elasticSize {
			t.Errorf("epoch %d has %d samples of %d", epoch, len(m), n)
		}
	}
	return values(t, net, 0)
}

func int64s(list []int) (out []int64) {
	for _, i := range list {
		out = append(out, int64(i))
	}
	return out
}

// TestElasticSurvives lets workers of a loop with Trainer.Step die for good, and others come in
// their places. One process that replays the samples of the groups has, bit for bit, the same losses
// of every batch, the same learning rates and the same parameters.
func TestElasticSurvives(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(4) {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+i, 0))
			const workers = 4
			j := &elasticJob{die: map[int]int{}, parts: map[uint64]map[int]part{}}
			for _, rank := range r.Perm(workers)[:1+r.IntN(2)] {
				j.die[rank] = r.IntN(18)
			}
			back := r.IntN(2) == 0
			t.Logf("seed %d: die %v, come back %v", seed+i, j.die, back)
			outcome := map[int][]float32{}
			var mu sync.Mutex
			cl := cluster.Start(cluster.Config{Workers: workers, Peers: true, Policy: ps.Shrink,
				Heartbeat: 50 * time.Millisecond, Dead: 400 * time.Millisecond})
			err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
				v, err := j.work(ctx)
				for errors.Is(err, errDies) {
					j.mu.Lock()
					delete(j.die, rank)
					j.mu.Unlock()
					if !back {
						return kvstore.JobOf(ctx).Abandon()
					}
					if ctx, err = cl.Again(ctx, rank); err == nil {
						v, err = j.work(ctx)
					}
					if errors.Is(err, ps.ErrOver) {
						return nil
					}
				}
				mu.Lock()
				defer mu.Unlock()
				outcome[rank] = v
				return err
			})
			ok(t, errors.Join(err, cl.Wait()))
			_ = nd.WaitAll(t.Context()) // takes the failures out of the engine
			want := j.replay(t, workers)
			for rank, v := range outcome {
				nettest.SameBits(t, fmt.Sprintf("parameters of worker %d", rank), v, want)
			}
			if len(outcome) < 2 {
				t.Errorf("%d workers have ended, want at least 2", len(outcome))
			}
		})
	}
}

// A step that is complete counts, although the group changes before the program commits it: all
// workers that are left have the step, and Recover knows its place.
func TestElasticCommitsBehindChange(t *testing.T) {
	cl := cluster.Start(cluster.Config{Workers: 2, Peers: true, Policy: ps.Shrink,
		Heartbeat: 50 * time.Millisecond, Dead: 400 * time.Millisecond})
	complete := make(chan struct{})
	say := sync.OnceFunc(func() { close(complete) })
	err := cl.Work(t.Context(), func(ctx context.Context, rank int) error {
		if rank == 0 {
			defer say()
		}
		kv, err := kvstore.Open(ctx, "allreduce")
		if err != nil {
			return err
		}
		net, err := elasticNet()
		if err != nil {
			return err
		}
		tr, err := gluon.NewTrainer(net.Params(), someAdam, gluon.InJob(ctx), gluon.StoreWith(kv))
		if err != nil {
			return err
		}
		made := 0 // steps, a state of the program
		e, err := gluon.NewElastic(tr, nil, gluon.Keep(&made))
		if err != nil {
			return err
		}
		x, y := samples(rank, 4)
		backward(net, x, y, nil)
		if err := tr.Step(4 * tr.Workers()); err != nil {
			return err
		}
		made++
		if rank == 1 {
			<-complete
			return kvstore.JobOf(ctx).Abandon()
		}
		for _, p := range net.Params().All() {
			if err := p.Data().Wait(ctx); err != nil {
				return err
			}
		}
		say()
		s, _ := kvstore.As[kvstore.Survivor](kv)
		began, changed := time.Now(), false
		for !changed && time.Since(began) < time.Minute {
			time.Sleep(5 * time.Millisecond)
			_, changed = s.Standing()
		}
		if err := e.Commit(); !errors.Is(err, gluon.ErrRegrouped) {
			t.Errorf("Commit behind the change: %v, want ErrRegrouped", err)
		}
		if err := e.Recover(); err != nil {
			return err
		}
		if tr.Steps() != 1 || made != 1 || tr.Workers() != 1 {
			t.Errorf("after Recover %d steps, state %d, %d workers, want 1 each", tr.Steps(), made,
				tr.Workers())
		}
		backward(net, x, y, nil)
		if err := tr.Step(4); err != nil {
			return err
		}
		if err := e.Settle(); err == nil || !strings.Contains(err.Error(),
			"step 2 has not been committed") {
			t.Errorf("Settle without Commit: %v", err)
		}
		return errors.Join(e.Commit(), e.Settle(), tr.Close(), kv.Close())
	})
	ok(t, errors.Join(err, cl.Wait()))
	_ = nd.WaitAll(t.Context()) // takes the failures out of the engine
}

// NewElastic names the options that a job whose group changes cannot have, and Step a step that was
// not committed.
func TestElasticMisuse(t *testing.T) {
	cl := cluster.Start(cluster.Config{Workers: 1, Peers: true, Policy: ps.Shrink})
	err := cl.Work(t.Context(), func(ctx context.Context, _ int) error {
		kv, err := kvstore.Open(ctx, "allreduce")
		if err != nil {
			return err
		}
		begin := func(ready bool, share data.Option, opts ...gluon.TrainerOption) (*gluon.Elastic,
			*gluon.Trainer, *gluon.Net, error) {
			net := plain()
			if ready {
				net, err = elasticNet()
			} else {
				err = net.Init(initializer.Xavier{})
			}
			if err != nil {
				return nil, nil, nil, err
			}
			tr, err := gluon.NewTrainer(net.Params(), someAdam, append(opts, gluon.InJob(ctx),
				gluon.StoreWith(kv))...)
			if err != nil {
				return nil, nil, nil, err
			}
			e, err := gluon.NewElastic(tr, data.NewLoader(elasticData(), elasticSize, share))
			return e, tr, net, err
		}
		none := data.Seed(1)
		fails := func(err error, text string) {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %q", err, text)
			}
		}
		_, _, _, err = begin(true, none, gluon.ClipGlobalNorm(1))
		fails(err, "want no ClipGlobalNorm")
		_, _, _, err = begin(true, data.Share(0, 2))
		fails(err, "has been shared out")
		_, _, _, err = begin(false, none)
		fails(err, "has no values: call Init, and use it in a Forward")
		e, tr, net, err := begin(true, none)
		if err != nil {
			return err
		}
		if err := e.Recover(); err != nil { // nothing has changed
			return err
		}
		_, err = gluon.Resume(t.TempDir(), net.Params(), tr)
		fails(err, "want NewElastic")
		for step := range 2 {
			x, y := samples(step, 4)
			backward(net, x, y, nil)
			if err := tr.Step(4); step == 0 && err != nil {
				return err
			} else if step == 1 {
				fails(err, "step 1 has not been committed")
				fails(e.Recover(), "step 1 has not been committed")
			}
		}
		return errors.Join(e.Commit(), e.Settle(), tr.Close(), kv.Close())
	})
	ok(t, errors.Join(err, cl.Wait()))
}
