package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"gomx/dtype"
	"gomx/gluon/data"
	"gomx/gluon/data/vision"
	"gomx/io/image"
)

// transformCase is a transform of a picture or of a batch, and its result.
type transformCase struct {
	ID, Kind, Class, File, Note string
	Args                        json.RawMessage
	Input                       pictureRef
	Output                      Ref
	Tolerance                   float64
}

// transformArgs are the keyword arguments of all transforms.
type transformArgs struct {
	Size          numbers
	Interpolation *int
	KeepRatio     bool `json:"keep_ratio"`
	Mean, Std     numbers
	DType         string
	X, Y          int
	Width, Height int
	Degrees       float64   `json:"rotation_degrees"`
	Limits        []float64 `json:"angle_limits"`
	RotateWithP   *float64  `json:"rotate_with_proba"`
	ZoomIn        bool      `json:"zoom_in"`
	ZoomOut       bool      `json:"zoom_out"`
	Scale, Ratio  numbers
	Brightness    float64
	Contrast      float64
	Saturation    float64
	Hue, Alpha    float64
	List          []json.RawMessage // of Compose
	Transforms    []json.RawMessage // of RandomApply
	P             *float64
}

func (c *transformCase) run(env Env) error {
	f, err := transform(c.Class, c.Args)
	if err != nil {
		return err
	}
	in, err := env.Golden.Array(dataFolder+c.File, c.Input.Ref)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	t := data.Tensor{DType: in.DType, Shape: in.Shape, Bytes: in.Data}
	if c.Input.Cast != "" {
		to, err := dtype.Parse(c.Input.Cast)
		if err != nil {
			return err
		}
		if t, err = (vision.Cast{DType: to}).Apply(t, r); err != nil {
			return err
		}
	}
	if t, err = f.Apply(t, r); err != nil {
		return err
	}
	want, err := env.Golden.Array(dataFolder+c.File, c.Output)
	if err != nil {
		return err
	}
	got := &Array{DType: t.DType, Shape: t.Shape, Data: t.Bytes}
	return compare("output", got, want, Tolerance{max(c.Tolerance, 1e-6), 1e-6})
}

// transform makes the transform of a class.
func transform(class string, text json.RawMessage) (vision.Transform, error) {
	var a transformArgs
	if err := decodeStrictly(text, &a); err != nil {
		return nil, fmt.Errorf("%s: %w", class, err)
	}
	switch class {
	case "Compose", "HybridCompose", "HybridSequential", "Sequential":
		return composed(a.List)
	case "RandomApply", "HybridRandomApply":
		list, err := composed(a.Transforms)
		if err != nil {
			return nil, err
		}
		return vision.RandomApply{Transform: list, P: number(a.P)}, nil
	case "ToTensor":
		return vision.ToTensor{}, nil
	case "Normalize":
		return vision.Normalize{Mean: a.Mean, Std: a.Std}, nil
	case "Cast":
		t := dtype.Float32
		if a.DType != "" {
			var err error
			if t, err = dtype.Parse(a.DType); err != nil {
				return nil, err
			}
		}
		return vision.Cast{DType: t}, nil
	case "Rotate":
		return vision.Rotate{Degrees: a.Degrees, Zoom: zoom(a.ZoomIn, a.ZoomOut)}, nil
	case "RandomRotation":
		limits := pair(a.Limits)
		return vision.RandomRotation{Low: limits[0], High: limits[1],
			Zoom: zoom(a.ZoomIn, a.ZoomOut), P: number(a.RotateWithP)}, nil
	case "RandomBrightness":
		return vision.RandomBrightness{Most: a.Brightness}, nil
	case "RandomContrast":
		return vision.RandomContrast{Most: a.Contrast}, nil
	case "RandomSaturation":
		return vision.RandomSaturation{Most: a.Saturation}, nil
	case "RandomHue":
		return vision.RandomHue{Most: a.Hue}, nil
	case "RandomColorJitter":
		return vision.RandomColorJitter{Brightness: a.Brightness, Contrast: a.Contrast,
			Saturation: a.Saturation, Hue: a.Hue}, nil
	case "RandomLighting":
		return vision.RandomLighting{Alpha: a.Alpha}, nil
	case "RandomGray":
		return vision.RandomGray{P: number(a.P)}, nil
	}
	return a.geometry(class)
}

// geometry makes the transform of a class that changes geometry. MXNet's methods are Linear by
// default.
func (a *transformArgs) geometry(class string) (vision.Transform, error) {
	by := image.Linear
	if a.Interpolation != nil {
		var err error
		if by, err = image.InterpOf(*a.Interpolation); err != nil {
			return nil, err
		}
	}
	var size image.Size
	if len(a.Size) > 0 {
		size.Width = int(a.Size[0])
	}
	if len(a.Size) > 1 {
		size.Height = int(a.Size[1])
	}
	switch class {
	case "Resize":
		return vision.Resize{Size: size, KeepRatio: a.KeepRatio, Interp: by}, nil
	case "CenterCrop":
		return vision.CenterCrop{Size: size, Interp: by}, nil
	case "CropResize":
		return vision.CropResize{X: a.X, Y: a.Y, Width: a.Width, Height: a.Height, Size: size,
			Interp: by}, nil
	case "RandomCrop":
		return vision.RandomCrop{Size: size, Interp: by}, nil
	case "RandomResizedCrop":
		return vision.RandomResizedCrop{Size: size, Scale: pair(a.Scale), Ratio: pair(a.Ratio),
			Interp: by}, nil
	case "RandomFlipLeftRight":
		return vision.RandomFlipLeftRight{P: number(a.P)}, nil
	case "RandomFlipTopBottom":
		return vision.RandomFlipTopBottom{P: number(a.P)}, nil
	}
	return nil, missing("transform %s", class)
}

// number returns an optional number, 0 for none.
func number(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// zoom returns the change of scale of two flags.
func zoom(in, out bool) image.Zoom {
	switch {
	case in:
		return image.ZoomIn
	case out:
		return image.ZoomOut
	}
	return image.KeepScale
}

// composed makes a Compose of pairs of a class and its arguments.
func composed(list []json.RawMessage) (vision.Transform, error) {
	var all vision.Compose
	for _, text := range list {
		var pair []json.RawMessage
		var class string
		if err := json.Unmarshal(text, &pair); err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, fmt.Errorf("transform %s, want a class and its arguments", text)
		}
		if err := json.Unmarshal(pair[0], &class); err != nil {
			return nil, err
		}
		one, err := transform(class, pair[1])
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
