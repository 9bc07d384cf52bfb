package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"gomx/dtype"
	"gomx/io/image"
)

// pictureCase is a function of a picture, and its result.
type pictureCase struct {
	ID, Kind, Class, Function string
	File                      string
	Args                      pictureArgs
	Classes                   []string // of the augmenters of an augmenter_list
	Input                     pictureRef
	Output                    Ref
	Result                    []int // of scale_down
	Tolerance                 float64
	Note                      string
}

// pictureRef is a picture, converted to another element type unless Cast is empty.
type pictureRef struct {
	Ref
	Cast string
}

// pictureArgs are the keyword arguments of all augmenters and functions.
type pictureArgs struct {
	Size      numbers
	Interp    *int
	P         float64
	Mean, Std numbers
	Typ       string

	Brightness, Contrast, Saturation, Hue float64
	AlphaStd                              float64
	EigVal                                numbers
	EigVec                                [][]float64
	Area                                  numbers
	Ratio                                 numbers

	X0, Y0, W, H          int
	SrcSize               numbers `json:"src_size"`
	Top, Bot, Left, Right int
	Type                  int
	Value                 float64
	Values                numbers
	Degrees               float64 `json:"rotation_degrees"`
	ZoomIn                bool    `json:"zoom_in"`
	ZoomOut               bool    `json:"zoom_out"`
	createArgs
}

// createArgs are the keyword arguments of CreateAugmenter that the augmenters do not have.
type createArgs struct {
	DataShape   []int   `json:"data_shape"`
	Resize      int     `json:"resize"`
	RandCrop    bool    `json:"rand_crop"`
	RandResize  bool    `json:"rand_resize"`
	RandMirror  bool    `json:"rand_mirror"`
	PCANoise    float64 `json:"pca_noise"`
	RandGray    float64 `json:"rand_gray"`
	InterMethod *int    `json:"inter_method"`
}

// numbers is a number, a list of numbers, or true for a default.
type numbers []float64

// UnmarshalJSON implements json.Unmarshaler. True becomes an empty list.
func (n *numbers) UnmarshalJSON(text []byte) error {
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case bytes.Equal(text, []byte("true")):
		*n = numbers{}
		return nil
	case text[0] == '[':
		return json.Unmarshal(text, (*[]float64)(n))
	}
	*n = make(numbers, 1)
	return json.Unmarshal(text, &(*n)[0])
}

// or returns the list, a default for an empty one, and nil for none.
func (n numbers) or(list [3]float64) []float64 {
	if n != nil && len(n) == 0 {
		return list[:]
	}
	return n
}

// size returns two numbers, or one twice.
func (n numbers) size() (image.Size, error) {
	switch len(n) {
	case 1:
		return image.Size{Width: int(n[0]), Height: int(n[0])}, nil
	case 2:
		return image.Size{Width: int(n[0]), Height: int(n[1])}, nil
	}
	return image.Size{}, fmt.Errorf("a size of %d numbers, want width and height", len(n))
}

// interp returns the method with a number of MXNet, Cubic for none.
func interp(code *int) (image.Interp, error) {
	if code == nil {
		return image.Cubic, nil
	}
	return image.InterpOf(*code)
}

func (c *pictureCase) run(env Env) error {
	if c.Function == "scale_down" {
		return c.scaleDown()
	}
	in, err := env.Golden.Array(dataFolder+c.File, c.Input.Ref)
	if err != nil {
		return err
	}
	m, err := pictureOf(in, c.Input.Cast)
	if err != nil {
		return err
	}
	var a image.Augmenter
	switch c.Kind {
	case "augmenter":
		a, err = c.Args.augmenter(c.Class)
	case "augmenter_list":
		a, err = c.list()
	default:
		a = function{c}
	}
	if err != nil {
		return err
	}
	if m, err = a.Apply(m, rand.New(rand.NewPCG(1, 2))); err != nil {
		return err
	}
	want, err := env.Golden.Array(dataFolder+c.File, c.Output)
	if err != nil {
		return err
	}
	return compare("output", arrayOf(m), want, c.tolerance())
}

// tolerance is the tolerance of the case, and the rounding of float32 at least.
func (c *pictureCase) tolerance() Tolerance { return Tolerance{max(c.Tolerance, 1e-6), 1e-6} }

func (c *pictureCase) scaleDown() error {
	src, err := c.Args.SrcSize.size()
	if err != nil {
		return err
	}
	size, err := c.Args.Size.size()
	if err != nil {
		return err
	}
	if got := image.ScaleDown(src, size); !slices.Equal([]int{got.Width, got.Height}, c.Result) {
		return fmt.Errorf("got %v, want %v", got, c.Result)
	}
	return nil
}

// pictureOf returns the picture of an array, of float32 if cast says so.
func pictureOf(a *Array, cast string) (image.Picture, error) {
	if len(a.Shape) != 3 {
		return nil, fmt.Errorf("a picture of shape %v, want height, width, channels", a.Shape)
	}
	h, w, c := a.Shape[0], a.Shape[1], a.Shape[2]
	var m image.Picture
	switch a.DType {
	case dtype.Uint8:
		m = &image.Image{Pix: slices.Clone(Elements[uint8](a)), Height: h, Width: w, Channels: c}
	case dtype.Float32:
		m = &image.Floats{Pix: slices.Clone(Elements[float32](a)), Height: h, Width: w, Channels: c}
	default:
		return nil, missing("pictures of %v", a.DType)
	}
	switch cast {
	case "", a.DType.String():
		return m, nil
	case "float32":
		return m.Float(), nil
	}
	return nil, missing("pictures of %s", cast)
}

// arrayOf returns the array of a picture.
func arrayOf(m image.Picture) *Array {
	h, w, c := m.Bounds()
	if bytes, ok := m.(*image.Image); ok {
		return ArrayOf(bytes.Pix, h, w, c)
	}
	return ArrayOf(m.Float().Pix, h, w, c)
}

// augmenter makes the augmenter of a class.
func (a *pictureArgs) augmenter(class string) (image.Augmenter, error) {
	by, err := interp(a.Interp)
	if err != nil {
		return nil, err
	}
	var size image.Size
	if len(a.Size) > 0 {
		if size, err = a.Size.size(); err != nil {
			return nil, err
		}
	}
	switch class {
	case "ResizeAug":
		return image.ResizeAug{Size: size.Width, Interp: by}, nil
	case "ForceResizeAug":
		return image.ForceResizeAug{Size: size, Interp: by}, nil
	case "CenterCropAug":
		return image.CenterCropAug{Size: size, Interp: by}, nil
	case "RandomCropAug":
		return image.RandomCropAug{Size: size, Interp: by}, nil
	case "RandomSizedCropAug":
		s := image.RandomSizedCropAug{Size: size, Interp: by, Ratio: pair(a.Ratio)}
		if s.Area = pair(a.Area); len(a.Area) == 1 {
			s.Area[1] = 1
		}
		return s, nil
	case "HorizontalFlipAug":
		return image.HorizontalFlipAug{P: a.P}, nil
	case "CastAug":
		if a.Typ != "" && a.Typ != "float32" {
			return nil, missing("CastAug to %s", a.Typ)
		}
		return image.CastAug{}, nil
	}
	return a.colorAugmenter(class)
}

// pair returns two numbers, or one twice.
func pair(n numbers) (p [2]float64) {
	for i := range p {
		if len(n) > 0 {
			p[i] = n[min(i, len(n)-1)]
		}
	}
	return p
}

// colorAugmenter makes the augmenter of a class that changes colors.
func (a *pictureArgs) colorAugmenter(class string) (image.Augmenter, error) {
	switch class {
	case "BrightnessJitterAug":
		return image.BrightnessJitterAug{Most: a.Brightness}, nil
	case "ContrastJitterAug":
		return image.ContrastJitterAug{Most: a.Contrast}, nil
	case "SaturationJitterAug":
		return image.SaturationJitterAug{Most: a.Saturation}, nil
	case "HueJitterAug":
		return image.HueJitterAug{Most: a.Hue}, nil
	case "ColorJitterAug":
		return image.ColorJitterAug{Brightness: a.Brightness, Contrast: a.Contrast,
			Saturation: a.Saturation}, nil
	case "LightingAug":
		l := image.LightingAug{Std: a.AlphaStd}
		copy(l.Values[:], a.EigVal)
		for i := range min(3, len(a.EigVec)) {
			copy(l.Vector[i][:], a.EigVec[i])
		}
		return l, nil
	case "ColorNormalizeAug":
		return image.ColorNormalizeAug{Mean: a.Mean.or(image.ImageNetMean),
			Std: a.Std.or(image.ImageNetStd)}, nil
	case "RandomGrayAug":
		return image.RandomGrayAug{P: a.P}, nil
	}
	return nil, missing("augmenter %s", class)
}

// list makes the augmenters of CreateAugmenter and compares their classes.
func (c *pictureCase) list() (image.Augmenter, error) {
	if c.Function != "CreateAugmenter" {
		return nil, missing("function %s", c.Function)
	}
	a := &c.Args
	by, err := interp(a.InterMethod)
	if err != nil {
		return nil, err
	}
	if len(a.DataShape) != 3 {
		return nil, fmt.Errorf("data_shape %v, want three numbers", a.DataShape)
	}
	list := image.CreateAugmenter(image.AugmentConfig{
		Size:   image.Size{Width: a.DataShape[2], Height: a.DataShape[1]},
		Resize: a.Resize, RandCrop: a.RandCrop, RandResize: a.RandResize,
		RandMirror: a.RandMirror, Brightness: a.Brightness, Contrast: a.Contrast,
		Saturation: a.Saturation, Hue: a.Hue, PCANoise: a.PCANoise, RandGray: a.RandGray,
		Mean: a.Mean.or(image.ImageNetMean), Std: a.Std.or(image.ImageNetStd), Interp: by})
	var names []string
	for _, a := range list {
		names = append(names, reflect.TypeOf(a).Name())
	}
	if !slices.Equal(names, c.Classes) {
		return nil, fmt.Errorf("augmenters %v, want %v", names, c.Classes)
	}
	return list, nil
}

// function is an image_function as an augmenter.
type function struct{ c *pictureCase }

// Apply implements image.Augmenter.
func (f function) Apply(m image.Picture, r *rand.Rand) (image.Picture, error) {
	a := &f.c.Args
	by, err := interp(a.Interp)
	if err != nil {
		return nil, err
	}
	var size image.Size
	if len(a.Size) > 0 {
		if size, err = a.Size.size(); err != nil {
			return nil, err
		}
	}
	switch f.c.Function {
	case "fixed_crop":
		// MXNet cuts a rectangle that exceeds the picture at its edge.
		h, w, _ := m.Bounds()
		at := image.Rect{X: a.X0, Y: a.Y0, Width: min(a.W, w-a.X0), Height: min(a.H, h-a.Y0)}
		return image.FixedCrop(m, at, size, by, r), nil
	case "center_crop":
		m, _ = image.CenterCrop(m, size, by, r)
		return m, nil
	case "resize_short":
		return image.ResizeShort(m, size.Width, by, r), nil
	case "imresize":
		return image.ResizeTo(m, image.Size{Width: a.W, Height: a.H}, by, r), nil
	case "color_normalize":
		return image.ColorNormalizeAug{Mean: a.Mean.or(image.ImageNetMean),
			Std: a.Std.or(image.ImageNetStd)}.Apply(m, r)
	case "copyMakeBorder":
		b := image.Border{Top: a.Top, Bottom: a.Bot, Left: a.Left, Right: a.Right,
			Extension: image.Extension(a.Type), Values: a.Values}
		if len(a.Values) == 0 {
			b.Values = []float64{a.Value, a.Value, a.Value}
		}
		return image.AddBorder(m, b)
	}
	return nil, missing("function %s", f.c.Function)
}
