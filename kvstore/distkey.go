package kvstore

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/rows"
	"gomx/kvstore/spans"
	"gomx/kvstore/update"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
)

// distKey is one key of a dist store.
//
// Operations on a key begin in the order of the calls: each overwrites turn, so that one that fails
// does not keep the next from running. Push and pull hold turn until they end, plain pushes only
// until their values have been copied.
type distKey struct {
	store *dist
	name  string
	id    uint32
	shape dtype.Shape
	dtype dtype.Type
	eng   *engine.Engine // nil for the store's own numbers
	turn  *engine.Var
	say   func() string // describes the key in errors
	sum   reducer
	stage *nd.Array // pulled values on their way to another device, or beside the values of a push
	spare sync.Pool // of *exchange
	keyKind
	coder
	failure
}

// keyKind tells keys of a dist store apart.
type keyKind struct {
	whole  bool       // never sliced
	added  bool       // no optimizer changes it
	sparse *rows.Spec // servers hold the rows that were pushed; nil: they hold a whole value
	alone  bool       // rows of sparse begin with the values of key 0
}

// coder compresses the pushes of a key. Operations that update the key's turn use it, one at a
// time.
type coder struct {
	residual  []float32   // error of the compression so far, which the next push adds
	residuals *rows.Store // of the rows of a sparse key that have been pushed
	codes     [][]byte    // memory for compressed slices; nil while a plain push owns it
}

// failure is the errors of pushes for which no caller waited.
type failure struct {
	mu     sync.Mutex
	err    error // the first one of a push that had been sent: what servers have is not known
	unsent error // the first one of a push that has not been sent, until a caller hears of it
}

// fail describes the failure of an operation.
func (k *distKey) fail(what string, err error) error {
	return fmt.Errorf("kvstore: %s of %q: %w", what, k.name, err)
}

// failed returns the error of an earlier push that had been sent. All later operations fail too.
func (f *failure) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// tell returns the error of an operation, or else the error of an earlier push that has not been
// sent. A caller hears of that push once; it has changed nothing, and the key goes on.
func (f *failure) tell(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err, f.unsent = f.unsent, nil
	}
	return err
}

// noteUnsent keeps the error of a push that has not been sent, and returns it.
func (f *failure) noteUnsent(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unsent == nil {
		f.unsent = err
	}
	return err
}

// sendable returns the error because of which a push cannot be sent, of an earlier push or of the
// gradient.
func (f *failure) sendable(r *engine.Run) error {
	if err := f.failed(); err != nil {
		return err
	}
	if err := r.Poison(); err != nil {
		return f.noteUnsent(err)
	}
	return nil
}

// rest waits until the operations on a key are over, and returns the error of a push. Pulls have
// told their errors to the arrays.
func (f *failure) rest(ctx context.Context, eng *engine.Engine, turn *engine.Var) error {
	if err := eng.WaitWrite(ctx, turn); err != nil && ctx.Err() != nil {
		return err
	}
	return f.tell(f.failed())
}

// exchange is one operation under way: a push, a pull, or both. It is a request of the job.
type exchange struct {
	key      *distKey
	what     string
	method   compress.Method
	priority int8
	value    []byte      // of the push; nil for a pull alone
	out      []byte      // room for pulled values; nil for a push alone
	codes    [][]byte    // or its compressed slices
	copied   []byte      // memory for the values of a plain push
	done     func(error) // nil for a plain push
	span     spans.Span  // nil: its step is not traced
}

// exchange returns a blank one.
func (k *distKey) exchange(what string, priority int) *exchange {
	x, _ := k.spare.Get().(*exchange)
	if x == nil {
		x = new(exchange)
	}
	*x = exchange{key: k, what: what, method: k.coding(), priority: clampPriority(priority),
		copied: x.copied}
	return x
}

// begin starts the operation that pulls to out, and pushes sum before if it is not nil.
func (k *distKey) begin(what string, priority int, sum *nd.Array, out []*nd.Array) {
	x := k.exchange(what, priority)
	to := out[0]
	if to.Device().Kind != device.KindCPU || to.Storage() != nd.Dense || sum != nil &&
		to.Var() == sum.Var() {
		if k.stage == nil {
			k.stage = nd.Empty(to.Shape(), nd.As(to.DType()), nd.Using(to.Engine()))
		}
		to = k.stage
	}
	access := engine.Overwrite
	if !to.Whole() {
		access = engine.Update
	}
	x.out = bytesOf(to)
	t := engine.Task{Name: "kvstore pull", Async: runExchange, Arg: x, Priority: band(priority),
		Describe: k.say, Cheap: k.light(x)}
	turn, result := engine.Use{Var: k.turn, Access: engine.Overwrite}, engine.Use{Var: to.Var(),
		Access: access}
	if sum != nil {
		t.Name, x.value = "kvstore push and pull", bytesOf(sum)
		k.eng.PushUses(&t, turn, result, engine.Use{Var: sum.Var(), Access: engine.Read})
	} else {
		k.eng.PushUses(&t, turn, result)
	}
	to.Touch()
	for _, a := range out {
		if a != to {
			to.CopyInto(a)
		}
	}
}

// lightSize is the size in bytes of keys whose operations begin so quickly that any goroutine may
// begin them: a beginning takes no longer than a copy of this size into shared memory.
const lightSize = 1 << 20

func (k *distKey) light(x *exchange) bool {
	return x.method.Kind == compress.None && len(x.out) <= lightSize
}

// push starts a push that nobody waits for: the values are copied, and errors are kept for the next
// pull.
func (k *distKey) push(priority int, grads []*nd.Array) error {
	sum, err := k.sum.addDense(grads)
	if err != nil {
		return fmt.Errorf("kvstore: key %q: %w", k.name, err)
	}
	x := k.exchange("push", priority)
	x.value = bytesOf(sum)
	k.eng.PushUses(&engine.Task{Name: "kvstore push", Fn: runPush, Arg: x, Priority: band(priority),
		Describe: k.say, NoSkip: true}, engine.Use{Var: k.turn, Access: engine.Overwrite},
		engine.Use{Var: sum.Var(), Access: engine.Read})
	return nil
}

// coding returns how pushes of the key are compressed.
func (k *distKey) coding() compress.Method {
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	if k.dtype != dtype.Float32 || k.added {
		return compress.Method{}
	}
	return k.store.method
}

// describe is the text of the key in errors.
func (k *distKey) describe() string { return fmt.Sprintf("key %q of shape %v", k.name, k.shape) }

// runExchange is the body of an operation that pulls.
func runExchange(r *engine.Run, done func(error)) {
	x := r.Arg.(*exchange)
	k := x.key
	x.done = done
	if err := k.failed(); err != nil {
		done(err)
		return
	}
	err := k.encode(x)
	if err == nil {
		err = k.store.job.call(k.store.cfg.timeout, x)
	}
	if err != nil {
		done(k.fail(x.what, err))
	}
}

// runPush is the body of a plain push.
func runPush(r *engine.Run) error {
	x := r.Arg.(*exchange)
	k := x.key
	if err := k.sendable(r); err != nil {
		return err
	}
	if x.method.Kind == compress.None {
		x.copied = append(x.copied[:0], x.value...)
		x.value = x.copied
	}
	err := k.encode(x)
	if err == nil {
		k.codes = nil // they belong to the worker now
		err = k.store.job.call(k.store.cfg.timeout, x)
	}
	if err != nil {
		return k.noteUnsent(k.fail(x.what, err))
	}
	return nil
}

// start begins the call of the worker.
func (x *exchange) start(now, deadline ps.Time) (uint64, error) {
	watch := x.key.store.job.driver.on.watch
	x.span = watch.Begin(x.key.id, x.key.name, x.what, x.value != nil || x.codes != nil)
	id, err := x.call(now, deadline)
	if err != nil {
		watch.End(x.span)
	}
	return id, err
}

// call calls the worker.
func (x *exchange) call(now, deadline ps.Time) (uint64, error) {
	k, w := x.key, x.key.store.job.worker
	if x.value == nil && x.codes == nil {
		return w.Pull(now, k.id, x.out, x.priority, deadline)
	}
	p := worker.PushOp{Key: k.id, Out: x.out, Priority: x.priority, Deadline: deadline}
	if x.codes == nil {
		p.Value = x.value
	} else {
		p.Codes, p.Codec = x.codes, uint8(x.method.Kind)
	}
	return w.Push(now, p)
}

// end completes an operation that pulls, and takes in the end of a plain push.
func (x *exchange) end(d *ps.Done) {
	k, done, err := x.key, x.done, d.Err
	k.store.job.driver.on.watch.End(x.span)
	if err != nil {
		err = k.fail(x.what, err)
	}
	if done == nil {
		k.note(err)
	}
	*x = exchange{copied: x.copied}
	k.spare.Put(x)
	if done != nil {
		done(k.tell(err))
	}
}

// note keeps the first error of a plain push that had been sent.
func (f *failure) note(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// forget takes back the errors: what counts is known again.
func (f *failure) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.unsent = nil, nil
}

// encode compresses the values of a push, slice by slice.
func (k *distKey) encode(x *exchange) error {
	if x.value == nil || x.method.Kind == compress.None {
		return nil
	}
	values := update.Floats(x.value)
	if k.residual == nil {
		k.residual = make([]float32, len(values))
	}
	total, n := k.slices()
	for len(k.codes) < int(n) {
		k.codes = append(k.codes, nil)
	}
	for i := range n {
		lo, hi := wire.Range(total, i, n)
		code, err := x.method.Append(k.codes[i][:0], values[lo/4:hi/4], k.residual[lo/4:hi/4])
		if err != nil {
			return err
		}
		k.codes[i] = code
	}
	x.codes = k.codes
	return nil
}

// close releases the arrays and the variable of the key.
func (k *distKey) close() {
	if k.eng == nil {
		return
	}
	k.eng.DeleteVar(k.turn, func() {})
	k.sum.close()
	if k.residuals != nil {
		k.residuals.Close()
	}
	if k.stage != nil {
		k.stage.Close()
	}
}

// bytesOf views the memory of an array of the processor; see floats.
func bytesOf(a *nd.Array) []byte {
	return unsafe.Slice((*byte)(a.Pointer()), a.Bytes())
}

// clampPriority fits a priority into a message.
func clampPriority(p int) int8 { return int8(min(max(p, -128), 127)) }

// band is the queue in which an operation waits for a worker of the engine: operations that are
// urgent for the network are urgent there too.
func band(priority int) engine.Band {
	if priority > 0 {
		return engine.Urgent
	}
	return engine.High
}
