package vision_test

import (
	"math"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestBoxEncode(t *testing.T) {
	// An anchor of 4·2 around (2, 1); boxes of 8·2 around (4, 2) and of 2·8 around (3, 5).
	anchors := optest.F([]int{1, 3, 4}, 0, 0, 4, 2, 0, 0, 4, 2, 0, 0, 4, 2)
	refs := optest.F([]int{1, 2, 4}, 0, 1, 8, 3, 2, 1, 4, 9)
	means, stds := optest.F([]int{4}, 0, 1, 0, 2), optest.F([]int{4}, 1, 2, 1, 4)
	ln2 := math.Ln2
	targets := optest.F([]int{1, 3, 4}, 0.5, -0.25, ln2, -0.5, 0, 0, 0, 0, 0.25, 0.5, -ln2,
		(2*ln2-2)/4)
	masks := optest.F([]int{1, 3, 4}, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1)
	samples, matches := optest.F([]int{1, 3}, 1, -1, 1), optest.F([]int{1, 3}, 0, 0, 1)
	var half6 []op.Tensor
	for _, x := range optest.Ops(samples, matches, anchors, refs, means, stds) {
		half6 = append(half6, half(x))
	}
	optest.Run(t, vision.BoxEncode.Op,
		optest.Case{Name: "two of three", NoDiff: true, In: optest.Ops(samples, matches, anchors,
			refs, means, stds), Want: optest.Ops(targets, masks)},
		optest.Case{Name: "no row of refs", NoDiff: true,
			In: optest.Ops(optest.F([]int{1, 3}, 1, 1, 1), optest.F([]int{1, 3}, -1, 2,
				math.NaN()), anchors, refs, means, stds),
			Want: optest.Ops(optest.F([]int{1, 3, 4}, 0), optest.F([]int{1, 3, 4}, 0))},
		optest.Case{Name: "half", NoDiff: true, In: half6,
			Want: optest.Ops(half(targets), half(masks))})
}

func TestBoxDecode(t *testing.T) {
	type P = vision.BoxDecodeParams
	ln2 := math.Ln2
	x := optest.F([]int{2, 1, 4}, 0.5, 1, ln2, 0, 1, 0.5, 0, 3*ln2)
	optest.Run(t, vision.BoxDecode.Op,
		optest.Case{Name: "centres", NoDiff: true,
			In:       optest.Ops(x, optest.F([]int{1, 1, 4}, 2, 1, 4, 2)),
			Want:     optest.Ops(optest.F([]int{2, 1, 4}, 0, 2, 8, 4, 4, -6, 8, 10)),
			Heads:    optest.Ops(optest.F([]int{2, 1, 4}, 1)),
			WantGrad: optest.Ops(optest.F([]int{2, 1, 4}, 0), optest.F([]int{1, 1, 4}, 0))},
		optest.Case{Name: "corners", NoDiff: true, Params: P{Format: "corner"},
			In:   optest.Ops(x, optest.F([]int{1, 1, 4}, 0, 0, 4, 2)),
			Want: optest.Ops(optest.F([]int{2, 1, 4}, 0, 2, 8, 4, 4, -6, 8, 10))},
		optest.Case{Name: "limited and scaled", NoDiff: true, Params: P{Std0: op.Some(2.),
			Std1: op.Some(0.), Std3: op.Some(0.5), Clip: op.Some(ln2)},
			In:   optest.Ops(x, optest.F([]int{1, 1, 4}, 2, 1, 4, 2)),
			Want: optest.Ops(optest.F([]int{2, 1, 4}, 2, 0, 10, 2, 8, -1, 12, 3))},
		optest.Case{Name: "several", NoDiff: true, In: optest.Ops(random(1, 3, 4, 4),
			random(2, 1, 4, 4))})
}

// TestBoxDecodeInvertsBoxEncode encodes random boxes and decodes them again.
func TestBoxDecodeInvertsBoxEncode(t *testing.T) {
	const n = 50
	corners := func(seed uint64) op.Tensor {
		x := optest.Random(seed, 0, 1, 1, n, 4)
		for rows := op.Slice[float32](x); len(rows) > 0; rows = rows[4:] {
			rows[2], rows[3] = rows[0]+0.1+rows[2], rows[1]+0.1+rows[3]
		}
		return x
	}
	anchors, refs := corners(1), corners(2)
	samples, matches := optest.New(refs.DType, 1, n), optest.New(refs.DType, 1, n)
	for i := range n {
		op.Slice[float32](samples)[i], op.Slice[float32](matches)[i] = 1, float32(n-1-i)
	}
	stds := []float64{0.1, 0.2, 0.3, 0.4}
	out, err := optest.Runner{}.Apply(vision.BoxEncode.Op, op.NoParams{}, optest.Ops(samples,
		matches, anchors, refs, optest.F([]int{4}, 0, 0, 0, 0), optest.F([]int{4}, stds...)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := vision.BoxDecode.Normalize(vision.BoxDecodeParams{Std0: op.Some(stds[0]),
		Std1: op.Some(stds[1]), Std2: op.Some(stds[2]), Std3: op.Some(stds[3]), Format: "corner"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := optest.Runner{}.Apply(vision.BoxDecode.Op, p, optest.Ops(out[0], anchors))
	if err != nil {
		t.Fatal(err)
	}
	back, boxes := op.Slice[float32](got[0]), op.Slice[float32](refs)
	for i := range n {
		for k := range 4 {
			if d := back[4*i+k] - boxes[4*(n-1-i)+k]; d > 1e-5 || d < -1e-5 {
				t.Fatalf("box %d: got %v, want %v", i, back[4*i:4*i+4], boxes[4*(n-1-i):][:4])
			}
		}
	}
}
