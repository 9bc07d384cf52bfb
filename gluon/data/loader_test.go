package data_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"iter"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gomx/gluon/data"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
)

var seedFlag = flag.Uint64("seed", 0, "seed of random tests, 0 for one from the clock")

func random(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// numbers are n samples with two parts: a vector of the number and a random number, and the number.
func numbers(n int) data.Dataset[data.Sample] {
	return data.New(n, func(_ context.Context, i int, r *rand.Rand) (data.Sample, error) {
		return data.Sample{data.Values([]float32{float32(i), r.Float32()}),
			data.Scalar(int32(i))}, nil
	})
}

// record is the content of a batch.
type record struct {
	Index []int
	Data  []float32
	Label []float32
}

func read(t *testing.T, b *data.Batch) record {
	t.Helper()
	if b.Size != len(b.Index) || b.Data.Shape()[0] != b.Size {
		t.Fatalf("batch of size %d with samples %v and data of shape %v", b.Size, b.Index,
			b.Data.Shape())
	}
	return record{slices.Clone(b.Index), nettest.Values(t, b.Data), nettest.Values(t, b.Label)}
}

// epoch reads up to n batches of the next epoch, all if n is negative.
func epoch(t *testing.T, l *data.Loader, n int) (list []record) {
	t.Helper()
	for b, err := range l.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, read(t, b))
		if len(list) == n {
			break
		}
	}
	return list
}

// settings draws options of a loader, without the number of workers.
func settings(r *rand.Rand, n int) (batch int, opts []data.Option, last data.Last) {
	batch, last = 1+r.IntN(6), data.Last(r.IntN(3))
	opts = []data.Option{data.Seed(r.Uint64()), data.LastBatch(last)}
	switch r.IntN(3) {
	case 0:
		opts = append(opts, data.Shuffle(r.Uint64()))
	case 1:
		opts = append(opts, data.Choose(data.IntervalSampler{N: n, Interval: 1 + r.IntN(n)}))
	}
	if of := 1 + r.IntN(3); of > 1 {
		opts = append(opts, data.Share(r.IntN(of), of))
	}
	return batch, opts, last
}

// TestBatchesDoNotDependOnWorkers compares epochs for all numbers of workers.
func TestBatchesDoNotDependOnWorkers(t *testing.T) {
	r := random(t)
	for range 20 {
		n := 1 + r.IntN(40)
		batch, opts, _ := settings(r, n)
		var want [][]record
		for workers := range 9 {
			l := data.NewLoader(numbers(n), batch, append(opts[:len(opts):len(opts)],
				data.Workers(workers), data.Prefetch(r.IntN(4)), data.Hold(r.IntN(3)))...)
			var got [][]record
			for range 4 {
				size := l.Len()
				got = append(got, epoch(t, l, -1))
				if last := got[len(got)-1]; len(last) != size {
					t.Fatalf("%d batches, Len says %d", len(last), size)
				}
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%d samples in batches of %d, %d workers:\ngot  %v\nwant %v", n, batch,
					workers, got, want)
			}
		}
	}
}

// TestShareRest shares epochs out among other numbers of workers again and again, also after
// SetState: all shares together have each batch of one loader once, up to the remainder.
func TestShareRest(t *testing.T) {
	r := random(t)
	for range 60 {
		n, batch := 1+r.IntN(60), 1+r.IntN(5)
		fresh := func() *data.Loader { return data.NewLoader(numbers(n), batch, data.Shuffle(5)) }
		whole := fresh()
		for e := range 3 {
			want, from := epoch(t, whole, -1), 0
			for again := true; again; {
				of := 1 + r.IntN(4)
				rest := (len(want) - from) / of // rounds
				rounds := rest
				if again = rounds > 1 && r.IntN(3) > 0; again {
					rounds = 1 + r.IntN(rounds-1)
				}
				for rank := range of {
					l := fresh()
					l.SetEpoch(e)
					if err := l.ShareRest(rank, of, from); err != nil {
						t.Fatal(err)
					}
					if l.Len() != rest {
						t.Fatalf("share of %d batches, want %d", l.Len(), rest)
					}
					var got []record
					if k := r.IntN(rounds + 1); k > 0 { // in two parts
						got = epoch(t, l, k)
						text, err := l.State()
						if err != nil {
							t.Fatal(err)
						}
						l = fresh()
						if err := l.ShareRest(rank, of, 0); err != nil {
							t.Fatal(err)
						}
						if err := l.SetState(text); err != nil {
							t.Fatal(err)
						}
					}
					if left := rounds - len(got); left > 0 {
						got = append(got, epoch(t, l, left)...)
					}
					for i, rec := range got {
						if w := want[from+i*of+rank]; !slices.Equal(rec.Index, w.Index) {
							t.Fatalf("round %d of worker %d of %d: samples %v, want %v", i, rank, of,
								rec.Index, w.Index)
						}
					}
					wantFrom := from + rounds*of
					if rounds == rest {
						wantFrom = len(want)
					}
					if in, at := l.Position(); rounds > 0 && again && (in != e || at != wantFrom) {
						t.Fatalf("position %d of epoch %d, want %d of %d", at, in, wantFrom, e)
					}
				}
				from += rounds * of
			}
		}
	}
	l := data.NewLoader(numbers(20), 5)
	for _, c := range [][3]int{{2, 2, 0}, {-1, 2, 0}, {0, 0, 0}, {0, 1, 5}, {0, 1, -1}} {
		if err := l.ShareRest(c[0], c[1], c[2]); err == nil {
			t.Errorf("ShareRest%v has no error", c)
		}
	}
}

// TestEpochsAreComplete counts the samples of epochs, of all shares together.
func TestEpochsAreComplete(t *testing.T) {
	r := random(t)
	for range 50 {
		n, batch, of, last := 1+r.IntN(30), 1+r.IntN(5), 1+r.IntN(3), data.Last(r.IntN(3))
		count, batches := make([]int, n), 0
		const epochs = 3
		for rank := range of {
			l := data.NewLoader(numbers(n), batch, data.Shuffle(5), data.LastBatch(last),
				data.Share(rank, of))
			for range epochs {
				for _, rec := range epoch(t, l, -1) {
					batches++
					for k, i := range rec.Index {
						if count[i]++; rec.Data[2*k] != float32(i) || rec.Label[k] != float32(i) {
							t.Fatalf("sample %d has the values %v, %v", i, rec.Data, rec.Label)
						}
					}
				}
			}
		}
		if batches%of != 0 {
			t.Errorf("%d batches for %d shares", batches, of)
		}
		for i, c := range count {
			if whole := of == 1 && last == data.Keep; whole && c != epochs || c > epochs {
				t.Errorf("%d samples in batches of %d, %v, %d shares: sample %d came %d times", n,
					batch, last, of, i, c)
			}
		}
		if total := 0; last == data.RollOver && of == 1 {
			for _, c := range count {
				total += c
			}
			if want := n * epochs / batch * batch; total != want {
				t.Errorf("%d samples roll over %d epochs in batches of %d: got %d, want %d", n,
					epochs, batch, total, want)
			}
		}
	}
}

// workerCount counts the goroutines of the package.
func workerCount() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "data.(*worker).load") +
		strings.Count(string(stacks), "data.(*Loader).start")
}

// TestLoopsEndTheirWorkers leaves loops by break, by the end of the context and by an error. The
// samples block until their context ends.
func TestLoopsEndTheirWorkers(t *testing.T) {
	for name, leave := range map[string]func(cancel func(), step int) bool{
		"break":   func(_ func(), step int) bool { return step == 2 },
		"context": func(cancel func(), step int) bool { cancel(); return false },
	} {
		for _, workers := range []int{1, 3, 8} {
			var inside atomic.Int64
			set := data.New(100, func(ctx context.Context, i int, _ *rand.Rand) (data.Sample,
				error) {
				inside.Add(1)
				defer inside.Add(-1)
				if i >= 10 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return data.Sample{data.Scalar(float32(i))}, nil
			})
			ctx, cancel := context.WithCancel(context.Background())
			step := 0
			for _, err := range data.NewLoader(set, 3, data.Workers(workers),
				data.Prefetch(8)).Batches(ctx) {
				if step++; err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if leave(cancel, step) {
					break
				}
			}
			if n := inside.Load(); n != 0 {
				t.Errorf("%s, %d workers: %d samples are computed after the loop", name, workers, n)
			}
			for workerCount() > 0 { // a goroutine that has said its end still has to return
				runtime.Gosched()
			}
			cancel()
		}
	}
}

// TestErrorsNameSamples gives some samples an error, and wants the batches before.
func TestErrorsNameSamples(t *testing.T) {
	broken := errors.New("no such picture")
	for _, workers := range []int{0, 1, 4} {
		set := numbers(20).Map(func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
			i, _ := data.Elements[int32](s[1])
			switch i[0] {
			case 8, 9, 16:
				return nil, broken
			}
			return s, nil
		})
		l, good := data.NewLoader(set, 3, data.Workers(workers)), 0
		for _, err := range l.Batches(context.Background()) {
			if err == nil {
				good++
				continue
			}
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), "sample 8:") {
				t.Errorf("%d workers: %v, want sample 8", workers, err)
			}
		}
		if good != 2 {
			t.Errorf("%d workers: %d batches before the error, want 2", workers, good)
		}
	}
	wrong := numbers(4).Map(func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
		nd.Ones(nd.Shape{2}).Add(nd.Ones(nd.Shape{3}))
		return s, nil
	})
	for name, c := range map[string]struct {
		l    *data.Loader
		want string
	}{
		"operator": {data.NewLoader(wrong, 2), "sample 0:"},
		"parts": {data.NewLoader(data.FromSlice([]data.Sample{{data.Scalar(1.5)}, {}}), 2),
			"sample 1: 0 parts, the sample before has 1"},
		"size": {data.NewLoader(data.FromSlice([]data.Sample{{{Shape: nd.Shape{2}}}}), 2),
			"sample 0: part 0: a tensor of shape (2,) and float32 has 0 bytes"},
		"shapes": {data.NewLoader(data.FromSlice([]data.Sample{{data.Values([]float32{1})},
			{data.Values([]float32{1, 2})}}), 2), "part 0 of samples [0 1]: Stack: tensor 1"},
		"group": {data.NewLoader(numbers(2), 2, data.Group(data.Stack{})),
			"2 parts, Group has 1"},
		"data":    {data.NewLoader(numbers(2).Shard(2, 2), 2), "part 2 of 2"},
		"batch":   {data.NewLoader(numbers(2), 0), "batch size 0"},
		"share":   {data.NewLoader(numbers(2), 1, data.Share(2, 2)), "Share(2, 2)"},
		"workers": {data.NewLoader(numbers(2), 1, data.Workers(-1)), "Workers(-1)"},
		"order": {data.NewLoader(numbers(2), 1, data.Shuffle(1),
			data.Choose(data.SequentialSampler{N: 2})), "Shuffle with Choose"},
		"range": {data.NewLoader(numbers(2), 2, data.Choose(data.SequentialSampler{N: 3})),
			"batch 1 has sample 2 of 2"},
	} {
		var err error
		for _, err = range c.l.Batches(context.Background()) {
		}
		var misuse *op.Error
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			errors.As(err, &misuse) != (name == "operator") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestState resumes loaders at random positions, with another number of workers.
func TestState(t *testing.T) {
	r := random(t)
	const epochs = 4
	for range 40 {
		n := 1 + r.IntN(30)
		batch, opts, _ := settings(r, n)
		open := func() *data.Loader {
			return data.NewLoader(numbers(n), batch, append(opts[:len(opts):len(opts)],
				data.Workers(r.IntN(4)))...)
		}
		var want [][]record
		for l := open(); l.Epoch() < epochs; {
			want = append(want, epoch(t, l, -1))
		}
		at := r.IntN(epochs)
		steps := 0
		if len(want[at]) > 0 {
			steps = r.IntN(len(want[at]) + 1)
		}
		first := open()
		first.SetEpoch(at)
		var state []byte
		var err error
		if state, err = first.State(); err != nil {
			t.Fatal(err)
		}
		if steps > 0 {
			step := 0
			for _, err := range first.Batches(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				if step++; step == steps {
					if state, err = first.State(); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
		}
		skipped := open()
		skipped.SetEpoch(at)
		if err := skipped.Skip(context.Background(), steps); err != nil {
			t.Fatal(err)
		}
		second := open()
		epoch(t, second, r.IntN(3)-1)
		if err := second.SetState(state); err != nil {
			t.Fatal(err)
		}
		for _, l := range []*data.Loader{second, skipped} {
			if again, err := l.State(); err != nil || string(again) != string(state) {
				t.Fatalf("state %s, %v, want %s", again, err, state)
			}
			rest := append([][]record{want[at][steps:]}, want[at+1:]...)
			for k, w := range rest {
				if got := epoch(t, l, -1); len(got)+len(w) > 0 && !reflect.DeepEqual(got, w) {
					t.Fatalf("state %s, epoch %d after it:\ngot  %v\nwant %v", state, k, got, w)
				}
			}
			if l.Epoch() != epochs {
				t.Fatalf("epoch %d at the end, want %d", l.Epoch(), epochs)
			}
		}
	}
}

// TestStateOfAnother gives loaders states of other loaders, and states that no loader can be in.
func TestStateOfAnother(t *testing.T) {
	open := func(opts ...data.Option) *data.Loader {
		return data.NewLoader(numbers(10), 3,
			opts...)
	}
	state, err := open(data.Shuffle(3), data.Workers(2)).State()
	if err != nil {
		t.Fatal(err)
	}
	if err := open(data.Shuffle(3)).SetState(state); err != nil {
		t.Error(err)
	}
	for name, l := range map[string]*data.Loader{
		"seed": open(data.Shuffle(4)), "order": open(), "share": open(data.Shuffle(3),
			data.Share(0, 2)), "last": open(data.Shuffle(3), data.LastBatch(data.Discard)),
		"batch": data.NewLoader(numbers(10), 4, data.Shuffle(3)),
		"data":  data.NewLoader(numbers(11), 3, data.Shuffle(3)),
	} {
		if err := l.SetState(state); err == nil || !strings.Contains(err.Error(), "seed 3") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for _, part := range []string{`"epoch":-1`, `"batch":5`, `"batch":-1`, `"epoch":"x"`} {
		name, _, _ := strings.Cut(part, ":")
		bad := strings.Replace(string(state), name+":0", part, 1)
		if err := open(data.Shuffle(3)).SetState([]byte(bad)); err == nil {
			t.Errorf("state %s, want an error", bad)
		}
	}
	if err := open().Skip(context.Background(), 5); !errors.Is(err, io.EOF) {
		t.Errorf("5 of 4 batches are skipped: %v", err)
	}
}

// FuzzState looks for states that a loader takes and cannot continue from.
func FuzzState(f *testing.F) {
	open := func() *data.Loader {
		return data.NewLoader(numbers(7), 3, data.Shuffle(2), data.LastBatch(data.RollOver))
	}
	l := open()
	l.SetEpoch(4)
	state, err := l.State()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add([]byte(strings.Replace(string(state), `"epoch":4`, `"epoch":9223372036854775806`, 1)))
	f.Add([]byte(`{"config":null}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		l := open()
		if l.SetState(state) != nil {
			return
		}
		n, at := l.Len(), l.Epoch()
		got := epoch(t, l, -1)
		if len(got) > n || l.Epoch() != at+1 {
			t.Errorf("%d batches of %d, then epoch %d, want %d", len(got), n, l.Epoch(), at+1)
		}
	})
}

// TestLoopsContinue leaves a loop and reads the next epoch, and goes back by a state.
func TestLoopsContinue(t *testing.T) {
	l := data.NewLoader(numbers(9), 2, data.Shuffle(1), data.Workers(3))
	first := epoch(t, l, 2)
	state, err := l.State()
	if err != nil {
		t.Fatal(err)
	}
	if l.Epoch() != 1 {
		t.Errorf("epoch %d after a break, want 1", l.Epoch())
	}
	second := epoch(t, l, -1)
	if err := l.SetState(state); err != nil || l.Epoch() != 0 {
		t.Errorf("epoch %d, %v", l.Epoch(), err)
	}
	rest := epoch(t, l, -1)
	if again := epoch(t, l, -1); !reflect.DeepEqual(again, second) {
		t.Errorf("got %v, want %v", again, second)
	}
	l.SetEpoch(0)
	if all := epoch(t, l, -1); !reflect.DeepEqual(all, append(first, rest...)) {
		t.Errorf("got %v, want %v and %v", all, first, rest)
	}
	l.SetEpoch(0)
	steps := 0
	for _, err := range l.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if steps++; steps == 1 {
			if err := l.SetState(state); err != nil {
				t.Fatal(err)
			}
		}
	}
	if again := epoch(t, l, -1); steps != 5 || !reflect.DeepEqual(again, rest) {
		t.Errorf("after SetState in a loop of %d steps: got %v, want %v", steps, again, rest)
	}
	for range l.Batches(context.Background()) {
		for _, err := range l.Batches(context.Background()) {
			if err == nil || !strings.Contains(err.Error(), "another loop") {
				t.Errorf("a loop within a loop: %v", err)
			}
		}
		break
	}
}

// TestHold reads batches as late as the loader allows it.
func TestHold(t *testing.T) {
	for _, hold := range []int{0, 1, 2, 5} {
		for _, width := range []int{1, 8 << 10} { // rows that are staged, rows that are not
			set := data.New(40, func(_ context.Context, i int, _ *rand.Rand) (data.Sample, error) {
				return data.Sample{data.Values(slices.Repeat([]float32{float32(i)}, width))}, nil
			})
			l := data.NewLoader(set, 2, data.Hold(hold), data.Workers(3))
			seen := map[*nd.Array]bool{}
			for range 2 {
				var old []*nd.Array
				for b, err := range l.Batches(context.Background()) {
					if err != nil {
						t.Fatal(err)
					}
					old, seen[b.Data] = append(old, b.Data), true
					k := max(0, len(old)-1-hold)
					if v := nettest.Values(t, old[k]); v[0] != float32(2*k) ||
						v[width] != float32(2*k+1) {
						t.Fatalf("hold %d: batch %d has the values %v, %v at step %d", hold, k,
							v[0], v[width], len(old)-1)
					}
				}
			}
			if most := 6 + hold; len(seen) > most {
				t.Errorf("hold %d: %d arrays, want %d that are used again", hold, len(seen), most)
			}
		}
	}
}

// TestPendingReads overwrites batches that operations still read.
func TestPendingReads(t *testing.T) {
	l := data.NewLoader(numbers(64), 2, data.Hold(0), data.Prefetch(1), data.Group(data.Stack{},
		data.Append{}))
	sum := nd.Zeros(nd.Shape{2})
	for b, err := range l.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Label != nil || len(b.Parts[1]) != 2 {
			t.Fatalf("label %v, want two arrays in Parts", b.Label)
		}
		sum = sum.Add(b.Data.SliceAxis(1, 0, 1).Reshape(-1))
	}
	if v := nettest.Values(t, sum); v[0] != 32*31 || v[1] != 32*32 {
		t.Errorf("got %v, want [992 1024]", v)
	}
}

// lengths puts samples of one length into a batch.
type lengths []int

func (o lengths) Len(int) int { return len(o) }

func (o lengths) Batches(int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		at := 0
		for _, n := range o {
			list := make([]int, n)
			for i := range list {
				list[i], at = at, at+1
			}
			if !yield(list) {
				return
			}
		}
	}
}

func TestChooseBatches(t *testing.T) {
	l := data.NewLoader(numbers(6), 4, data.ChooseBatches(lengths{3, 1, 2}))
	var sizes []int
	for _, rec := range epoch(t, l, -1) {
		sizes = append(sizes, len(rec.Index))
	}
	if !slices.Equal(sizes, []int{3, 1, 2}) {
		t.Errorf("batches of %v", sizes)
	}
	if err := data.NewLoader(numbers(6), 4, data.ChooseBatches(lengths{3}),
		data.Shuffle(1)).Err(); err == nil {
		t.Error("Shuffle with an order of batches, want an error")
	}
}

// TestSteadyState bounds the allocations of a batch.
func TestSteadyState(t *testing.T) {
	x, y := nd.Zeros(nd.Shape{512, 32}), nd.Zeros(nd.Shape{512})
	l := data.NewLoader(data.Arrays(x, y), 64, data.Workers(2))
	run := func() {
		for _, err := range l.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	// a list of parts for each of 512 samples, and what a loop begins with
	if n := testing.AllocsPerRun(5, run); n > 512+100 {
		t.Errorf("%v allocations in an epoch of 8 batches, want at most 612", n)
	}
}
