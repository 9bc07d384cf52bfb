package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
	"gomx/pipeline/flow"
)

// message returns a message of this process.
func (l *Link) message(t wire.Type) wire.Message {
	return wire.Message{Type: t, Job: l.cfg.Job, From: l.node(l.cfg.Flow.Stage), Incarnation: 1}
}

// send sends a tensor in slices. The memory of data is used again when all slices have left.
func (l *Link) send(t flow.Tensor, data []byte) error {
	link := l.cfg.Flow.Links[t.Link]
	to := link.To
	if t.Backward {
		to = link.From
	}
	slices := wire.Slices(uint64(len(data)), sliceSize)
	left := &atomic.Int32{}
	left.Store(int32(slices))
	sent := func() {
		if left.Add(-1) == 0 {
			l.memory.put(data)
		}
	}
	for i := range slices {
		m := l.message(wire.TypeTensor)
		m.SetTensor(wire.TensorPlace{Step: t.Step, Link: uint32(t.Link), Micro: uint32(t.Micro),
			Backward: t.Backward})
		m.Slice, m.Slices, m.Total = i, slices, uint64(len(data))
		lo, hi := wire.Range(m.Total, i, slices)
		m.Payload = data[lo:hi]
		if err := l.post(to, &m, sent); err != nil {
			return err
		}
	}
	return nil
}

// post sends a message, and tries again for some time while the queue to the stage is full.
func (l *Link) post(to int, m *wire.Message, sent func()) error {
	deadline := time.Now().Add(time.Duration(l.cfg.Flow.Patience))
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := l.ep.Send(l.node(to), m, sent)
		if err == nil {
			return nil
		}
		if !errors.Is(err, transport.ErrBusy) || time.Now().After(deadline) {
			return &RankError{l.cfg.Ranks[to], to, fmt.Errorf("stage %d cannot send to it: %w",
				l.cfg.Flow.Stage, err)}
		}
		time.Sleep(pause)
	}
}

// credit tells a stage that its bytes have been used.
func (l *Link) credit(to, bytes int) error {
	m := l.message(wire.TypeCredit)
	m.Total = uint64(bytes)
	return l.post(to, &m, nil)
}

// reportEvery is the time between two reports of a stage about itself.
const reportEvery = 250 * time.Millisecond

// tick reports to the other stages and checks the machine's patience until the link is closed.
func (l *Link) tick() {
	every := min(reportEvery, time.Duration(l.cfg.Flow.Patience)/10)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
		}
		l.mu.Lock()
		now := l.now()
		stall := l.machine.Tick(now)
		awaits, over := l.machine.Waiting().Stage, l.fate != nil
		l.mu.Unlock()
		if over {
			continue
		}
		var blame *flow.StallError
		if errors.As(stall, &blame) {
			err := &RankError{l.cfg.Ranks[blame.Stage], blame.Stage, stall}
			l.abort(blame.Stage, err)
			l.fail(err)
			continue
		}
		m := l.message(wire.TypeReport)
		m.SetReport(wire.Report{Awaits: awaits})
		l.broadcast(&m)
	}
}

// abort tells all stages that a stage has ended the pipeline.
func (l *Link) abort(blamed int, err error) {
	if l.ep == nil {
		return
	}
	var named *RankError
	if errors.As(err, &named) {
		blamed, err = named.Stage, named.Cause
	}
	text := err.Error()
	m := l.message(wire.TypeReport)
	m.SetReport(wire.Report{Awaits: blamed, Failed: true})
	m.Payload = []byte(text[:min(len(text), maxText)])
	l.broadcast(&m)
}

// maxText is the number of bytes of the longest error that is reported.
const maxText = 2 << 10

// broadcast sends a message to all other stages. A lost one is made up for by the next, or by the
// patience of the others.
func (l *Link) broadcast(m *wire.Message) {
	for q := range l.cfg.Ranks {
		if q != l.cfg.Flow.Stage {
			_ = l.ep.Send(l.node(q), m, nil)
		}
	}
}

// handle takes in a message.
func (l *Link) handle(from wire.Node, m *wire.Message) {
	stage := l.stageOf(from)
	if stage == flow.None {
		return
	}
	l.mu.Lock()
	err := l.receive(stage, m)
	if err != nil && l.fate == nil {
		l.fate = &RankError{l.cfg.Ranks[stage], stage, err}
	}
	l.mu.Unlock()
	l.signal()
}

// receive takes in a message of a stage. The caller holds mu.
func (l *Link) receive(from int, m *wire.Message) error {
	switch m.Type {
	case wire.TypeTensor:
		return l.slice(from, m)
	case wire.TypeCredit:
		return l.machine.Returned(l.now(), from, int64(min(m.Total, 1<<62)))
	case wire.TypeReport:
		r := m.Report()
		if !r.Failed {
			l.machine.Heard(l.now(), from, r.Awaits)
			return nil
		}
		if l.fate == nil && r.Awaits >= 0 && r.Awaits < len(l.cfg.Ranks) {
			l.fate = &RankError{l.cfg.Ranks[r.Awaits], r.Awaits, fmt.Errorf("%s (%w)",
				string(m.Payload[:min(len(m.Payload), maxText)]), ErrReported)}
		}
	}
	return nil
}

// slice takes in a slice of a tensor. The caller holds mu.
func (l *Link) slice(from int, m *wire.Message) error {
	place := m.Tensor()
	t := flow.Tensor{Step: place.Step, Link: int(place.Link), Micro: int(place.Micro),
		Backward: place.Backward}
	if t.Link >= len(l.cfg.Flow.Links) || l.machine.Sender(t) != from {
		return fmt.Errorf("pipeline: stage %d sends tensor %+v, which is not its own", from, t)
	}
	link := l.cfg.Flow.Links[t.Link]
	lo, hi := wire.Range(m.Total, m.Slice, m.Slices)
	if m.Total != uint64(link.Bytes) || m.Slices != wire.Slices(m.Total, sliceSize) ||
		uint64(len(m.Payload)) != hi-lo {
		return fmt.Errorf("pipeline: slice %d of %d of a tensor of %d bytes with %d bytes, want a "+
			"tensor of %d bytes", m.Slice, m.Slices, m.Total, len(m.Payload), link.Bytes)
	}
	p := l.inbox[t]
	if p == nil {
		if err := l.machine.Expect(t); err != nil {
			return err
		}
		p = &parcel{l.memory.get(int(link.Bytes)), map[uint16]bool{}}
		l.inbox[t] = p
	}
	if p.got[m.Slice] {
		return fmt.Errorf("pipeline: slice %d of tensor %+v twice", m.Slice, t)
	}
	p.got[m.Slice] = true
	copy(p.data[lo:hi], m.Payload)
	if len(p.got) < int(m.Slices) {
		return nil
	}
	return l.machine.Arrived(l.now(), t)
}
