package vision_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
)

// random returns a float32 operand with values in [-1, 1), the same for the same seed.
func random(seed uint64, shape ...int) op.Tensor { return optest.Random(seed, -1, 1, shape...) }

// half converts an operand to float16.
func half(t op.Tensor) op.Tensor {
	h := optest.New(dtype.Float16, t.Shape...)
	loop.Store(h, 0, loop.Floats(t))
	return h
}

// attrs reads "key=value; key=value".
func attrs(text string) map[string]string {
	m := map[string]string{}
	for kv := range strings.SplitSeq(text, ";") {
		if k, v, ok := strings.Cut(strings.TrimSpace(kv), "="); ok {
			m[k] = v
		}
	}
	return m
}

// runHidden checks what a backward operator infers, and that it leaves ignored inputs alone.
func runHidden(t *testing.T, name, params string, in ...op.Tensor) {
	t.Helper()
	optest.Run(t, op.Lookup(name), optest.Case{Attrs: attrs(params), In: in})
}

// inferCase is one inference of shapes: it gives the wanted ones, or an error that contains err.
type inferCase struct {
	op, attrs       string
	in, out         []dtype.Shape
	wantIn, wantOut []dtype.Shape
	err             string
}

func (c inferCase) run(t *testing.T) {
	t.Helper()
	o := op.Lookup(c.op)
	p, err := o.ParseParams(attrs(c.attrs))
	if err != nil {
		t.Fatal(err)
	}
	p = o.WithCount(p, len(c.in))
	if c.out == nil {
		c.out = make([]dtype.Shape, len(o.Outputs(p)))
	}
	err = o.InferShape(p, c.in, c.out)
	if c.err != "" {
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Fatalf("got error %v, want one with %q", err, c.err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range c.wantIn {
		if !c.in[i].Equal(want) {
			t.Errorf("input %d: got %v, want %v", i, c.in[i], want)
		}
	}
	for i, want := range c.wantOut {
		if !c.out[i].Equal(want) {
			t.Errorf("output %d: got %v, want %v", i, c.out[i], want)
		}
	}
}

type shapes = []dtype.Shape

func TestShapesFlowBack(t *testing.T) {
	cases := map[string]inferCase{
		"regions": {op: "ROIPooling", attrs: "pooled_size=(2,3); spatial_scale=1",
			in: shapes{nil, nil}, out: shapes{{7, 4, -1, -1}, nil}, wantIn: shapes{{-1, 4, -1, -1},
				{7, 5}}},
		"sensitive": {op: "_contrib_ROIAlign",
			attrs: "pooled_size=(2,3); spatial_scale=1; position_sensitive=1", in: shapes{nil, nil},
			out: shapes{{7, 4, -1, -1}}, wantIn: shapes{{-1, 24, -1, -1}, {7, 5}}},
		"affine": {op: "GridGenerator", attrs: "transform_type=affine; target_shape=(3,4)",
			in: shapes{nil}, out: shapes{{5, -1, -1, -1}}, wantIn: shapes{{5, 6}},
			wantOut: shapes{{5, 2, 3, 4}}},
		"sampler": {op: "BilinearSampler", in: shapes{nil, {5, -1, -1, -1}},
			out: shapes{{-1, 2, 3, 4}}, wantIn: shapes{{5, 2, -1, -1}, {5, 2, 3, 4}},
			wantOut: shapes{{5, 2, 3, 4}}},
		"crop": {op: "Crop", in: shapes{nil, nil}, out: shapes{{1, 2, 3, 4}},
			wantIn: shapes{{1, 2, -1, -1}, {-1, -1, 3, 4}}},
		"columns": {op: "im2col", attrs: "kernel=(2,2)", in: shapes{nil}, out: shapes{{3, 20, 7}},
			wantIn: shapes{{3, 5, -1, -1}}},
		"image": {op: "col2im", attrs: "kernel=(2,2); output_size=(3,5)", in: shapes{nil},
			out: shapes{{3, 2, -1, -1}}, wantIn: shapes{{3, 8, 8}}, wantOut: shapes{{3, 2, 3, 5}}},
		"blocks": {op: "depth_to_space", attrs: "block_size=2", in: shapes{nil},
			out: shapes{{1, 3, 4, 6}}, wantIn: shapes{{1, 12, 2, 3}}},
		"pairs": {op: "_contrib_box_iou", in: shapes{{2, -1, 4}, nil}, out: shapes{{-1, 3, 5}},
			wantIn: shapes{{2, 3, 4}, {5, 4}}, wantOut: shapes{{2, 3, 5}}},
		"matching": {op: "_contrib_bipartite_matching", attrs: "threshold=0", in: shapes{nil},
			out: shapes{{2, 3}, {-1, 4}}, wantIn: shapes{{2, 3, 4}}},
		"nms": {op: "_contrib_box_nms", in: shapes{nil}, out: shapes{{2, 3, 6}, nil},
			wantIn: shapes{{2, 3, 6}}, wantOut: shapes{{2, 3, 6}, {2, 3, 1}}},
		"target": {op: "_contrib_MultiBoxTarget", in: shapes{nil, nil, nil},
			out: shapes{{2, 12}, nil, nil}, wantIn: shapes{{1, 3, 4}, {2, -1, -1}, {2, -1, 3}}},
		"detection": {op: "_contrib_MultiBoxDetection", in: shapes{{2, 4, -1}, {-1, 12}, nil},
			wantIn: shapes{{2, 4, 3}, {2, 12}, {1, 3, 4}}, wantOut: shapes{{2, 3, 6}}},
		"proposal": {op: "_contrib_MultiProposal", attrs: "rpn_post_nms_top_n=10",
			in: shapes{{2, 24, 5, 6}, nil, nil}, wantIn: shapes{{2, 24, 5, 6}, {2, 48, 5, 6},
				{2, 3}}, wantOut: shapes{{20, 5}, {20, 1}}},
		"like": {op: "_contrib_BilinearResize2D", attrs: "mode=like", in: shapes{{1, 2, 3, 4},
			nil}, out: shapes{{-1, -1, 7, 8}}, wantIn: shapes{{1, 2, 3, 4}, {-1, -1, 7, 8}},
			wantOut: shapes{{1, 2, 7, 8}}},
		"adaptive": {op: "_contrib_AdaptiveAvgPooling2D", attrs: "output_size=3", in: shapes{nil},
			out: shapes{{2, 5, -1, -1}}, wantIn: shapes{{2, 5, -1, -1}},
			wantOut: shapes{{2, 5, 3, 3}}},
		"tensor": {op: "_image_to_tensor", in: shapes{nil}, out: shapes{{3, 4, 5}},
			wantIn: shapes{{4, 5, 3}}},
		"rectangle": {op: "_image_crop", attrs: "x=0; y=0; width=2; height=3", in: shapes{nil},
			out: shapes{{7, -1, -1, 3}}, wantIn: shapes{{7, -1, -1, 3}},
			wantOut: shapes{{7, 3, 2, 3}}},
	}
	for name, c := range cases {
		t.Run(name, c.run)
	}
}

func TestWrongShapes(t *testing.T) {
	image := dtype.Shape{1, 3, 4, 5}
	cases := map[string]inferCase{
		"pooled size": {op: "ROIPooling", attrs: "pooled_size=(2,); spatial_scale=1",
			in: shapes{image, nil}, err: "pooled_size: (2,), want a positive height and width"},
		"rois": {op: "ROIPooling", attrs: "pooled_size=(2,2); spatial_scale=1",
			in: shapes{image, {3, 4}}, err: "rois: shape (3, 4), want (?, 5)"},
		"scale": {op: "_contrib_ROIAlign", attrs: "pooled_size=(2,2); spatial_scale=2",
			in: shapes{image, nil}, err: "spatial_scale: 2, want at most 1"},
		"depth": {op: "_contrib_ROIAlign",
			attrs: "pooled_size=(2,2); spatial_scale=1; position_sensitive=1",
			in:    shapes{image, nil}, err: "want a multiple of 4 channels"},
		"no target": {op: "GridGenerator", attrs: "transform_type=affine",
			in: shapes{{2, 6}}, err: "target_shape: (0, 0)"},
		"matrix": {op: "GridGenerator",
			attrs: "transform_type=affine; target_shape=(2,2)", in: shapes{{2, 5}},
			err: "data: shape (2, 5), want (?, 6)"},
		"batch": {op: "BilinearSampler", in: shapes{image, {2, 2, 3, 3}},
			err: "grid: shape (2, 2, 3, 3), want (1, 2, ?, ?)"},
		"nothing to crop": {op: "Crop", in: shapes{image}, err: "h_w: (0, 0)"},
		"crop too large": {op: "Crop", attrs: "h_w=(5,5)", in: shapes{image},
			err: "arg0: shape (1, 3, 4, 5) is smaller"},
		"crop offset": {op: "Crop", attrs: "h_w=(2,2); offset=(3,0)", in: shapes{image},
			err: "offset: (3, 0), want at most"},
		"crop inputs": {op: "Crop", in: shapes{image, image, image},
			err: "num_args: 3, want 1 or 2"},
		"large kernel": {op: "im2col", attrs: "kernel=(2,6)", in: shapes{image},
			err: "kernel: (2, 6) covers 6 elements of spatial axis 1, which has 5"},
		"stride": {op: "im2col", attrs: "kernel=(2,2); stride=(1,0)", in: shapes{image},
			err: "stride: (1, 0), want 2 numbers from 1 to 1048576"},
		"axes": {op: "im2col", attrs: "kernel=(2,2,2,2)", in: shapes{image},
			err: "kernel: (2, 2, 2, 2), want 1, 2 or 3 numbers"},
		"output size": {op: "col2im", attrs: "kernel=(2,2); output_size=(4,)",
			in: shapes{{1, 4, 9}}, err: "output_size: (4,), want one number for each of kernel " +
				"(2, 2)"},
		"patches": {op: "col2im", attrs: "kernel=(2,2); output_size=(4,4)",
			in: shapes{{1, 4, 8}}, err: "data: shape (1, 4, 8), want (1, 4, 9)"},
		"channels": {op: "depth_to_space", attrs: "block_size=2", in: shapes{image},
			err: "data: shape (1, 3, 4, 5), want a multiple of 4 channels"},
		"blocks": {op: "space_to_depth", attrs: "block_size=2", in: shapes{image},
			err: "data: shape (1, 3, 4, 5), want planes of blocks of 2·2"},
		"adaptive": {op: "_contrib_AdaptiveAvgPooling2D", attrs: "output_size=(2,0)",
			in: shapes{image}, err: "output_size: (2, 0)"},
		"scale missing": {op: "_contrib_BilinearResize2D", attrs: "scale_height=2",
			in: shapes{image}, err: "scale_width: missing"},
		"odd scale": {op: "_contrib_BilinearResize2D",
			attrs: "mode=odd_scale; scale_width=2", in: shapes{image},
			err: "scale_height: missing"},
		"resized away": {op: "_contrib_BilinearResize2D",
			attrs: "scale_height=0.1; scale_width=1", in: shapes{image}, err: "becomes 0·5"},
		"nothing to resize": {op: "_contrib_BilinearResize2D", attrs: "height=2; width=2",
			in: shapes{{1, 3, 0, 5}}, err: "at least one element to resize"},
		"no boxes": {op: "_contrib_box_iou", in: shapes{{2, 5}, nil},
			err: "lhs: shape (2, 5), want rows of four numbers"},
		"pairs": {op: "_contrib_box_iou", in: shapes{{2, 3, 4}, nil},
			out: shapes{{2, 3}}, err: "output: shape (2, 3) has too few axes"},
		"scores": {op: "_contrib_bipartite_matching", attrs: "threshold=0",
			in: shapes{{3}}, err: "data: shape (3,), want matrices of scores"},
		"coordinates": {op: "_contrib_box_nms", in: shapes{{3, 5}},
			err: "coord_start: 2, want the place of four of 5 numbers"},
		"score": {op: "_contrib_box_nms", attrs: "score_index=3", in: shapes{{3, 6}},
			err: "score_index: 3"},
		"class": {op: "_contrib_box_nms", attrs: "id_index=1", in: shapes{{3, 6}},
			err: "id_index: 1"},
		"steps": {op: "_contrib_MultiBoxPrior", attrs: "steps=(-1,0.5)",
			in: shapes{image}, err: "steps: [-1 0.5]"},
		"offsets": {op: "_contrib_MultiBoxPrior", attrs: "offsets=(0.5,2)",
			in: shapes{image}, err: "offsets: [0.5 2]"},
		"variances": {op: "_contrib_MultiBoxTarget", attrs: "variances=(1,)",
			in: shapes{nil, nil, nil}, err: "variances: [1]"},
		"labels": {op: "_contrib_MultiBoxTarget", in: shapes{nil, {2, 3, 4}, nil},
			err: "label: shape (2, 3, 4), want rows of at least five numbers"},
		"anchors": {op: "_contrib_MultiBoxDetection", in: shapes{{1, 3, 4}, {1, 12}, nil},
			err: "loc_pred: shape (1, 12), want (1, 16)"},
		"no background": {op: "_contrib_MultiBoxDetection", in: shapes{{1, 0, 4}, {1, 16}, nil},
			err: "cls_prob: shape (1, 0, 4): no classes"},
		"one image": {op: "_contrib_Proposal", in: shapes{{2, 24, 3, 3}, nil, nil},
			err: "cls_prob: shape (2, 24, 3, 3), want (1, 24, 3, 3)"},
		"two axes": {op: "_image_to_tensor", in: shapes{{2, 3}},
			err: "data: shape (2, 3), want an image or a batch of images"},
		"two channels": {op: "_image_normalize", in: shapes{{2, 4, 5}},
			err: "data: shape (2, 4, 5), want 1 or 3 channels"},
		"means": {op: "_image_normalize", attrs: "mean=(1,2)", in: shapes{{3, 4, 5}},
			err: "mean: [1 2], want one number for each channel"},
		"flip a batch": {op: "_image_flip_left_right", in: shapes{{2, 4, 5, 3}},
			err: "data: shape (2, 4, 5, 3), want (h, w, c)"},
		"rectangle": {op: "_image_crop", attrs: "x=2; y=0; width=2; height=1",
			in: shapes{{4, 3, 3}}, err: "width: 2 from column 2 on"},
	}
	for name, c := range cases {
		t.Run(name, c.run)
	}
}

func TestTypes(t *testing.T) {
	cases := []struct {
		op, attrs string
		in        dtype.Type
		want      string
	}{
		{"_contrib_AdaptiveAvgPooling2D", "", dtype.Int32,
			"element type int32, want a floating-point type"},
		{"depth_to_space", "block_size=2", dtype.Uint8, ""},
		{"_image_to_tensor", "", dtype.Uint8, ""},
		{"_image_normalize", "", dtype.Uint8, ""},
	}
	for _, c := range cases {
		o := op.Lookup(c.op)
		p, err := o.ParseParams(attrs(c.attrs))
		if err != nil {
			t.Fatal(err)
		}
		err = o.InferType(p, []dtype.Type{c.in}, []dtype.Type{dtype.Unknown})
		if got := err; (got == nil) != (c.want == "") || got != nil &&
			!strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.op, got, c.want)
		}
	}
}
