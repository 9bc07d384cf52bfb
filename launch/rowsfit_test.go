//go:build cgo && linux

package launch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/output"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

func init() {
	for name, work := range map[string]func(context.Context, *kvstore.KV, *stages) (uint32, error){
		"rows fit": rowsFit, "rows count": rowsCount, "rows gluon": rowsGluon,
	} {
		plays[name] = func(string, string) int {
			return playRows(work)
		}
	}
}

// A job of rows has tables of which a step reads few rows: rowsFeatures rows of a row_sparse weight,
// rowsWords rows of a dense one. rowsSamples samples, each with rowsEach features and words, make
// rowsBatches batches of rowsBatch samples for each of two workers.
const (
	rowsFeatures, rowsWords = 400, 300
	rowsUnits               = 4
	rowsEach                = 3
	rowsBatch               = 5
	rowsBatches             = 12
	rowsSamples             = 2 * rowsBatch * rowsBatches
	rowsEpochs              = 3
)

// stages are the places of a job at which the test disturbs it.
type stages struct {
	dir  string
	rank int
}

// The steps of rowsAt make their names known; the job does not pass the steps of rowsGate before the
// test has made the file with the name.
var (
	rowsAt   = map[int]string{8: "worker", 20: "server"}
	rowsGate = map[int]string{14: "worker", 26: "server"}
)

// pass is called after each step.
func (s *stages) pass(step int) error {
	if name := rowsAt[step]; name != "" {
		mark(name)
	}
	if name := rowsGate[step]; name != "" && s.dir != "" {
		for _, err := os.Stat(filepath.Join(s.dir, name)); err != nil; {
			time.Sleep(time.Millisecond)
			_, err = os.Stat(filepath.Join(s.dir, name))
		}
	}
	time.Sleep(2 * time.Millisecond) // stands for the work of a step
	return nil
}

// rowsNumbers are the features or words of the samples; small numbers are frequent.
func rowsNumbers(below int) []int {
	r := rand.New(rand.NewPCG(11, uint64(below)))
	list := make([]int, rowsSamples*rowsEach)
	for i := range list {
		list[i] = r.IntN(1 + r.IntN(below))
	}
	return list
}

// rowsArrays are the samples: features, words and labels.
func rowsArrays() (x, words, y *nd.Array) {
	values, at := make([]float32, rowsSamples*rowsEach), make([]int, rowsSamples*rowsEach)
	for i := range values {
		values[i], at[i] = 1, i/rowsEach
	}
	x = nd.CSRFromCOO(values, at, rowsNumbers(rowsFeatures), nd.Shape{rowsSamples, rowsFeatures})
	ids, labels := make([]float32, rowsSamples*rowsEach), make([]float32, rowsSamples)
	for i, n := range rowsNumbers(rowsWords) {
		ids[i] = float32(n)
		labels[i/rowsEach] = float32(n % 3)
	}
	return x, nd.FromSlice(ids, rowsSamples, rowsEach), nd.FromSlice(labels)
}

func rowsData() (*dataio.Table, error) {
	x, words, y := rowsArrays()
	return dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x, words},
		DataNames: []string{"data", "words"}, Label: []*nd.Array{y}, BatchSize: rowsBatch,
		Shuffle: true, Seed: 7})
}

// rowsSum adds up the rows of both tables that a sample names.
func rowsSum() *sym.Symbol {
	w := sym.Var("weight", sym.Shape(rowsFeatures, rowsUnits),
		sym.StorageType(sym.StorageRowSparse))
	x := sym.Dot(sym.Var("data", sym.StorageType(sym.StorageCSR)), w, sym.DotParams{})
	e := sym.Embedding(sym.Var("words"), sym.EmbeddingParams{InputDim: rowsWords,
		OutputDim: rowsUnits, SparseGrad: true}, sym.Name("table"))
	return sym.ElemwiseAdd(x, sym.Sum(e, sym.ReduceParams{Axis: []int{1}}))
}

// playRows runs a worker, and prints the checksum of the parameters.
func playRows(work func(context.Context, *kvstore.KV, *stages) (uint32, error)) int {
	err := launch.Run(context.Background(), func(ctx context.Context) error {
		name := os.Getenv("LAUNCH_TEST_STORE")
		opts := []kvstore.Option{kvstore.Timeout(5 * time.Minute)}
		if name == "dist_ssp" {
			opts = append(opts, kvstore.Staleness(2))
		}
		kv, err := kvstore.Open(ctx, name, opts...)
		if err != nil {
			return err
		}
		if n := kv.Resumed(); n > 0 {
			fmt.Printf("resumes at step %d\n", n)
		}
		op.NoticesTo(func(text string) { fmt.Println("notice:", text) })
		sum, err := work(ctx, kv, &stages{dir: os.Getenv("LAUNCH_TEST_DIR"), rank: kv.Rank()})
		if err != nil {
			return errors.Join(err, kv.Close())
		}
		fmt.Printf("outcome %08x\n", sum)
		return kv.Close()
	})
	if err != nil {
		fmt.Println(err)
	}
	return launch.ExitCode(err)
}

// rowsFit trains a classifier with Fit.
func rowsFit(ctx context.Context, kv *kvstore.KV, s *stages) (uint32, error) {
	net := sym.FullyConnected(rowsSum(), sym.FullyConnectedParams{NumHidden: 3}, sym.Name("fc"))
	net = sym.SoftmaxOutput(net, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	return fitRows(ctx, kv, s, net, initializer.Uniform{Scale: 0.5},
		rowsRate())
}

func rowsRate() optimizer.Optimizer { return optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.001} }

// rowsCount trains with gradients that do not depend on the parameters: whole numbers, whose sums
// are exact in any order.
func rowsCount(ctx context.Context, kv *kvstore.KV, s *stages) (uint32, error) {
	return fitRows(ctx, kv, s, sym.MakeLoss(rowsSum(), sym.MakeLossParams{}), initializer.Zero{},
		optimizer.SGD{LR: 1, Common: optimizer.Common{Rescale: 1}})
}

// fitRows trains a network with Fit and returns the checksum of its parameters.
func fitRows(ctx context.Context, kv *kvstore.KV, s *stages, net *sym.Symbol,
	init initializer.Initializer, o optimizer.Optimizer) (uint32, error) {
	data, err := rowsData()
	if err != nil {
		return 0, err
	}
	m := module.New(net, module.Seed(3))
	err = m.Fit(ctx, data, module.Epochs(rowsEpochs), module.StoreWith(kv), module.Init(init),
		module.Optimize(o), module.Metric(unscored{}), module.OnBatch(func(b *module.BatchEnd) error {
			return s.pass(b.Epoch*rowsBatches + b.Batch)
		}))
	if err != nil {
		return 0, err
	}
	// The other workers have ended their steps too.
	if err := kv.Barrier(ctx); err != nil {
		return 0, err
	}
	var all []float32
	args, _ := m.Params()
	for _, name := range m.ParamNames() {
		w := args[name]
		if name == "weight" || name == "table_weight" {
			w = nd.Zeros(w.Shape())
			if err := kv.Pull(name, 0, w); err != nil {
				return 0, err
			}
		}
		v, err := w.Float32s()
		if err != nil {
			return 0, err
		}
		all = append(all, v...)
	}
	return checksum(all), nil
}

// unscored is a metric without scores.
type unscored struct{}

func (unscored) Update(_, _ []*nd.Array) error { return nil }
func (unscored) Value() ([]string, []float64)  { return nil, nil }
func (unscored) Reset()                        {}

// rowsModel is a network with a table of words.
type rowsModel struct {
	Table *nn.Embedding
	Out   *nn.Dense
}

// Forward returns the scores of samples of words.
func (m *rowsModel) Forward(x *nd.Array) *nd.Array { return m.Out.Forward(m.Table.Forward(x).Sum(1)) }

// rowsGluon trains a network of gluon.
func rowsGluon(_ context.Context, kv *kvstore.KV, s *stages) (uint32, error) {
	net := gluon.New(&rowsModel{&nn.Embedding{Rows: rowsWords, Units: rowsUnits, SparseGrad: true},
		&nn.Dense{Units: 3}})
	if err := net.Init(initializer.Uniform{Scale: 0.5}); err != nil {
		return 0, err
	}
	net.Hybridize()
	t, err := gluon.NewTrainer(net.Params(), rowsRate(), gluon.StoreWith(kv))
	if err != nil {
		return 0, err
	}
	_, words, _ := rowsArrays()
	for step := range rowsEpochs * rowsBatches {
		at := (kv.Rank()*rowsBatches + step%rowsBatches) * rowsBatch
		l := nd.Square(net.Forward(autograd.Train().Watch(words.Slice(at, at+rowsBatch)))).Sum(1)
		l.Backward()
		if err := t.Step(2 * rowsBatch); err != nil {
			return 0, err
		}
		if err := s.pass(step); err != nil {
			return 0, err
		}
	}
	var all []float32
	for _, p := range net.Params().All() {
		v, err := p.Data().Float32s()
		if err != nil {
			return 0, err
		}
		all = append(all, v...)
	}
	return checksum(all), t.Close()
}

// rowsJob is a job of rows whose processes the test kills.
type rowsJob struct {
	launch.Local
	dir    string
	out    output.Buffer
	mu     sync.Mutex
	pids   map[wire.Node]int
	starts map[wire.Node]int
}

func newRowsJob(t *testing.T, play, store string) *rowsJob {
	j := &rowsJob{dir: t.TempDir(), pids: map[wire.Node]int{}, starts: map[wire.Node]int{}}
	j.Local = trainJob(2, 2, 2, 1, &j.out)
	j.Heartbeat, j.Dead = 200*time.Millisecond, 1200*time.Millisecond
	j.Env = append(j.Env, "LAUNCH_TEST_PLAY="+play, "LAUNCH_TEST_STORE="+store)
	j.Started = func(n wire.Node, pid int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.pids[n] = pid
		j.starts[n]++
	}
	return j
}

// kill kills a process at a stage of the job, some time after a worker has told of it.
func (j *rowsJob) kill(ctx context.Context, stage string, n wire.Node, after time.Duration) error {
	for !strings.Contains(j.out.String(), "] at "+stage+"\n") {
		if ctx.Err() != nil {
			return fmt.Errorf("no worker has come to stage %s", stage)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(after)
	j.mu.Lock()
	pid := j.pids[n]
	j.mu.Unlock()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(j.dir, stage), nil, 0o600)
}

// run runs the job to its end, and returns the outcomes of its workers. With a generator it kills a
// worker and a server in the midst of training.
func (j *rowsJob) run(t *testing.T, r *rand.Rand) (outcomes []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	struck := make(chan error, 1)
	if r == nil {
		struck <- nil
	} else {
		j.Env = append(j.Env, "LAUNCH_TEST_DIR="+j.dir)
		worker := wire.Node{Role: wire.Worker, Rank: uint16(r.IntN(2))}
		server := wire.Node{Role: wire.Server, Rank: uint16(r.IntN(2))}
		pause := func() time.Duration { return time.Duration(r.IntN(20000)) * time.Microsecond }
		first, second := pause(), pause()
		go func() {
			err := j.kill(ctx, "worker", worker, first)
			if err == nil {
				err = j.kill(ctx, "server", server, second)
			}
			struck <- err
		}()
		defer func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.starts[worker] < 2 || j.starts[server] < 2 {
				t.Errorf("%v and %v have been killed, starts: %v", worker, server, j.starts)
			}
		}()
	}
	err := j.Run(ctx)
	if err = errors.Join(err, <-struck); err != nil {
		t.Fatalf("%v\n%s", err, tail(j.out.String(), 60))
	}
	if strings.Contains(j.out.String(), "as a whole") {
		t.Errorf("a table is not kept by rows\n%s", j.out.String())
	}
	for _, m := range regexp.MustCompile(`worker \d+\] (outcome \w+)`).FindAllStringSubmatch(
		j.out.String(), -1) {
		outcomes = append(outcomes, m[1])
	}
	return outcomes
}

// counted is the outcome of a job of rowsCount.
func counted() string {
	var all []float32
	for _, below := range []int{rowsFeatures, rowsWords} {
		w := make([]float32, below*rowsUnits)
		for _, n := range rowsNumbers(below) {
			for u := range rowsUnits {
				w[n*rowsUnits+u] -= rowsEpochs
			}
		}
		all = append(all, w...)
	}
	return fmt.Sprintf("outcome %08x", checksum(all))
}

// TestRowsSurvive kills a worker and a server of a job that keeps tables by rows while it trains.
// With rounds the parameters are those of a job that was left alone, bit for bit. Without rounds
// each batch of each worker counts once.
func TestRowsSurvive(t *testing.T) {
	seed := uint64(time.Now().UnixNano() % 1e9)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, c := range []struct{ play, store string }{{"rows fit", "dist_sync"},
		{"rows gluon", "dist_sync"}, {"rows count", "dist_async"}, {"rows count", "dist_ssp"}} {
		t.Run(c.play+" "+c.store, func(t *testing.T) {
			want := counted()
			if c.store == "dist_sync" {
				list := newRowsJob(t, c.play, c.store).run(t, nil)
				if len(list) == 0 {
					t.Fatal("no outcome of a job that was left alone")
				}
				want = list[0]
			}
			j := newRowsJob(t, c.play, c.store)
			if got := j.run(t, r); !slices.Equal(got, []string{want, want}) {
				t.Errorf("seed %d: got %v, want %s twice\n%s", seed, got, want,
					tail(j.out.String(), 60))
			}
		})
	}
}
