//go:build cuda

package cuda

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gomx/dtype"
)

// The lists of element types for which families of kernels exist.
var (
	floats  = []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}
	numbers = slices.Concat(floats, []dtype.Type{dtype.Uint8, dtype.Int8, dtype.Int32, dtype.Int64})
	all     = append(slices.Clone(numbers), dtype.Bool)
	untyped = []dtype.Type{dtype.Unknown}
)

// types lists the element types of each family; kernels/<family>.cu is its file.
var types = map[string][]dtype.Type{
	"pointwise": all,
	"copy":      untyped,
	"fill":      untyped,
	"reduce":    numbers,
	"softmax":   floats,
	"product":   numbers,
	"conv":      floats,
	"pool":      floats,
	"norm":      floats,
	"random":    floats,
	"update":    floats,
	"loss":      floats,
	"index":     untyped,
	"rows":      floats,
	"local":     floats,
	"cells":     floats,
	"trust":     untyped,
	"order":     untyped,
	"sample":    floats,
	"boxes":     floats,
	"image":     untyped,
	"linalg":    untyped,
	"draw":      untyped,
	"tensor":    untyped,
	"ctc":       untyped,
	"attention": floats,
}

// Serves reports whether a family of kernels exists for an element type.
func Serves(family string, t dtype.Type) bool { return slices.Contains(types[family], t) }

// Units lists all files of kernels/, each for all its element types.
func Units() ([]Unit, error) {
	files, err := kernelFiles.ReadDir("kernels")
	if err != nil {
		return nil, err
	}
	var list []Unit
	for _, f := range files {
		family, ok := strings.CutSuffix(path.Base(f.Name()), ".cu")
		if !ok {
			continue
		}
		if len(types[family]) == 0 {
			return nil, fmt.Errorf("cuda: kernels/%s.cu has no entry in the table of element types",
				family)
		}
		for _, t := range types[family] {
			list = append(list, Unit{Family: family, DType: t})
		}
	}
	return list, nil
}

// CompilerVersion returns the version of NVRTC, or an error that lists the files that were tried.
func CompilerVersion() (string, error) {
	c, err := theCompiler()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d", c.major, c.minor), nil
}
