// Package vision defines operators on images, regions and boxes: pooling and aligning of regions,
// spatial transformers, resizing, patches, and what detectors are made of (anchors, targets,
// matching, suppression).
//
// Names, attributes, shapes and semantics are those of MXNet 1.9.1; operators that MXNet calls
// _contrib_X or _image_x have a short handle:
//
//	y := vision.ROIAlign.Apply(vision.ROIAlignParams{PooledSize: []int{7, 7}, SpatialScale: 1. / 16}, x, rois)
//
// # Shapes
//
// Feature maps have shape (n, c, h, w). Images as they come from a decoder have shape (h, w, c) or
// (n, h, w, c); ImageToTensor turns them into feature maps. Boxes are rows of four numbers: corners
// (left, top, right, bottom), or, where a format says center, (x, y, width, height).
//
// # Sampling
//
// A spatial transformer is a grid generator followed by a bilinear sampler, and its gradient is
// made of the gradients of these two. Grids count from -1 to 1 over the centres of the outermost
// elements; what lies outside reads as zero. ROIAlign and BilinearResize2D repeat the outermost
// elements instead.
//
// # Precision
//
// Many operators here decide: which element is the largest, which boxes overlap too much, where a
// region begins. Reference kernels compute in float32, in float64 for operands of that type, and
// parameters are rounded to float32 before they are compared, so that decisions come out as in
// MXNet.
//
// # Gradients
//
// Operators that move or mix elements have gradients as usual. Regions, anchors, targets, matches
// and proposals are decisions: they pass no gradient on. BoxNMS moves gradients back to the rows
// that its boxes came from.
package vision
