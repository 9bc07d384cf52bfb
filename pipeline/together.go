package pipeline

import (
	"context"

	"gomx/pipeline/flow"
)

// Together runs a step of all stages in one process: every micro-batch goes through all stages,
// forward and, if train is set, backward, before the next one begins. The stages are bound for the
// order flow.InTurn. Results are the results of stages in processes of their own.
func Together(ctx context.Context, links []flow.Link, works []Work, micros int, train bool) error {
	t := &together{links: links, works: works, mail: map[flow.Tensor][]byte{}}
	for j := range micros {
		for q := range works {
			if err := t.act(ctx, q, flow.Action{Micro: j}); err != nil {
				return err
			}
		}
		for q := len(works) - 1; q >= 0 && train; q-- {
			if err := t.act(ctx, q, flow.Action{Micro: j, Backward: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// together is the state of Together.
type together struct {
	links  []flow.Link
	works  []Work
	mail   map[flow.Tensor][]byte // tensors that have been given and not taken
	memory pool
}

// act runs an action of a stage.
func (t *together) act(ctx context.Context, stage int, a flow.Action) error {
	w := t.works[stage]
	each := func(outgoing bool, do func(x flow.Tensor, bytes int64) error) error {
		for i, l := range t.links {
			end := l.To
			if outgoing != a.Backward {
				end = l.From
			}
			if end != stage || a.Backward && !l.Grad {
				continue
			}
			if err := do(flow.Tensor{Link: i, Micro: a.Micro, Backward: a.Backward},
				l.Bytes); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(false, func(x flow.Tensor, _ int64) error {
		data := t.mail[x]
		delete(t.mail, x)
		defer t.memory.put(data)
		return w.Take(x, data)
	}); err != nil {
		return err
	}
	if err := w.Run(a); err != nil {
		return err
	}
	return each(true, func(x flow.Tensor, bytes int64) error {
		t.mail[x] = t.memory.get(int(bytes))
		return w.Give(ctx, x, t.mail[x])
	})
}
