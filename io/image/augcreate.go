package image

// AugmentConfig configures CreateAugmenter. The zero value of each field leaves a change out.
type AugmentConfig struct {
	Size       Size // of the result
	Resize     int  // length of the shorter side before the crop, in pixels
	RandCrop   bool // crop at a random place instead of the middle
	RandResize bool // crop a random part of the area, and resize it
	RandMirror bool // exchange left and right of half of the pictures

	Brightness, Contrast, Saturation float64 // largest differences of random factors from 1
	Hue                              float64 // largest angle, in halves of the circle
	PCANoise                         float64 // standard deviation of LightingAug
	RandGray                         float64 // probability of a picture without colors

	Mean, Std []float64 // subtracted and divided by, for each channel or one for all
	Interp    Interp    // MXNet's default is Cubic
}

// CreateAugmenter returns a list of augmenters in the usual order.
//
// MXNet: image.CreateAugmenter.
func CreateAugmenter(c AugmentConfig) SequentialAug {
	var list SequentialAug
	if c.Resize > 0 {
		list = append(list, ResizeAug{c.Resize, c.Interp})
	}
	switch {
	case c.RandResize:
		list = append(list, RandomSizedCropAug{Size: c.Size, Interp: c.Interp})
	case c.RandCrop:
		list = append(list, RandomCropAug{c.Size, c.Interp})
	default:
		list = append(list, CenterCropAug{c.Size, c.Interp})
	}
	if c.RandMirror {
		list = append(list, HorizontalFlipAug{0.5})
	}
	return append(list, c.colors()...)
}

// colors returns the augmenters that change values, after the conversion to float32.
func (c *AugmentConfig) colors() SequentialAug {
	list := SequentialAug{CastAug{}}
	if c.Brightness > 0 || c.Contrast > 0 || c.Saturation > 0 {
		list = append(list, ColorJitterAug{c.Brightness, c.Contrast, c.Saturation})
	}
	if c.Hue > 0 {
		list = append(list, HueJitterAug{c.Hue})
	}
	if c.PCANoise > 0 {
		list = append(list, LightingAug{Std: c.PCANoise})
	}
	if c.RandGray > 0 {
		list = append(list, RandomGrayAug{c.RandGray})
	}
	if len(c.Mean) > 0 || len(c.Std) > 0 {
		list = append(list, ColorNormalizeAug{c.Mean, c.Std})
	}
	return list
}
