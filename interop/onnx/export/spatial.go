package export

import (
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/vision"
)

// spatialRules are operators on the positions of images.
var spatialRules = rules{
	nn.Pad.Op: on(padded), nn.UpSampling.Op: on(upSampling),
	vision.Crop.Op: on(crop), vision.ImageCrop.Op: computedMove,
	vision.DepthToSpace.Op: on(func(c *call, p vision.BlockParams) []value {
		return one(c.add("DepthToSpace", c.out(0).shape, c.out(0).typ, one(c.x(0)),
			num("blocksize", p.BlockSize), text("mode", "DCR")))
	}),
	vision.SpaceToDepth.Op: on(func(c *call, p vision.BlockParams) []value {
		return one(c.add("SpaceToDepth", c.out(0).shape, c.out(0).typ, one(c.x(0)),
			num("blocksize", p.BlockSize)))
	}),
	vision.Im2Col.Op: computedMove, vision.Col2Im.Op: on(col2Im),
	vision.AdaptiveAvgPooling2D.Op: separable, vision.BilinearResize2D.Op: separable,
	vision.BilinearSampler.Op: func(c *call) []value { return c.sampled(c.x(0), c.x(1)) },
	vision.GridGenerator.Op:   on(gridGenerator), vision.SpatialTransformer.Op: on(transformer),
	vision.ROIAlign.Op:      on(roiAlign),
	vision.ImageToTensor.Op: imageToTensor, vision.ImageNormalize.Op: on(imageNormalize),
	vision.ImageFlipLeftRight.Op: mirrored(2), vision.ImageFlipTopBottom.Op: mirrored(3),
}

// spatialReasons are operators that ONNX has in another form only, or not at all.
var spatialReasons = map[*op.Op]string{
	vision.ROIPooling.Op: "MaxRoiPool of ONNX bounds the parts of regions in another way",
}

func padded(c *call, p nn.PadParams) []value {
	x := c.x(0)
	var widths []int
	for side := range 2 {
		for a := range x.shape {
			widths = append(widths, p.PadWidth[2*a+side])
		}
	}
	return one(c.pad(x, p.Mode, p.ConstantValue, widths))
}

// grown repeats the rows and columns of images.
func (c *call) grown(x value, k int) value {
	n, ch, h, w := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
	y := c.expand(c.reshape(x, dtype.Shape{n, ch, h, 1, w, 1}), dtype.Shape{n, ch, h, k, w, k})
	return c.reshape(y, dtype.Shape{n, ch, h * k, w * k})
}

func upSampling(c *call, p nn.UpSamplingParams) []value {
	list, out := c.all(), c.out(0).shape
	if p.SampleType == "bilinear" {
		kernel := 2*p.Scale - p.Scale%2
		pad := p.Scale / 2
		if p.Scale%2 == 1 {
			pad = (p.Scale - 1) / 2
		}
		x := list[0]
		end := p.Scale*(x.shape[2]-1) + kernel - out[2] - pad
		attrs := window([]int{kernel, kernel}, []int{p.Scale, p.Scale}, nil, []int{pad, pad},
			[]int{end, end})
		return one(c.add("ConvTranspose", out, x.typ, list[:2], append(attrs,
			num("group", x.shape[1]))...))
	}
	for i, x := range list {
		list[i] = c.grown(x, out[2]/x.shape[2])
	}
	if p.MultiInputMode == "concat" {
		return one(c.concat(1, list...))
	}
	sum := list[0]
	for _, x := range list[1:] {
		sum = c.plus(sum, x)
	}
	return one(sum)
}

// crop cuts a window at an offset, or in the middle.
func crop(c *call, p vision.CropParams) []value {
	x, out := c.x(0), c.out(0).shape
	for a := 2; a < 4; a++ {
		from := p.Offset[a-2]
		if p.CenterCrop {
			from = (x.shape[a] - out[a]) / 2
		}
		x = c.slice(x, a, from, from+out[a], 1)
	}
	return one(x)
}

func col2Im(c *call, p vision.Col2ImParams) []value {
	if len(p.Kernel) != 2 {
		return c.fail("runtimes join columns to pictures of two axes only")
	}
	pad := perAxis(p.Pad, 2, 0)
	return one(c.add("Col2Im", c.out(0).shape, c.out(0).typ, []value{c.x(0),
		c.indices(p.OutputSize...), c.indices(p.Kernel...)},
		ints("strides", perAxis(p.Stride, 2, 1)...), ints("dilations",
			perAxis(p.Dilate, 2, 1)...), ints("pads", append(pad, pad...)...)))
}

// separable is a rule of operators that apply a matrix to the rows and one to the columns of
// images. gomx tells the matrices: images of one column, each with a one in another row.
func separable(c *call) []value {
	x, out := c.x(0), c.out(0).shape
	rows, err := matrixAlong(c.node, x.shape[2:], out[2:], 0)
	if err != nil {
		return c.fail("%v", err)
	}
	columns, err := matrixAlong(c.node, x.shape[2:], out[2:], 1)
	if err != nil {
		return c.fail("%v", err)
	}
	left := c.constant(x.typ, dtype.Shape{out[2], x.shape[2]}, rows...)
	right := c.constant(x.typ, dtype.Shape{out[3], x.shape[3]}, columns...)
	return one(c.matmul(c.matmul(left, x), c.swapLast(right)))
}

// matrixAlong computes the matrix that an operator applies along an axis: an image for each element
// i of the axis, which is one where its index is i and zero elsewhere.
func matrixAlong(n *op.Node, in, out dtype.Shape, a int) ([]float64, error) {
	k, plane := in[a], in[0]*in[1]
	pictures := make([]float32, k*plane)
	for i := range pictures {
		at := i % plane
		index := [2]int{at / in[1], at % in[1]}[a]
		if index == i/plane {
			pictures[i] = 1
		}
	}
	values := []*nd.Array{nd.FromSlice(pictures, k, 1, in[0], in[1])}
	if len(n.In) > 1 { // the shape to imitate
		values = append(values, nd.Zeros(dtype.Shape{k, 1, out[0], out[1]}))
	}
	y, err := evaluate(n, values...)
	if err != nil {
		return nil, err
	}
	matrix := make([]float64, out[a]*k)
	step := [2]int{out[1], 1}[a]
	for i := range k {
		for o := range out[a] {
			matrix[o*k+i] = y[i*out[0]*out[1]+o*step]
		}
	}
	return matrix, nil
}

// sampled reads images at the points of a grid, whose coordinates lie on an axis of their own.
func (c *call) sampled(x, grid value) []value {
	return one(c.add("GridSample", c.out(0).shape, x.typ, []value{x, c.transpose(grid, 0, 2, 3, 1)},
		num("align_corners", 1), text("mode", "bilinear"), text("padding_mode", "zeros")))
}

// coordinates are -1 to 1 for n positions.
func coordinates(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = -1 + 2*float64(i)/float64(n-1)
	}
	return list
}

// affineGrid applies matrices of two rows and three columns to the positions of a target.
func (c *call) affineGrid(loc value, target []int) value {
	h, w := target[0], target[1]
	xs, ys := coordinates(w), coordinates(h)
	points := make([]float64, 0, 3*h*w)
	for i := range h * w {
		points = append(points, xs[i%w])
	}
	for i := range h * w {
		points = append(points, ys[i/w])
	}
	for range h * w {
		points = append(points, 1)
	}
	n := loc.shape[0]
	y := c.matmul(c.reshape(loc, dtype.Shape{n, 2, 3}), c.constant(loc.typ,
		dtype.Shape{3, h * w}, points...))
	return c.reshape(y, dtype.Shape{n, 2, h, w})
}

func gridGenerator(c *call, p vision.GridGeneratorParams) []value {
	x := c.x(0)
	if p.TransformType == "affine" {
		return one(c.affineGrid(x, p.TargetShape))
	}
	h, w := x.shape[2], x.shape[3]
	half := c.constant(x.typ, dtype.Shape{1, 2, 1, 1}, (float64(w)-1)/2, (float64(h)-1)/2)
	places := make([]float64, 0, 2*h*w)
	for i := range h * w {
		places = append(places, float64(i%w))
	}
	for i := range h * w {
		places = append(places, float64(i/w))
	}
	at := c.plus(x, c.constant(x.typ, dtype.Shape{1, 2, h, w}, places...))
	return one(c.minus(c.over(at, half), c.like(x, 1)))
}

func transformer(c *call, p vision.SpatialTransformerParams) []value {
	return c.sampled(c.x(0), c.affineGrid(c.x(1), p.TargetShape))
}

// roiAlign has the images of regions in an input of their own.
func roiAlign(c *call, p vision.ROIAlignParams) []value {
	if p.PositionSensitive {
		return c.fail("ONNX has no regions whose parts read channels of their own")
	}
	x, rois := c.x(0), c.x(1)
	n := rois.shape[0]
	images := c.cast(c.reshape(c.slice(rois, 1, 0, 1, 1), dtype.Shape{n}), dtype.Int64)
	mode := "output_half_pixel"
	if p.Aligned {
		mode = "half_pixel"
	}
	return one(c.add("RoiAlign", c.out(0).shape, x.typ, []value{x, c.slice(rois, 1, 1, 5, 1),
		images}, text("coordinate_transformation_mode", mode), text("mode", "avg"),
		num("output_height", p.PooledSize[0]), num("output_width", p.PooledSize[1]),
		num("sampling_ratio", max(0, p.SampleRatio.Value())),
		float("spatial_scale", p.SpatialScale)))
}

// imageToTensor moves the channels in front of the rows.
func imageToTensor(c *call) []value {
	x := c.cast(c.x(0), c.out(0).typ)
	rank := len(x.shape)
	perm := slices.Insert(upTo(0, rank-1), rank-3, rank-1)
	return one(c.scaled(c.transpose(x, perm...), 1.0/255))
}

func imageNormalize(c *call, p vision.ImageNormalizeParams) []value {
	x := c.x(0)
	rank := len(x.shape)
	channels := x.shape[rank-3]
	each := func(list []float64) value {
		full := make([]float64, channels)
		for i := range full {
			full[i] = list[min(i, len(list)-1)]
		}
		return c.along(x.typ, rank-3, rank, full...)
	}
	return one(c.over(c.minus(x, each(p.Mean)), each(p.Std)))
}

// mirrored reverses the rows or columns of images whose channels come last; the axis counts from
// the end.
func mirrored(fromEnd int) rule {
	return func(c *call) []value {
		x := c.x(0)
		return one(c.flip(x, len(x.shape)-fromEnd))
	}
}
