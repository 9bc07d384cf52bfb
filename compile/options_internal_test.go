package compile

import (
	"slices"
	"testing"

	"gomx/device"
	"gomx/graph"
	"gomx/op"
)

// queues is a backend whose devices have queues, for tests; there is no such device.
type queues struct{ device.Backend }

func (queues) Count() int { return 0 }

func (queues) Queue(int, device.QueueKind) (device.Queue, error) { return nil, nil }

func init() {
	if !device.HasQueues(device.KindCUDA) { // no backend is linked
		device.Register(device.KindCUDA, queues{})
	}
}

func TestQueued(t *testing.T) {
	for lane, want := range map[Lane]bool{
		{Device: device.CPU()}:                                  false,
		{Device: device.Null(0)}:                                false,
		{Device: device.CUDA(0)}:                                true,
		{Device: device.CUDA(0), Queue: device.QueueBeside}:     true,
		{Device: device.CUDA(0), Queue: device.QueueBeside + 2}: true,
		{Device: device.CUDA(0), Queue: device.QueueIn}:         false,
		{Device: device.CUDA(0), Queue: device.QueueOut}:        false,
		{Device: device.CPU(), Queue: device.QueueBeside}:       false,
		{Device: device.Null(0), Queue: device.QueueBeside}:     false,
	} {
		if got := lane.Queued(); got != want {
			t.Errorf("%v: got %v, want %v", lane, got, want)
		}
	}
}

func TestDevicesOfOptions(t *testing.T) {
	far := device.Null(1)
	apart := &Spread{Vars: map[string]device.Device{"x": far},
		Outputs: []device.Device{device.CPU(), far}}
	near := &Spread{Host: true, Outputs: []device.Device{{ID: 1}, {ID: 2}}}
	for _, c := range []struct {
		o                 Options
		host              bool
		x, y, first, last device.Device
	}{
		{Options{}, true, device.Device{}, device.Device{}, device.Device{}, device.Device{}},
		{Options{Device: far}, false, far, far, far, far},
		{Options{Spread: near}, true, device.Device{}, device.Device{}, device.Device{ID: 1},
			device.Device{ID: 2}},
		{Options{Spread: apart}, false, far, device.Device{}, device.Device{}, far},
		{Options{Spread: near, Device: far}, false, far, far, device.Device{ID: 1},
			device.Device{ID: 2}},
	} {
		if got := c.o.onHost(); got != c.host {
			t.Errorf("%+v: on hosts %v, want %v", c.o, got, c.host)
		}
		if x, y := c.o.variable("x"), c.o.variable("y"); x != c.x || y != c.y {
			t.Errorf("%+v: variables on %v and %v, want %v and %v", c.o, x, y, c.x, c.y)
		}
		if a, b := c.o.output(0), c.o.output(1); a != c.first || b != c.last {
			t.Errorf("%+v: outputs on %v and %v, want %v and %v", c.o, a, b, c.first, c.last)
		}
	}
}

func TestWants(t *testing.T) {
	o := Options{Grads: map[string]op.Req{"a": op.ReqWrite, "b": op.ReqAdd, "c": op.ReqNull}}
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false} {
		if got := o.wants(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestStagesRun asks every kind of stage for its conditions.
func TestStagesRun(t *testing.T) {
	rows := stages()
	find := func(name string) *Stage {
		return rows[slices.IndexFunc(rows, func(s *Stage) bool { return s.Name == name })]
	}
	far := device.Null(0)
	for _, c := range []struct {
		stage string
		o     Options
		want  bool
	}{
		{"fuse-sum", Options{}, true},
		{"fuse-sum", Options{Train: true}, false},
		{"fuse-sum", Options{Device: far}, false},
		{"fuse-sum", Options{NoFusion: true}, false},
		{"fuse-sum", Options{Without: []string{"share", "fuse-sum"}}, false},
		{"fuse-sum", Options{Without: []string{"share"}}, true},
		{"recompute", Options{}, false},
		{"recompute", Options{Train: true}, true},
		{"recompute", Options{Train: true, NoFusion: true}, true},
		{"share", Options{Device: far}, true},
		{"share", Options{Train: true}, true},
		{"settle-shapes", Options{Without: []string{"settle-shapes"}}, true},
		{"settle-shapes", Options{NoFusion: true}, false},
		{"assign-devices", Options{NoFusion: true, Without: []string{"assign-devices"}}, true},
		{"number", Options{NoFusion: true}, true},
	} {
		if got := find(c.stage).runs(&c.o); got != c.want {
			t.Errorf("%s with %+v: got %v, want %v", c.stage, c.o, got, c.want)
		}
	}
}

// TestUses joins the accesses of the steps of a segment to one slot.
func TestUses(t *testing.T) {
	for _, c := range []struct {
		list []Access
		want Access
	}{
		{[]Access{Read}, Read},
		{[]Access{Overwrite}, Overwrite},
		{[]Access{Update}, Update},
		{[]Access{Read, Read}, Read},
		{[]Access{Overwrite, Overwrite}, Overwrite},
		{[]Access{Overwrite, Read}, Overwrite},
		{[]Access{Read, Overwrite}, Update},
		{[]Access{Read, Update}, Update},
		{[]Access{Update, Read}, Update},
		{[]Access{Update, Overwrite}, Update},
		{[]Access{Overwrite, Update}, Update},
	} {
		s := Segment{Uses: []Use{{Slot: 7, Access: Read}}}
		for _, a := range c.list {
			s.use(3, a)
		}
		if want := []Use{{7, Read}, {3, c.want}}; !slices.Equal(s.Uses, want) {
			t.Errorf("%v: got %v, want %v", c.list, s.Uses, want)
		}
	}
}

// TestNewUnit begins a compilation: facts know the device, and outputs are distinct.
func TestNewUnit(t *testing.T) {
	v := op.Var("v").Entry(0)
	u := newUnit(&Source{Outputs: []op.Entry{v, v}, Facts: &graph.Facts{}},
		&Options{Device: device.Null(3), Train: true})
	if u.Facts.Device != device.Null(3) || !u.prog.Train || u.prog.Composed != 0 {
		t.Errorf("got device %v, training %v and %d operators, want %v, true and 0",
			u.Facts.Device, u.prog.Train, u.prog.Composed, device.Null(3))
	}
	if a, b := u.Outs[0], u.Outs[1]; a == b || a.Node.IsVar() || b.Node.IsVar() {
		t.Errorf("got outputs %v and %v, want two that are no variables", a, b)
	}
}
