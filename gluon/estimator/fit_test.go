package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// points are n samples of two classes that a line divides.
func points(n int) data.Dataset[data.Sample] {
	x, y := make([]float32, 0, 2*n), make([]float32, n)
	for i := range n {
		a, b := float32(i*7%11)/11, float32(i*5%13)/13
		x = append(x, a, b)
		if a > b {
			y[i] = 1
		}
	}
	return data.Arrays(nd.FromSlice(x, n, 2), nd.FromSlice(y, n))
}

func loaderOf(n, batch int) *data.Loader {
	return data.NewLoader(points(n), batch, data.Shuffle(3))
}

// network returns a network with initial values and running statistics.
func network(t testing.TB, opts ...gluon.InitOption) *gluon.Net {
	t.Helper()
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 4, Activation: "tanh"}, &nn.BatchNorm{},
		&nn.Dropout{Rate: 0.1}, &nn.Dense{Units: 2}})
	if err := net.Init(initializer.Xavier{}, opts...); err != nil {
		t.Fatal(err)
	}
	return net
}

// weights returns the values of all parameters.
func weights(t *testing.T, net *gluon.Net) (list []float32) {
	t.Helper()
	for _, p := range net.Params().All() {
		list = append(list, nettest.Values(t, p.Data())...)
	}
	return list
}

func Example() {
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 8, Activation: "tanh"}, &nn.Dense{Units: 2}})
	history, err := estimator.Fit(context.Background(), net, loss.SoftmaxCE{}, loaderOf(64, 8),
		estimator.Epochs(30), estimator.Init(initializer.Xavier{}, gluon.Seed(1)),
		estimator.Optimize(optimizer.Adam{LR: 0.05}), estimator.Validate(loaderOf(64, 16)))
	if err != nil {
		panic(err)
	}
	last := history.Epochs[29]
	accuracy, _ := last.Validation.Get("accuracy")
	fmt.Println(last.Batches, "batches,", last.Samples, "samples, accurate:", accuracy > 0.9)
	// Output: 8 batches, 64 samples, accurate: true
}

func TestFitReports(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	batches, epochs := 0, 0
	h, err := estimator.Fit(context.Background(), network(t), loss.SoftmaxCE{}, loaderOf(20, 6),
		estimator.Epochs(3), estimator.Validate(loaderOf(10, 5)), estimator.Sample(2),
		estimator.Metric(metric.Composite(metric.Accuracy(), metric.CrossEntropy())),
		estimator.ValidationMetric(metric.Accuracy()), estimator.Speedometer(&out, 2),
		estimator.Checkpoint(filepath.Join(dir, "run", "net"), estimator.KeepLast(2),
			estimator.WithStates()),
		estimator.OnBatch(func(b *estimator.BatchEnd) error {
			if batches++; b.Scores().String() == "" {
				t.Error("no scores")
			}
			return nil
		}),
		estimator.OnEpoch(func(e *estimator.EpochEnd) error { epochs++; return nil }))
	if err != nil {
		t.Fatal(err)
	}
	e := h.Epochs[2]
	if batches != 12 || epochs != 3 || len(h.Epochs) != 3 || e.Samples != 20 || e.Batches != 4 ||
		len(e.Train) != 3 || len(e.Validation) != 2 || len(h.Batches) != 3 {
		t.Errorf("%d batches, %d epochs, history %+v", batches, epochs, h)
	}
	for _, want := range []string{"Epoch[0] Batch [0-2]", "Epoch[2] Validation-accuracy=",
		"Train-loss="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "run"))
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	want := []string{"net-0002.params", "net-0002.states", "net-0003.params", "net-0003.states"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("files %v, %v, want %v", names, err, want)
	}
}

// Gradients of two batches that are added up are the gradient of both together, and two devices
// compute the gradient of one.
func TestAccumulateAndDevices(t *testing.T) {
	cpus := []device.Device{device.CPU(), {Kind: device.CPU().Kind, ID: 1}}
	train := func(batch int, init gluon.InitOption, opts ...estimator.Option) *gluon.Net {
		t.Helper()
		net := gluon.New(nn.Sequential{&nn.Dense{Units: 4, Activation: "tanh"},
			&nn.Dense{Units: 2}})
		opts = append(opts, estimator.Epochs(2), estimator.Optimize(optimizer.SGD{LR: 0.5}),
			estimator.Init(initializer.Xavier{}, init))
		l := data.NewLoader(points(21), batch)
		if _, err := estimator.Fit(context.Background(), net, loss.SoftmaxCE{}, l,
			opts...); err != nil {
			t.Fatal(err)
		}
		return net
	}
	want := weights(t, train(8, gluon.On(cpus[0])))
	summed := train(4, gluon.On(cpus[0]), estimator.Accumulate(2))
	nettest.Near(t, "accumulated", weights(t, summed), want)
	for name, p := range summed.Params().All() {
		if p.GradReq != nd.GradWrite {
			t.Errorf("%s has request %v afterwards", name, p.GradReq)
		}
	}
	nettest.Near(t, "two devices", weights(t, train(8, gluon.On(cpus...))), want)
	nettest.Near(t, "a batch for one of two devices", weights(t, train(4, gluon.On(cpus...),
		estimator.Accumulate(2))), want)
}

// A run that is cut after any batch, and continued by new values of everything, ends as one that
// was not.
func TestResume(t *testing.T) {
	cut := errors.New("cut")
	run := func(prefix string, epochs, after int) (*gluon.Net, int, error) {
		net, n := network(t), 0
		h, err := estimator.Fit(context.Background(), net, loss.SoftmaxCE{}, loaderOf(20, 4),
			estimator.Epochs(epochs), estimator.Optimize(optimizer.Adam{LR: 0.01}),
			estimator.Accumulate(2), estimator.Validate(loaderOf(8, 4)),
			estimator.Resume(prefix, estimator.EveryBatches(2)),
			estimator.OnBatch(func(*estimator.BatchEnd) error {
				if n++; n == after {
					return cut
				}
				return nil
			}))
		return net, len(h.Epochs), err
	}
	nd.SetRandomState(nd.StreamState{})
	whole, _, err := run(filepath.Join(t.TempDir(), "whole"), 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := weights(t, whole)
	for _, after := range []int{1, 3, 5, 8} {
		nd.SetRandomState(nd.StreamState{})
		prefix := filepath.Join(t.TempDir(), "cut")
		if _, _, err := run(prefix, 3, after); !errors.Is(err, cut) {
			t.Fatalf("got %v, want the cut", err)
		}
		if after == 1 {
			nd.SetRandomState(nd.StreamState{}) // nothing has been saved
		}
		net, epochs, err := run(prefix, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		if epochs != 3 {
			t.Errorf("cut after %d batches: %d epochs in the history, want 3", after, epochs)
		}
		nettest.SameBits(t, fmt.Sprintf("cut after %d batches", after), weights(t, net), want)
		if again, _, err := run(prefix, 3, 1); err != nil {
			t.Errorf("a finished run trains again: %v", err)
		} else {
			nettest.SameBits(t, "finished run", weights(t, again), want)
		}
	}
}

func TestEndsOfTraining(t *testing.T) {
	fit := func(ctx context.Context, opts ...estimator.Option) (int, error) {
		opts = append([]estimator.Option{estimator.Epochs(9)}, opts...)
		h, err := estimator.Fit(ctx, network(t), loss.SoftmaxCE{}, loaderOf(20, 4), opts...)
		return len(h.Epochs), err
	}
	if n, err := fit(context.Background(), estimator.StopEarly(estimator.EarlyStop{Score: "loss",
		Smaller: true, MinDelta: 100, Epochs: 2})); err != nil || n != 3 {
		t.Errorf("early stop after %d epochs, %v, want 3", n, err)
	}
	if n, err := fit(context.Background(), estimator.OnEpoch(func(e *estimator.EpochEnd) error {
		return estimator.ErrStop
	})); err != nil || n != 1 {
		t.Errorf("ErrStop after %d epochs, %v, want 1 and no error", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n, err := fit(ctx, estimator.OnBatch(func(b *estimator.BatchEnd) error {
		if b.Epoch == 1 && b.Batch == 2 {
			cancel()
		}
		return nil
	}))
	if n != 1 || !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "epoch 1: batch 3") {
		t.Errorf("%d epochs, %v, want the end of the context in epoch 1, batch 3", n, err)
	}
}

func TestFitErrors(t *testing.T) {
	l, criterion := loaderOf(20, 4), loss.SoftmaxCE{}
	wrong := gluon.New(&nn.Dense{Units: 2, InUnits: 5})
	given, err := gluon.NewTrainer(wrong.Params(), optimizer.SGD{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		net  *gluon.Net
		opts []estimator.Option
		want string
	}{
		{wrong, nil, "epoch 0: batch 0"},
		{network(t), []estimator.Option{estimator.Epochs(-1)}, "Epochs(-1)"},
		{network(t), []estimator.Option{estimator.Metric(nil)}, "Metric(nil)"},
		{network(t), []estimator.Option{estimator.UseTrainer(given),
			estimator.Optimize(optimizer.SGD{})}, "UseTrainer"},
		{network(t), []estimator.Option{estimator.Trainer(gluon.Store("nowhere"))}, "nowhere"},
		{network(t), []estimator.Option{estimator.StopEarly(estimator.EarlyStop{Score: "x"})},
			`"x"`},
		{network(t), []estimator.Option{estimator.Checkpoint("x", estimator.EveryBatches(1))},
			"without Resume"},
		{nil, nil, "network is nil"},
	} {
		c.opts = append([]estimator.Option{estimator.Epochs(2)}, c.opts...)
		_, err := estimator.Fit(context.Background(), c.net, criterion, l, c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

// UseTrainer, a loss scale, clipping, and a score without a loss.
func TestTrainers(t *testing.T) {
	net := network(t)
	given, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 0.1}, gluon.ClipGlobalNorm(1),
		gluon.LossScale(gluon.Scaling{Initial: 8, Window: 2}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := estimator.Fit(context.Background(), net, loss.SoftmaxCE{}, loaderOf(20, 4),
		estimator.UseTrainer(given)); err != nil {
		t.Fatal(err)
	}
	if given.Steps() != 5 || given.LossScale() != 32 {
		t.Errorf("%d steps, loss scale %v, want 5 and 32", given.Steps(), given.LossScale())
	}
	s, err := estimator.Score(context.Background(), net, nil, loaderOf(8, 4), metric.Accuracy())
	if err != nil || len(s) != 1 {
		t.Errorf("got %v, %v, want the accuracy alone", s, err)
	}
}
