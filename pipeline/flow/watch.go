package flow

import "fmt"

// watch knows how long a stage has waited, and for which stages the others wait.
type watch struct {
	since   Time // when the present wait began
	last    Time // the last tick
	reports []report
}

// report is the last message of a stage about itself.
type report struct {
	known  bool
	at     Time // when it came
	awaits int  // stage that it waits for, or None
}

func (w *watch) init(stages int) { w.reports = make([]report, stages) }

// begin starts the present wait anew: something has moved.
func (w *watch) begin(now Time) { w.since = now }

// Heard takes in the report of a stage: the stage that it waits for, or None.
func (m *Machine) Heard(now Time, from, awaits int) {
	if from >= 0 && from < len(m.watch.reports) && awaits < len(m.watch.reports) {
		m.watch.reports[from] = report{true, now, max(awaits, None)}
	}
}

// StallError says that a stage has waited too long.
type StallError struct {
	Stage  int // stage that does not go on
	Waiter int // stage that noticed it
	Wait   Wait
	After  Time // how long the waiter has waited
	Silent bool // the stage to blame sends no reports either
}

// Error describes the wait and the stage to blame.
func (e *StallError) Error() string {
	what := "micro-batch"
	switch t := e.Wait.Tensor; {
	case e.Wait.Credit:
		what = fmt.Sprintf("credit to send micro-batch %d", t.Micro)
	case t.Backward:
		what = fmt.Sprintf("the gradients of micro-batch %d", t.Micro)
	default:
		what = fmt.Sprintf("the values of micro-batch %d", t.Micro)
	}
	state := "it works and does not finish"
	if e.Silent {
		state = "it is silent"
	}
	via := ""
	if e.Wait.Stage != e.Stage {
		via = fmt.Sprintf(", which waits for stage %d", e.Stage)
	}
	return fmt.Sprintf("flow: stage %d has waited %.1f s for %s of stage %d%s: %s", e.Waiter,
		float64(e.After)/1e9, what, e.Wait.Stage, via, state)
}

// Tick checks the time that the machine has waited, and returns a *StallError when it is too long.
// A tick that comes much later than the one before shows that this process stood still: then the
// wait begins anew.
func (m *Machine) Tick(now Time) error {
	w := &m.watch
	stood := w.last > 0 && now-w.last > m.cfg.Patience/2
	w.last = now
	wait := m.Waiting()
	if stood || wait.Stage == None {
		w.since = now
	}
	if now-w.since < m.cfg.Patience {
		return nil
	}
	stage, silent := m.blame(now, wait.Stage)
	return &StallError{stage, m.cfg.Stage, wait, now - w.since, silent}
}

// blame follows the reports from a stage that this one waits for to the stage that waits for
// nobody, that has been silent, or that waits for a stage on the way.
func (m *Machine) blame(now Time, stage int) (_ int, silent bool) {
	seen := map[int]bool{m.cfg.Stage: true}
	for {
		r := m.watch.reports[stage]
		silent = !r.known || now-r.at > m.cfg.Patience/2
		if seen[stage] || silent || r.awaits == None || seen[r.awaits] {
			return stage, silent
		}
		seen[stage] = true
		stage = r.awaits
	}
}
