//go:build cgo && linux

package launch_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

var (
	largeRows = flag.Int("table.rows", 50_000, "distinct rows that TestTableLarge touches of 100 "+
		"million; from ten million on it compares the memory of servers with its bound")
	largeOptimizer = flag.String("table.optimizer", "adagrad", "sgd or adagrad, for TestTableLarge")
)

// A job of largePlay touches rows of a matrix of 100 million rows of 16 floats.
const (
	largeAll     = 100_000_000
	largeWidth   = 16
	largeWorkers = 3
	largeDraws   = 10_000 // of a worker in a step
)

func init() {
	plays["large"] = func(role, _ string) int {
		err := launch.Run(context.Background(), largePlay)
		if err != nil {
			fmt.Println(err)
		}
		if status, readErr := os.ReadFile("/proc/self/status"); readErr == nil && role == "server" {
			fmt.Printf("peak of resident memory:%s kB\n",
				regexp.MustCompile(`VmHWM:\s*(\d+)`).FindSubmatch(status)[1])
		}
		return launch.ExitCode(err)
	}
}

func largeOptimizerOf(name string) optimizer.Optimizer {
	if name == "sgd" {
		return optimizer.SGD{LR: 1. / 1024}
	}
	return optimizer.AdaGrad{LR: 1. / 1024}
}

// draws is the rows that all workers draw. Each worker knows the draws of the others, and so agrees
// with them on the last step.
type draws struct {
	streams []*rand.Zipf
	seen    []uint64 // bits of rows
	n       int      // rows in seen
}

func newDraws() *draws {
	d := &draws{seen: make([]uint64, (largeAll+63)/64)}
	for r := range uint64(largeWorkers) {
		d.streams = append(d.streams, rand.NewZipf(rand.New(rand.NewPCG(r, 19)), 1.05, 1e6,
			largeAll-1))
	}
	return d
}

// next draws the rows of a step and returns those of a worker, each once, in ascending order.
func (d *draws) next(rank int) (mine []int) {
	for r, z := range d.streams {
		for range largeDraws {
			// Neighbours by frequency are no neighbours by number.
			id := int(z.Uint64() * 48_271 % largeAll)
			if d.seen[id/64]>>(id%64)&1 == 0 {
				d.seen[id/64] |= 1 << (id % 64)
				d.n++
			}
			if r == rank {
				mine = append(mine, id)
			}
		}
	}
	slices.Sort(mine)
	return slices.Compact(mine)
}

// largePlay pushes rows until so many different ones have been touched, with a snapshot on the way,
// and looks at some of them.
func largePlay(ctx context.Context) error {
	s, err := kvstore.Open(ctx, "dist_sync")
	if err != nil {
		return err
	}
	want, err := strconv.Atoi(os.Getenv("LAUNCH_TEST_ROWS"))
	if err != nil {
		return err
	}
	name := os.Getenv("LAUNCH_TEST_OPTIMIZER")
	shape := nd.Shape{largeAll, largeWidth}
	first := rows.Init{Kind: rows.KindUniform, Scale: 0.1, Seed: 1}
	err = s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32, Init: first})
	if err == nil {
		err = s.SetOptimizer(ctx, largeOptimizerOf(name))
	}
	if err != nil {
		return err
	}
	d := newDraws()
	ones := make([]float32, largeDraws*largeWidth)
	for i := range ones {
		ones[i] = 1
	}
	out := nd.ZerosOf(nd.RowSparse, shape)
	saved := false
	for step := 1; d.n < want; step++ {
		mine := d.next(s.Rank())
		g := nd.RowSparseFromSlices(ones[:len(mine)*largeWidth], mine, shape)
		ids := make([]int64, min(1000, len(mine)))
		for i := range ids {
			ids[i] = int64(mine[i])
		}
		err := errors.Join(s.Push("t", 0, g), s.RowSparsePull("t", 0,
			[]*nd.Array{nd.FromSlice(ids)},
			[]*nd.Array{out}), out.Wait(ctx))
		g.Close()
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if !saved && d.n >= want*9/10 {
			saved = true
			if err := s.Snapshot(ctx, uint64(step)); err != nil {
				return err
			}
			if s.Rank() == 0 {
				fmt.Printf("snapshot behind step %d with %d rows\n", step, d.n)
			}
		}
	}
	if s.Rank() == 0 {
		fmt.Printf("rows: %d\n", d.n)
	}
	return errors.Join(lookAtRows(ctx, s, d, shape, first), s.Close())
}

// lookAtRows wants rows that nobody has touched to be as the seed says, and the others to be less:
// gradients are ones.
func lookAtRows(ctx context.Context, s *kvstore.KV, d *draws, shape nd.Shape,
	first rows.Init) error {
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	ids := make([]int64, 2000)
	for i := range ids {
		ids[i] = int64(i) * (largeAll / 2000)
	}
	out := nd.ZerosOf(nd.RowSparse, shape)
	if err := s.RowSparsePull("t", 0, []*nd.Array{nd.FromSlice(ids)},
		[]*nd.Array{out}); err != nil {
		return err
	}
	data, err := out.Data()
	if err != nil {
		return err
	}
	got, err := data.Float32s()
	if err != nil {
		return err
	}
	touched := 0
	for i, id := range ids {
		b := make([]byte, 4*largeWidth)
		first.Fill(b, dtype.Float32, 0, uint64(id))
		a := nd.Empty(nd.Shape{largeWidth})
		if err := a.WriteBytes(b); err != nil {
			return err
		}
		begin, err := a.Float32s()
		if err != nil {
			return err
		}
		a.Close()
		hit := d.seen[id/64]>>(id%64)&1 != 0
		if hit {
			touched++
		}
		for j, v := range got[i*largeWidth : (i+1)*largeWidth] {
			if hit && !(v < begin[j]) || !hit && v != begin[j] {
				return fmt.Errorf("row %d, touched %v: element %d is %v, it was %v", id, hit, j, v,
					begin[j])
			}
		}
	}
	fmt.Printf("looked at %d rows, %d of them touched\n", len(ids), touched)
	return nil
}

// TestTableLarge trains a table of 100 million rows of 16 floats in real processes, two servers
// with copies of each other and three workers, and prints the memory of servers: make table-large.
func TestTableLarge(t *testing.T) {
	var out output.Buffer
	l := trainJob(largeWorkers, 2, 2, 0, &out)
	l.Env = append(l.Env, "LAUNCH_TEST_PLAY=large", fmt.Sprint("LAUNCH_TEST_ROWS=", *largeRows),
		"LAUNCH_TEST_OPTIMIZER="+*largeOptimizer)
	l.Snapshots = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	if err := l.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, tail(out.String(), 60))
	}
	text := out.String()
	n := number(t, text, `rows: (\d+)`)
	row := 4 * largeWidth
	if *largeOptimizer != "sgd" {
		row *= 2 // a state
	}
	most := 64<<20 + n*row*115/100 + 16*n
	peaks := regexp.MustCompile(`peak of resident memory:(\d+) kB`).FindAllStringSubmatch(text, -1)
	if len(peaks) != 2 || strings.Count(text, "looked at") != largeWorkers {
		t.Fatalf("%d servers tell their memory, want 2\n%s", len(peaks), tail(text, 60))
	}
	for _, p := range peaks {
		kB, err := strconv.Atoi(p[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: a server with a copy of %d rows of %d bytes has had %d MiB of resident "+
			"memory, "+
			"%.1f bytes a row, at most %d MiB", *largeOptimizer, n, row, kB>>10,
			float64(kB<<10)/float64(n),
			most>>20)
		if n >= 1e7 && kB<<10 > most {
			t.Errorf("%d bytes of resident memory, want at most %d", kB<<10, most)
		}
	}
}

// number returns the number that an expression finds in a text.
func number(t *testing.T, text, expr string) int {
	t.Helper()
	m := regexp.MustCompile(expr).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %q in\n%s", expr, tail(text, 60))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
