//go:build cgo && linux

package launch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// ordered is an iterator that notes the samples of its batches.
type ordered struct {
	*dataio.Table
	last []int
	read func(samples []int) // told of every batch
}

// Next returns the next batch.
func (o *ordered) Next(ctx context.Context) (*dataio.Batch, error) {
	b, err := o.Table.Next(ctx)
	if err == nil {
		o.last = slices.Clone(b.Index)
		o.read(o.last)
	}
	return b, err
}

// elasticNet is the network of elasticPlay, if wanted with a table of which a batch reads some rows.
func elasticNet(table bool) *sym.Symbol {
	data := sym.Var("data")
	x := sym.FullyConnected(data, sym.FullyConnectedParams{NumHidden: 16}, sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh"))
	if table {
		at := sym.PlusScalar(sym.MulScalar(data, sym.ScalarParams{Scalar: 30}),
			sym.ScalarParams{Scalar: 30})
		rows := sym.Embedding(sym.Floor(at), sym.EmbeddingParams{InputDim: 60, OutputDim: 4,
			SparseGrad: true}, sym.Name("table"))
		x = sym.Concat([]*sym.Symbol{x, sym.Flatten(rows)}, sym.ConcatParams{})
	}
	return sym.SoftmaxOutput(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2},
		sym.Name("fc2")), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

const elasticBatches = 48 // of an epoch

func elasticRate() optimizer.Optimizer { return optimizer.SGD{LR: 0.05, Momentum: 0.9} }

// elasticPlay trains with Fit, and writes the samples and the outputs of each of its batches.
func elasticPlay(ctx context.Context) error {
	op.NoticesTo(func(text string) { fmt.Println("notice:", text) })
	data, err := fitData(10*elasticBatches, 7)
	if err != nil {
		return err
	}
	train := &ordered{Table: data}
	job := kvstore.JobOf(ctx)
	log, err := os.OpenFile(filepath.Join(os.Getenv("LAUNCH_TEST_DIR"),
		fmt.Sprint("order-", job.Rank())),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintln(log, "begin 0 0 0 0")
	m := module.New(elasticNet(os.Getenv("LAUNCH_TEST_TABLE") != ""), module.Seed(3))
	store := cmp.Or(os.Getenv("LAUNCH_TEST_STORE"), "dist_sync")
	kv, err := kvstore.Open(ctx, store, kvstore.Timeout(60*time.Second))
	if err != nil {
		return err
	}
	train.read = func(list []int) {
		fmt.Fprintf(log, "next %d 0 0 %s\n", kv.Group().Number, strings.Trim(fmt.Sprint(list), "[]"))
	}
	opts := []module.FitOption{module.Epochs(20), module.StoreWith(kv),
		module.Init(initializer.Xavier{}), module.Optimize(elasticRate())}
	every, err := strconv.Atoi(os.Getenv("LAUNCH_TEST_EVERY"))
	if err == nil {
		opts = append(opts, module.Snapshots("", every))
	}
	err = m.Fit(ctx, train, append(opts, module.OnBatch(func(b *module.BatchEnd) error {
		v, err := m.Outputs()[0].Float32s()
		if err != nil {
			return err
		}
		g := kv.Group()
		fmt.Fprintf(log, "%d %d %08x %d.%d %s\n", b.Epoch, b.Batch, checksum(v), g.Number,
			len(g.Ranks), strings.Trim(fmt.Sprint(train.last), "[]"))
		time.Sleep(stepTime(b.Epoch, every))
		return nil
	}))...)
	if err != nil {
		leave(log, err)
		return errors.Join(err, kv.Close())
	}
	fmt.Printf("outcome %08x\n", paramsOf(m))
	return kv.Close()
}

// leave writes that a worker has left: it has not pushed a batch that it had read.
func leave(log io.Writer, err error) {
	if errors.Is(err, kvstore.ErrLeft) {
		fmt.Fprintln(log, "left 0 0 0 0")
	}
}

// stepTime stands for the work of a step.
func stepTime(epoch, every int) time.Duration {
	if epoch >= 5 && every == 0 && os.Getenv("LAUNCH_TEST_ORDERS") != "" && stopAt() == math.MaxInt {
		return 100 * time.Millisecond // the test has more orders
	}
	return 5 * time.Millisecond
}

// paramsOf returns a checksum of the parameters of a module.
func paramsOf(m *module.Module) uint32 {
	args, _ := m.Params()
	var all []float32
	for _, name := range slices.Sorted(slices.Values(m.ParamNames())) {
		v, err := args[name].Float32s()
		if err != nil {
			return 0
		}
		all = append(all, v...)
	}
	return checksum(all)
}

// step is a batch of a worker, as it has written it.
type step struct {
	epoch, batch, rank int
	group              int // workers
	number             int // of the group
	began              int // workers with which the job of this batch began
	outputs            string
	samples            []int
}

// steps reads the batches of all workers in the order of rounds and ranks.
func (e *elastic) steps(t *testing.T) (list []step) {
	t.Helper()
	var unknown []step
	names, _ := filepath.Glob(filepath.Join(e.dir, "order-*"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rank, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
		var open *step  // a batch that has been read, and no more is known of it
		var again []int // samples of such a batch, which a successor repeats with any parameters
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 5 {
				continue // a line that is being written
			}
			s := step{rank: rank, outputs: f[2], began: e.Workers}
			for _, x := range f[4:] {
				n, _ := strconv.Atoi(x)
				s.samples = append(s.samples, n)
			}
			if f[0] == "left" {
				open = nil
				continue
			}
			if f[0] == "begin" { // another process
				switch {
				case open != nil && e.play == "elastic gluon" && e.Servers > 0:
					again = open.samples
				case open != nil:
					unknown = append(unknown, *open)
				}
				open = nil
				continue
			}
			if f[0] == "next" {
				s.number, _ = strconv.Atoi(f[1])
				s.outputs = ""
				open = &s
				continue
			}
			open = nil
			s.epoch, _ = strconv.Atoi(f[0])
			s.batch, _ = strconv.Atoi(f[1])
			if _, err := fmt.Sscanf(f[3], "%d.%d", &s.number, &s.group); err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			if again != nil && slices.Equal(s.samples, again) {
				s.outputs, again = "", nil
			}
			list = append(list, s)
		}
		if open != nil {
			unknown = append(unknown, *open)
		}
	}
	slices.SortStableFunc(list, step.compare)
	return withUnknown(list, unknown)
}

// withUnknown adds batches of workers that have died between reading a batch and writing that it
// was pushed. The round of such a batch follows the last one of the worker, or is the first of its
// group. Others have batches of that round in the same group, if it counts.
func withUnknown(list, unknown []step) []step {
	for _, u := range unknown {
		var last, first *step // of the worker, and of its group
		for i := range list {
			s := &list[i]
			if s.rank == u.rank && s.number == u.number {
				last = s
			}
			if first == nil && s.number == u.number {
				first = s
			}
		}
		at := slices.IndexFunc(list, func(s step) bool {
			if s.number != u.number || s.rank == u.rank {
				return false
			}
			return last == nil && s.sameRound(*first) ||
				last != nil && s.compare(*last) > 0 && !s.sameRound(*last)
		})
		if at >= 0 {
			u.epoch, u.batch, u.group = list[at].epoch, list[at].batch, list[at].group
			list = append(list, u)
			slices.SortFunc(list, step.compare)
		}
	}
	return list
}

// compare orders batches by rounds and ranks.
func (s step) compare(o step) int {
	return cmp.Or(s.epoch-o.epoch, s.batch-o.batch, s.rank-o.rank)
}

// sameRound reports whether two batches are of one round.
func (s step) sameRound(o step) bool { return s.epoch == o.epoch && s.batch == o.batch }

// TestElasticFit takes a job of Fit from 2 to 4 to 3 workers and from 2 to 3 to 2 servers while it
// trains. One process that replays the samples in the order that the workers have written gets the
// same outputs of every batch and the same parameters, bit for bit, and every epoch has each sample
// once.
func TestElasticFit(t *testing.T) {
	onlyByName(t)
	t.Run("dense", func(t *testing.T) { fitElastic(t, false) })
	t.Run("table", func(t *testing.T) { fitElastic(t, true) })
}

func fitElastic(t *testing.T, table bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	e := newElastic(t, "elastic fit")
	e.Env = append(e.Env, "LAUNCH_TEST_ORDERS=1")
	if table {
		e.table, e.Env = true, append(e.Env, "LAUNCH_TEST_TABLE=1")
	}
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.size(ctx, t, 2, 2)
	eventually(t, "rounds of two workers", func() bool { return len(e.steps(t)) > 10 })
	e.order(ctx, t, 4, 3)
	e.order(ctx, t, 3, 2)
	e.stop(t, 0)
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, tail(e.out.String(), 80))
	}
	if strings.Contains(e.out.String(), "as a whole") {
		t.Errorf("the table is not kept by rows\n%s", e.out.String())
	}
	list := e.steps(t)
	e.check(t, list, 3)
	groups := map[int]int{}
	for i := 0; i < len(list); {
		n := sizeOfRound(list[i:])
		groups[n]++
		i += n
	}
	t.Logf("rounds by the number of their batches: %v", groups)
	if groups[2] == 0 || groups[3] == 0 || groups[4] == 0 {
		t.Errorf("rounds by the number of their batches: %v, want some of 2, 3 and 4", groups)
	}
}

// sizeOfRound returns the number of batches in the first round of a list.
func sizeOfRound(list []step) (n int) {
	for n < len(list) && list[n].sameRound(list[0]) {
		n++
	}
	return n
}

// check replays the batches, and compares the outcome with the parameters of the workers with which
// the job has ended.
func (e *elastic) check(t *testing.T, list []step, workers int) {
	t.Helper()
	replay, left := e.replay, 0
	if e.play == "elastic gluon" { // whose loader leaves out the remainder of an epoch
		replay, left = e.replayGluon, 10*(e.Workers+1)
	}
	eachOnce(t, list, left)
	outcome := fmt.Sprintf("] outcome %08x\n", replay(t, list))
	if n := strings.Count(e.out.String(), outcome); n != workers {
		t.Errorf("%d workers print %q, want %d\n%s", n, outcome, workers, tail(e.out.String(), 40))
	}
}

// TestElasticResume kills all processes of a job of module.Fit or estimator.Fit, and continues from
// its last snapshot, within an epoch, with more or fewer workers and servers. One process that
// replays the samples up to the snapshot and those behind it gets the same outputs and parameters,
// bit for bit, and every epoch has each sample once.
func TestElasticResume(t *testing.T) {
	onlyByName(t)
	for _, c := range []struct{ before, after int }{{2, 3}, {3, 2}} {
		t.Run(fmt.Sprintf("%d to %d", c.before, c.after), func(t *testing.T) {
			resumeWith(t, "elastic fit", c.before, c.after)
		})
		t.Run(fmt.Sprintf("gluon %d to %d", c.before, c.after), func(t *testing.T) {
			resumeWith(t, "elastic gluon", c.before, c.after)
		})
	}
}

func resumeWith(t *testing.T, play string, before, after int) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	begin := func(n int) *elastic {
		e := newElastic(t, play)
		e.Workers, e.Servers = n, n
		e.Env = append(e.Env, "LAUNCH_TEST_EVERY=7", "LAUNCH_TEST_RESUME=1")
		return e
	}
	first := begin(before)
	first.Snapshots = filepath.Join(first.dir, "snapshots")
	killed, kill := context.WithCancel(ctx)
	defer kill()
	done := make(chan error, 1)
	go func() { done <- first.Run(killed) }()
	eventually(t, "the fifth snapshot", func() bool { return len(first.steps(t)) > before*5*7 })
	first.mu.Lock()
	for _, pid := range first.pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	first.mu.Unlock()
	kill()
	<-done
	second := begin(after)
	second.Snapshots, second.Resume = first.Snapshots, true
	if err := second.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, tail(second.out.String(), 80))
	}
	list := second.steps(t)
	if len(list) == 0 || list[0].epoch == 0 && list[0].batch == 0 {
		t.Fatalf("the second job has begun anew\n%s", tail(second.out.String(), 80))
	}
	t.Logf("continued at batch %d of epoch %d", list[0].batch, list[0].epoch)
	old := slices.DeleteFunc(first.steps(t), func(s step) bool { return s.compare(list[0]) >= 0 })
	second.check(t, append(old, list...), after)
}

// eachOnce checks that no sample is in an epoch twice, and none is missing from an epoch that was
// shared out anew, but for so many that a loader may leave out.
func eachOnce(t *testing.T, list []step, left int) {
	t.Helper()
	seen := map[int]map[int]int{}
	for _, s := range list {
		if seen[s.epoch] == nil {
			seen[s.epoch] = map[int]int{}
		}
		for _, x := range s.samples {
			if seen[s.epoch][x]++; seen[s.epoch][x] > 1 {
				for _, o := range list {
					if o.epoch == s.epoch && slices.Contains(o.samples, x) {
						t.Errorf("sample %d is in batch %d of epoch %d of worker %d", x, o.batch,
							o.epoch, o.rank)
					}
				}
				return
			}
		}
	}
	for epoch, m := range seen {
		if n := 10 * elasticBatches; len(m) > n || len(m) < n-left {
			t.Errorf("epoch %d has %d samples, want %d", epoch, len(m), 10*elasticBatches)
		}
	}
}

// replay trains on the samples in one process, and returns the checksum of the parameters.
func (e *elastic) replay(t *testing.T, list []step) uint32 {
	t.Helper()
	ctx := t.Context()
	data, err := fitData(10*elasticBatches, 7)
	if err != nil {
		t.Fatal(err)
	}
	m := module.New(elasticNet(e.table), module.Seed(3))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.Bind(data.ProvideData(), data.ProvideLabel()))
	must(m.InitParams(initializer.Xavier{}))
	must(m.InitOptimizer(elasticRate()))
	args, _ := m.Params()
	names := m.ParamNames()
	for _, name := range names {
		args[name] = args[name].Copy()
	}
	u, err := optimizer.NewUpdater(elasticRate(), nil)
	must(err)
	rows := newPoints(10 * elasticBatches)
	for i := 0; i < len(list); {
		sum := map[string]*nd.Array{}
		n, began := sizeOfRound(list[i:]), list[i].began
		for _, s := range list[i : i+n] {
			must(m.SetParams(args, nil))
			must(m.ForwardBackward(rows.batch(s.samples)))
			v, err := m.Outputs()[0].Float32s()
			must(err)
			if got := fmt.Sprintf("%08x", checksum(v)); got != s.outputs && s.outputs != "" {
				t.Fatalf("epoch %d round %d worker %d: outputs %s, the job had %s", s.epoch,
					s.batch, s.rank, got, s.outputs)
			}
			for _, name := range names {
				g := m.Grads()[name]
				if sum[name] == nil {
					sum[name] = g.Copy()
				} else {
					sum[name] = sum[name].Add(g)
				}
			}
		}
		for k, name := range names {
			// Servers scale as if the workers of the beginning had contributed. A worker of the
			// group without a batch has contributed zeros.
			u.SetRescale(1 / float64(10*began))
			if g := list[i].group; g != began {
				if n < g {
					sum[name] = sum[name].Add(nd.ZerosOf(sum[name].Storage(), sum[name].Shape()))
				}
				sum[name] = sum[name].MulScalar(float64(began) / float64(g))
			}
			must(u.Update(k, args[name], sum[name]))
			must(args[name].Wait(ctx))
		}
		i += n
	}
	must(m.SetParams(args, nil))
	return paramsOf(m)
}

// points are the samples of fitData.
type points struct{ data, label []float32 }

func newPoints(n int) *points {
	r := rand.New(rand.NewPCG(3, 0))
	p := &points{make([]float32, 2*n), make([]float32, n)}
	for i := range n {
		p.data[2*i], p.data[2*i+1] = float32(r.Float64()*2-1), float32(r.Float64()*2-1)
		if p.data[2*i]*p.data[2*i+1] > 0 {
			p.label[i] = 1
		}
	}
	return p
}

// batch returns a batch of samples.
func (p *points) batch(rows []int) *dataio.Batch {
	var data, label []float32
	for _, i := range rows {
		data, label = append(data, p.data[2*i], p.data[2*i+1]), append(label, p.label[i])
	}
	return &dataio.Batch{Data: []*nd.Array{nd.FromSlice(data, len(rows), 2)},
		Label: []*nd.Array{nd.FromSlice(label)}}
}
