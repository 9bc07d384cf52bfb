package module

import (
	"context"
	"errors"
	"fmt"

	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/metric"
	"gomx/op"
	"gomx/optimizer"
	"gomx/trainer"
	"gomx/training"
)

// Fit trains the module: it binds, initializes and optimizes as far as that has not been done,
// then goes through the data. Computation runs behind the loop: after starting a batch Fit waits
// for its outputs, which the metric needs, while gradients and updates are still being computed.
//
// It returns the first error, with epoch and batch; ctx ends it between two batches.
func (m *Module) Fit(ctx context.Context, train dataio.Iter, opts ...FitOption) (err error) {
	defer op.Recover(&err)
	if err := m.checkCall(ctx, "Fit", train, "training data"); err != nil {
		return err
	}
	f := &fitting{m: m, train: train, config: fitConfig{epochs: 1, every: 50}}
	for _, o := range opts {
		if o != nil {
			o(&f.config)
		}
	}
	if err := f.config.check(); err != nil {
		return err
	}
	defer m.trainer.EndLimit()
	if err := f.prepare(ctx); err != nil {
		return errors.Join(err, f.leave(ctx, true))
	}
	defer func() {
		if closeErr := f.leave(ctx, err != nil); err == nil {
			err = closeErr
		}
		err = closeRecord(f, err)
	}()
	epoch := f.config.begin
	err = f.run(ctx, &epoch)
	for f.Survives(err) {
		why := err
		if epoch, err = f.recover(ctx); err == nil {
			err = f.run(ctx, &epoch)
		} else if !errors.Is(err, kvstore.ErrLeft) {
			err = fmt.Errorf("%w, after %v", err, why)
		}
	}
	return err
}

// run trains from an epoch on to the end.
func (f *fitting) run(ctx context.Context, epoch *int) error {
	for ; *epoch < f.config.epochs; *epoch++ {
		if err := f.epoch(ctx, *epoch); err != nil {
			return fmt.Errorf("epoch %d: %w", *epoch, err)
		}
	}
	return f.settle(ctx)
}

// fitting is one call of Fit.
type fitting struct {
	m      *Module
	config fitConfig
	train  dataio.Iter
	log    training.Log
	saved  []int // epochs of the checkpoints that are kept
	at     place // in the first epoch
	job    jobSnapshots
	scored int // epochs of the validation data so far
	share  share
	shared bool // Fit has shared the data among the workers
	whole  int  // batches of a whole epoch; 0: unknown
	elastic
	survival
	owned bool // Fit has opened the store and closes it
	own   bool // Fit opens a store of the module's own
}

// prepare binds and initializes the module, opens the store and restores a run, before the first
// epoch.
func (f *fitting) prepare(ctx context.Context) error {
	c, m := &f.config, f.m
	if c.metric == nil {
		c.metric = metric.Accuracy()
	}
	if c.validMetric == nil {
		c.validMetric = c.metric
	}
	if err := f.settleResume(); err != nil {
		return err
	}
	if m.config.pipeline != nil {
		if err := f.enterPipeline(ctx); err != nil {
			return err
		}
	}
	bind := []BindOption{}
	if c.guard {
		bind = append(bind, Guarded())
	}
	if c.rebind || m.Bound() && (!m.replicas.training || c.guard != m.replicas.guard) {
		bind = append(bind, Rebind())
	}
	if err := m.Bind(f.train.ProvideData(), f.train.ProvideLabel(), bind...); err != nil {
		return err
	}
	if m.net.tables.own && (c.optimizer != nil || len(bind) > 0 || !mayOwnRows(f)) {
		if err := (pulls{m}).leaveOwnStore(); err != nil {
			return err
		}
	}
	if err := m.net.init(c.init, &m.config, f.rowsElsewhere() || mayOwnRows(f)); err != nil {
		return err
	}
	if err := ownRows(f); err != nil {
		return err
	}
	if c.optimizer == nil && m.trainer.Updater() == nil {
		c.optimizer = optimizer.SGD{}
	}
	if c.optimizer != nil {
		if err := f.optimize(c.optimizer); err != nil {
			return err
		}
	}
	if err := f.openStore(ctx); err != nil {
		return err
	}
	if err := m.trainer.LimitNorm(c.clipNorm); err != nil {
		return fmt.Errorf("module: Fit: %w", err)
	}
	m.trainer.SetLoaded(false) // from here on the states belong to this run
	if c.begin > 0 {
		f.seek(c.begin)
	}
	if err := f.removeTemporary(); err != nil {
		return err
	}
	if err := f.takeUp(ctx); err != nil {
		return err
	}
	if err := f.keepScale(kvstore.JobOf(ctx)); err != nil {
		return err
	}
	if m.pipe == nil {
		if err := f.joinSnapshots(ctx); err != nil {
			return err
		}
	}
	batches := 0
	if n, ok := f.train.(dataio.Counter); ok {
		batches = n.Batches()
	}
	f.log = training.Log{Metric: c.metric, History: &m.history, Every: c.every, OnBatch: c.onBatch,
		OnEpoch: c.onEpoch}
	if m.pipe == nil || m.pipe.scores(m.net.symbol) {
		for _, r := range c.report {
			f.log.Report(r(batches))
		}
	}
	return prefixed(openRecord(ctx, f))
}

// optimize is InitOptimizer for Fit: states that LoadStates has given to an optimizer of the same
// kind stay, with the counts of updates.
func (f *fitting) optimize(o optimizer.Optimizer) error {
	t := &f.m.trainer
	old, loaded := t.Updater(), t.Loaded()
	if err := f.m.InitOptimizer(o); err != nil || !loaded {
		return err
	}
	return keepLoaded(t, old)
}

// keepLoaded gives the states that LoadStates has given to an updater, old, to the present updater,
// with the counts of updates. It puts old back if the optimizers differ in kind.
func keepLoaded(t *trainer.Trainer, old *optimizer.Updater) (err error) {
	defer func() {
		if err != nil {
			t.SetUpdater(old)
		}
		t.SetLoaded(true)
	}()
	before, now := old.Optimizer().Name(), t.Updater().Optimizer().Name()
	if now != before {
		return fmt.Errorf("module: Fit: Optimize(%s) after LoadStates, which has given states "+
			"to %s: call InitOptimizer with the optimizer of Fit before LoadStates, or leave "+
			"one of them out", now, before)
	}
	for i, p := range t.Params() {
		state := old.State(i)
		if state == nil {
			continue
		}
		if want := t.Updater().NewState(p.Weights[0]); len(want) != len(state) {
			return fmt.Errorf("module: Fit: Optimize(%s) keeps %d arrays for %s, the optimizer "+
				"that LoadStates has given states to, %s, keeps %d: their parameters differ",
				now, len(want), p.Name, before, len(state))
		}
		t.Updater().SetState(i, state)
		t.Updater().SetProgress(i, old.Progress(i))
	}
	return nil
}

// finish ends an epoch after its batches: it validates, saves a checkpoint, reports and calls the
// callbacks.
func (f *fitting) finish(ctx context.Context, end *EpochEnd) error {
	c, m := &f.config, f.m
	if c.validate != nil {
		s, err := m.Score(ctx, c.validate, c.validMetric)
		if err != nil {
			return err
		}
		end.Validation = s
		f.scored++
	}
	f.log.Add(end)
	recordMatrix(f)
	if err := f.save(ctx, end.Epoch); err != nil {
		return err
	}
	return f.log.Epoch(end)
}

// share holds this worker's rank in its job and its counts of batches and rounds.
type share struct {
	rank   int
	rounds int // batches of an epoch of the worker that has the most; 0: unknown
	// rounds that are left out: an earlier process in this place has taken part in them, or they
	// have closed
	resumed int
	joined  int // rounds that an earlier process had taken part in when this one began
	round   int // rounds so far, those that were left out included
}

// openStore opens the store that Fit has been given the name of, and hands out the data among the
// workers.
func (f *fitting) openStore(ctx context.Context) error {
	c, m := &f.config, f.m
	if m.pipe != nil {
		return f.shareStage(ctx)
	}
	if f.own {
		return pulls{m}.openOwnStore(ctx)
	}
	if c.kv == nil && !c.kind.Job {
		if len(m.config.places()) == 1 {
			return nil
		}
		// one process: the module's own updater does the rest
		return prefixed(m.trainer.ReduceWith(ctx, c.kind.Name, c.compression))
	}
	kv, err := c.openStore(ctx)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return f.joinStore(ctx, kv)
}

// joinStore lets a store update the parameters, and hands out the data among its workers.
func (f *fitting) joinStore(ctx context.Context, kv *kvstore.KV) error {
	c, m := &f.config, f.m
	f.share.rank = kv.Rank()
	if n, ok := f.train.(dataio.Counter); ok {
		f.whole = n.Batches()
	}
	if s, ok := f.train.(dataio.Sharder); ok && !s.Sharded() {
		f.shared = true
		if g := kv.Group(); len(g.Ranks) > 1 && g.Part(kv.Rank()) >= 0 {
			if err := s.Shard(g.Part(kv.Rank()), len(g.Ranks)); err != nil {
				return fmt.Errorf("module: %w", err)
			}
		}
	}
	if err := kv.SetCompression(c.compression); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := m.UseStore(ctx, kv); err != nil {
		return err
	}
	f.owned = f.owned || c.kv == nil
	joint := m.trainer.Store().Joint()
	if joint == nil {
		return nil
	}
	batches := uint64(0)
	if n, ok := f.train.(dataio.Counter); ok {
		batches = uint64(n.Batches())
	}
	all, err := joint.Agree(ctx, "batches", batches)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	for _, n := range all {
		f.share.rounds = max(f.share.rounds, int(n))
		if n == 0 {
			f.share.rounds = 0 // somebody's iterator does not know
			break
		}
	}
	f.share.resumed = int(kv.Resumed())
	f.share.joined = f.share.resumed
	if err := f.joinGroup(ctx, kv); err != nil {
		return err
	}
	return f.findSaved()
}

// seek moves the iterator of the training data to an epoch, if it can do so.
func (f *fitting) seek(epoch int) {
	if s, ok := f.train.(interface{ SetEpoch(int) }); ok {
		s.SetEpoch(epoch)
	}
}

// openStore returns the store that gradients go to, which the caller has given or the options name.
func (c *fitConfig) openStore(ctx context.Context) (*kvstore.KV, error) {
	if c.kv != nil {
		return kvstore.Wrap(c.kv), nil
	}
	return kvstore.Open(ctx, c.kind.Name, c.storeOptions...)
}

// leave closes the store and the pipeline, if Fit has opened them.
func (f *fitting) leave(ctx context.Context, failed bool) error {
	err := f.closeStore(ctx, failed)
	if p := f.m.pipe; p != nil {
		err = errors.Join(err, p.leave(ctx, failed))
	}
	return err
}

// closeStore closes a store that Fit has opened. Afterwards the module updates its parameters
// itself; it has all rows of them unless it has failed.
func (f *fitting) closeStore(ctx context.Context, failed bool) error {
	s := f.m.trainer.Store()
	if s == nil || !f.owned {
		return nil
	}
	if failed {
		f.m.net.tables.partial = s.RowKeys()
	} else if len(s.RowKeys()) > 0 {
		left, err := pulls{f.m}.whole(keptTable)
		if err = errors.Join(err, f.m.Wait(ctx)); err != nil {
			return errors.Join(err, s.Close())
		}
		if len(left) > 0 && mayKeepRows(f) {
			left, err = pulls{f.m}.takeRows(left, keptTable)
			if err == nil && len(left) == 0 {
				return pulls{f.m}.openOwnStore(ctx)
			}
		}
		if f.m.net.tables.partial = left; err != nil {
			return errors.Join(err, s.Close())
		}
	}
	f.m.trainer.LeaveStore()
	return prefixed(s.Close())
}
