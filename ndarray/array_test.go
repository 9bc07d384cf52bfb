package ndarray_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/device"
	_ "gomx/device/null"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// values returns what a holds, or ends the test.
func values(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// want ends the test unless a holds the given values.
func want(t *testing.T, a *nd.Array, v ...float32) {
	t.Helper()
	if got := values(t, a); !slices.Equal(got, v) {
		t.Fatalf("got %v, want %v", got, v)
	}
}

// panics calls f and returns the *op.Error that it panics with, as text.
func panics(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		t.Helper()
		e, ok := recover().(*op.Error)
		if !ok {
			t.Fatal("no panic with *op.Error")
		}
		text = e.Error()
	}()
	f()
	return ""
}

func TestViewsShareMemory(t *testing.T) {
	x := nd.FromSlice(ramp(12), 4, 3)
	row, part, flat := x.At(1), x.Slice(2, -1), x.Reshape(-1)
	want(t, row, 3, 4, 5)
	want(t, part, 6, 7, 8)
	if err := nd.CopyFrom(row, []float32{30, 40, 50}); err != nil {
		t.Fatal(err)
	}
	part.Set(nd.FromSlice([]float32{60, 70, 80}, 1, 3))
	want(t, flat, 0, 1, 2, 30, 40, 50, 60, 70, 80, 9, 10, 11)
	if !row.Shape().Equal(nd.Shape{3}) || row.Var() != x.Var() || row.Whole() || !flat.Whole() {
		t.Errorf("row %v whole %v, flat whole %v", row.Shape(), row.Whole(), flat.Whole())
	}
}

func TestReshapeCodes(t *testing.T) {
	x := nd.FromSlice(ramp(24), 2, 3, 4)
	for _, c := range []struct {
		codes []int
		want  nd.Shape
	}{
		{[]int{4, 6}, nd.Shape{4, 6}},
		{[]int{0, -1}, nd.Shape{2, 12}},
		{[]int{-1}, nd.Shape{24}},
		{[]int{-3, 4}, nd.Shape{6, 4}},
		{[]int{2, -2}, nd.Shape{2, 3, 4}},
		{[]int{-4, 1, 2, -2}, nd.Shape{1, 2, 3, 4}},
	} {
		if got := x.Reshape(c.codes...).Shape(); !got.Equal(c.want) {
			t.Errorf("Reshape(%v) has shape %v, want %v", c.codes, got, c.want)
		}
	}
}

func TestSetBetweenOverlappingViews(t *testing.T) {
	x := nd.FromSlice(ramp(5))
	x.Slice(1, 5).Set(x.Slice(0, 4))
	want(t, x, 0, 0, 1, 2, 3)
}

func TestConversions(t *testing.T) {
	for _, dt := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16,
		dtype.Uint8, dtype.Int32, dtype.Int64} {
		a := nd.FromSlice([]float32{0, 1, 2}).AsType(dt)
		if a.DType() != dt {
			t.Errorf("element type %v, want %v", a.DType(), dt)
		}
		want(t, a, 0, 1, 2)
	}
	if _, err := nd.Values[int8](nd.FromSlice([]float32{1})); err == nil ||
		!strings.Contains(err.Error(), "float32, want int8") {
		t.Errorf("Values of another type: %v", err)
	}
	dst := make([]int64, 2)
	if err := nd.FromSlice([]int64{7, 1 << 60}).CopyTo(context.Background(), dst); err != nil ||
		dst[1] != 1<<60 {
		t.Errorf("CopyTo: %v, %v", dst, err)
	}
	if err := nd.FromSlice([]int64{7}).CopyTo(context.Background(), dst); err == nil ||
		!strings.Contains(err.Error(), "want a slice of 1 elements of int64") {
		t.Errorf("CopyTo a longer slice: %v", err)
	}
	if v, err := nd.FromSlice([]int64{7}).Item(); err != nil || v != 7 {
		t.Errorf("Item: %v, %v", v, err)
	}
	if _, err := nd.FromSlice([]int64{7, 8}).Item(); err == nil {
		t.Error("Item of two elements succeeded")
	}
}

func TestMisuseOfArrays(t *testing.T) {
	x := nd.FromSlice(ramp(6), 2, 3)
	closed := nd.FromSlice(ramp(1))
	closed.Close()
	for _, c := range []struct {
		name string
		f    func()
		want string
	}{
		{"shape of slice", func() { nd.FromSlice(ramp(6), 2, 2) }, "FromSlice (array_test.go:"},
		{"elements", func() { nd.FromSlice(ramp(6), 2, 2) },
			"shape: (2, 2) has 4 elements, the slice has 6"},
		{"negative extent", func() { nd.Empty(nd.Shape{-2}) }, "negative extent"},
		{"huge", func() { nd.Empty(nd.Shape{1 << 40, 1 << 40}) }, "too large"},
		{"row", func() { x.At(2) }, "At (array_test.go"},
		{"rows", func() { x.Slice(1, 3) }, "begin, end: 1, 3, want bounds within 0 and 2"},
		{"size", func() { x.Reshape(4) }, "(4,) has 4 elements, the array of shape (2, 3) has 6"},
		{"codes", func() { x.Reshape(-1, 4) }, "does not fit an array of shape (2, 3)"},
		{"set", func() { x.Set(x.At(0)) }, "src: float32 (3,), want float32 (2, 3)"},
		{"closed", func() { closed.Reshape(1) }, "the array has been closed"},
		{"closed operand", func() { x.Add(closed) }, "rhs: the array has been closed"},
		{"nil operand", func() { nd.Invoke(nil, nil, nil, nil) }, ""},
	} {
		if c.want == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if got := panics(t, c.f); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want it to say %q", got, c.want)
			}
		})
	}
}

// The null device has its own accounts, so that other tests' arrays do not disturb.
var accounts = device.Null(1)

func inUse() int64 {
	u := device.Usage(accounts)
	return u.Used[device.PurposeArray] + u.Used[device.PurposeStored]
}

func TestCloseReturnsMemory(t *testing.T) {
	x := nd.FromSlice(ramp(1 << 10)).To(accounts)
	y := x.Reshape(2, -1)
	x.Close()
	back := y.At(1).To(device.CPU())
	if got := inUse(); got == 0 {
		t.Error("nothing is in use while a view lives")
	}
	y.Close()
	y.Close()
	if v := values(t, back); v[0] != 512 || v[511] != 1023 {
		t.Errorf("got %v … %v, want 512 … 1023", v[0], v[511])
	}
	collected(t)
}

func TestForgottenArraysAreReleased(t *testing.T) {
	nd.FromSlice(ramp(1<<10)).To(accounts).Reshape(2, -1)
	collected(t)
}

// collected waits until no array is left on the device of accounts.
func collected(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); inUse() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes in use after collections, want none", inUse())
		}
		runtime.GC()
	}
}

func TestScope(t *testing.T) {
	x := nd.FromSlice(ramp(3))
	var inner, kept, own, view *nd.Array
	nd.Scope(func(s *nd.Scoped) {
		y := s.Enter(x)
		inner = y.Mul(y)
		view = inner.Reshape(3, 1)
		kept = s.Keep(inner.AddScalar(1))
		own = s.Own(nd.FromSlice(ramp(1)))
	})
	want(t, x, 0, 1, 2)
	want(t, kept, 1, 2, 5)
	for _, a := range []*nd.Array{inner, own, view} {
		if got := panics(t, func() { a.Reshape(-1) }); !strings.Contains(got, "closed") {
			t.Errorf("got %q, want closed", got)
		}
	}
	want(t, kept.AddScalar(1), 2, 3, 6)
}

func TestReadsHonourContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := nd.FromSlice(ramp(3))
	if err := x.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if err := x.CopyTo(ctx, make([]float32, 3)); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("CopyTo: %v", err)
	}
	want(t, x, 0, 1, 2)
}
