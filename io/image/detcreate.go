package image

// DetAugmentConfig configures CreateDetAugmenter. The zero value of each field leaves a change out.
type DetAugmentConfig struct {
	AugmentConfig // Size, Resize, RandMirror, the colors and Interp

	RandCrop float64         // probability of a crop
	Crop     MultiCropConfig // limits of the crop; MXNet's default of Area is 0.05 to 3
	RandPad  float64         // probability of a border
	Pad      DetRandomPadAug // limits of the border; Values nil: 127
}

// CreateDetAugmenter returns a list of augmenters in the usual order. It does not use RandCrop and
// RandResize of AugmentConfig.
//
// MXNet: image.CreateDetAugmenter.
func CreateDetAugmenter(c DetAugmentConfig) (DetSequentialAug, error) {
	var list DetSequentialAug
	if c.Resize > 0 {
		list = append(list, DetBorrowAug{ResizeAug{c.Resize, c.Interp}})
	}
	if c.RandCrop > 0 {
		c.Crop.Skip = 1 - c.RandCrop
		crop, err := CreateMultiRandCropAugmenter(c.Crop)
		if err != nil {
			return nil, err
		}
		list = append(list, crop)
	}
	if c.RandMirror {
		list = append(list, DetHorizontalFlipAug{0.5})
	}
	if c.RandPad > 0 {
		pad := c.Pad
		if pad.Values == nil {
			pad.Values = []float64{127, 127, 127, 127}
		}
		list = append(list, DetRandomSelectAug{[]DetAugmenter{pad}, 1 - c.RandPad})
	}
	list = append(list, DetBorrowAug{ForceResizeAug{c.Size, c.Interp}})
	for _, a := range c.colors() {
		list = append(list, DetBorrowAug{a})
	}
	return list, nil
}
