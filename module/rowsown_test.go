package module_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// fitFactors trains a factorization machine.
func fitFactors(ctx context.Context, t *testing.T, m *module.Module, features int,
	opts ...module.FitOption) error {
	return m.Fit(ctx, factorData(t, 40, features), append(opts, module.Epochs(2),
		module.Init(initializer.Normal{Sigma: 0.1}), module.Optimize(optimizer.AdaGrad{LR: 0.1}),
		module.Metric(unmeasured{}))...)
}

// heldOf returns the row numbers and values of the touched rows of a table.
func heldOf(m *module.Module) ([]int64, []float32, error) {
	a, err := module.HeldRows(m, "factors")
	if err != nil {
		return nil, nil, err
	}
	c, err := a.Content()
	if err != nil {
		return nil, nil, err
	}
	return c.Indices, op.Slice[float32](c.Values()), nil
}

// TestLargeTableWithoutStore trains tables of 100 million rows without a store. Fit holds the touched
// rows; afterwards rows can be read, the network scores, and Fit goes on.
func TestLargeTableWithoutStore(t *testing.T) {
	const features = 100_000_000
	before := resident(t)
	m := module.New(factorNet(features, 16))
	for range 2 {
		if err := fitFactors(t.Context(), t, m, features); err != nil {
			t.Fatal(err)
		}
	}
	ids, held, err := heldOf(m)
	if err != nil || len(ids) == 0 || len(ids) > 40*tableWords {
		t.Fatalf("%d rows are held, %v, want at most %d", len(ids), err, 40*tableWords)
	}
	untouched := int64(features - 1)
	for slices.Contains(ids, untouched) {
		untouched--
	}
	rows, err := module.Rows(m, "factors", nd.FromSlice([]int64{untouched, ids[0]}, 2))
	if err != nil {
		t.Fatal(err)
	}
	c, err := rows.Content()
	if err != nil || !slices.Equal(c.Indices, []int64{ids[0], untouched}) {
		t.Fatal(c, err)
	}
	v := op.Slice[float32](c.Values())
	if !slices.Equal(v[:16], held[:16]) || !slices.ContainsFunc(v[16:], func(x float32) bool {
		return x != 0
	}) {
		t.Errorf("rows are %v, want the held row %v and one that is not zero", v, held[:16])
	}
	if _, err := m.Score(t.Context(), factorData(t, 40, features), metric.MSE()); err != nil {
		t.Error(err)
	}
	if err := m.Save(filepath.Join(t.TempDir(), "net"), 1); err == nil ||
		!strings.Contains(err.Error(), `"factors"`) || !strings.Contains(err.Error(), "HeldRows") {
		t.Errorf("saving: %v, want the name of the table and the calls to use", err)
	}
	if err := m.SaveStates(filepath.Join(t.TempDir(), "net.states")); err != nil {
		t.Error(err)
	}
	if used := resident(t) - before; used > 300<<20 {
		t.Errorf("%d MiB, want less than 300", used>>20)
	}
}

// TestRowsWithoutStore: a table whose rows Fit keeps has the values of one whose rows a store of the
// program keeps, and after a job the module has the same rows.
func TestRowsWithoutStore(t *testing.T) {
	const features = 5_000_000 // of 16 floats: more than a module makes whole after a job
	own := module.New(factorNet(features, 16))
	if err := fitFactors(t.Context(), t, own, features); err != nil {
		t.Fatal(err)
	}
	ids, want, err := heldOf(own)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, m *module.Module) error {
		rows, got, err := heldOf(m)
		if err == nil && (!slices.Equal(rows, ids) || !slices.Equal(got, want)) {
			err = fmt.Errorf("%s: %d rows differ from %d", what, len(rows), len(ids))
		}
		if err != nil {
			return err
		}
		x, err := module.Rows(own, "factors", nd.FromSlice([]int64{7, features - 1}, 2))
		if err != nil {
			return err
		}
		y, err := module.Rows(m, "factors", nd.FromSlice([]int64{7, features - 1}, 2))
		if err != nil {
			return err
		}
		a, err := x.Content()
		b, err2 := y.Content()
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !slices.Equal(a.Bytes(), b.Bytes()) {
			err = fmt.Errorf("%s: rows without gradients differ", what)
		}
		return err
	}
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
	err = c.Work(t.Context(), func(ctx context.Context, _ int) error {
		m := module.New(factorNet(features, 16))
		if err := fitFactors(ctx, t, m, features, module.Store("dist_sync")); err != nil {
			return err
		}
		if _, err := m.Score(ctx, factorData(t, 40, features), metric.MSE()); err != nil {
			return err
		}
		return check("after a job", m)
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Error(err)
	}
}

// TestRowsErrors: the calls for rows name parameters that they cannot serve.
func TestRowsErrors(t *testing.T) {
	m := module.New(factorNet(100, 2))
	if _, err := module.HeldRows(m, "factors"); err == nil {
		t.Error("no error before there are values")
	}
	if err := fitFactors(t.Context(), t, m, 100); err != nil {
		t.Fatal(err)
	}
	for name, ids := range map[string][]int64{"none": {1}, "bias": {0}, "factors": {100}} {
		if _, err := module.Rows(m, name, nd.FromSlice(ids, len(ids))); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("rows %v of %s: %v", ids, name, err)
		}
	}
	rows, err := module.Rows(m, "factors", nd.FromSlice([]int64{5}, 1))
	if err != nil || !rows.Shape().Equal(nd.Shape{100, 2}) {
		t.Error(rows, err)
	}
}
