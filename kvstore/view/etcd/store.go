package etcd

import (
	"context"
	"fmt"
	"time"

	"gomx/kvstore/view"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

func init() {
	open := func(addr string, job uint64) (view.Store, error) { return Open(addr, job) }
	view.Register("etcd", open)
	view.Register("etcds", open)
}

// Store is a view.Store in etcd.
type Store struct {
	client *clientv3.Client
	ttl    int64         // of leases, in seconds
	renew  time.Duration // between renewals of a lease
	keys   keys
}

// keys are the names of a job's keys.
type keys struct{ leader, view, candidates string }

// Times of the store.
const (
	// callTimeout limits one question to one member. A member that is cut off does not answer; the
	// next question goes to another member.
	callTimeout = time.Second
	// pause is the time between a question that failed and its repetition.
	pause = 100 * time.Millisecond
	// lap is the time after which a watch is made anew, at another member: a member that is cut off
	// reports nothing, and the connection to it stays open.
	lap = 2 * time.Second
)

// Open returns the store of a job. It does not wait for a connection.
func Open(addr string, job uint64) (*Store, error) {
	a, err := parse(addr)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: a.endpoints, Username: a.user, Password: a.password, TLS: a.tls,
		DialTimeout:       callTimeout,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: callTimeout,
		Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: pause, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: time.Second}, MinConnectTimeout: callTimeout})},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: client of %v: %w", a.endpoints, err)
	}
	root := fmt.Sprintf("%s/%x/", a.prefix, job)
	return &Store{client: client, ttl: a.ttl, renew: a.renewEvery(), keys: keys{
		leader: root + "leader", view: root + "view", candidates: root + "candidates/"}}, nil
}

// Close implements view.Store.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// Watch implements view.Store.
func (s *Store) Watch(ctx context.Context, tell func(view.Leader)) {
	last := uint64(0)
	for ctx.Err() == nil {
		l, revision, err := s.leader(ctx)
		if err != nil {
			sleep(ctx, pause)
			continue
		}
		if l.Term > last {
			last = l.Term
			tell(l)
		}
		s.changed(ctx, revision+1)
	}
}

// leader returns the present leader, with term 0 if there is none, and the revision of the store.
func (s *Store) leader(ctx context.Context) (l view.Leader, revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := s.client.Get(ctx, s.keys.leader)
	if err != nil {
		return l, 0, err
	}
	for _, kv := range r.Kvs {
		l = view.Leader{Term: uint64(kv.CreateRevision), Addr: string(kv.Value)}
	}
	return l, r.Header.Revision, nil
}

// changed waits until the leader's key changes at a revision or later. It returns after a lap at
// the latest, and at once when the watch breaks.
func (s *Store) changed(ctx context.Context, revision int64) {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), lap)
	defer cancel()
	for r := range s.client.Watch(ctx, s.keys.leader, clientv3.WithRev(revision)) {
		if r.Err() != nil || len(r.Events) > 0 {
			break
		}
	}
	sleep(ctx, 10*time.Millisecond) // a watch that breaks at once is not repeated without end
}

// sleep waits for a time or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
