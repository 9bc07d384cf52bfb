package data_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/gluon/data"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// combine makes the batch of some tensors.
func combine(f data.Batchify, tensors ...data.Tensor) ([]*nd.Array, error) {
	var samples []data.Sample
	for _, t := range tensors {
		samples = append(samples, data.Sample{t})
	}
	l := data.NewLoader(data.FromSlice(samples), len(samples), data.Group(f), data.Workers(0))
	for b, err := range l.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		return b.Parts[0], nil
	}
	return nil, fmt.Errorf("no batch")
}

func TestBatchify(t *testing.T) {
	a, b := data.Values([]float32{1, 2, 3, 4}, 2, 2), data.Values([]float32{5, 6, 7}, 1, 3)
	none := data.Values([]float32{}, 0, 3)
	for name, c := range map[string]struct {
		f      data.Batchify
		in     []data.Tensor
		shapes []nd.Shape
		want   []float32
	}{
		"stack": {data.Stack{}, []data.Tensor{a, a}, []nd.Shape{{2, 2, 2}},
			[]float32{1, 2, 3, 4, 1, 2, 3, 4}},
		"scalars": {data.Stack{}, []data.Tensor{data.Scalar(uint8(3)), data.Scalar(uint8(200))},
			[]nd.Shape{{2}}, []float32{3, 200}},
		"empty": {data.Stack{}, []data.Tensor{none, none}, []nd.Shape{{2, 0, 3}}, nil},
		"pad": {data.Pad{Value: -1}, []data.Tensor{a, b, none}, []nd.Shape{{3, 2, 3}},
			[]float32{1, 2, -1, 3, 4, -1, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
		"pad to 4": {data.Pad{RoundTo: 4}, []data.Tensor{data.Values([]int64{1, 2, 3, 4, 5}),
			data.Values([]int64{6})}, []nd.Shape{{2, 8}},
			[]float32{1, 2, 3, 4, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
		"append": {data.Append{}, []data.Tensor{a, b}, []nd.Shape{{1, 2, 2}, {1, 1, 3}},
			[]float32{1, 2, 3, 4, 5, 6, 7}},
		"append flat": {data.Append{Flat: true}, []data.Tensor{a, b, data.Scalar(float32(8))},
			[]nd.Shape{{2, 2}, {1, 3}, {1}}, []float32{1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		got, err := combine(c.f, c.in...)
		if err != nil || len(got) != len(c.shapes) {
			t.Errorf("%s: %v, %v, want shapes %v", name, got, err, c.shapes)
			continue
		}
		var values []float32
		for i, a := range got {
			if !a.Shape().Equal(c.shapes[i]) || a.DType() != c.in[i].DType {
				t.Errorf("%s: array %d is %v of shape %v, want %v", name, i, a.DType(), a.Shape(),
					c.shapes[i])
			}
			values = append(values, nettest.Values(t, a)...)
		}
		if !slices.Equal(values, c.want) {
			t.Errorf("%s: got %v, want %v", name, values, c.want)
		}
	}
	for want, in := range map[string][]data.Tensor{
		"tensor 1 is float32 with 1 axes": {a, data.Values([]float32{1})},
		"tensor 1 is int8 with 2 axes":    {a, data.Values([]int8{1}, 1, 1)},
		"too large": {{DType: dtype.Float32, Shape: nd.Shape{0, 1 << 40}},
			{DType: dtype.Float32, Shape: nd.Shape{1 << 40, 0}}},
	} {
		if _, err := combine(data.Pad{}, in...); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestShapesChange gives one loader batches of different sizes, types and numbers of arrays.
func TestShapesChange(t *testing.T) {
	var samples []data.Sample
	for i := range 60 {
		n := (i*i)%7000 + 1
		list := slices.Repeat([]float32{float32(i)}, n)
		s := data.Sample{data.Values(list), data.Values(list, 1, n)}
		if i >= 30 {
			wide := slices.Repeat([]float64{float64(i)}, n)
			s = data.Sample{data.Values(wide), data.Values(wide, 1, n)}
		}
		samples = append(samples, s)
	}
	l := data.NewLoader(data.FromSlice(samples), 3, data.Hold(0), data.On(device.CPU()),
		data.Group(data.Pad{Value: math.Inf(1)}, data.Append{Flat: true}))
	for b, err := range l.Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		rows := b.Data.Shape()[1]
		v := nettest.Values(t, b.Data)
		for k, i := range b.Index {
			n := samples[i][0].Len()
			row := v[k*rows : (k+1)*rows]
			one := nettest.Values(t, b.Parts[1][k])
			if row[0] != float32(i) || row[n-1] != float32(i) || len(one) != n ||
				one[n-1] != float32(i) || n < rows && !math.IsInf(float64(row[n]), 1) {
				t.Fatalf("sample %d of %d elements: wrong values in a batch of shape %v", i, n,
					b.Data.Shape())
			}
		}
	}
}

// TestTypesChange gives one loader batches of one shape and of two types by turns.
func TestTypesChange(t *testing.T) {
	var samples []data.Sample
	for i := range 12 {
		samples = append(samples, data.Sample{data.Scalar(float32(i))})
		if i%2 == 1 {
			samples[i] = data.Sample{data.Scalar(int64(i))}
		}
	}
	l := data.NewLoader(data.FromSlice(samples), 1, data.Hold(0), data.Prefetch(1))
	for b, err := range l.Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		i := b.Index[0]
		if v := nettest.Values(t, b.Data); b.Data.DType() != samples[i][0].DType ||
			v[0] != float32(i) {
			t.Errorf("sample %d is %v of %v, want %v", i, v, b.Data.DType(), samples[i][0].DType)
		}
	}
}

// FuzzPad compares padded batches of ragged samples with a copy element by element.
func FuzzPad(f *testing.F) {
	f.Add([]byte{2, 3, 2, 1, 4, 0}, uint8(0), uint8(0))
	f.Add([]byte{1, 1, 9, 9, 0, 0}, uint8(4), uint8(3))
	f.Add([]byte{7, 200, 30, 255, 60, 90}, uint8(1), uint8(1))
	types := []dtype.Type{dtype.Float32, dtype.Uint8, dtype.Int16, dtype.Int64, dtype.Float64}
	f.Fuzz(func(t *testing.T, extents []byte, kind, round uint8) {
		typ := types[int(kind)%len(types)]
		var in []data.Tensor
		most := nd.Shape{0, 0}
		for i := 0; i+1 < min(len(extents), 20); i += 2 {
			shape := nd.Shape{int(extents[i]), int(extents[i+1])}
			bytes := make([]byte, shape.Size()*typ.Size())
			for k := range bytes {
				bytes[k] = byte(i*31 + k*7)
			}
			in = append(in, data.Tensor{DType: typ, Shape: shape, Bytes: bytes})
			most = nd.Shape{max(most[0], shape[0]), max(most[1], shape[1])}
		}
		if len(in) == 0 {
			return
		}
		if r := int(round); r > 1 {
			most = nd.Shape{(most[0] + r - 1) / r * r, (most[1] + r - 1) / r * r}
		}
		got, err := combine(data.Pad{Value: 3, RoundTo: int(round)}, in...)
		if err != nil {
			t.Fatal(err)
		}
		whole := append(nd.Shape{len(in)}, most...)
		if !got[0].Shape().Equal(whole) {
			t.Fatalf("shape %v, want %v", got[0].Shape(), whole)
		}
		bytes := make([]byte, got[0].Bytes())
		if err := got[0].ReadBytes(ctx, bytes); err != nil {
			t.Fatal(err)
		}
		size := typ.Size()
		fill := make([]byte, 8)
		switch typ {
		case dtype.Float32:
			binary.LittleEndian.PutUint32(fill, math.Float32bits(3))
		case dtype.Float64:
			binary.LittleEndian.PutUint64(fill, math.Float64bits(3))
		default:
			fill[0] = 3
		}
		for at := 0; at < len(bytes); at += size {
			k := at / size
			n, i, j := k/(most[0]*most[1]), k/most[1]%most[0], k%most[1]
			want := fill[:size]
			if s := in[n]; i < s.Shape[0] && j < s.Shape[1] {
				want = s.Bytes[(i*s.Shape[1]+j)*size:][:size]
			}
			if !slices.Equal(bytes[at:at+size], want) {
				t.Fatalf("sample %d at (%d, %d): got %v, want %v", n, i, j, bytes[at:at+size], want)
			}
		}
	})
}
