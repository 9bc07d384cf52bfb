package etcd

import (
	"context"
	"fmt"
	"time"

	"gomx/kvstore/view"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Campaign implements view.Store. It returns an error if etcd does not answer for a while.
func (s *Store) Campaign(ctx context.Context, addr string) (view.Lead, error) {
	l, err := s.grant(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd: lease of candidate %s: %w", addr, err)
	}
	term, err := s.run(ctx, l, addr)
	if err != nil {
		l.end()
		return nil, fmt.Errorf("etcd: candidate %s: %w", addr, err)
	}
	return &lead{store: s, lease: l, term: term}, nil
}

// silence is the time without an answer of etcd after which a campaign fails.
const silence = 10 * time.Second

// run waits until the holder of a lease leads, and returns the term.
func (s *Store) run(ctx context.Context, l *lease, addr string) (term int64, err error) {
	listed := false
	for heard := time.Now(); ; {
		select {
		case <-l.lost:
			return 0, view.ErrFenced
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		default:
		}
		if !listed {
			listed = s.list(ctx, l, addr) == nil
		}
		term, revision, err := s.claim(ctx, l, addr)
		switch {
		case err != nil && time.Since(heard) > silence:
			return 0, err
		case err != nil:
			sleep(ctx, pause)
			continue
		case term != 0:
			return term, nil
		}
		s.changed(ctx, revision+1)
		heard = time.Now()
	}
}

// list adds a candidate to the list of candidates, for operators that look at it.
func (s *Store) list(ctx context.Context, l *lease, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := s.client.Put(ctx, fmt.Sprintf("%s%x", s.keys.candidates, int64(l.id)), addr,
		clientv3.WithLease(l.id))
	return err
}

// claim makes the holder of a lease the leader if there is none, and returns the term: 0 if another
// scheduler leads. A claim whose answer was lost finds the key with its own lease.
func (s *Store) claim(ctx context.Context, l *lease, addr string) (term, revision int64,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(s.keys.leader), "=", 0)).
		Then(clientv3.OpPut(s.keys.leader, addr, clientv3.WithLease(l.id))).
		Else(clientv3.OpGet(s.keys.leader)).Commit()
	if err != nil {
		return 0, 0, err
	}
	if r.Succeeded {
		return r.Header.Revision, r.Header.Revision, nil
	}
	for _, kv := range r.Responses[0].GetResponseRange().Kvs {
		if kv.Lease == int64(l.id) {
			return kv.CreateRevision, r.Header.Revision, nil
		}
	}
	return 0, r.Header.Revision, nil
}
