package ndarray_test

import (
	"fmt"
	"image"
	"image/color"

	"gonum.org/v1/gonum/mat"

	"gomx/dtype"
	nd "gomx/ndarray"
)

func ExampleArray_Index() {
	x := nd.Arange(0, 12, 1).Reshape(3, 4)
	fmt.Println(x.Index(nd.Int(-1), nd.Range(1, 3)))            // x[-1, 1:3], a view
	fmt.Println(x.Index(nd.Every(-2), nd.From(2)))              // x[::-2, 2:]
	fmt.Println(x.Index(nd.Ellipsis, nd.NewAxis).Shape())       // x[..., None]
	fmt.Println(x.Index(nd.Ints{0, 2}, nd.Ints{1, 3}))          // x[[0, 2], [1, 3]]
	fmt.Println(x.Index(nd.All(), nd.FromSlice([]int32{3, 0}))) // x[:, i]
	// Output:
	// [ 9. 10.]
	// <Array 2 cpu(0)>
	// [[10. 11.]
	//  [ 2.  3.]]
	// <Array 2x2 cpu(0)>
	// (3, 4, 1)
	// [ 1. 11.]
	// <Array 2 cpu(0)>
	// [[ 3.  0.]
	//  [ 7.  4.]
	//  [11.  8.]]
	// <Array 3x2 cpu(0)>
}

func ExampleArray_SetIndex() {
	x := nd.Zeros(nd.Shape{3, 4})
	x.SetIndex(1, nd.Int(0))                                              // x[0] = 1
	x.SetIndex(nd.FromSlice([]float32{2, 3}), nd.From(1), nd.Range(0, 2)) // x[1:, 0:2] = [2, 3]
	// x[[1, 2], [3, -1]] = [8, 9]
	x.SetIndex(nd.FromSlice([]float32{8, 9}), nd.Ints{1, 2}, nd.Ints{3, -1})
	x.SetIndex(-5, nd.Mask(x.Eq(nd.Zeros(nd.Shape{1})))) // x[x == 0] = -5
	fmt.Println(x)
	// Output:
	// [[ 1.  1.  1.  1.]
	//  [ 2.  3. -5.  8.]
	//  [ 2.  3. -5.  9.]]
	// <Array 3x4 cpu(0)>
}

func ExampleMask() {
	x := nd.FromSlice([]float32{3, -1, 4, -1, 5, -9}, 2, 3)
	positive := nd.Mask(x.Gt(nd.Zeros(nd.Shape{1})))
	fmt.Println(x.Index(positive))
	x.SetIndex(0, positive)
	fmt.Println(x)
	// Output:
	// [3. 4. 5.]
	// <Array 3 cpu(0)>
	// [[ 0. -1.  0.]
	//  [-1.  0. -9.]]
	// <Array 2x3 cpu(0)>
}

func ExampleSpan_By() {
	x := nd.FromSlice([]int32{0, 1, 2, 3, 4, 5})
	fmt.Println(x.Index(nd.From(3).By(-1)))
	fmt.Println(x.Index(nd.RangeStep(1, -1, 2)))
	// Output:
	// [3 2 1 0]
	// <Array 4 int32 cpu(0)>
	// [1 3]
	// <Array 2 int32 cpu(0)>
}

func ExampleArray_Rows() {
	x := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	for i, row := range x.Rows() {
		row.MulScalarInPlace(float64(i)) // rows are views
	}
	fmt.Println(x)
	// Output:
	// [[0. 0.]
	//  [3. 4.]]
	// <Array 2x2 cpu(0)>
}

func ExampleFromRows() {
	x := nd.FromRows([][]float64{{1, 2}, {3, 4}})
	rows, err := nd.RowsOf[float64](x.T())
	fmt.Println(rows, err)
	// Output: [[1 3] [2 4]] <nil>
}

func ExampleFromMat() {
	x := nd.FromMat(mat.NewDiagDense(2, []float64{2, 5}))
	fmt.Println(x)
	m, err := x.Dot(x).Mat()
	fmt.Println(mat.Formatted(m), err)
	// Output:
	// [[2. 0.]
	//  [0. 5.]]
	// <Array 2x2 float64 cpu(0)>
	// ⎡ 4   0⎤
	// ⎣ 0  25⎦ <nil>
}

func ExampleFromImage() {
	img := image.NewRGBA(image.Rect(0, 0, 2, 1))
	img.Set(1, 0, color.RGBA{R: 255, G: 128, A: 255})
	x := nd.FromImage(img)
	fmt.Println(x)
	dark, err := x.AsType(dtype.Float32).MulScalar(0.5).Image()
	fmt.Println(dark.At(1, 0), err)
	// Output:
	// [[[  0   0   0]
	//   [255 128   0]]]
	// <Array 1x2x3 uint8 cpu(0)>
	// {128 64 0 255} <nil>
}
