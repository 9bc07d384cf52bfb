package nn_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestDropout(t *testing.T) {
	type P = nn.DropoutParams
	x := random(1, 4, 6)
	seed := op.Seed{Key: 3, Counter: 1 << 20}
	optest.Run(t, nn.Dropout.Op,
		optest.Case{Name: "inference", Params: P{}, In: []op.Tensor{x}, Want: []op.Tensor{x}},
		optest.Case{Name: "nothing", Params: P{P: op.Some(0.0)}, Train: true, In: []op.Tensor{x},
			Want: []op.Tensor{x}},
		optest.Case{Name: "training", Params: P{}, Train: true, Seed: seed, In: []op.Tensor{x}},
		optest.Case{Name: "always", Params: P{P: op.Some(0.3), Mode: "always"}, Seed: seed,
			In: []op.Tensor{x}},
		optest.Case{Name: "axes", Params: P{Axes: []int{0}}, Train: true, Seed: seed,
			In: []op.Tensor{x}},
	)
}

func TestDropoutDropsShare(t *testing.T) {
	p, err := nn.Dropout.ParseParams(map[string]string{"p": "0.25", "cudnn_off": "False"})
	if err != nil {
		t.Fatal(err)
	}
	x := positive(1, 100, 100)
	out, err := optest.Runner{Train: true}.Apply(nn.Dropout.Op, p, []op.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	dropped, mask := 0, op.Slice[uint8](out[1])
	for i, v := range op.Slice[float32](out[0]) {
		want := op.Slice[float32](x)[i] / 0.75 * float32(mask[i])
		if math.Abs(float64(v-want)) > 1e-6 {
			t.Fatalf("element %d: got %v, want %v", i, v, want)
		}
		if mask[i] == 0 {
			dropped++
		}
	}
	if dropped < 2300 || dropped > 2700 {
		t.Errorf("got %d of 10000 elements dropped, want about 2500", dropped)
	}
}

func TestDropoutAlongAxes(t *testing.T) {
	p, err := nn.Dropout.Normalize(nn.DropoutParams{Axes: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Runner{Train: true}.Apply(nn.Dropout.Op, p, []op.Tensor{positive(1, 32, 5)})
	if err != nil {
		t.Fatal(err)
	}
	if want := (dtype.Shape{32, 1}); !out[1].Shape.Equal(want) {
		t.Fatalf("got mask of shape %v, want %v", out[1].Shape, want)
	}
	y := op.Slice[float32](out[0])
	for i := range y {
		if (y[i] == 0) != (y[i/5*5] == 0) {
			t.Fatalf("row %d is dropped in part: %v", i/5, y[i/5*5:i/5*5+5])
		}
	}
}

func TestDropoutInfersShapes(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "all dropped", op: nn.Dropout.Op, attrs: "p=1", in: []dtype.Shape{{2}},
			out: []dtype.Shape{nil, nil}, wantOut: []dtype.Shape{{2}, {2}}},
		{name: "mask", op: nn.Dropout.Op, attrs: "axes=(0,2)", in: []dtype.Shape{{2, 3, 4}},
			out: []dtype.Shape{nil, nil}, wantOut: []dtype.Shape{{2, 3, 4}, {1, 3, 1}}},
	})
}
