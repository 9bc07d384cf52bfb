package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// lease is a lease that goroutines of its own renew until end is called or etcd says that the lease
// has ended.
type lease struct {
	client *clientv3.Client
	id     clientv3.LeaseID
	lost   chan struct{} // closed when etcd has said that the lease has ended
	once   sync.Once     // closes lost
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// grant asks etcd for a lease and begins to renew it.
func (s *Store) grant(ctx context.Context) (*lease, error) {
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := s.client.Grant(asking, s.ttl)
	if err != nil {
		return nil, err
	}
	l := &lease{client: s.client, id: r.ID, lost: make(chan struct{})}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.renew(renewing, s.renew) })
	return l, nil
}

// renew renews the lease at fixed times. A renewal that a member does not answer delays no other
// one, because the next one asks another member.
func (l *lease) renew(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		l.done.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			if _, err := l.client.KeepAliveOnce(ctx, l.id); errors.Is(err,
				rpctypes.ErrLeaseNotFound) {
				l.once.Do(func() { close(l.lost) })
			}
		})
		select {
		case <-t.C:
		case <-l.lost:
			return
		case <-ctx.Done():
			return
		}
	}
}

// end stops the renewals and lets the lease end at once, with all keys that are bound to it. If
// etcd does not answer, the lease ends after its time to live.
func (l *lease) end() {
	l.stop()
	l.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	// An error leaves the lease to its time to live.
	_, _ = l.client.Revoke(ctx, l.id)
}
