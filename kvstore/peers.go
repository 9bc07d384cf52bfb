package kvstore

import (
	"context"
	"fmt"

	"gomx/device"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/ring"
	"gomx/kvstore/transport"
	"gomx/kvstore/update"
	"gomx/kvstore/wire"
)

// peer is the machine of a worker of a job without servers. Its worker keeps its place in the job,
// and takes part in barriers; its ring takes part in the collective rounds.
type peer struct {
	*worker.Worker
	ring *ring.Group
	seen uint64 // number of the view that the ring knows
}

// withPeers makes the machine of a job without servers.
func (j *Job) withPeers(w *worker.Worker) (machine, error) {
	g, err := ring.New(ring.Config{Job: j.cfg.ID, Rank: j.cfg.Node.Rank, Workers: j.cfg.Workers,
		Elastic: j.cfg.Policy == ps.Shrink, Timing: j.cfg.timing(), Arithmetic: update.Sums{},
		Room: j.roomForSums, Shared: transport.Shared})
	if err != nil {
		return nil, err
	}
	j.ring, j.driver.links.peers = g, true
	j.driver.on.last = func() {
		w.Leave()
		g.FailAll(ps.ErrClosed)
		g.Close()
	}
	return &peer{Worker: w, ring: g}, nil
}

// sharedFrom is the number of bytes of sums from which workers of the same host read them in place.
const sharedFrom = 1 << 20

// roomForSums makes memory that each round reads and writes as a whole.
func (j *Job) roomForSums(bytes int) ring.Space {
	if ep, ok := j.driver.ep.(transport.Sharer); ok && bytes >= sharedFrom {
		if s, err := ep.Share(bytes); err == nil {
			return s
		} else {
			j.driver.log.Warn().Err(err).Msg("sums are copied for workers of this host")
		}
	}
	b := make(ring.Heap, bytes)
	device.AdviseHuge(b)
	return b
}

// Handle implements machine.
func (p *peer) Handle(now ps.Time, from wire.Node, m *wire.Message) {
	if from.Role == wire.Worker {
		p.ring.Handle(now, from, m)
		return
	}
	p.Worker.Handle(now, from, m)
	p.follow(now)
}

// Tick implements machine.
func (p *peer) Tick(now ps.Time) {
	p.report()
	p.Worker.Tick(now)
	p.follow(now)
	p.ring.Tick(now)
}

// report tells the worker how far the ring is.
func (p *peer) report() {
	p.Worker.Progress(p.ring.Resumed(), p.ring.Position(), p.ring.Waiting())
}

// follow tells the ring of a new view, or that this process has no place any more.
func (p *peer) follow(now ps.Time) {
	if v := p.View(); v != nil && v.Number != p.seen && p.Incarnation() != 0 {
		p.seen = v.Number
		p.ring.SetMembers(now, v)
	}
	if err := p.Worker.Err(); err != nil {
		p.ring.FailAll(err)
	}
}

// Out implements machine. It joins the outboxes of both parts.
func (p *peer) Out() *ps.Outbox {
	out, mine := p.Worker.Out(), p.ring.Out()
	out.Sends = append(out.Sends, mine.Sends...)
	out.Recall = append(out.Recall, mine.Recall...)
	out.Done = append(out.Done, mine.Done...)
	out.Events = append(out.Events, mine.Events...)
	mine.Reset()
	out.Pack()
	return out
}

// Release implements machine.
func (p *peer) Release(l *ps.Loan) {
	p.Worker.Release(l)
	p.ring.Reap()
}

// fits reports that a job cannot have stores of this kind.
func (k Kind) fits(j *Job) error {
	switch {
	case j == nil:
		return fmt.Errorf("kvstore: %s: the context belongs to no job: start the program "+
			"with gomx launch, and let launch.Run call it", k.Name)
	case k.peers && j.ring == nil:
		return fmt.Errorf("kvstore: %s: the job has %d servers, and its workers have no "+
			"connections to each other: want a job of workers alone, such as gomx launch -s 0",
			k.Name, j.cfg.Servers)
	case k.peers && j.cfg.Backups > 0:
		return fmt.Errorf("kvstore: %s: found a job with %d backup workers, want none: every "+
			"round has the contributions of all workers", k.Name, j.cfg.Backups)
	case !k.peers && j.ring != nil:
		return fmt.Errorf("kvstore: %s: the job has no servers: want at least one, such as gomx "+
			"launch -s 1, or the store allreduce", k.Name)
	}
	return nil
}

// shareOf is the number of bytes of a key in one answer.
const shareOf = 1 << 20

// answer answers another worker's question for the values of a key. The driver's lock is held.
//
// The question names the rounds that the values must have, and an offset; the answer has the rounds
// of the values, the length of their encoding, and a part of it. FlagGap says that this worker does
// not have the values, FlagDirect that nobody keeps them.
func (s *allreduce) answer(to wire.Node, m *wire.Message) {
	q := *m
	s.job.driver.done.Go(func() { s.tell(to, &q) })
}

// tell sends the answer to a question.
func (s *allreduce) tell(to wire.Node, q *wire.Message) {
	a := wire.Message{Type: wire.TypeTell, Job: s.job.cfg.ID, From: s.job.cfg.Node,
		Target: q.Incarnation, Seq: q.Seq}
	a.Key, a.Epoch = q.Key, q.Epoch
	if !s.survival.answers(q.Epoch) {
		return // of another group: the question is repeated
	}
	if b, said := s.survival.said(q.Key); said || q.Key >= worker.Aside && s.survival != nil {
		a.Payload, a.Total = b, uint64(len(b))
		if !said {
			a.Flags = wire.FlagGap
		}
		s.reply(to, &a)
		return
	}
	switch part, version, total, ok := s.replica.Encode(q.Key, q.Clock, q.Need, shareOf); {
	case q.Clock > 0 && s.isPlain(q.Key):
		a.Flags = wire.FlagDirect
	case !ok:
		a.Flags = wire.FlagGap
	default:
		a.Clock, a.Total, a.Payload = version, total, part
	}
	s.reply(to, &a)
}

// reply sends an answer. If it is lost, the question is repeated.
func (s *allreduce) reply(to wire.Node, a *wire.Message) {
	s.job.driver.do(func() {
		a.Incarnation = s.job.worker.Incarnation()
		_ = s.job.driver.ep.Send(to, a, nil)
	}, nil)
}

// values is the encoding of the values of a key at another worker.
type values struct {
	bytes []byte
	plain bool // nobody keeps them
}

// fetch asks another worker for the values of a key after so many rounds. It returns nil if the
// worker does not have them.
func (s *allreduce) fetch(ctx context.Context, rank int, key uint32, rounds uint64) (*values,
	error) {
	v := &values{}
	version := uint64(0)
	for {
		q := wire.Message{Type: wire.TypeAsk, Job: s.job.cfg.ID, From: s.job.cfg.Node,
			Clock: rounds, Need: uint64(len(v.bytes)), Epoch: s.survival.group()}
		q.Key = key
		a, err := s.job.question(ctx, func(id uint64) {
			q.Seq, q.Incarnation = id, s.job.worker.Incarnation()
			_ = s.job.driver.ep.Send(wire.Node{Role: wire.Worker, Rank: uint16(rank)}, &q, nil)
		})
		switch {
		case err != nil:
			return nil, fmt.Errorf("asking worker %d: %w", rank, err)
		case a.Epoch != s.survival.group():
			return nil, fmt.Errorf("asking worker %d: %w", rank, ErrRegrouped)
		case a.Flags&wire.FlagGap != 0:
			return nil, nil
		case a.Flags&wire.FlagDirect != 0:
			return &values{plain: true}, nil
		case len(v.bytes) > 0 && a.Clock != version:
			v.bytes = v.bytes[:0] // it has changed: from the beginning
			continue
		}
		version = a.Clock
		v.bytes = append(v.bytes, a.Payload...)
		if uint64(len(v.bytes)) >= a.Total || len(a.Payload) == 0 {
			return v, nil
		}
	}
}
