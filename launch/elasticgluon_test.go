//go:build cgo && linux

package launch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// gluonNet is the network of gluonPlay. Its shapes follow from the first batch.
func gluonNet() (*gluon.Net, error) {
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 16, Activation: "tanh"}, &nn.BatchNorm{},
		&nn.Dense{Units: 2}})
	return net, net.Init(initializer.Xavier{}, gluon.Seed(3))
}

func gluonRate() optimizer.Adam { return optimizer.Adam{LR: 0.02} }

// gluonPlay trains with estimator.Fit, and writes the samples and the losses of each of its batches.
// The numbers of the samples are a label.
func gluonPlay(ctx context.Context) error {
	job := kvstore.JobOf(ctx)
	log, err := os.OpenFile(filepath.Join(os.Getenv("LAUNCH_TEST_DIR"),
		fmt.Sprint("order-", job.Rank())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintln(log, "begin 0 0 0 0")
	net, err := gluonNet()
	if err != nil {
		return err
	}
	store := cmp.Or(os.Getenv("LAUNCH_TEST_STORE"), "dist_sync")
	kv, err := kvstore.Open(ctx, store, kvstore.Timeout(60*time.Second))
	if err != nil {
		return err
	}
	p := newPoints(10 * elasticBatches)
	numbers := make([]float32, 10*elasticBatches)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	set := data.Arrays(nd.FromSlice(p.data, len(numbers), 2), nd.FromSlice(p.label),
		nd.FromSlice(numbers))
	var losses *nd.Array
	var samples []float32
	opts := []estimator.Option{estimator.Epochs(20), estimator.Optimize(gluonRate()),
		estimator.Trainer(gluon.StoreWith(kv))}
	if os.Getenv("LAUNCH_TEST_RESUME") != "" {
		opts = append(opts, estimator.Resume(filepath.Join(os.Getenv("LAUNCH_TEST_DIR"), "net"),
			estimator.EveryBatches(saveEvery())))
	}
	_, err = estimator.Fit(ctx, net, nil, data.NewLoader(set, 10, data.Shuffle(7)), append(opts,
		estimator.LossOf(func(outs, labels []*nd.Array) *nd.Array {
			if samples, err = labels[1].Float32s(); err != nil {
				panic(err)
			}
			fmt.Fprintf(log, "next %d 0 0 %s\n", kv.Group().Number,
				strings.Trim(fmt.Sprint(samples), "[]"))
			losses = loss.SoftmaxCE{}.Forward(outs[0], labels[0])
			return losses
		}),
		estimator.Metric(ownLoss{}),
		estimator.OnBatch(func(b *estimator.BatchEnd) error {
			v, err := losses.Float32s()
			if err != nil {
				return err
			}
			g := kv.Group()
			fmt.Fprintf(log, "%d %d %08x %d.%d %s\n", b.Epoch, b.Batch, checksum(v), g.Number,
				len(g.Ranks), strings.Trim(fmt.Sprint(samples), "[]"))
			time.Sleep(stepTime(b.Epoch, 0))
			return nil
		}))...)
	if err != nil {
		leave(log, err)
		return errors.Join(err, kv.Close())
	}
	sum, err := gluonSum(net)
	if err != nil {
		return err
	}
	fmt.Printf("outcome %08x\n", sum)
	return kv.Close()
}

// saveEvery returns the number of batches after which gluonPlay writes its file.
func saveEvery() int {
	n, _ := strconv.Atoi(os.Getenv("LAUNCH_TEST_EVERY"))
	return max(1, n)
}

// TestElasticGluon takes a job of estimator.Fit with servers from 2 to 4 to 3 workers and from 2 to 3
// to 2 servers while it trains, restarts a worker by SIGTERM and kills another one, which repeats its
// steps or continues by Resume. One process that replays the samples gets the same losses of every
// batch and the same parameters, bit for bit, and every epoch has each sample once.
func TestElasticGluon(t *testing.T) {
	onlyByName(t)
	t.Run("steps repeated", func(t *testing.T) { gluonElastic(t) })
	t.Run("resumed", func(t *testing.T) { gluonElastic(t, "LAUNCH_TEST_RESUME=1") })
}

func gluonElastic(t *testing.T, env ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	e := newElastic(t, "elastic gluon")
	e.Env = append(append(e.Env, "LAUNCH_TEST_ORDERS=1"), env...)
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() {
		if t.Failed() {
			t.Log(tail(e.out.String(), 80))
		}
	}()
	e.size(ctx, t, 2, 2)
	e.rounds(t, 2)
	e.kill(ctx, t, 1)
	e.rounds(t, 2)
	e.order(ctx, t, 4, 3)
	e.rounds(t, 4)
	e.term(ctx, t, wire.Node{Role: wire.Worker, Rank: 2})
	e.size(ctx, t, 4, 3)
	e.rounds(t, 4)
	e.kill(ctx, t, 3)
	e.order(ctx, t, 3, 2)
	e.rounds(t, 3)
	e.kill(ctx, t, 0)
	e.stop(t, 0)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	all := e.steps(t)
	list := slices.CompactFunc(slices.Clone(all), func(a, b step) bool {
		return a.sameRound(b) && a.rank == b.rank // the first one was pushed
	})
	e.check(t, list, 3)
	t.Logf("batches by the number of workers: %v; %d were repeated", byGroup(list),
		len(all)-len(list))
}

// kill kills a worker, and waits until another process has its place.
func (e *elastic) kill(ctx context.Context, t *testing.T, rank int) {
	t.Helper()
	e.signal(ctx, t, wire.Node{Role: wire.Worker, Rank: uint16(rank)}, syscall.SIGKILL)
}

// ownLoss is a metric without values: the estimator measures the losses beside it.
type ownLoss struct{}

func (ownLoss) Update(_, _ []*nd.Array) error        { return nil }
func (ownLoss) Value() (names []string, v []float64) { return nil, nil }
func (ownLoss) Reset()                               {}
func (ownLoss) State() ([]byte, error)               { return nil, nil }
func (ownLoss) SetState([]byte) error                { return nil }

// gluonSum returns a checksum of the parameters of a network.
func gluonSum(net *gluon.Net) (uint32, error) {
	var all []float32
	for _, p := range net.Params().All() {
		v, err := p.Data().Float32s()
		if err != nil {
			return 0, err
		}
		all = append(all, v...)
	}
	return checksum(all), nil
}

// replayGluon is replay for a job of gluonPlay.
func (e *elastic) replayGluon(t *testing.T, list []step) uint32 {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	net, err := gluonNet()
	must(err)
	rows := newPoints(10 * elasticBatches)
	net.Forward(rows.batch(list[0].samples).Data[0])
	o := gluonRate()
	o.Rescale = 1 / float64(10*list[0].began)
	u, err := optimizer.NewUpdater(o, nil)
	must(err)
	for i := 0; i < len(list); {
		n := sizeOfRound(list[i:])
		if n != list[i].group {
			t.Fatalf("epoch %d round %d has %d batches, the group has %d workers", list[i].epoch,
				list[i].batch, n, list[i].group)
		}
		// A job that continues with other numbers of workers has the factor of the first one.
		e.gluonRound(t, net, u, rows, list[i:i+n], 1/float64(10*list[i].began)/o.Rescale)
		i += n
	}
	sum, err := gluonSum(net)
	must(err)
	return sum
}

// gluonRound trains on the batches of a round, whose gradients have a factor. Running statistics
// change by the mean of the changes that the batches make.
func (e *elastic) gluonRound(t *testing.T, net *gluon.Net, u *optimizer.Updater, rows *points,
	round []step, factor float64) {
	t.Helper()
	began := round[0].began
	sums, before := map[string]*nd.Array{}, map[string]*nd.Array{}
	for name, p := range net.Params().All() {
		if p.State {
			before[name] = p.Data().Copy()
		}
	}
	for _, s := range round {
		b := rows.batch(s.samples)
		l := loss.SoftmaxCE{}.Forward(net.Forward(autograd.Train().Watch(b.Data[0])), b.Label[0])
		l.Backward()
		v, err := l.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%08x", checksum(v)); got != s.outputs && s.outputs != "" {
			t.Fatalf("epoch %d round %d worker %d: losses %s, the job had %s", s.epoch, s.batch, s.rank,
				got, s.outputs)
		}
		for name, p := range net.Params().All() {
			change := p.Grad()
			if p.State {
				change = p.Data().Sub(before[name]).MulScalar(1 / float64(began))
				before[name].CopyInto(p.Data())
			} else if factor != 1 {
				change.MulScalarInPlace(factor)
			}
			if sums[name] == nil {
				sums[name] = change.Copy()
			} else {
				sums[name] = sums[name].Add(change)
			}
		}
	}
	k := 0
	for name, p := range net.Params().All() {
		if len(round) != began {
			sums[name] = sums[name].MulScalar(float64(began) / float64(len(round)))
		}
		if p.State {
			before[name].Add(sums[name]).CopyInto(p.Data())
		} else if err := u.Update(k, p.Data(), sums[name]); err != nil {
			t.Fatal(err)
		}
		k++
	}
}
