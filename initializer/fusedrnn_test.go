package initializer_test

import (
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/initializer"
	"gomx/op"
)

// repeated lists values with their counts one after another.
func repeated(pairs ...float32) []float32 {
	var list []float32
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, slices.Repeat([]float32{pairs[i+1]}, int(pairs[i]))...)
	}
	return list
}

// TestFusedRNN fills vectors that MXNet 1.9.1 filled: the texts are its own, biases are not given
// values by the inner initializer.
func TestFusedRNN(t *testing.T) {
	lstmBias := repeated(3, 0, 3, 1, 6, 0)
	biBias := repeated(2, 0, 2, 2, 4, 0)
	for _, c := range []struct {
		name, text string
		want       []float32
	}{
		{"lstm of two layers", `["fusedrnn", {"init": "[\"constant\", {\"value\": 0.25}]", "num_hidden": 3, "num_layers": 2, ` +
			`"mode": "lstm", "bidirectional": false, "forget_bias": 1.0}]`,
			slices.Concat(repeated(156, 0.25), lstmBias, lstmBias, lstmBias, lstmBias)},
		{"bidirectional lstm", `["fusedrnn", {"init": "[\"one\", {}]", "num_hidden": 2, "num_layers": 1, "mode": "lstm", ` +
			`"bidirectional": true, "forget_bias": 2.0}]`,
			slices.Concat(repeated(80, 1), biBias, biBias, biBias, biBias)},
		{"gru", `["fusedrnn", {"init": "[\"constant\", {\"value\": -0.5}]", "num_hidden": 3, "num_layers": 1, "mode": "gru", ` +
			`"bidirectional": false, "forget_bias": 1.0}]`, repeated(45, -0.5, 18, 0)},
		{"initializer of the model", `["fusedrnn", {"init": null, "num_hidden": 3, "num_layers": 1, "mode": "gru", ` +
			`"bidirectional": false, "forget_bias": 1.0}]`, repeated(45, 7, 18, 0)},
		{"projection", `["fusedrnn", {"init": null, "num_hidden": 3, "num_layers": 1, "mode": "lstm", "bidirectional": false, ` +
			`"forget_bias": 0.0, "projection_size": 2}]`, repeated(12*4+12*2+2*3, 7, 24, 0)},
	} {
		got := make([]float32, len(c.want))
		d := initializer.Desc{Name: "rnn_parameters", Shape: dtype.Shape{len(got)}, Init: c.text}
		if err := initializer.Fill(initializer.Constant{Value: 7}, d, got); err != nil ||
			!slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
		init, err := initializer.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		text, err := initializer.Format(init)
		if again, err2 := initializer.Parse(text); err != nil || err2 != nil || again != init {
			t.Errorf("%s: written as %s (%v) and read as %v (%v), want %v", c.name, text, err,
				again, err2, init)
		}
	}
}

// TestFusedRNNGates checks that every gate's matrix is one of its own for the inner initializer,
// and gets its random numbers by its name.
func TestFusedRNNGates(t *testing.T) {
	f := initializer.FusedRNN{NumHidden: 4, NumLayers: 2, Mode: "gru"}
	got := make([]float32, 3*4*(5+4+2)+3*4*(4+4+2))
	d := initializer.Desc{Name: "a_parameters", Shape: dtype.Shape{len(got)}, Seed: 3,
		Global: initializer.Xavier{}}
	if err := f.Weight(d, got); err != nil {
		t.Fatal(err)
	}
	at := 0
	for layer, in := range []int{5, 4} {
		for _, from := range []struct {
			name string
			cols int
		}{{"i2h", in}, {"h2h", 4}} {
			for _, gate := range []string{"_r", "_z", "_o"} {
				name := "a_l" + string(rune('0'+layer)) + "_" + from.name + gate + "_weight"
				want := make([]float32, 4*from.cols)
				if err := initializer.Fill(initializer.Xavier{}, initializer.Desc{Name: name,
					Shape: dtype.Shape{4, from.cols}, Seed: 3}, want); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got[at:at+len(want)], want) {
					t.Errorf("%s: %v, want %v", name, got[at:at+len(want)], want)
				}
				at += len(want)
			}
		}
	}
}

func TestFusedRNNErrors(t *testing.T) {
	good := initializer.FusedRNN{Init: initializer.One{}, NumHidden: 2, NumLayers: 1,
		Mode: "rnn_relu"}
	for want, change := range map[string]func(f *initializer.FusedRNN){
		"no inner initializer":  func(f *initializer.FusedRNN) { f.Init = nil },
		`mode "elman"`:          func(f *initializer.FusedRNN) { f.Mode = "elman" },
		"num_layers 0":          func(f *initializer.FusedRNN) { f.NumLayers = 0 },
		"14 parameters fit no ": func(f *initializer.FusedRNN) { f.NumHidden = 3 },
		"num_hidden 4611686018": func(f *initializer.FusedRNN) { f.NumHidden = 1 << 62 },
	} {
		f := good
		change(&f)
		err := f.Weight(initializer.Desc{Name: "p"}, make([]float32, 14))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if err := good.Weight(initializer.Desc{Name: "p"}, make([]float32, 14)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`["fusedrnn", {"init": "none"}]`, `["fusedrnn", {"hidden": 3}]`,
		`["fusedrnn", {"init": "[\"fusedrnn\", {}]"}]`} {
		if init, err := initializer.Parse(text); err == nil {
			t.Errorf("%s: %v, want an error", text, init)
		}
	}
	if _, err := initializer.Format(initializer.FusedRNN{Init: initializer.Mixed{},
		ForgetBias: op.Some(1.0)}); err == nil {
		t.Error("inner initializer without text form: no error")
	}
}
