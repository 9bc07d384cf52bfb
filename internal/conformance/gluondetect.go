package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// detectionCase is an iterator over pictures with objects, and the batches of its epochs.
type detectionCase struct {
	ID, Kind, Class, Rec, Idx, File, Note string
	Kwargs                                detectionArgs
	Records                               []struct { // content of the file
		Index      int
		Label, RGB Ref
	}
	LabelShape []int `json:"label_shape"`
	Augmenters []string
	Tolerance  float64
	Epochs     [][]struct {
		Data, Label Ref
		Pad         int
	}
}

// detectionArgs are the keyword arguments of both iterators.
type detectionArgs struct {
	createArgs
	BatchSize     int    `json:"batch_size"`
	LastBatch     string `json:"last_batch_handle"`
	Shuffle       bool
	Part          int `json:"part_index"`
	Parts         int `json:"num_parts"`
	Mean, Std     numbers
	Brightness    float64
	Contrast      float64
	Saturation    float64
	Hue           float64
	RandCropP     float64  `json:"rand_crop_prob"`
	RandPad       float64  `json:"rand_pad"`
	PadWidth      int      `json:"label_pad_width"`
	PadValue      *float32 `json:"label_pad_value"`
	LabelWidth    int      `json:"label_width"`
	ResizeMode    string   `json:"resize_mode"`
	RoundBatch    *bool    `json:"round_batch"`
	Threads       int      `json:"preprocess_threads"`
	Prefetch      int      `json:"prefetch_buffer"`
	Verbose       bool
	MeanR         float32 `json:"mean_r"`
	MeanG         float32 `json:"mean_g"`
	MeanB         float32 `json:"mean_b"`
	MeanA         float32 `json:"mean_a"`
	StdR          float32 `json:"std_r"`
	StdG          float32 `json:"std_g"`
	StdB          float32 `json:"std_b"`
	StdA          float32 `json:"std_a"`
	Scale         float32
	Fill          *uint8  `json:"fill_value"`
	MirrorP       float64 `json:"rand_mirror_prob"`
	PadP          float64 `json:"rand_pad_prob"`
	MaxPadScale   float64 `json:"max_pad_scale"`
	MaxHue        float64 `json:"max_random_hue"`
	HueP          float64 `json:"random_hue_prob"`
	MaxSaturation float64 `json:"max_random_saturation"`
	SaturationP   float64 `json:"random_saturation_prob"`
	MaxLight      float64 `json:"max_random_illumination"`
	LightP        float64 `json:"random_illumination_prob"`
	MaxContrast   float64 `json:"max_random_contrast"`
	ContrastP     float64 `json:"random_contrast_prob"`
}

func (c *detectionCase) run(env Env) error {
	if k := &c.Kwargs; k.Shuffle || k.RandCrop || k.RandMirror || k.RandCropP > 0 || k.RandPad > 0 {
		return errors.New("shuffle and random augmentation: nothing to compare with")
	}
	rec, idx := env.Golden.Path(dataFolder+c.Rec), env.Golden.Path(dataFolder+c.Idx)
	var it *dataio.ImageRecords
	var err error
	switch c.Class {
	case "ImageDetIter":
		it, err = c.detIter(rec, idx)
	case "ImageDetRecordIter":
		it, err = c.recordIter(rec)
	default:
		err = missing("iterator %s", c.Class)
	}
	if err != nil {
		return err
	}
	defer it.Close()
	if s := it.ProvideLabel()[0].Shape[1:]; c.LabelShape != nil && !slices.Equal(s, c.LabelShape) {
		return fmt.Errorf("label shape %v, want %v", s, c.LabelShape)
	}
	for e := range c.Epochs {
		if err := c.epoch(env, it, e); err != nil {
			return fmt.Errorf("epoch %d: %w", e, err)
		}
		if err := it.Reset(); err != nil {
			return err
		}
	}
	return nil
}

// epoch compares the batches of one epoch.
func (c *detectionCase) epoch(env Env, it *dataio.ImageRecords, e int) error {
	for i, want := range c.Epochs[e] {
		b, err := it.Next(context.Background())
		if err != nil {
			return fmt.Errorf("batch %d of %d: %w", i, len(c.Epochs[e]), err)
		}
		if b.Pad != want.Pad {
			return fmt.Errorf("batch %d: pad %d, want %d", i, b.Pad, want.Pad)
		}
		rows := c.Kwargs.BatchSize
		if k := c.Kwargs.RoundBatch; k != nil && !*k {
			rows -= b.Pad // MXNet leaves the others undefined
		}
		// A sample is as exact as a level of its picture; a label is a copy.
		err = c.rows(env.Golden, "data", b.Data[0], want.Data, rows, max(c.Tolerance, 1e-5))
		if err == nil {
			err = c.rows(env.Golden, "label", b.Label[0], want.Label, rows, 1e-6)
		}
		if err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
	}
	if _, err := it.Next(context.Background()); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than %d batches (%v)", len(c.Epochs[e]), err)
	}
	return nil
}

// rows compares the first rows of an array.
func (c *detectionCase) rows(g *Golden, what string, x *nd.Array, r Ref, n int, abs float64) error {
	want, err := g.Array(dataFolder+c.File, r)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return err
	}
	if !got.Shape.Equal(want.Shape) {
		return fmt.Errorf("%s: shape %v, want %v", what, got.Shape, want.Shape)
	}
	return compare(what, got.Rows(n), want.Rows(n), Tolerance{abs, 1e-6})
}

// detIter makes an ImageDetIter and compares the classes of its augmenters.
func (c *detectionCase) detIter(rec, idx string) (*dataio.ImageRecords, error) {
	k := &c.Kwargs
	by, err := interp(k.InterMethod)
	if err != nil {
		return nil, err
	}
	last := dataio.Auto
	if k.LastBatch != "" {
		if last, err = dataio.ParseLastBatch(k.LastBatch); err != nil {
			return nil, err
		}
	}
	cfg := dataio.ImageDetConfig{PictureConfig: dataio.PictureConfig{Path: rec, Index: idx,
		DataShape: k.DataShape, BatchSize: k.BatchSize, LastBatch: last, Part: k.Part,
		Parts: k.Parts}}
	if len(k.DataShape) != 3 {
		return nil, fmt.Errorf("data_shape %v, want three numbers", k.DataShape)
	}
	list, err := image.CreateDetAugmenter(image.DetAugmentConfig{AugmentConfig: image.AugmentConfig{
		Size: image.Size{Width: k.DataShape[2], Height: k.DataShape[1]}, Resize: k.Resize,
		Brightness: k.Brightness, Contrast: k.Contrast, Saturation: k.Saturation, Hue: k.Hue,
		PCANoise: k.PCANoise, RandGray: k.RandGray, Mean: k.Mean.or(image.ImageNetMean),
		Std: k.Std.or(image.ImageNetStd), Interp: by}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range list {
		names = append(names, strings.ToLower(reflect.TypeOf(a).Name()))
	}
	if c.Augmenters != nil && !slices.Equal(names, c.Augmenters) {
		return nil, fmt.Errorf("augmenters %v, want %v", names, c.Augmenters)
	}
	cfg.Augmenter = list
	return dataio.ImageDetIter(cfg)
}

// recordIter makes an ImageDetRecordIter.
func (c *detectionCase) recordIter(rec string) (*dataio.ImageRecords, error) {
	k := &c.Kwargs
	by := image.Linear
	if k.InterMethod != nil {
		var err error
		if by, err = image.InterpOf(*k.InterMethod); err != nil {
			return nil, err
		}
	}
	last := dataio.Round
	if k.RoundBatch != nil && !*k.RoundBatch {
		last = dataio.Pad
	}
	fit, ok := map[string]image.Fit{"": image.Force, "force": image.Force, "shrink": image.Shrink,
		"fit": image.FitInside}[k.ResizeMode]
	if !ok {
		return nil, missing("resize_mode %s", k.ResizeMode)
	}
	return dataio.ImageDetRecordIter(dataio.ImageDetRecordConfig{Path: rec, DataShape: k.DataShape,
		BatchSize: k.BatchSize, LastBatch: last, Part: k.Part, Parts: k.Parts,
		LabelWidth: max(0, k.LabelWidth), LabelPadWidth: max(0, k.PadWidth),
		LabelPadValue: k.PadValue, Threads: k.Threads,
		DetAugment: image.DetAugment{Resize: max(0, k.Resize), Interp: by, Fit: fit,
			Hue:        image.DetShift{Most: k.MaxHue, P: k.HueP},
			Saturation: image.DetShift{Most: k.MaxSaturation, P: k.SaturationP},
			Lightness:  image.DetShift{Most: k.MaxLight, P: k.LightP},
			Contrast:   image.DetShift{Most: k.MaxContrast, P: k.ContrastP},
			MirrorP:    k.MirrorP, PadP: k.PadP, MaxPadScale: k.MaxPadScale, Fill: k.Fill},
		Mean: [4]float32{k.MeanR, k.MeanG, k.MeanB, k.MeanA},
		Std:  [4]float32{k.StdR, k.StdG, k.StdB, k.StdA}, Scale: k.Scale})
}
