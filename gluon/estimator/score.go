package estimator

import (
	"context"
	"errors"
	"fmt"

	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/training"
)

// Score measures a network in inference on an epoch of a loader, on the first of its devices. The
// metric begins anew. The mean of the losses is a score too, unless criterion is nil. Of the options
// Inputs and LossOf count.
//
// MXNet: gluon.contrib.estimator.Estimator.evaluate.
func Score(ctx context.Context, net *gluon.Net, criterion Loss, loader *data.Loader,
	m metric.Metric, opts ...Option) (training.Scores, error) {
	if net == nil || loader == nil || m == nil {
		return nil, errors.New("estimator: Score: the network, the loader or the metric is nil")
	}
	c := config{loss: lossConfig{inputs: 1}}
	for _, o := range opts {
		o(&c)
	}
	if c.misuse != "" {
		return nil, errors.New("estimator: Score: " + c.misuse)
	}
	return c.loss.score(ctx, net, criterion, loader, m)
}

// score is Score.
func (c *lossConfig) score(ctx context.Context, net *gluon.Net, criterion Loss,
	loader *data.Loader, m metric.Metric) (training.Scores, error) {
	devices := net.Params().Devices()
	losses := criterion != nil || c.of != nil
	all := newMeasures(m)
	all.Reset()
	n := 0
	for b, err := range loader.Batches(ctx) {
		if err == nil {
			err = recovering(func() error { return c.measure(net, criterion, b, devices, all) })
		}
		if err != nil {
			return nil, fmt.Errorf("estimator: Score: batch %d: %w", n, err)
		}
		n++
	}
	if !losses {
		return training.ScoresOf(m.Value()), nil
	}
	return training.ScoresOf(all.Value()), nil
}

// measure adds a batch to measures.
func (c *lossConfig) measure(net *gluon.Net, criterion Loss, b *data.Batch,
	devices []device.Device, all *measures) error {
	if err := c.check(b); err != nil {
		return err
	}
	var p piece
	for k, part := range b.Parts {
		a := part[0]
		if len(devices) > 0 {
			a = on(a, devices[0])
		}
		p.add(a, k < c.inputs)
	}
	outs := net.Call(p.in...)
	var losses []*nd.Array
	if criterion != nil || c.of != nil {
		l, err := c.compute(criterion, outs, p.labels)
		if err != nil {
			return err
		}
		losses = []*nd.Array{l}
	}
	return all.update(p.labels, outs, losses)
}
