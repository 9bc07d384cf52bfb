package conformance

import (
	"fmt"
	"os"

	dataio "gomx/io"
	"gomx/io/image"
)

// imageCase is a picture to be decoded.
type imageCase struct {
	described
	File      string
	RGB, Gray Ref
	Tolerance float64
}

func (c *imageCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("formats/" + c.File))
	if err != nil {
		return err
	}
	for mode, ref := range map[image.Mode]Ref{image.RGB: c.RGB, image.Gray: c.Gray} {
		m, err := image.Decode(data, mode)
		if err == nil {
			err = comparePixels(env.Golden, fmt.Sprintf("%d channels", mode), m, ref, c.Tolerance)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resizeCase is a picture to be resized.
type resizeCase struct {
	described
	File      string
	Interp    int
	SizeWH    [2]int `json:"size_wh"`
	Out       Ref
	Tolerance float64
}

func (c *resizeCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("formats/" + c.File))
	if err != nil {
		return err
	}
	by, err := image.InterpOf(c.Interp)
	if err != nil {
		return err
	}
	m, err := image.Decode(data, image.RGB)
	if err != nil {
		return err
	}
	return comparePixels(env.Golden, by.String(), m.Resize(c.SizeWH[0], c.SizeWH[1], by), c.Out,
		c.Tolerance)
}

// comparePixels compares a picture with one of MXNet; samples may differ by levels.
func comparePixels(g *Golden, what string, m *image.Image, r Ref, levels float64) error {
	want, err := g.Array(formatsArchive, r)
	if err != nil {
		return err
	}
	got := ArrayOf(m.Pix, m.Height, m.Width, m.Channels)
	return compare(what, got, want, Tolerance{Abs: levels})
}

// imageArgs are the keyword arguments of ImageRecordIter.
type imageArgs struct {
	PathIndex      string  `json:"path_imgidx"`
	PathList       string  `json:"path_imglist"`
	LabelWidth     int     `json:"label_width"`
	Resize         *int    `json:"resize"`
	InterMethod    *int    `json:"inter_method"`
	Pad            int     `json:"pad"`
	FillValue      *uint8  `json:"fill_value"`
	Rotate         int     `json:"rotate"`
	MinRandomScale float64 `json:"min_random_scale"`
	MaxRandomScale float64 `json:"max_random_scale"`
	MinImageSize   float64 `json:"min_img_size"`
	MaxImageSize   float64 `json:"max_img_size"`
	MinCropSize    int     `json:"min_crop_size"`
	MaxCropSize    int     `json:"max_crop_size"`
	Mirror         bool    `json:"mirror"`
	MeanR          float32 `json:"mean_r"`
	MeanG          float32 `json:"mean_g"`
	MeanB          float32 `json:"mean_b"`
	MeanA          float32 `json:"mean_a"`
	StdR           float32 `json:"std_r"`
	StdG           float32 `json:"std_g"`
	StdB           float32 `json:"std_b"`
	StdA           float32 `json:"std_a"`
	Scale          float32 `json:"scale"`
	Threads        int     `json:"preprocess_threads"`
	RandCrop       bool    `json:"rand_crop"`
	RandMirror     bool    `json:"rand_mirror"`
}

// overImages makes an ImageRecordIter.
func (c *iteratorCase) overImages(path func(string) string, last dataio.LastBatch) (dataio.Iter,
	error) {
	k := &c.Kwargs
	cfg := dataio.ImageRecordConfig{
		Path: path(c.File), Index: path(k.PathIndex), List: path(k.PathList),
		DataShape: k.DataShape, LabelWidth: k.LabelWidth,
		Augment: image.Augment{Pad: k.Pad, Fill: k.FillValue, Rotate: k.Rotate,
			MinScale: k.MinRandomScale, MaxScale: k.MaxRandomScale,
			MinSize: k.MinImageSize, MaxSize: k.MaxImageSize, MinCropSize: k.MinCropSize,
			MaxCropSize: k.MaxCropSize},
		Normalize: dataio.Normalize{Mean: [4]float32{k.MeanR, k.MeanG, k.MeanB, k.MeanA},
			Std:   [4]float32{k.StdR, k.StdG, k.StdB, k.StdA},
			Scale: k.Scale, Mirror: k.Mirror},
		BatchSize: k.BatchSize, LastBatch: last, Threads: k.Threads,
	}
	if k.Resize != nil {
		cfg.Resize = max(0, *k.Resize)
	}
	if k.InterMethod != nil {
		by, err := image.InterpOf(*k.InterMethod)
		if err != nil {
			return nil, err
		}
		cfg.Interp = by
	}
	return dataio.ImageRecordIter(cfg)
}
