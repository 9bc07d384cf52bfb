package quantize

import (
	"context"
	"errors"
	"math"
	"slices"

	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
)

// limitLoss leaves layers in float32, the greatest errors first, until the outputs are near
// enough to the outputs of the float32 network.
func (p *plan) limitLoss(ctx context.Context) error {
	want, err := p.outputs(ctx, nil)
	if err != nil {
		return err
	}
	if err := p.measure(ctx, want); err != nil {
		return err
	}
	order := make([]int, len(p.layers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := p.report[a].Error, p.report[b].Error; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, i := range order {
		got, err := p.outputs(ctx, p.now)
		if err != nil {
			return err
		}
		if distance(got, want) <= p.MaxLoss {
			return nil
		}
		if d := &p.report[i]; d.Quantized {
			d.Quantized, d.DType, d.Reason = false, "", "excluded by its error"
			p.now[p.layers[i].node] = false
		}
	}
	return nil
}

// measure finds the error that each layer alone causes.
func (p *plan) measure(ctx context.Context, want [][]float32) error {
	for i, l := range p.layers {
		if !p.usable[l.node] {
			continue
		}
		got, err := p.outputs(ctx, map[*op.Node]bool{l.node: true})
		if err != nil {
			return err
		}
		p.report[i].Error = distance(got, want)
	}
	return nil
}

// outputs returns the outputs for the first batch where some layers are quantized.
func (p *plan) outputs(ctx context.Context, quantized map[*op.Node]bool) ([][]float32, error) {
	outs, args := p.outs, p.args
	if len(quantized) > 0 {
		outs, args = p.graph(quantized)
	}
	r, err := p.bind(outs, args)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var list [][]float32
	err = p.first(ctx, func(b *dataio.Batch) error {
		outs, err := r.on(b)
		if err != nil {
			return err
		}
		list, err = values(outs)
		return err
	})
	return list, err
}

// first calls f with the first batch.
func (p *plan) first(ctx context.Context, f func(b *dataio.Batch) error) error {
	if err := p.data.Reset(); err != nil {
		return err
	}
	b, err := p.data.Next(ctx)
	if err != nil {
		return errors.Join(errors.New("quantize: no batch to measure with"), err)
	}
	return f(b)
}

func values(arrays []*nd.Array) (list [][]float32, err error) {
	for _, a := range arrays {
		v, err := a.Float32s()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// distance is the norm of the difference of got and want, divided by the norm of want.
func distance(got, want [][]float32) float64 {
	d, n := 0.0, 0.0
	for i := range want {
		for k, w := range want[i] {
			v := float64(got[i][k]) - float64(w)
			d, n = d+v*v, n+float64(w)*float64(w)
		}
	}
	if d == 0 {
		return 0
	}
	return math.Sqrt(d / n)
}
