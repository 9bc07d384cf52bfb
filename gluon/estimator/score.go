package estimator

import (
	"context"
	"errors"
	"fmt"

	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/training"
)

// Score measures a network in inference on an epoch of a loader, on the first of its devices. The
// metric begins anew. The mean of the losses is a score too, unless criterion is nil.
//
// MXNet: gluon.contrib.estimator.Estimator.evaluate.
func Score(ctx context.Context, net *gluon.Net, criterion Loss, loader *data.Loader,
	m metric.Metric) (training.Scores, error) {
	if net == nil || loader == nil || m == nil {
		return nil, errors.New("estimator: Score: the network, the loader or the metric is nil")
	}
	devices := net.Params().Devices()
	all := newMeasures(m)
	all.Reset()
	n := 0
	for b, err := range loader.Batches(ctx) {
		if err == nil && (b.Data == nil || b.Label == nil) {
			err = fmt.Errorf("the samples have %d parts, want one array of data and one of labels",
				len(b.Parts))
		}
		if err == nil {
			err = recovering(func() error {
				x, label := b.Data, b.Label
				if len(devices) > 0 {
					x, label = on(x, devices[0]), on(label, devices[0])
				}
				y := net.Forward(x)
				var losses []*nd.Array
				if criterion != nil {
					losses = []*nd.Array{criterion.Forward(y, label)}
				}
				return all.update([]*nd.Array{label}, []*nd.Array{y}, losses)
			})
		}
		if err != nil {
			return nil, fmt.Errorf("estimator: Score: batch %d: %w", n, err)
		}
		n++
	}
	if criterion == nil {
		return training.ScoresOf(m.Value()), nil
	}
	return training.ScoresOf(all.Value()), nil
}
