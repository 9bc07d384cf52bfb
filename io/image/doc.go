// Package image decodes pictures and changes them before a network sees them, with the arithmetic
// that OpenCV has under MXNet: a picture that was resized here gives a network the numbers that it
// was trained on.
//
//	m, err := image.Decode(data, image.RGB)        // mx.image.imdecode
//	m = m.ResizeShort(256, image.Cubic)            // mx.image.resize_short
//	m = m.CenterCrop(224, 224)                     // mx.image.center_crop
//	x := nd.FromSlice(m.Pix, m.Height, m.Width, m.Channels)
//
// An [Image] holds 8-bit samples, row by row, the channels of a pixel side by side in the order R,
// G, B, A. Functions that make a new image leave the old one as it is; Crop shares no memory with
// it either.
//
// # Formats
//
// Decode reads JPEG, PNG, BMP, TIFF and WebP. Chroma that a JPEG holds at half the resolution is
// interpolated as libjpeg does, 16 bits become 8, and transparency is dropped unless RGBA is asked
// for. As under MXNet a picture is not turned, whatever its Exif data says of how the camera was
// held. Damaged files are answered with an error; a header that claims more pixels than the file
// can hold is refused before memory is taken.
//
// # Augmentation
//
// An [Augment] draws changes at random: scale, rotation, shear, crop, colors, in the order of
// MXNet's default augmenter. What it draws is a function of the generator it is given alone, so
// that a run repeats.
package image
