//go:build cgo && linux

package gluon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"

	"github.com/rs/zerolog"
)

func init() {
	jobPlay = func() int {
		var c jobCase
		err := json.Unmarshal([]byte(os.Getenv(jobFolder)), &c)
		if err == nil {
			err = launch.Run(context.Background(), c.work)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return launch.ExitCode(err)
		}
		return 0
	}
}

// jobCase is a job of two workers, one of which is killed once.
type jobCase struct {
	Folder  string // of the files of Resume, of results and of marks
	Workers bool   // the workers run the optimizer
	Table   bool   // the network begins with a row_sparse table
	Dense   bool   // only the gradient of the table is row_sparse
	Every   int    // steps after which Save is called; 0: there is no Resume
	Kill    int    // step at which worker Rank is killed; 0: nobody is
	Rank    int
	When    string // before or after the step, or after Save; all: everybody is, launcher too
}

const jobSteps = 11

// work is the program of a worker.
func (c *jobCase) work(ctx context.Context) error {
	rank := kvstore.JobOf(ctx).Rank()
	nd.SetSeed(uint64(4 + rank))
	layers := nn.Sequential{&nn.Dense{Units: 8, Activation: "tanh"}, &nn.BatchNorm{},
		&nn.Dropout{Rate: 0.3}, &nn.Dense{Units: 2}}
	if c.Table {
		layers = append(nn.Sequential{&pointTable{&nn.Embedding{Rows: tableWords, Units: 3,
			SparseGrad: true, SparseWeight: !c.Dense,
			WeightInit: initializer.Uniform{Scale: 1}}}}, layers...)
	}
	net := gluon.New(layers)
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return err
	}
	opts := []gluon.TrainerOption{gluon.Store("dist_sync"), gluon.InJob(ctx)}
	if c.Workers {
		opts = append(opts, gluon.UpdateOnStore(false), gluon.ClipGlobalNorm(0.5))
	}
	tr, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 0.05, Common: optimizer.Common{
		Schedule: optimizer.FactorScheduler{Step: 3, Factor: 0.8}}}, opts...)
	if err != nil {
		return err
	}
	x, y := samples(0, 27) // the last batch of an epoch is smaller
	loader := data.NewLoader(data.Arrays(x, y), 4, data.Shuffle(5), data.InJob(ctx))
	acc := metric.Accuracy()
	var run *gluon.Run
	if c.Every > 0 {
		if run, err = gluon.Resume(filepath.Join(c.Folder, "net"), net.Params(), tr, loader,
			acc.(metric.Stateful)); err != nil {
			return err
		}
	}
	for tr.Steps() < jobSteps {
		for b, err := range loader.Batches(ctx) {
			if err != nil {
				return err
			}
			if err := c.step(rank, net, tr, acc, run, b); err != nil {
				return err
			}
			if tr.Steps() == jobSteps {
				break
			}
		}
	}
	return c.finish(rank, net, tr, acc)
}

// pointTable looks up numbers that points from -1 to 1 are rounded to.
type pointTable struct{ Table *nn.Embedding }

func (b *pointTable) Forward(x *nd.Array) *nd.Array {
	return b.Table.Forward(nd.Floor(x.AddScalar(1).MulScalar(tableWords / 2)))
}

// step trains on a batch.
func (c *jobCase) step(rank int, net *gluon.Net, tr *gluon.Trainer, acc metric.Metric,
	run *gluon.Run, b *data.Batch) error {
	out := net.Forward(autograd.Train().Watch(b.Data))
	loss.SoftmaxCE{}.Forward(out, b.Label).Backward()
	if err := acc.Update([]*nd.Array{b.Label}, []*nd.Array{out.Detach()}); err != nil {
		return err
	}
	c.die(rank, tr, "before")
	if err := tr.Step(b.Size * 2); err != nil {
		return err
	}
	c.die(rank, tr, "after")
	if run != nil && tr.Steps()%uint64(c.Every) == 0 {
		if err := run.Save(); err != nil {
			return err
		}
	}
	c.die(rank, tr, "saved")
	c.die(rank, tr, "all")
	return nil
}

// die kills this process once, if it is to die here.
func (c *jobCase) die(rank int, tr *gluon.Trainer, when string) {
	at := uint64(c.Kill)
	if when == "before" {
		at--
	}
	if c.Kill == 0 || rank != c.Rank || when != c.When || tr.Steps() != at {
		return
	}
	mark, err := os.OpenFile(filepath.Join(c.Folder, "killed"), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // it has been
	}
	mark.Close()
	if when == "all" {
		time.Sleep(time.Hour) // the test kills the launcher, and with it everybody
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Hour)
}

// finish writes a text that depends on everything, but for the scores of steps that are repeated
// with parameters of later ones.
func (c *jobCase) finish(rank int, net *gluon.Net, tr *gluon.Trainer, acc metric.Metric) error {
	text := ""
	values, err := contents(net)
	if err != nil {
		return err
	}
	for name := range net.Params().All() {
		text += fmt.Sprintln(name, values[name])
	}
	text += fmt.Sprintln(tr.Steps(), tr.LearningRate(), nd.RandomState())
	if c.Every == 1 {
		_, scores := acc.Value()
		text += fmt.Sprintln(scores)
	}
	if err := tr.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Folder, fmt.Sprintf("result-%d", rank)), []byte(text),
		0o600)
}

// run runs the job and returns the texts of its workers.
func (c jobCase) run(t *testing.T) (texts [2]string) {
	t.Helper()
	c.Folder = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	text, err := json.Marshal(c)
	ok(t, err)
	out := &bytes.Buffer{}
	if c.When == "all" {
		c.endAll(ctx, t, string(text))
	}
	job := launch.Local{Program: []string{os.Args[0]}, Workers: 2, Servers: 2, Stdout: out,
		Stderr: out, Log: zerolog.Nop(), Env: []string{jobFolder + "=" + string(text),
			"GOMAXPROCS=1", "OMP_NUM_THREADS=1"}, Heartbeat: 100 * time.Millisecond,
		Dead: 2 * time.Second}
	if c.When == "all" {
		job.Snapshots, job.Resume = filepath.Join(c.Folder, "snapshots"), true
	}
	if err := job.Run(ctx); err != nil {
		t.Fatalf("%+v: %v\n%s", c, err, out)
	}
	if _, err := os.Stat(filepath.Join(c.Folder, "killed")); (err == nil) != (c.Kill > 0) {
		t.Fatalf("%+v: the mark of the death: %v", c, err)
	}
	for rank := range texts {
		text, err := os.ReadFile(filepath.Join(c.Folder, fmt.Sprintf("result-%d", rank)))
		ok(t, err)
		texts[rank] = string(text)
	}
	return texts
}

// endAll runs a job with snapshots until the mark of a death appears, and ends all processes.
func (c jobCase) endAll(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(c.Folder, "killed")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	out := &bytes.Buffer{}
	job := launch.Local{Program: []string{os.Args[0]}, Workers: 2, Servers: 2, Stdout: out,
		Stderr: out, Log: zerolog.Nop(), Env: []string{jobFolder + "=" + text, "GOMAXPROCS=1",
			"OMP_NUM_THREADS=1"}, Snapshots: filepath.Join(c.Folder, "snapshots"),
		Grace: 100 * time.Millisecond}
	if err := job.Run(ctx); err == nil {
		t.Fatalf("%+v: the job has not been ended\n%s", c, out)
	}
}

// A job with snapshots whose processes all end continues from the last snapshot, bit for bit.
func TestResumeOfJob(t *testing.T) {
	for name, c := range map[string]jobCase{"servers": {Every: 3}, "table": {Every: 3, Table: true},
		"dense table": {Every: 3, Table: true, Dense: true}, "workers": {Every: 1, Workers: true}} {
		t.Run(name, func(t *testing.T) {
			want := c.run(t)
			c.Kill, c.When = 7, "all"
			if got := c.run(t); got != want {
				t.Errorf("%+v:\n%s\nwant\n%s", c, got, want)
			}
		})
	}
}

// A worker that is killed by kill -9 at any place of its loop, and that the launcher starts again,
// continues at its place: the job ends as one in which nobody dies, bit for bit.
func TestResumeInJob(t *testing.T) {
	for name, c := range map[string]struct {
		job   jobCase
		kills []jobCase // rank, step and place
	}{
		"servers": {jobCase{Every: 1}, []jobCase{{Kill: 1, When: "before"}, {Kill: 5, When: "after"},
			{Kill: 6, When: "saved", Rank: 1}, {Kill: 7, When: "before", Rank: 1}}},
		"servers, rarely saved": {jobCase{Every: 4}, []jobCase{{Kill: 3, When: "after"},
			{Kill: 7, When: "after", Rank: 1}}},
		"servers without Resume": {jobCase{}, []jobCase{{Kill: 5, When: "after", Rank: 1}}},
		"table": {jobCase{Every: 1, Table: true}, []jobCase{{Kill: 5, When: "after"},
			{Kill: 7, When: "before", Rank: 1}}},
		"dense table": {jobCase{Every: 1, Table: true, Dense: true}, []jobCase{{Kill: 5,
			When: "after"}}},
		"table without Resume": {jobCase{Table: true}, []jobCase{{Kill: 5, When: "after",
			Rank: 1}}},
		"workers": {jobCase{Every: 1, Workers: true}, []jobCase{{Kill: 1, When: "after"},
			{Kill: 5, When: "after", Rank: 1}, {Kill: 6, When: "saved"},
			{Kill: 7, When: "before"}}},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.job.run(t)
			for _, k := range c.kills {
				k.Every, k.Workers = c.job.Every, c.job.Workers
				k.Table, k.Dense = c.job.Table, c.job.Dense
				if got := k.run(t); got != want {
					t.Errorf("%+v:\n%s\nwant\n%s", k, got, want)
				}
			}
		})
	}
}
