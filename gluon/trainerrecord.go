package gluon

import (
	"gomx/dtype"
	"gomx/kvstore"
	"gomx/runs"
	"gomx/trainer"
)

// RunOf returns the run of a trainer's option Record, which it opens before the first step; nil
// without the option. A run that continues is opened after Resume.
func RunOf(t *Trainer) (*runs.Run, error) {
	err := openRecord(t)
	return t.record.Run(), err
}

// openRecord begins to record, at the first call.
func openRecord(t *Trainer) (err error) {
	if t.record != nil || !t.config.record.Asked() {
		return nil
	}
	at := trainer.Place{Step: int64(t.steps), Job: kvstore.JobOf(t.config.ctx)}
	if at.Job != nil {
		at.Rank = at.Job.Rank()
	}
	for _, p := range t.params {
		if list := p.devices(); len(list) > 0 {
			at.Devices = list
			break
		}
	}
	if t.record, err = t.config.record.Open(at); err != nil {
		return err
	}
	t.record.Begin()
	return t.record.Before(t.config.ctx, int64(t.steps)+1)
}

// recordStep records the step that has just ended, and begins the next one.
func recordStep(t *Trainer, samples int) error {
	if t.record == nil {
		return nil
	}
	if t.net != nil && t.net.compiled() != nil {
		RecordNet(t.record, t.net)
		t.net = nil
	}
	step := int64(t.steps)
	t.record.Step(&trainer.Step{Number: step, Samples: samples, Rate: t.LearningRate()}, nil)
	if err := t.record.After(t.config.ctx, step); err != nil {
		return err
	}
	if t.record.HistogramsDue(step) {
		for i, name := range t.names {
			if t.seen[i] == nil {
				continue
			}
			if err := t.record.Array("parameter/"+name, step, (*t.seen[i])[0]); err != nil {
				return err
			}
			if err := t.record.Array("gradient/"+name, step, t.grads.firsts[name]); err != nil {
				return err
			}
		}
		t.record.Begin()
	}
	return t.record.Before(t.config.ctx, step+1)
}

// RecordNet records the graph of a hybridized network and the plan of its memory, with the shapes
// of its last call. Without such a call nothing is recorded, and a network without a description
// is trained as well.
func RecordNet(r *trainer.Recorder, n *Net) {
	c := n.compiled()
	if r == nil || c == nil {
		return
	}
	if s, err := n.Symbol(); err == nil {
		shapes := map[string]dtype.Shape{}
		for _, a := range c.inputs {
			shapes[a.name] = a.shape
		}
		_ = r.Network(s, shapes)
	}
	if m, err := n.MemoryPlan(); err == nil {
		r.Memory(m)
	}
}
