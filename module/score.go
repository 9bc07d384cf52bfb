package module

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gomx/dtype"
	dataio "gomx/io"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/training"
)

// Score measures the module on an epoch of an iterator. Samples that only fill up the last batch
// are not counted. An unbound module is bound for inference.
func (m *Module) Score(ctx context.Context, it dataio.Iter, mt metric.Metric) (Scores, error) {
	if err := m.checkCall(ctx, "Score", it, "data"); err != nil {
		return nil, err
	}
	if isNil(mt) {
		return nil, errors.New("module: Score: the metric is nil")
	}
	mt.Reset()
	err := m.infer(ctx, it, func(b *dataio.Batch) (err error) {
		defer op.Recover(&err)
		if m.pipe != nil && !m.pipe.scores(m.net.symbol) {
			return nil
		}
		labels, outs := b.Label, m.Outputs()
		if b.Pad > 0 {
			n := it.BatchSize()
			labels, outs = head(labels, n, b.Pad), head(outs, n, b.Pad)
			defer closeAll(labels)
			defer closeAll(outs)
		}
		return mt.Update(labels, outs)
	})
	if err != nil {
		return nil, fmt.Errorf("module: score: %w", err)
	}
	return training.ScoresOf(mt.Value()), nil
}

// infer runs forward over an epoch and calls f after each batch.
func (m *Module) infer(ctx context.Context, it dataio.Iter, f func(b *dataio.Batch) error) error {
	if err := m.Bind(it.ProvideData(), it.ProvideLabel(), ForInference()); err != nil {
		return err
	}
	if !m.net.inited && m.net.given == nil {
		return errors.New("the parameters have no values: train the module or set them first")
	}
	if err := m.InitParams(nil); err != nil {
		return err
	}
	if err := it.Reset(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
		b, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.forward(ctx, b, false); err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
		if err := f(b); err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
	}
}

// head returns views of the samples that are not padding. Arrays with several rows per sample keep
// them together.
func head(list []*nd.Array, batch, pad int) []*nd.Array {
	short := make([]*nd.Array, len(list))
	for i, a := range list {
		rows := 0
		if len(a.Shape()) > 0 && batch > 0 && a.Shape()[0]%batch == 0 {
			rows = a.Shape()[0] / batch
		}
		short[i] = a.Slice(0, rows*(batch-pad))
	}
	return short
}

func closeAll(list []*nd.Array) {
	for _, a := range list {
		a.Close()
	}
}

// Predict returns the outputs for all samples of an epoch, without padding, on the processor. An
// unbound module is bound for inference.
func (m *Module) Predict(ctx context.Context, it dataio.Iter) ([]*nd.Array, error) {
	if err := m.checkCall(ctx, "Predict", it, "data"); err != nil {
		return nil, err
	}
	var rows []collected
	err := m.infer(ctx, it, func(b *dataio.Batch) (err error) {
		defer op.Recover(&err)
		outs := m.Outputs()
		if b.Pad > 0 {
			outs = head(outs, it.BatchSize(), b.Pad)
			defer closeAll(outs)
		}
		if rows == nil {
			rows = make([]collected, len(outs))
		}
		for i, a := range outs {
			if err := rows[i].add(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("module: predict: %w", err)
	}
	list := make([]*nd.Array, len(rows))
	for i := range rows {
		if list[i], err = rows[i].array(); err != nil {
			return nil, fmt.Errorf("module: predict: %w", err)
		}
	}
	return list, nil
}

// collected are rows of one output, put behind each other on the host.
type collected struct {
	shape nd.Shape
	typ   dtype.Type
	data  []byte
}

func (c *collected) add(ctx context.Context, a *nd.Array) error {
	at := len(c.data)
	c.data = append(c.data, make([]byte, a.Bytes())...)
	if c.shape == nil {
		c.shape, c.typ = a.Shape().Clone(), a.DType()
	} else {
		c.shape[0] += a.Shape()[0]
	}
	return a.ReadBytes(ctx, c.data[at:])
}

func (c *collected) array() (*nd.Array, error) {
	a := nd.Empty(c.shape, nd.As(c.typ))
	return a, a.WriteBytes(c.data)
}
