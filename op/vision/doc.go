// Package vision defines operators on images, regions and boxes: pooling and aligning of regions,
// spatial transformers, resizing, patches, and the parts of detectors (anchors, targets, matching,
// suppression).
//
// Names, attributes, shapes and semantics equal MXNet 1.9.1's; the handles of MXNet's _contrib_X
// and _image_x have short names:
//
//	p := vision.ROIAlignParams{PooledSize: []int{7, 7}, SpatialScale: 1. / 16}
//	y := vision.ROIAlign.Apply(p, x, rois)
//
// # Shapes
//
// Feature maps have shape (n, c, h, w). Decoded images have shape (h, w, c) or (n, h, w, c);
// ImageToTensor converts them to feature maps. Boxes are rows of four numbers: corners (left, top,
// right, bottom) or, in the format center, (x, y, width, height).
//
// # Sampling
//
// A spatial transformer is a grid generator followed by a bilinear sampler, and its gradient
// consists of their gradients. Coordinates of grids run from -1 to 1 between the centres of the
// outermost elements; elements outside are zero. ROIAlign and BilinearResize2D repeat the outermost
// elements instead.
//
// # Precision
//
// Many of these operators make decisions: which element is the largest, which boxes overlap too
// much, where a region begins. Reference kernels compute in float32, in float64 for operands of
// float64, and parameters are rounded to float32 before comparisons, so that decisions equal
// MXNet's.
//
// # Gradients
//
// Operators that move or combine elements have gradients. Regions, anchors, targets, matches and
// proposals are decisions without a gradient. BoxNMS copies gradients back to the rows from which
// its boxes came.
package vision
