package conformance_test

import (
	"math"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/internal/conformance"
)

func TestFill(t *testing.T) {
	tests := []struct {
		name  string
		shape dtype.Shape
		want  []float64
	}{
		{"fc1_weight", dtype.Shape{128, 784}, []float64{-0.0194257702678442, 0.03908073529601097,
			-0.03797539696097374}},
		{"bn0_gamma", dtype.Shape{4}, []float64{1.0845873355865479, 1.0889748334884644,
			0.9311394095420837}},
		{"bn0_moving_var", dtype.Shape{4}, []float64{1.0107234716415405}},
		{"bn0_beta", dtype.Shape{4}, []float64{0.0018559604650363326}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := conformance.Fill(tt.name, tt.shape).Float64s()
			if len(got) != tt.shape.Size() || !slices.Equal(got[:len(tt.want)], tt.want) {
				t.Errorf("got %d values %v, want %v", len(got), got[:len(tt.want)], tt.want)
			}
		})
	}
}

func TestFillData(t *testing.T) {
	want := []float64{-0.23949698602627678, 0.4818196733471003, -0.46819212570185553}
	scale := float64(float32(math.Sqrt(6.0 / (128 + 784))))
	got := conformance.Fill("fc1_weight", dtype.Shape{128, 784}).Float64s()
	for i, u := range want {
		if math.Abs(got[i]-u*scale) > 1e-8 {
			t.Errorf("element %d: got %v, want %v", i, got[i], u*scale)
		}
	}
	if got := conformance.Fill("vector_data", dtype.Shape{1000}).Float64s(); slices.Min(got) < -1 ||
		slices.Max(got) >= 1 || slices.Max(got) < 0.9 {
		t.Errorf("got values in [%v, %v], want them to cover [-1, 1)", slices.Min(got),
			slices.Max(got))
	}
}

func TestFillInt(t *testing.T) {
	got, err := conformance.FillInput("int:10", "softmax_label", dtype.Shape{6})
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{7, 4, 7, 8, 6, 1}; !slices.Equal(got.Float64s(), want) {
		t.Errorf("got %v, want %v", got.Float64s(), want)
	}
	for _, spell := range []string{"int:", "int:0", "normal"} {
		if _, err := conformance.FillInput(spell, "x", dtype.Shape{1}); err == nil {
			t.Errorf("%q: got no error", spell)
		}
	}
}
