package gluon_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// stepTable trains a network of tableNet, from one step to another.
func stepTable(t *testing.T, net *gluon.Net, trainer *gluon.Trainer, from, to int) {
	t.Helper()
	for step := from; step < to; step++ {
		x := nd.FromSlice([]float32{float32(step), float32(3 * step), 7})
		net.Forward(autograd.Train().Watch(x)).Backward()
		if err := trainer.Step(3); err != nil {
			t.Fatal(err)
		}
	}
}

// trainedTable returns a network with a row_sparse table after some steps.
func trainedTable(t *testing.T, init initializer.Initializer) (*gluon.Net, *gluon.Trainer) {
	t.Helper()
	net := tableNet(t, true, init)
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 0.1, Momentum: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	stepTable(t, net, trainer, 0, 5)
	return net, trainer
}

// TestTableFiles: a file has all rows of a table, or the ones with memory, and gives them back.
func TestTableFiles(t *testing.T) {
	net, _ := trainedTable(t, nil)
	want := allRows(t, table(net))
	dir := t.TempDir()
	whole, held := filepath.Join(dir, "whole.params"), filepath.Join(dir, "held.params")
	if err := net.Save(whole); err != nil {
		t.Fatal(err)
	}
	if err := net.Save(held, gluon.HeldRows()); err != nil {
		t.Fatal(err)
	}
	before, err := table(net).Data().Indices()
	if err != nil || len(before) != 9 {
		t.Errorf("rows %v have memory after Save, %v, want nine", before, err)
	}
	zeros := slices.Clone(want)
	for r := range tableWords {
		if !slices.Contains(before, int64(r)) {
			clear(zeros[4*r : 4*r+4])
		}
	}
	for name, tt := range map[string]struct {
		path   string
		sparse bool
		opts   []gluon.LoadOption
		want   []float32
	}{
		"whole":                 {whole, true, nil, want},
		"whole, dense":          {whole, false, nil, want},
		"held, rows as by Init": {held, true, []gluon.LoadOption{gluon.KeepRows()}, want},
		"held":                  {held, true, nil, zeros},
		"held, dense":           {held, false, nil, zeros},
	} {
		other := tableNet(t, tt.sparse, nil)
		table(other).Data() // it has values, which Load replaces
		other.Forward(nd.FromSlice([]float32{1, 2}))
		if err := other.Load(tt.path, tt.opts...); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := allRows(t, table(other)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: other rows than saved", name)
		}
		list, err := other.Params().Get("1.weight").Data().Float32s()
		mine, _ := net.Params().Get("1.weight").Data().Float32s()
		if err != nil || !slices.Equal(list, mine) {
			t.Errorf("%s: the dense layer has other values, %v", name, err)
		}
	}
	list, err := checkpoint.LoadMap(held)
	if err != nil || list["0.weight"].Storage() != nd.RowSparse {
		t.Errorf("the file of held rows: %v", err)
	}
}

// TestTableExport: an exported network has all rows.
func TestTableExport(t *testing.T) {
	net, _ := trainedTable(t, nil)
	prefix := filepath.Join(t.TempDir(), "net")
	if err := net.Export(prefix, 0, gluon.Input("data", 3)); err != nil {
		t.Fatal(err)
	}
	other, err := gluon.Import(prefix+"-symbol.json", []string{"data"}, prefix+"-0000.params")
	if err != nil {
		t.Fatal(err)
	}
	x := nd.FromSlice([]float32{1, 50, 7})
	got, want := floats(t, other.Forward(x)), floats(t, net.Forward(x))
	if !slices.Equal(got, want) {
		t.Errorf("the exported network returns %v, want %v", got, want)
	}
}

// TestTableLargeFiles: of a table larger than the memory the rows with memory are saved, and all
// rows are refused.
func TestTableLargeFiles(t *testing.T) {
	make := func() *gluon.Net {
		net := gluon.New(nn.Sequential{&nn.Embedding{Rows: 1 << 31, Units: 16, SparseWeight: true}})
		if err := net.Init(initializer.Normal{Sigma: 1}); err != nil {
			t.Fatal(err)
		}
		net.Hybridize()
		return net
	}
	net := make()
	x := nd.FromSlice([]int64{3, 1 << 30})
	y := floats(t, net.Forward(x))
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.SGD{LR: 1})
	if err != nil {
		t.Fatal(err)
	}
	net.Forward(autograd.Train().Watch(nd.FromSlice([]int64{3, 5}))).Backward()
	if err := trainer.Step(1); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.params")
	for name, err := range map[string]error{"Save": net.Save(path),
		"Export": net.Export(filepath.Join(t.TempDir(), "net"), 0, gluon.InputAs("data",
			dtype.Int64, 2))} {
		if err == nil || !strings.Contains(err.Error(), "gluon.HeldRows") {
			t.Errorf("%s: %v, want the way out", name, err)
		}
	}
	if err := net.Save(path, gluon.HeldRows()); err != nil {
		t.Fatal(err)
	}
	other := make()
	if err := other.Load(path, gluon.KeepRows()); err != nil {
		t.Fatal(err)
	}
	got := floats(t, other.Forward(x))
	if want := floats(t, net.Forward(x)); !slices.Equal(got, want) || got[0] == y[0] ||
		!slices.Equal(got[16:], y[16:]) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// TestTableResume: a run that is cut and resumed in another process ends with the same bits, and a
// program that begins the rows in another way is refused.
func TestTableResume(t *testing.T) {
	open := func(prefix string, seed uint64) (*gluon.Net, *gluon.Trainer, *gluon.Run, error) {
		net := tableNet(t, true, initializer.Normal{Sigma: 1})
		if seed != 11 {
			if err := net.Init(initializer.Uniform{Scale: 1}, gluon.Seed(seed)); err != nil {
				t.Fatal(err)
			}
		}
		trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		run, err := gluon.Resume(prefix, net.Params(), trainer)
		return net, trainer, run, err
	}
	dir := t.TempDir()
	whole, trainer, _, err := open(filepath.Join(dir, "a"), 11)
	if err != nil {
		t.Fatal(err)
	}
	stepTable(t, whole, trainer, 0, 6)
	prefix := filepath.Join(dir, "b")
	net, trainer, run, err := open(prefix, 11)
	if err != nil {
		t.Fatal(err)
	}
	stepTable(t, net, trainer, 0, 3)
	if err := run.Save(); err != nil {
		t.Fatal(err)
	}
	net, trainer, run, err = open(prefix, 11)
	if err != nil || !run.Resumed() {
		t.Fatal(err)
	}
	stepTable(t, net, trainer, 3, 6)
	if got, want := allRows(t, table(net)), allRows(t, table(whole)); !slices.Equal(got, want) {
		t.Error("the resumed run has other rows")
	}
	if _, _, _, err := open(prefix, 12); err == nil || !strings.Contains(err.Error(),
		"row_sparse parameters") {
		t.Errorf("resuming with another seed: %v", err)
	}
}

// TestTableChanges: Cast, SetDevices and Set keep or replace the rows of a table.
func TestTableChanges(t *testing.T) {
	net, trainer := trainedTable(t, initializer.Constant{Value: 0.5})
	p := table(net)
	want := allRows(t, p)
	net.Params().Cast(dtype.Float64)
	if got := allRows(t, p); p.Data().DType() != dtype.Float64 || !slices.Equal(got, want) {
		t.Errorf("Cast: %v, rows differ: %v", p.Data().DType(), !slices.Equal(got, want))
	}
	net.Params().Cast(dtype.Float32)
	if err := net.Params().SetDevices(p.Data().Device()); err != nil {
		t.Fatal(err)
	}
	if got := allRows(t, p); !slices.Equal(got, want) {
		t.Error("SetDevices changes rows")
	}
	stepTable(t, net, trainer, 5, 7)
	net.Params().ZeroGrad()
	if n, err := p.Grad().NNZ(); err != nil || n != 0 {
		t.Errorf("ZeroGrad leaves %d values, %v", n, err)
	}
	states := filepath.Join(t.TempDir(), "net.states")
	if err := trainer.SaveStates(states); err != nil {
		t.Fatal(err)
	}
	other := tableNet(t, true, initializer.Constant{Value: 0.5})
	path := filepath.Join(t.TempDir(), "net.params")
	if err := net.Save(path, gluon.HeldRows()); err != nil {
		t.Fatal(err)
	}
	if err := other.Load(path, gluon.KeepRows()); err != nil {
		t.Fatal(err)
	}
	second, err := gluon.NewTrainer(other.Params(), optimizer.SGD{LR: 0.1, Momentum: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.LoadStates(states); err != nil {
		t.Fatal(err)
	}
	stepTable(t, net, trainer, 7, 9)
	stepTable(t, other, second, 7, 9)
	if !slices.Equal(allRows(t, table(other)), allRows(t, p)) {
		t.Error("a trainer with loaded states makes other steps")
	}
	if err := p.Set(nd.Ones(p.Shape)); err != nil {
		t.Fatal(err)
	}
	if got := allRows(t, p); slices.Min(got) != 1 || slices.Max(got) != 1 {
		t.Error("Set leaves other values")
	}
	if err := p.Set(nd.RowSparseFromSlices([]float32{1, 2, 3, 4}, []int{9}, p.Shape)); err != nil {
		t.Fatal(err)
	}
	got := allRows(t, p)
	if !slices.Equal(got[36:40], []float32{1, 2, 3, 4}) || slices.Max(got[40:]) != 0 {
		t.Error("Set with one row leaves others")
	}
}
