package module

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"time"

	"gomx/checkpoint"
	dataio "gomx/io"
	"gomx/kvstore/compress"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/trainer"
)

// Resume makes Fit begin, or go on exactly where the last run with the same prefix was cut: a
// process that is killed at any instant and started again ends with the parameters and the history
// of one that was not, bit for bit on processors of one kind. The program says the same things as
// before; Epochs may be more.
//
// The file prefix.resume holds everything that the next step depends on: parameters, the
// optimizer's states and counts, epoch and batch, random streams, the places of the iterators, loss
// scale and history. It is written at the end of epochs, after their callbacks, and with
// EveryBatches in between; batches trained after the last writing are trained again, and their
// callbacks run again. Where there is no Checkpoint, Resume writes checkpoints too, with the
// options given here. A finished run trains nothing more and has its parameters and its history.
// Remove the file to begin anew.
//
// Iterators are io.Stateful or have a method SetEpoch. In the jobs of several processes the servers
// have the parameters: there Snapshots takes the place of Resume.
func Resume(prefix string, opts ...CheckpointOption) FitOption {
	return func(c *fitConfig) {
		c.resume = checkpointConfig{prefix: prefix, every: 1}
		for _, o := range opts {
			o(&c.resume)
		}
	}
}

// EveryBatches lets Resume save its place after every n batches too, not only at the end of epochs.
func EveryBatches(n int) CheckpointOption { return func(c *checkpointConfig) { c.batches = n } }

// place is where Fit is in its first epoch, when it goes on in the middle of one.
type place struct {
	next    int // batch of the epoch
	samples int // of the batches before
	batches int
	time    time.Duration // that they took
	within  bool          // the epoch has begun
}

// settleResume completes the configuration and reports combinations that cannot be resumed.
func (f *fitting) settleResume() error {
	c := &f.config
	if c.resume.prefix == "" {
		if c.checkpoint.batches != 0 {
			return errors.New("module: Fit: EveryBatches without Resume, which it belongs to")
		}
		return nil
	}
	if c.checkpoint.prefix == "" {
		c.checkpoint = c.resume
	} else if c.checkpoint.batches != 0 {
		c.resume.batches = c.checkpoint.batches
	}
	c.resume.every = c.checkpoint.every
	switch {
	case c.resume.batches < 0:
		return fmt.Errorf("module: Fit: EveryBatches(%d), want 0 or more", c.resume.batches)
	case c.kind.Job:
		return fmt.Errorf("module: Fit: Resume with the store %s, whose servers have the "+
			"parameters: use module.Snapshots and gomx launch --snapshots, --resume", c.store)
	case c.kv != nil:
		return errors.New("module: Fit: Resume with StoreWith: the store has the optimizer's " +
			"states; use Store, or module.Snapshots in a job")
	case c.compression.Kind != compress.None && len(f.m.config.places()) > 1:
		return errors.New("module: Fit: Resume with Compress over several devices: what " +
			"compression leaves for later batches is not saved")
	}
	for what, it := range map[string]dataio.Iter{"training": f.train, "validation": c.validate} {
		if it == nil {
			continue
		}
		if _, err := iterState(it); err != nil {
			return fmt.Errorf("module: Fit: Resume: %s data: %w", what, err)
		}
	}
	if c.resume.batches > 0 {
		if _, err := metricState(c.metric); err != nil {
			return fmt.Errorf("module: Fit: EveryBatches(%d): %w", c.resume.batches, err)
		}
	}
	return nil
}

// iterState returns the state of an iterator, nil for one that only has SetEpoch.
func iterState(it dataio.Iter) ([]byte, error) {
	if s, ok := it.(dataio.Stateful); ok {
		return s.State()
	}
	if _, ok := it.(interface{ SetEpoch(int) }); ok {
		return nil, nil
	}
	return nil, fmt.Errorf("%T cannot say its state: it needs the methods of io.Stateful, or "+
		"SetEpoch", it)
}

// setIterState takes an iterator to a state, or to the beginning of an epoch and some batches on.
func setIterState(ctx context.Context, it dataio.Iter, state []byte, epoch, batch int) error {
	if s, ok := it.(dataio.Stateful); ok {
		return s.SetState(state)
	}
	s, ok := it.(interface{ SetEpoch(int) })
	if !ok {
		return fmt.Errorf("%T cannot be given a state", it)
	}
	s.SetEpoch(epoch)
	if err := it.Reset(); err != nil || batch == 0 {
		return err
	}
	return dataio.Skip(ctx, it, batch)
}

// metricState returns the state of a metric.
func metricState(m metric.Metric) ([]byte, error) {
	s, ok := m.(metric.Stateful)
	if !ok {
		return nil, fmt.Errorf("the metric %T cannot say its state: it needs the methods of "+
			"metric.Stateful", m)
	}
	return s.State()
}

// keepPlace saves where the run is, if that is due: before a batch of an epoch.
func (f *fitting) keepPlace(epoch, batch int, at place) error {
	r := &f.config.resume
	if r.prefix == "" {
		return nil
	}
	if batch == 0 && epoch%r.every != 0 && epoch != f.config.epochs {
		return nil
	}
	if err := f.log.Record.Flush(); err != nil {
		return fmt.Errorf("module: Record: %w", err)
	}
	rec, err := f.record(epoch, batch, at)
	if err == nil {
		rec.Train, err = iterState(f.train)
	}
	if err != nil {
		return fmt.Errorf("module: Resume: %w", err)
	}
	if err := trainer.WriteRun(checkpoint.RunPath(r.prefix), rec, append(f.m.net.arrays(),
		f.m.trainer.Arrays()...)); err != nil {
		return fmt.Errorf("module: Resume: %w", err)
	}
	return nil
}

// record describes the run.
func (f *fitting) record(epoch, batch int, at place) (rec *runRecord, err error) {
	c, m := &f.config, f.m
	rec = &runRecord{Epoch: epoch, Batch: batch, Drifted: m.net.drifted, Samples: at.samples, Batches: at.batches, Time: at.time, Checkpoints: f.saved,
		Scored: f.scored, History: m.history}
	if c.validate != nil {
		if rec.Validation, err = iterState(c.validate); err != nil && c.resume.prefix != "" {
			return nil, err
		}
	}
	if batch > 0 {
		if rec.Metric, err = metricState(c.metric); err != nil {
			return nil, err
		}
	}
	rec.Identity, rec.Steps = f.identity(), m.replicas.stream.steps
	m.trainer.Describe(&rec.Run)
	return rec, nil
}

// auxKey is the name of an auxiliary state in the file of a run.
func auxKey(device int, name string) string { return fmt.Sprintf("aux:%d:%s", device, name) }

// identity says which run this is: a file of another one cannot be gone on from.
func (f *fitting) identity() []trainer.Identity {
	m := f.m
	network := "unknown"
	if text, err := m.net.symbol.JSON(); err == nil {
		network = fmt.Sprintf("%d parameters, checksum %08x", len(m.net.params),
			crc32.ChecksumIEEE(text))
	}
	list := []trainer.Identity{{Name: "network", Value: network}, m.trainer.OptimizerIdentity(),
		{Name: "seed", Value: fmt.Sprint(m.config.seed)},
		{Name: "number of devices", Value: fmt.Sprint(len(m.config.places()))},
		{Name: "precision", Value: m.config.precision.String()},
		{Name: "validation", Value: fmt.Sprint(f.config.validate != nil)}}
	if p, ok := m.config.narrow().Get(); ok {
		list = append(list, trainer.Identity{Name: "products in bfloat16", Value: p.String()})
	}
	return list
}

// takeUp goes on from the file of the run, if there is one.
func (f *fitting) takeUp(ctx context.Context) error {
	r := &f.config.resume
	if r.prefix == "" {
		return nil
	}
	err := trainer.ReadRun(checkpoint.RunPath(r.prefix),
		func(text []byte, arrays map[string]*nd.Array) error { return f.restore(ctx, text, arrays) })
	if err != nil {
		return fmt.Errorf("module: Resume: %w", err)
	}
	return nil
}

// restore takes over all of a run.
func (f *fitting) restore(ctx context.Context, text []byte, arrays map[string]*nd.Array) error {
	m := f.m
	rec, err := parseRun(text)
	if err != nil {
		return err
	}
	if err := trainer.SameRun(rec.Identity, f.identity()); err != nil {
		return err
	}
	if len(rec.Params) != len(m.net.params) {
		return fmt.Errorf("it has %d parameters, the network %d", len(rec.Params),
			len(m.net.params))
	}
	if err := m.net.setArrays(arrays); err != nil {
		return err
	}
	if err := m.InitOptimizer(m.trainer.Updater().Optimizer()); err != nil {
		return err
	}
	if err := m.trainer.Restore(&rec.Run, arrays); err != nil {
		return err
	}
	if m.buckets != nil {
		if m.buckets.kept, err = checkpoint.LoadBuckets(f.config.checkpoint.prefix); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.restorePlace(ctx, rec)
}

// restorePlace takes over all of a run but its arrays.
func (f *fitting) restorePlace(ctx context.Context, rec *runRecord) error {
	c, m := &f.config, f.m
	if err := setIterState(ctx, f.train, rec.Train, rec.Epoch, rec.Batch); err != nil {
		return fmt.Errorf("training data: %w", err)
	}
	if c.validate != nil {
		if err := setIterState(ctx, c.validate, rec.Validation, rec.Scored, 0); err != nil {
			return fmt.Errorf("validation data: %w", err)
		}
	}
	if rec.Batch > 0 {
		s, ok := c.metric.(metric.Stateful)
		if !ok {
			return fmt.Errorf("the metric %T cannot be given a state", c.metric)
		}
		if err := s.SetState(rec.Metric); err != nil {
			return err
		}
		f.at = place{rec.Batch, rec.Samples, rec.Batches, rec.Time, true}
	}
	f.restoreStreams(rec)
	m.net.drifted, c.begin, f.saved = rec.Drifted, rec.Epoch, rec.Checkpoints
	return nil
}

// restoreStreams takes over the random streams, the loss scale and the history.
func (f *fitting) restoreStreams(rec *runRecord) {
	m := f.m
	m.trainer.Scaler.Restore(rec.Scale)
	m.replicas.stream, m.history, f.scored = stream{steps: rec.Steps}, rec.History,
		rec.Scored
	nd.SetRandomState(rec.Random)
}
