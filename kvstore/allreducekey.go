package kvstore

import (
	"fmt"
	"sync"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/ps"
	"gomx/kvstore/ring"
	nd "gomx/ndarray"
)

// ringKey is one key of the store allreduce.
//
// Operations on a key begin in the order of the calls: each writes turn, and holds it until it ends.
// The first operation of a call overwrites turn, so that a call that fails does not keep the next
// from running; the second one updates it, and is left out when the first has failed.
type ringKey struct {
	store *allreduce
	name  string
	id    uint32
	shape dtype.Shape
	dtype dtype.Type
	ringMode
	eng    *engine.Engine // nil for the store's own numbers
	turn   *engine.Var
	say    func() string // describes the key in errors
	sum    reducer
	result []byte    // the last sum; nil: it goes to the arrays of the program
	stage  *nd.Array // sum on its way to another device
	spare  sync.Pool // of *ringCall
	failure
}

// ringMode is the way in which sums change the values of a key.
type ringMode struct {
	whole bool // one slice for the optimizer
	added bool // no optimizer changes it
	plain bool // sums replace its values, which nobody keeps; the store's mu guards it
}

// ringCall is one operation under way. It is a request of the job.
type ringCall struct {
	key     *ringKey
	push    ring.PushOp
	collect bool // reads the last sum instead
	mute    bool // no array of the program tells of an error
	done    func(error)
	to      []byte // of an operation that changes or reads the values: room for them; nil: none
}

// fail describes the failure of an operation.
func (k *ringKey) fail(what string, err error) error {
	return fmt.Errorf("kvstore: %s of %q: %w", what, k.name, err)
}

// describe is the text of the key in errors.
func (k *ringKey) describe() string { return fmt.Sprintf("key %q of shape %v", k.name, k.shape) }

func (k *ringKey) call() *ringCall {
	x, _ := k.spare.Get().(*ringCall)
	if x == nil {
		x = new(ringCall)
	}
	*x = ringCall{key: k}
	return x
}

// push adds up gradients, and pulls to out if it is not empty.
func (k *ringKey) push(priority int, grads, out []*nd.Array) error {
	sum, err := k.sum.addDense(grads)
	if err != nil {
		return fmt.Errorf("kvstore: key %q: %w", k.name, err)
	}
	s := k.store
	x := k.call()
	x.push = ring.PushOp{Key: k.id, Value: bytesOf(sum), Priority: clampPriority(priority)}
	t := engine.Task{Name: "kvstore allreduce", Async: runRound, Arg: x, Priority: band(priority),
		Describe: k.say, Cheap: len(x.push.Value) <= lightSize}
	turn := engine.Use{Var: k.turn, Access: engine.Overwrite}
	kept := s.replica.Active()
	if !kept && s.survival != nil {
		return k.fail("push", errNoSurvival)
	}
	if !kept {
		s.mu.Lock()
		k.plain = true
		s.mu.Unlock()
	}
	if !kept && !s.cfg.keep && len(out) > 0 {
		to := k.direct(sum, out[0])
		x.push.Out = bytesOf(to)
		if to.Var() == sum.Var() {
			k.eng.PushUses(&t, turn, engine.Use{Var: to.Var(), Access: engine.Update})
		} else {
			k.eng.PushUses(&t, turn, engine.Use{Var: to.Var(), Access: access(to)},
				engine.Use{Var: sum.Var(), Access: engine.Read})
		}
		spread(to, out)
		return nil
	}
	if k.result == nil {
		k.result = make([]byte, len(x.push.Value))
	}
	x.push.Out, x.push.Keep = k.result, true
	x.mute, t.NoSkip = len(out) == 0, len(out) == 0
	k.eng.PushUses(&t, turn, engine.Use{Var: sum.Var(), Access: engine.Read})
	if kept || len(out) > 0 {
		body := runApply
		if !kept {
			body = runCopy
		}
		k.finish("kvstore update", body, priority, out, engine.Update)
	}
	return nil
}

// direct returns the array to which the sum goes: the array of the program if the processor can
// write to it while contributions leave, else one beside it.
func (k *ringKey) direct(sum, to *nd.Array) *nd.Array {
	other := to.Var() == sum.Var() && to.Pointer() != sum.Pointer()
	if to.Device().Kind == device.KindCPU && to.Storage() == nd.Dense && !other {
		return to
	}
	if k.stage == nil {
		k.stage = nd.Empty(to.Shape(), nd.As(to.DType()), nd.Using(to.Engine()))
	}
	return k.stage
}

// finish starts an operation that ends with the values of the key in out, which may be empty.
func (k *ringKey) finish(name string, body func(*engine.Run) error, priority int,
	out []*nd.Array, order engine.Access) {
	x := k.call()
	t := engine.Task{Name: name, Fn: body, Arg: x, Priority: band(priority), Describe: k.say}
	turn := engine.Use{Var: k.turn, Access: order}
	if len(out) == 0 {
		k.eng.PushUses(&t, turn)
		return
	}
	to := out[0]
	if to.Device().Kind != device.KindCPU {
		to = k.direct(to, to)
	}
	x.to = bytesOf(to)
	k.eng.PushUses(&t, turn, engine.Use{Var: to.Var(), Access: access(to)})
	spread(to, out)
}

// access is the way in which an operation writes all of an array.
func access(to *nd.Array) engine.Access {
	if to.Whole() {
		return engine.Overwrite
	}
	return engine.Update
}

// spread copies an array that an operation writes to the others.
func spread(to *nd.Array, out []*nd.Array) {
	to.Touch()
	for _, a := range out {
		if a != to {
			to.CopyInto(a)
		}
	}
}

// pull copies the values to arrays.
func (k *ringKey) pull(priority int, out []*nd.Array) {
	k.store.mu.Lock()
	plain := k.plain
	k.store.mu.Unlock()
	if !plain {
		k.finish("kvstore pull", runRead, priority, out, engine.Overwrite)
		return
	}
	to := out[0]
	if to.Device().Kind != device.KindCPU {
		to = k.direct(to, to)
	}
	x := k.call()
	x.collect, x.push.Out = true, bytesOf(to)
	k.eng.PushUses(&engine.Task{Name: "kvstore pull", Async: runRound, Arg: x,
		Priority: band(priority), Describe: k.say},
		engine.Use{Var: k.turn, Access: engine.Overwrite},
		engine.Use{Var: to.Var(), Access: access(to)})
	spread(to, out)
}

// runRound is the body of an operation that exchanges values with other workers.
func runRound(r *engine.Run, done func(error)) {
	x := r.Arg.(*ringCall)
	x.done = done
	k := x.key
	if err := k.failed(); err != nil {
		done(err)
		return
	}
	err := r.Poison() // of a gradient of which no array tells
	if err == nil {
		if err = k.store.job.call(k.store.cfg.timeout, x); err == nil {
			return
		}
		err = k.fail(x.what(), err)
	}
	if x.mute {
		_ = k.noteUnsent(err)
	}
	done(err)
}

func (x *ringCall) what() string {
	if x.collect {
		return "pull"
	}
	return "allreduce"
}

// start implements request.
func (x *ringCall) start(now, deadline ps.Time) (uint64, error) {
	g := x.key.store.job.ring
	if x.collect {
		return g.Collect(now, x.key.id, x.push.Out, deadline)
	}
	x.push.Deadline = deadline
	return g.Push(now, x.push)
}

// end implements request.
func (x *ringCall) end(d *ps.Done) {
	k, done, err := x.key, x.done, d.Err
	if err != nil {
		err = k.fail(x.what(), err)
	}
	if !x.collect {
		k.note(err) // other workers may have the sum
	}
	*x = ringCall{}
	k.spare.Put(x)
	done(err)
}

// runApply changes the values by the last sum.
func runApply(r *engine.Run) error {
	return r.Arg.(*ringCall).use(func(k *ringKey, to []byte) {
		k.store.replica.Apply(k.id, k.result, to)
	})
}

// runCopy copies the last sum.
func runCopy(r *engine.Run) error {
	return r.Arg.(*ringCall).use(func(k *ringKey, to []byte) { copy(to, k.result) })
}

// runRead copies the values.
func runRead(r *engine.Run) error {
	return r.Arg.(*ringCall).use(func(k *ringKey, to []byte) { k.store.replica.Read(k.id, to) })
}

// use ends an operation that exchanges nothing.
func (x *ringCall) use(f func(k *ringKey, to []byte)) error {
	k := x.key
	if err := k.failed(); err != nil {
		return err
	}
	f(k, x.to)
	*x = ringCall{}
	k.spare.Put(x)
	return nil
}

// close releases the arrays and the variable of the key.
func (k *ringKey) close() {
	if k.eng == nil {
		return
	}
	k.eng.DeleteVar(k.turn, func() {})
	k.sum.close()
	if k.stage != nil {
		k.stage.Close()
	}
}
