//go:build cgo

package kvstore_test

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"gomx/kvstore"
	"gomx/kvstore/ps"
	nd "gomx/ndarray"
)

// mostInSockets is more floats than the kernel takes for a peer that reads nothing.
const mostInSockets = 8 << 20

// TestMemoryIsBackWhenACallHasEnded lets a server take nothing in until a push and pull has run out
// of time. Its arrays then get other values, and the server reads on: it must come to the values
// that were pushed, and nothing may be written to the arrays.
func TestMemoryIsBackWhenACallHasEnded(t *testing.T) {
	t.Parallel()
	x := openTapJob(t, "dist_sync", 1, 1, 1)
	must(t, x.kv.Init(t.Context(), "w", nd.Zeros(nd.Shape{mostInSockets})))
	grad, out := nd.Ones(nd.Shape{mostInSockets}), nd.Zeros(nd.Shape{mostInSockets})
	kvstore.SetTimeout(x.kv, time.Second)
	x.taps[0].set(true)
	must(t, x.kv.PushPull("w", 0, []*nd.Array{grad}, []*nd.Array{out}))
	if _, err := out.Float32s(); !errors.Is(err, ps.ErrTimeout) {
		t.Fatalf("got %v, want %v", err, ps.ErrTimeout)
	}
	pushed, room := raw(grad), raw(out)
	fill(pushed, 7)
	fill(room, 8)
	kvstore.SetTimeout(x.kv, time.Minute)
	x.taps[0].set(false)
	later, err := kvstore.Value(t.Context(), x.kv, "w")
	must(t, err)
	for name, c := range map[string]struct {
		values []float32
		want   float32
	}{"what the server has": {later, 1}, "what was pushed": {pushed, 7},
		"the room for the answer": {room, 8}} {
		for i, v := range c.values {
			if v != c.want {
				t.Fatalf("%s has %v at %d, want %v everywhere", name, v, i, c.want)
			}
		}
	}
	runtime.KeepAlive(grad)
	runtime.KeepAlive(out)
}

// raw is the memory of an array.
func raw(a *nd.Array) []float32 { return unsafe.Slice((*float32)(a.Pointer()), mostInSockets) }

func fill(list []float32, v float32) {
	for i := range list {
		list[i] = v
	}
}

// TestADeadServerKeepsNobodyWaiting lets a server take nothing in and die while a large push is on
// its way to it: when its copy has taken over the call ends, though the transport had most of the
// push for the dead one.
func TestADeadServerKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	x := openTapJob(t, "dist_sync", 1, 2, 2)
	must(t, x.kv.Init(t.Context(), "w", nd.Zeros(nd.Shape{mostInSockets})))
	grad, out := nd.Ones(nd.Shape{mostInSockets}), nd.Zeros(nd.Shape{mostInSockets})
	for i := range x.taps {
		x.taps[i].set(true)
	}
	must(t, x.kv.PushPull("w", 0, []*nd.Array{grad}, []*nd.Array{out}))
	x.stop[0](errStopped)
	x.stop[0], x.stop[1] = x.stop[1], x.stop[0]
	x.taps[1].set(false)
	for i, v := range values(t, out) {
		if v != 1 {
			t.Fatalf("%v at %d, want 1", v, i)
		}
	}
}
