package estimator

import (
	"fmt"

	"gomx/gluon/data"
	nd "gomx/ndarray"
)

// piece is the part of a batch for one device.
type piece struct{ in, labels []*nd.Array }

// add adds an argument of the network, or a label.
func (p *piece) add(a *nd.Array, argument bool) {
	if argument {
		p.in = append(p.in, a)
	} else {
		p.labels = append(p.labels, a)
	}
}

// check reports batches that do not have the arrays of the arguments and the labels.
func (c *lossConfig) check(b *data.Batch) error {
	for k, part := range b.Parts {
		if len(part) != 1 {
			return fmt.Errorf("part %d of the samples has %d arrays, want one", k, len(part))
		}
	}
	labels := 1
	if c.of != nil {
		labels = 0
	}
	if len(b.Parts) < c.inputs+labels {
		return fmt.Errorf("the samples have %d parts, want %d for the network and %d or more labels",
			len(b.Parts), c.inputs, labels)
	}
	return nil
}

// compute returns the losses of a batch.
func (c *lossConfig) compute(criterion Loss, outs, labels []*nd.Array) (*nd.Array, error) {
	if c.of != nil {
		return c.of(outs, labels), nil
	}
	if len(outs) != len(labels) {
		return nil, fmt.Errorf("the network has %d outputs, the samples have %d labels: say how "+
			"losses follow from them by LossOf", len(outs), len(labels))
	}
	sum := criterion.Forward(outs[0], labels[0])
	for i, y := range outs[1:] {
		sum = sum.Add(criterion.Forward(y, labels[1+i]))
	}
	return sum, nil
}
