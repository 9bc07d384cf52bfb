package vision_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// resizePicture has five rows and six columns of three channels.
var resizePicture = []float64{106, 152, 249, 131, 184, 200, 0, 21, 253, 147, 202, 107, 249, 169, 138,
	149, 119, 166, 224, 148, 172, 93, 167, 142, 248, 26, 81, 218, 150, 66, 2, 191, 60, 129, 179, 90,
	69, 104, 110, 97, 157, 106, 152, 251, 62, 7, 248, 171, 33, 123, 79, 176, 37, 20, 94, 49, 149,
	127, 206, 244, 28, 119, 54, 0, 192, 233, 18, 116, 191, 165, 184, 184, 199, 165, 253, 174, 33,
	113, 1, 85, 117, 119, 202, 235, 124, 228, 99, 219, 144, 255}

// TestImageResize compares the first four pixels with OpenCV's.
func TestImageResize(t *testing.T) {
	x := optest.Array(dtype.Uint8, []int{5, 6, 3}, resizePicture...)
	for _, tt := range []struct {
		interp, width, height int
		want                  []uint8
	}{
		{0, 4, 3, []uint8{106, 152, 249, 131, 184, 200, 147, 202, 107, 249, 169, 138}},
		{0, 9, 8, []uint8{106, 152, 249, 106, 152, 249, 131, 184, 200, 0, 21, 253}},
		{1, 4, 3, []uint8{139, 157, 213, 92, 61, 192, 169, 182, 98, 148, 148, 133}},
		{1, 9, 8, []uint8{106, 152, 249, 118, 168, 224, 109, 157, 209, 22, 48, 244}},
		{1, 3, 5, []uint8{119, 168, 225, 74, 112, 180, 199, 144, 152, 159, 158, 157}},
		{2, 4, 3, []uint8{146, 165, 218, 80, 31, 206, 190, 199, 81, 146, 153, 139}},
		{2, 9, 8, []uint8{92, 149, 255, 130, 184, 225, 112, 161, 213, 0, 29, 255}},
		{3, 4, 3, []uint8{141, 159, 204, 105, 74, 182, 167, 180, 96, 144, 155, 126}},
		{3, 3, 5, []uint8{118, 168, 224, 74, 112, 180, 199, 144, 152, 158, 158, 157}},
		{4, 4, 3, []uint8{153, 175, 219, 75, 22, 209, 197, 206, 78, 141, 155, 151}},
		{4, 9, 8, []uint8{79, 142, 255, 136, 196, 212, 113, 158, 214, 0, 36, 255}},
	} {
		p := vision.ImageResizeParams{Size: []int{tt.width, tt.height}, Interp: op.Some(tt.interp)}
		name := fmt.Sprintf("interp %d, %d·%d", tt.interp, tt.width, tt.height)
		optest.Run(t, vision.ImageResize.Op, optest.Case{Name: name, Params: p, NoDiff: true,
			In: optest.Ops(x)}, optest.Case{Name: name + ", floats", Params: p, NoDiff: true,
			In: optest.Ops(optest.F([]int{5, 6, 3}, resizePicture...))},
			optest.Case{Name: name + ", half", Params: p, NoDiff: true,
				In: optest.Ops(half(optest.F([]int{5, 6, 3}, resizePicture...)))})
		params, err := vision.ImageResize.Normalize(p)
		if err != nil {
			t.Fatal(err)
		}
		out, err := optest.Runner{}.Apply(vision.ImageResize.Op, params, optest.Ops(x))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range op.Slice[uint8](out[0])[:len(tt.want)] {
			if d := int(v) - int(tt.want[i]); d < -1 || d > 1 {
				t.Errorf("%s: got %v, want %v", name, op.Slice[uint8](out[0])[:len(tt.want)],
					tt.want)
				break
			}
		}
	}
	optest.Run(t, vision.ImageResize.Op,
		optest.Case{Name: "half the size", Params: vision.ImageResizeParams{Size: []int{1}},
			In:   optest.Ops(optest.Array(dtype.Uint8, []int{1, 2, 2, 1}, 1, 2, 3, 5)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{1, 1, 1, 1}, 3)), NoDiff: true},
		optest.Case{Name: "a batch", Params: vision.ImageResizeParams{Size: []int{2, 1},
			Interp: op.Some(0)}, NoDiff: true,
			In:   optest.Ops(optest.Range(2, 1, 1, 3)),
			Want: optest.Ops(optest.F([]int{2, 1, 2, 3}, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5))})
}

func TestImageResizeShapes(t *testing.T) {
	for name, c := range map[string]inferCase{
		"width and height": {op: "_image_resize", attrs: "size=(7,3)", in: shapes{{4, 5, 2}},
			wantOut: shapes{{3, 7, 2}}},
		"a square": {op: "_image_resize", attrs: "size=3", in: shapes{{9, 4, 5, 3}},
			wantOut: shapes{{9, 3, 3, 3}}},
		"shorter side": {op: "_image_resize", attrs: "size=(3,); keep_ratio=True",
			in: shapes{{7, 5, 1}}, wantOut: shapes{{4, 3, 1}}},
		"unknown sides": {op: "_image_resize", attrs: "size=3; keep_ratio=True",
			in: shapes{{-1, 5, 1}}, wantOut: shapes{{-1, -1, 1}}},
		"unknown batch": {op: "_image_resize", attrs: "size=3", in: shapes{{-1, 4, 5, -1}},
			out: shapes{{6, 3, 3, 2}}, wantIn: shapes{{6, 4, 5, 2}}},
		"no size":    {op: "_image_resize", in: shapes{{4, 5, 2}}, err: "want a width and a height"},
		"no element": {op: "_image_resize", attrs: "size=3", in: shapes{{4, 0, 2}}, err: "at least one element"},
		"too flat": {op: "_image_resize", attrs: "size=3; keep_ratio=True", in: shapes{{0, 9, 2}},
			err: "at least one"},
	} {
		t.Run(name, c.run)
	}
}
