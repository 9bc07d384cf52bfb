package random_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/random"
)

func TestUniqueZipfian(t *testing.T) {
	const rows, each, classes = 2000, 3, 50
	p, err := random.UniqueZipfian.Normalize(random.UniqueZipfianParams{RangeMax: classes,
		Shape: []int{rows, each}})
	if err != nil {
		t.Fatal(err)
	}
	const seed = 3
	out, err := optest.Runner{Seed: op.Seed{Key: seed}}.Apply(random.UniqueZipfian.Op, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, draws := op.Slice[int64](out[0]), op.Slice[int64](out[1])
	first := make([]float64, classes) // how often a class is drawn first
	for i := range rows {
		row := map[int64]bool{}
		for k, v := range got[i*each : (i+1)*each] {
			if v < 0 || v >= classes || row[v] {
				t.Fatalf("seed %d: row %d is %v", seed, i, got[i*each:(i+1)*each])
			}
			if row[v] = true; k == 0 {
				first[v]++
			}
		}
		if draws[i] < each {
			t.Fatalf("seed %d: row %d took %d draws for %d classes", seed, i, draws[i], each)
		}
	}
	for v, n := range first {
		// the share of u with exp(u·log(classes)) between v + 0.5 and v + 1.5
		low, high := math.Max(1, float64(v)+.5), math.Min(classes, float64(v)+1.5)
		share := math.Log(high/low) / math.Log(classes)
		if d := n/rows - share; math.Abs(d) > 5*math.Sqrt(share/rows) {
			t.Errorf("seed %d: class %d is drawn first with probability %v, want %v", seed, v, n/rows,
				share)
		}
	}
	optest.Run(t, random.UniqueZipfian.Op, optest.Case{Params: p})
}

func TestUniqueZipfianOfTooManyClasses(t *testing.T) {
	err := random.UniqueZipfian.InferShape(random.UniqueZipfianParams{RangeMax: 4,
		Shape: []int{2, 5}}, nil, []dtype.Shape{nil, nil})
	if want := "5 different numbers of 4 classes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}
