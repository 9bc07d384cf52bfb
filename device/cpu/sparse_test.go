//go:build cgo

package cpu_test

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// TestSumRows compares sums of rows with a loop that adds in the same order, bit by bit.
func TestSumRows(t *testing.T) {
	r := rng(t)
	for _, n := range []int{1, 2, 5, 16, 21, 64, 85, 150} {
		const groups, rows, items = 30, 40, 200
		s, factor := random(r, rows*n), random(r, items).v
		starts, order, at := make([]int64, groups+1), make([]int32, items), make([]int64, items)
		for i := range order {
			order[i], at[i] = int32(r.IntN(items)), int64(r.IntN(rows))
		}
		for g := range groups - 1 {
			starts[g+1] = starts[g] + int64(r.IntN(7))
		}
		starts[groups] = starts[groups-1] // a group without items
		to := make([]int64, groups)
		for i, k := range r.Perm(2 * groups)[:groups] {
			to[i] = int64(k)
		}
		for name, k := range map[string]cpu.SumRows{
			"all":    {To: to, Order: order, At: at, Factor: factor},
			"plain":  {},
			"sum":    {Order: order, At: at},
			"factor": {At: at, Factor: factor},
		} {
			k.N, k.Starts, k.Threads = n, starts, 2
			if k.At == nil && k.Order == nil {
				k.Starts = []int64{0, 3, 3, rows}
			}
			d := newGuarded(2 * groups * n)
			clear(d.v)
			k.Run(d.ptr(), s.ptr())
			want := make([]float32, len(d.v))
			for g := range len(k.Starts) - 1 {
				row := g
				if k.To != nil {
					row = int(k.To[g])
				}
				for i := k.Starts[g]; i < k.Starts[g+1]; i++ {
					item := i
					if k.Order != nil {
						item = int64(k.Order[i])
					}
					from, f := item, float32(1)
					if k.At != nil {
						from = k.At[item]
					}
					if k.Factor != nil {
						f = k.Factor[item]
					}
					for c := range n {
						want[row*n+c] += float32(f * s.v[int(from)*n+c])
					}
				}
			}
			if !slices.Equal(d.v, want) {
				t.Errorf("%s, rows of %d: got %v, want %v", name, n, d.v, want)
			}
			d.intact(t, name)
		}
	}
}

// TestReadRows compares indices, impossible ones among them, with their nearest rows.
func TestReadRows(t *testing.T) {
	r := rng(t)
	const rows = 1000
	odd := []float32{-1, -1e30, 1e30, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), 0.99, rows - 1, rows, -0.5}
	for _, n := range []int{0, 1, 2, 7, 64, 301} {
		for _, kind := range []string{"mixed", "sorted", "different"} {
			x, want := newGuarded(n), make([]int64, n)
			for i := range want {
				want[i] = int64(r.IntN(rows))
			}
			switch kind {
			case "sorted":
				slices.Sort(want)
			case "different":
				for i, k := range r.Perm(rows)[:n] {
					want[i] = int64(k)
				}
				slices.Sort(want)
			}
			for i, v := range want {
				x.v[i] = float32(v) + r.Float32()/2
				if kind == "mixed" && r.IntN(3) == 0 {
					x.v[i] = odd[r.IntN(len(odd))]
					want[i] = 0
					if x.v[i] > 0 {
						want[i] = int64(min(x.v[i], rows-1))
					}
				}
			}
			got := make([]int64, n)
			sorted, different := cpu.ReadRows(got, x.ptr(), rows)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v are rows %v, want %v", kind, x.v, got, want)
			}
			isSorted, isDifferent := slices.IsSorted(want), true
			for i := range max(0, n-1) {
				isDifferent = isDifferent && want[i] < want[i+1]
			}
			if sorted != isSorted || different != isDifferent {
				t.Fatalf("%s: sorted %v, different %v of %v", kind, sorted, different, want)
			}
		}
	}
}

func TestCountRows(t *testing.T) {
	r := rng(t)
	for _, n := range []int{1, 3, 16, 65} {
		starts := []int64{0}
		for g := range 40 {
			starts = append(starts, starts[g]+int64(r.IntN(5)))
		}
		d := newGuarded(40 * n)
		cpu.CountRows(d.ptr(), starts, n, 2)
		for i, v := range d.v {
			if want := float32(starts[i/n+1] - starts[i/n]); v != want {
				t.Fatalf("rows of %d: element %d is %v, want %v", n, i, v, want)
			}
		}
		d.intact(t, "count")
	}
}

func TestGatherAndAddRows(t *testing.T) {
	r := rng(t)
	const rows, n = 50, 33
	a, b := random(r, rows*n), random(r, rows*n)
	at := make([]int64, 2*rows)
	ia, ib := make([]int32, 2*rows), make([]int32, 2*rows)
	for i := range at {
		at[i] = int64(r.IntN(rows+1) - 1)
		if ia[i], ib[i] = int32(r.IntN(rows+1)-1), int32(r.IntN(rows+1)-1); ia[i] < 0 {
			ib[i] = int32(r.IntN(rows))
		}
	}
	d, sum := newGuarded(2*rows*n), newGuarded(2*rows*n)
	cpu.GatherRows(d.ptr(), a.ptr(), at, 4*n, 2)
	cpu.AddRows(sum.ptr(), a.ptr(), ia, b.ptr(), ib, n, 2)
	for i := range at {
		for c := range n {
			copied, added := float32(0), float32(0)
			if at[i] >= 0 {
				copied = a.v[int(at[i])*n+c]
			}
			if ia[i] >= 0 {
				added += a.v[int(ia[i])*n+c]
			}
			if ib[i] >= 0 {
				added += b.v[int(ib[i])*n+c]
			}
			if d.v[i*n+c] != copied || sum.v[i*n+c] != added {
				t.Fatalf("row %d: %v and %v, want %v and %v", i, d.v[i*n+c], sum.v[i*n+c], copied,
					added)
			}
		}
	}
	d.intact(t, "gather")
	sum.intact(t, "add")
	cpu.GatherRows(unsafe.Pointer(&d.v[0]), nil, nil, 4, 2)
}

// TestColumns compares products with the transpose of a csr matrix with a loop that adds in the
// same order, bit by bit.
func TestColumns(t *testing.T) {
	r := rng(t)
	for _, shape := range [][2]int{{1, 1}, {3, 64}, {70, 65}, {40, 1000}, {5, 9000}, {100, 3000}} {
		rows, columns := shape[0], shape[1]
		for _, share := range []float64{0, 0.01, 0.3} {
			starts, at := []int64{0}, []int64{}
			for range rows {
				for c := range columns {
					if r.Float64() < share {
						at = append(at, int64(c))
					}
				}
				starts = append(starts, int64(len(at)))
			}
			for _, n := range []int{1, 21, 64, 150} {
				x, s := random(r, len(at)).v, random(r, rows*n)
				sums := map[int64][]float32{}
				for row := range rows {
					for i := starts[row]; i < starts[row+1]; i++ {
						if sums[at[i]] == nil {
							sums[at[i]] = make([]float32, n)
						}
						for k, v := range s.v[row*n : (row+1)*n] {
							sums[at[i]][k] += float32(x[i] * v)
						}
					}
				}
				for threads := 1; threads <= 3; threads++ {
					k := cpu.Columns{Starts: starts, At: at, X: x, Columns: columns,
						Threads: threads}
					checkColumns(t, k, s.ptr(), n, sums)
				}
			}
		}
	}
}

// checkColumns compares a product with the sums by columns, packed and placed.
func checkColumns(t *testing.T, c cpu.Columns, s unsafe.Pointer, n int, sums map[int64][]float32) {
	t.Helper()
	memory := make([]int64, c.Memory()/8+1)
	work := unsafe.Pointer(&memory[0])
	found := c.Find(work)
	want := sortedKeys(sums)
	if found != len(want) {
		t.Fatalf("%d columns, want %d", found, len(want))
	}
	for _, placed := range []bool{false, true} {
		d := newGuarded(found * n)
		if placed {
			d = newGuarded(c.Columns * n)
			clear(d.v)
		}
		keys, room := make([]int64, found), make([]int64, c.Room(work)/8+1)
		c.Sum(work, unsafe.Pointer(&room[0]), keys, d.ptr(), placed, s, n)
		if !slices.Equal(keys, want) {
			t.Fatalf("%d threads: columns %v, want %v", c.Threads, keys, want)
		}
		for i, key := range keys {
			row := i
			if placed {
				row = int(key)
			}
			if got := d.v[row*n : (row+1)*n]; !slices.Equal(got, sums[key]) {
				t.Fatalf("%d threads, column %d: got %v, want %v", c.Threads, key, got, sums[key])
			}
		}
		d.intact(t, "sums")
	}
}

// sortedKeys returns the keys of a map, ascending.
func sortedKeys(sums map[int64][]float32) []int64 {
	keys := make([]int64, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
