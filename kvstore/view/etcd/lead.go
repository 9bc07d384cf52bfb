package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"gomx/kvstore/view"
	"gomx/kvstore/wire"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// lead is a view.Lead: the leader's key, bound to the lease of this process.
type lead struct {
	store *Store
	lease *lease
	term  int64 // revision at which the leader's key was created
	// revision at which the view was written last, as far as this lead knows; 0: never
	written int64
}

// Term implements view.Lead.
func (l *lead) Term() uint64 { return uint64(l.term) }

// Lost implements view.Lead.
func (l *lead) Lost() <-chan struct{} { return l.lease.lost }

// Load implements view.Lead.
func (l *lead) Load(ctx context.Context) (*wire.View, error) {
	for {
		v, err := l.load(ctx)
		if !errors.Is(err, errSilent) {
			return v, err
		}
		select {
		case <-l.lease.lost:
			return nil, view.ErrFenced
		case <-ctx.Done():
			return nil, err
		default:
			sleep(ctx, pause)
		}
	}
}

// errSilent says that etcd has not answered.
var errSilent = errors.New("etcd does not answer")

func (l *lead) load(ctx context.Context) (v *wire.View, err error) {
	v, l.written, err = l.store.read(ctx)
	return v, err
}

// read reads the view and the revision at which it was written, 0 for none.
func (s *Store) read(ctx context.Context) (v *wire.View, written int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := s.client.Get(ctx, s.keys.view)
	if err != nil {
		return nil, 0, fmt.Errorf("etcd: %w: %w", errSilent, err)
	}
	if len(r.Kvs) == 0 {
		return nil, 0, nil
	}
	v, err = view.Decode(r.Kvs[0].Value)
	if err != nil {
		return nil, 0, fmt.Errorf("%w (key %s)", err, s.keys.view)
	}
	return v, r.Kvs[0].ModRevision, nil
}

// Saved implements view.Store.
func (s *Store) Saved(ctx context.Context) (*wire.View, error) {
	for {
		v, _, err := s.read(ctx)
		if !errors.Is(err, errSilent) || ctx.Err() != nil {
			return v, err
		}
		sleep(ctx, pause)
	}
}

// hour is the time to live, in seconds, of the view of a job that is over.
const hour = 3600

// Save implements view.Lead.
func (l *lead) Save(ctx context.Context, v *wire.View) error {
	record := view.Encode(v)
	var options []clientv3.OpOption
	if v.Over() {
		asking, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		r, err := l.store.client.Grant(asking, hour)
		if err != nil {
			return fmt.Errorf("etcd: lease of the view: %w", err)
		}
		options = append(options, clientv3.WithLease(r.ID))
	}
	for {
		saved, err := l.put(ctx, record, options)
		if saved || err != nil {
			return err
		}
	}
}

// put writes the record of a view if this lead has not ended and nobody has written since. It
// reports false when an earlier try of this lead has written: then the caller tries again.
func (l *lead) put(ctx context.Context, record []byte, options []clientv3.OpOption) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	k := &l.store.keys
	r, err := l.store.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(k.leader), "=", l.term),
			clientv3.Compare(clientv3.ModRevision(k.view), "=", l.written)).
		Then(clientv3.OpPut(k.view, string(record), options...)).
		Else(clientv3.OpGet(k.leader), clientv3.OpGet(k.view)).Commit()
	if err != nil {
		return false, fmt.Errorf("etcd: view is not written: %w", err)
	}
	if r.Succeeded {
		l.written = r.Header.Revision
		return true, nil
	}
	leader, kept := first(r.Responses[0].GetResponseRange().Kvs),
		first(r.Responses[1].GetResponseRange().Kvs)
	if leader == nil || leader.CreateRevision != l.term {
		return false, fmt.Errorf("%w: the lead of term %d has ended", view.ErrFenced, l.term)
	}
	// Only this lead has written since it leads: the answer to an earlier try was lost.
	l.written = 0
	if kept != nil {
		l.written = kept.ModRevision
	}
	return kept != nil && bytes.Equal(kept.Value, record), nil
}

// first returns the only one of at most one key, nil if there is none.
func first(list []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// Resign implements view.Lead.
func (l *lead) Resign(context.Context) error {
	l.lease.end()
	return nil
}
