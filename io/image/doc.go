// Package image decodes and augments pictures with the arithmetic of OpenCV, which MXNet uses: a
// network that was trained with MXNet sees the same numbers.
//
//	m, err := image.Decode(data, image.RGB)        // mx.image.imdecode
//	m = m.ResizeShort(256, image.Cubic)            // mx.image.resize_short
//	m = m.CenterCrop(224, 224)                     // mx.image.center_crop
//	x := nd.FromSlice(m.Pix, m.Height, m.Width, m.Channels)
//
// An [Image] holds 8-bit samples, row by row, with the channels of a pixel side by side in the
// order R, G, B, A. Functions that return a new image leave the old one unchanged; Crop copies its
// pixels too.
//
// # Formats
//
// Decode reads JPEG, PNG, BMP, TIFF and WebP. Chroma at half the resolution in a JPEG is
// interpolated as in libjpeg, samples of 16 bits become 8 bits, and transparency is dropped except
// in mode RGBA. As in MXNet the orientation in Exif data is ignored. Damaged files give an error. A
// header that claims more pixels than the file can hold is an error before memory is allocated.
//
// # Augmentation
//
// An [Augment] makes random changes: scale, rotation, shear, crop and colors, in the order of
// MXNet's default augmenter. The changes depend only on the random generator, so that a run can be
// repeated.
//
// The types that implement [Augmenter] are the augmenters of mx.image: values that change a
// [Picture] and can be joined, mostly by [CreateAugmenter]. A picture is an [Image] or, after
// [CastAug], [Floats]. A [DetAugmenter], mostly of [CreateDetAugmenter], changes a picture and the
// boxes of its [Objects] together.
package image
