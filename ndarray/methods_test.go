package ndarray_test

import (
	"reflect"
	"strings"
	"testing"

	nd "gomx/ndarray"
)

// mxnetMethods are the methods and properties of MXNet 1.9.1's NDArray. Behind a colon stands the
// name of the method here where it is not the CamelCase form; behind a dash, why there is none.
const mxnetMethods = `T abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort
as_in_context:To astype:AsType asnumpy:Float32s asscalar:Item attach_grad backward broadcast_axes:BroadcastAxis
broadcast_like broadcast_to cbrt ceil clip context:Device copy copyto:CopyInto cos cosh ctx:Device degrees
depth_to_space detach diag dtype:DType exp expand_dims expm1 fix flatten flip floor grad log log10 log1p log2
log_softmax max mean min nanprod:NanProd nansum:NanSum ndim:Rank norm one_hot ones_like pad pick prod radians rcbrt
reciprocal relu repeat reshape reshape_like rint round rsqrt shape shape_array sigmoid sign sin sinh size size_array
slice_axis slice_like softmax softmin sort space_to_depth split split_v2:SplitAt sqrt square squeeze sum
slice:Index slice_assign:SetIndex slice_assign_scalar:SetIndex swapaxes:SwapAxes take tan tanh tile topk:TopK
transpose trunc wait_to_read:Wait zeros_like
as_nd_ndarray-one_kind_of_array as_np_ndarray-one_kind_of_array handle-an_address_of_MXNet's_library
stype-arrays_are_dense tostype-arrays_are_dense to_dlpack_for_read-memory_is_shared_by_Pointer
to_dlpack_for_write-memory_is_shared_by_Pointer writable-all_arrays_are`

func TestMXNetsMethods(t *testing.T) {
	typ := reflect.TypeFor[*nd.Array]()
	count := 0
	for word := range strings.FieldsSeq(mxnetMethods) {
		if name, reason, missing := strings.Cut(word, "-"); missing {
			if reason == "" {
				t.Errorf("%s: no reason", name)
			}
			continue
		}
		name, method, other := strings.Cut(word, ":")
		if !other {
			for part := range strings.SplitSeq(name, "_") {
				method += strings.ToUpper(part[:1]) + part[1:]
			}
			method = strings.NewReplacer("Argm", "ArgM", "Args", "ArgS").Replace(method)
		}
		if _, ok := typ.MethodByName(method); !ok {
			t.Errorf("%s: there is no method %s", name, method)
		}
		count++
	}
	if count < 100 {
		t.Errorf("%d methods, want those of MXNet", count)
	}
}

func TestSelectingMethods(t *testing.T) {
	x := nd.FromSlice([]float32{3, 1, 2, 4, 6, 5}, 2, 3)
	i := nd.FromSlice([]float32{2, 0})
	parts := x.Split(3, 1)
	at := x.SplitAt(1, 2)
	for _, c := range []struct {
		name  string
		a     *nd.Array
		shape nd.Shape
		want  []float32
	}{
		{"argmax", x.ArgMax(1), nd.Shape{2}, []float32{0, 1}},
		{"argmin", x.ArgMin(-1), nd.Shape{2}, []float32{1, 0}},
		{"argmax_channel", x.ArgMaxChannel(), nd.Shape{2}, []float32{0, 1}},
		{"sort", x.Sort(-1), nd.Shape{2, 3}, []float32{1, 2, 3, 4, 5, 6}},
		{"argsort", x.ArgSort(1), nd.Shape{2, 3}, []float32{1, 2, 0, 0, 2, 1}},
		{"topk", x.TopK(2, 1), nd.Shape{2, 2}, []float32{0, 2, 1, 2}},
		{"one_hot", i.OneHot(3), nd.Shape{2, 3}, []float32{0, 0, 1, 1, 0, 0}},
		{"pick", x.Pick(i, 1), nd.Shape{2}, []float32{2, 4}},
		{"take", x.Take(i, 1), nd.Shape{2, 2}, []float32{2, 3, 5, 4}},
		{"slice_axis", x.SliceAxis(1, 1, -1), nd.Shape{2, 1}, []float32{1, 6}},
		{"slice_like", x.SliceLike(nd.Ones(nd.Shape{1, 2})), nd.Shape{1, 2}, []float32{3, 1}},
		{"slice_like axis", x.SliceLike(nd.Ones(nd.Shape{1, 2}), 1), nd.Shape{2, 2},
			[]float32{3, 1, 4, 6}},
		{"split", parts[2], nd.Shape{2, 1}, []float32{2, 5}},
		{"split_v2", at[1], nd.Shape{2, 1}, []float32{2, 5}},
		{"diag", x.Diag(1), nd.Shape{2}, []float32{1, 5}},
	} {
		check(t, c.name, c.a, c.shape, c.want)
	}
	if len(parts) != 3 || len(at) != 2 {
		t.Errorf("%d and %d parts, want 3 and 2", len(parts), len(at))
	}
}

func TestRearrangingMethods(t *testing.T) {
	x := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	column := nd.FromSlice([]float32{1, 2}, 2, 1)
	wide := nd.Zeros(nd.Shape{2, 3})
	four := x.Reshape(1, 4, 1, 1)
	for _, c := range []struct {
		name  string
		a     *nd.Array
		shape nd.Shape
		want  []float32
	}{
		{"tile", x.Tile(1, 2), nd.Shape{2, 4}, []float32{1, 2, 1, 2, 3, 4, 3, 4}},
		{"repeat", x.Repeat(2, 1), nd.Shape{2, 4}, []float32{1, 1, 2, 2, 3, 3, 4, 4}},
		{"swapaxes", x.SwapAxes(0, 1), nd.Shape{2, 2}, []float32{1, 3, 2, 4}},
		{"flip", x.Flip(1), nd.Shape{2, 2}, []float32{2, 1, 4, 3}},
		{"pad", x.Reshape(1, 1, 2, 2).Pad("constant", 9, 0, 0, 0, 0, 0, 0, 1, 0),
			nd.Shape{1, 1, 2, 3}, []float32{9, 1, 2, 9, 3, 4}},
		{"squeeze", column.Squeeze(), nd.Shape{2}, []float32{1, 2}},
		{"broadcast_to", column.BroadcastTo(2, 3), wide.Shape(), []float32{1, 1, 1, 2, 2, 2}},
		{"broadcast_like", column.BroadcastLike(wide), wide.Shape(), []float32{1, 1, 1, 2, 2, 2}},
		{"broadcast_axes", column.BroadcastAxis(1, 2), nd.Shape{2, 2}, []float32{1, 1, 2, 2}},
		{"reshape_like", x.ReshapeLike(nd.Zeros(nd.Shape{4})), nd.Shape{4}, []float32{1, 2, 3, 4}},
		{"depth_to_space", four.DepthToSpace(2), nd.Shape{1, 1, 2, 2}, []float32{1, 2, 3, 4}},
		{"space_to_depth", x.Reshape(1, 1, 2, 2).SpaceToDepth(2), four.Shape(),
			[]float32{1, 2, 3, 4}},
		{"zeros_like", x.ZerosLike(), nd.Shape{2, 2}, []float32{0, 0, 0, 0}},
		{"ones_like", x.OnesLike(), nd.Shape{2, 2}, []float32{1, 1, 1, 1}},
		{"shape_array", wide.ShapeArray(), nd.Shape{2}, []float32{2, 3}},
		{"size_array", wide.SizeArray(), nd.Shape{1}, []float32{6}},
		{"prod", x.Prod(1), nd.Shape{2}, []float32{2, 12}},
		{"norm", nd.FromSlice([]float32{3, 4}).Norm(), nd.Shape{1}, []float32{5}},
		{"round", nd.FromSlice([]float32{-1.5, 2.4}).Round(), nd.Shape{2}, []float32{-2, 2}},
		{"rint", nd.FromSlice([]float32{1.5, 2.6}).Rint(), nd.Shape{2}, []float32{1, 3}},
		{"softmin", nd.Zeros(nd.Shape{2}).Softmin(), nd.Shape{2}, []float32{0.5, 0.5}},
	} {
		check(t, c.name, c.a, c.shape, c.want)
	}
	if x.Rank() != 2 {
		t.Errorf("rank %d, want 2", x.Rank())
	}
}

func check(t *testing.T, name string, a *nd.Array, shape nd.Shape, want []float32) {
	t.Helper()
	got, err := a.AsType(0).Float32s()
	if err != nil || !a.Shape().Equal(shape) || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v %v, %v, want %v %v", name, a.Shape(), got, err, shape, want)
	}
}
