package flow

import (
	"fmt"
	"slices"
)

// Time is a point in time in nanoseconds, on a clock of the driver.
type Time int64

// Link describes a transfer between two stages, in each micro-batch or in one round.
type Link struct {
	From, To int
	Bytes    int64
	Grad     bool // a gradient of the same size comes back
	// Round is the 1-based number of the action of the order Collect in which the value is sent; 0
	// for values of micro-batches.
	Round int
}

// Tensor is a value on its way, or its gradient on the way back.
type Tensor struct {
	Step     uint64 // number of the step, from 1 on
	Link     int    // number in Config.Links
	Micro    int
	Backward bool
}

// Config describes a stage. All stages of a pipeline agree on everything but Stage.
type Config struct {
	Stage, Stages, Micros int
	Rounds                int // actions of the order Collect
	Links                 []Link
	// Window is the number of bytes that may be on their way from one stage to another. The results
	// of as many actions as the stages are apart may be on their way in any case; see admit.
	Window int64
	// Patience is the time after which a stage gives up waiting.
	Patience Time
}

// Machine is the state of one stage. It belongs to one goroutine at a time.
//
// Invariant: actions run in the order of the schedule, and an action runs only when the tensors
// that it reads have arrived and all tensors of the actions before have been sent.
type Machine struct {
	cfg     Config
	step    uint64 // number of the present or last step
	collect bool   // its order is Collect
	actions []Action
	next    int // the next action
	running bool
	arrived map[Tensor]bool
	queue   []Tensor // results that wait for credit, in the order of the work
	sends   []Tensor // results that the driver is to send
	windows []window // by receiving stage
	watch   watch
}

// window counts the bytes on their way to a stage.
type window struct {
	used, peak int64
	groups     []int64 // bytes on their way by action, the oldest first
}

// add counts the results of an action.
func (w *window) add(bytes int64) {
	w.groups = append(w.groups, bytes)
	w.used += bytes
	w.peak = max(w.peak, w.used)
}

// remove counts bytes that have been used, of the oldest actions first.
func (w *window) remove(bytes int64) {
	w.used -= bytes
	for len(w.groups) > 0 && bytes >= w.groups[0] {
		bytes -= w.groups[0]
		w.groups = w.groups[1:]
	}
	if len(w.groups) > 0 {
		w.groups[0] -= bytes
	}
}

// New returns a machine before the first step.
func New(c Config) *Machine {
	m := &Machine{cfg: c, arrived: map[Tensor]bool{}, windows: make([]window, c.Stages)}
	m.watch.init(c.Stages)
	return m
}

// Begin starts a step. Tensors of the step that have arrived before are kept.
func (m *Machine) Begin(now Time, o Order) {
	m.step++
	count := m.cfg.Micros
	if m.collect = o == Collect; m.collect {
		count = m.cfg.Rounds
	}
	m.actions, m.next = Schedule(o, m.cfg.Stage, m.cfg.Stages, count), 0
	m.watch.begin(now)
}

// Done reports whether the step has ended: all actions have run and their results have been sent.
func (m *Machine) Done() bool {
	return m.next == len(m.actions) && len(m.queue) == 0 && len(m.sends) == 0
}

// Ready returns the next action if it may run now.
func (m *Machine) Ready() (Action, bool) {
	if m.running || m.next == len(m.actions) || len(m.queue) > 0 {
		return Action{}, false
	}
	a := m.actions[m.next]
	for _, t := range m.Inputs(a) {
		if !m.arrived[t] {
			return Action{}, false
		}
	}
	return a, true
}

// Inputs lists the tensors that an action of this stage reads, in the order of the links.
func (m *Machine) Inputs(a Action) []Tensor { return m.tensors(a, a.Backward) }

// Results lists the tensors that an action of this stage sends, in the order of the links.
func (m *Machine) Results(a Action) []Tensor { return m.tensors(a, !a.Backward) }

// tensors lists the tensors of an action on the links from this stage, or on the links to it.
func (m *Machine) tensors(a Action, outgoing bool) (list []Tensor) {
	for i, l := range m.cfg.Links {
		end := l.To
		if outgoing {
			end = l.From
		}
		moves := !m.collect && l.Round == 0 || m.collect && l.Round == a.Micro+1
		if end == m.cfg.Stage && moves && (l.Grad || !a.Backward) {
			list = append(list, Tensor{m.step, i, a.Micro, a.Backward})
		}
	}
	return list
}

// Run notes that an action has begun. The driver has taken its inputs.
func (m *Machine) Run(a Action) {
	m.running = true
	for _, t := range m.Inputs(a) {
		delete(m.arrived, t)
	}
}

// Ran notes the end of an action. Its results are sent as far as there is credit.
func (m *Machine) Ran(now Time, a Action) {
	m.running = false
	m.next++
	m.queue = append(m.queue, m.Results(a)...)
	m.admit()
	m.watch.begin(now)
}

// receiver returns the stage that a tensor goes to.
func (m *Machine) receiver(t Tensor) int {
	if t.Backward {
		return m.cfg.Links[t.Link].From
	}
	return m.cfg.Links[t.Link].To
}

// Sender returns the stage that a tensor comes from.
func (m *Machine) Sender(t Tensor) int {
	if t.Backward {
		return m.cfg.Links[t.Link].To
	}
	return m.cfg.Links[t.Link].From
}

// admit moves queued results to the list of sends, as far as their windows have room. The queue has
// results of one action only. Those for one stage travel together: the stage uses none of them
// before it has all, so credit for the first could not come before the last has been sent.
//
// Between stages that are d apart the results of d actions fit in any case. A stage goes d
// micro-batches forward before the gradients of the first come back from there, and the other stage
// sends gradients meanwhile: with less room both could wait for credit that the other one does not
// give.
func (m *Machine) admit() {
	together := make([]int64, m.cfg.Stages)
	for _, t := range m.queue {
		together[m.receiver(t)] += m.cfg.Links[t.Link].Bytes
	}
	fits := make([]bool, m.cfg.Stages)
	for to, bytes := range together {
		w := &m.windows[to]
		apart := max(to-m.cfg.Stage, m.cfg.Stage-to)
		fits[to] = len(w.groups) < apart || w.used+bytes <= m.cfg.Window
		if fits[to] && bytes > 0 {
			w.add(bytes)
		}
	}
	m.queue = slices.DeleteFunc(m.queue, func(t Tensor) bool {
		if fits[m.receiver(t)] {
			m.sends = append(m.sends, t)
			return true
		}
		return false
	})
}

// Sends returns the tensors to send now. Each is returned once.
func (m *Machine) Sends() []Tensor {
	list := m.sends
	m.sends = nil
	return list
}

// Arrived notes that a tensor has arrived completely. A tensor of a later step is kept until that
// step. A tensor that is not for this stage, or that has arrived before, is an error of the sender.
func (m *Machine) Arrived(now Time, t Tensor) error {
	if err := m.Expect(t); err != nil {
		return err
	}
	m.arrived[t] = true
	m.watch.begin(now)
	return nil
}

// Expect returns an error for a tensor that Arrived would refuse.
func (m *Machine) Expect(t Tensor) error {
	if t.Link < 0 || t.Link >= len(m.cfg.Links) || t.Micro < 0 || !m.cfg.numbers(t) ||
		m.receiver(t) != m.cfg.Stage || t.Backward && !m.cfg.Links[t.Link].Grad ||
		t.Step < m.step || t.Step == 0 {
		return fmt.Errorf("flow: stage %d got tensor %+v, which is not for it", m.cfg.Stage, t)
	}
	if m.arrived[t] {
		return fmt.Errorf("flow: stage %d got tensor %+v twice", m.cfg.Stage, t)
	}
	return nil
}

// numbers reports whether a tensor of a link may have its number of a micro-batch or round.
func (c *Config) numbers(t Tensor) bool {
	if round := c.Links[t.Link].Round; round > 0 {
		return t.Micro == round-1
	}
	return t.Micro < c.Micros
}

// Returned notes credit: a stage has used so many bytes that this stage has sent.
func (m *Machine) Returned(now Time, from int, bytes int64) error {
	if from < 0 || from >= len(m.windows) || bytes < 0 || bytes > m.windows[from].used {
		return fmt.Errorf("flow: stage %d got credit of %d bytes from stage %d, want at most the "+
			"bytes on their way", m.cfg.Stage, bytes, from)
	}
	m.windows[from].remove(bytes)
	m.admit()
	m.watch.begin(now)
	return nil
}

// Peak returns the largest number of bytes that were on their way to a stage.
func (m *Machine) Peak(to int) int64 { return m.windows[to].peak }

// Wait is the reason why a stage does not work.
type Wait struct {
	Stage  int // stage that it waits for; None: it does not wait
	Tensor Tensor
	Credit bool // it waits for credit for the tensor, not for the tensor
}

// None stands for no stage.
const None = -1

// Waiting returns the first thing that the machine waits for.
func (m *Machine) Waiting() Wait {
	if m.running {
		return Wait{Stage: None}
	}
	if len(m.queue) > 0 {
		t := m.queue[0]
		return Wait{m.receiver(t), t, true}
	}
	if m.next < len(m.actions) {
		for _, t := range m.Inputs(m.actions[m.next]) {
			if !m.arrived[t] {
				return Wait{m.Sender(t), t, false}
			}
		}
	}
	return Wait{Stage: None}
}
