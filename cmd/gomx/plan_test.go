package main

import (
	"testing"

	"gomx/plan"
)

// Links and sizes are read with their units; others are errors.
func TestPlanUnits(t *testing.T) {
	for text, want := range map[string]plan.Link{
		"10Gbit,50us":   {Bandwidth: 1.25e9, Latency: 50e-6},
		"800Mbit, 1ms":  {Bandwidth: 1e8, Latency: 1e-3},
		"1.5GB,0s":      {Bandwidth: 1.5e9},
		"fast":          {},
		"10Gbit":        {},
		"-1Gbit,1ms":    {},
		"10Gbit,1":      {},
		"1Gbit,-1ms":    {},
		"1 banana,50us": {},
	} {
		l, err := parseLink(text)
		if (err == nil) != (want.Bandwidth > 0) || err == nil && l != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, l, err, want)
		}
	}
	for text, want := range map[string]int64{"16GiB": 16 << 30, "1.5MiB": 3 << 19, "8GB": 8e9,
		"12": 0, "-1GiB": 0, "GiB": 0} {
		n, err := parseBytes(text)
		if (err == nil) != (want > 0) || err == nil && n != want {
			t.Errorf("%q: got %d, %v, want %d", text, n, err, want)
		}
	}
}

// Names of the zoo and of the plan are networks with a loss and shapes.
func TestPlanModels(t *testing.T) {
	for _, name := range []string{"lenet", "mobilenet0_25"} {
		f := planFlags{shapes: []string{"data=2,3,64,64"}}
		if name == "lenet" {
			f.shapes = []string{"data=2,1,28,28"}
		}
		s, shapes, err := f.model(name)
		if err != nil {
			t.Fatal(err)
		}
		n, err := plan.Describe(s, plan.Training{Shapes: shapes})
		if err != nil {
			t.Fatal(err)
		}
		if n.Batch != 2 || len(n.Keys) < 8 || n.FLOPs == 0 {
			t.Errorf("%s: batch %d, %d keys, %d FLOPs", name, n.Batch, len(n.Keys), n.FLOPs)
		}
	}
	f := planFlags{shapes: []string{"picture=2,3,64,64"}}
	if _, _, err := f.model("mobilenet0_25"); err == nil {
		t.Error("shape of an unknown input: no error")
	}
}
