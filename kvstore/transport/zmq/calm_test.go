//go:build cgo && linux

package zmq_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// policies returns how the threads of this process are scheduled, those of ZeroMQ that send and
// receive apart from the others.
func policies(t *testing.T) (io, others map[uintptr]int) {
	t.Helper()
	io, others = map[uintptr]int{}, map[uintptr]int{}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("no list of threads:", err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", tid))
		policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
		switch {
		case err != nil || errno != 0: // the thread has ended
		case strings.Contains(string(name), "/IO/"):
			io[policy]++
		default:
			others[policy]++
		}
	}
	return io, others
}

// Threads of ZeroMQ may be ordinary or calm, whatever the load of the machine makes of them; all
// others stay what they are.
func TestOnlyThreadsOfZeroMQAreCalm(t *testing.T) {
	const other, batch = 0, 3
	_, before := policies(t)
	if len(before) != 1 || before[other] == 0 {
		t.Skipf("threads of this process have policies %v, want only ordinary ones", before)
	}
	const messages = 200
	came := make(chan struct{}, messages)
	server := opener(zmq.Options{}, "tcp://127.0.0.1:0")(t,
		transport.Config{Self: transporttest.Server(0), Incarnation: 1, Job: 1,
			Handler: func(wire.Node, *wire.Message) { came <- struct{}{} }})
	defer server.Close()
	worker := opener(zmq.Options{}, zmq.NoListen)(t, transport.Config{Self: transporttest.Worker(0),
		Incarnation: 1, Job: 1,
		Handler: func(wire.Node, *wire.Message) {}})
	defer worker.Close()
	if err := worker.Connect(transporttest.Server(0), server.Addr()); err != nil {
		t.Fatal(err)
	}
	m := wire.Message{Type: wire.TypePush, Job: 1, From: transporttest.Worker(0), Incarnation: 1,
		Payload: make([]byte, 8)}
	for i := range messages {
		if err := worker.Send(transporttest.Server(0), &m, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-came:
		case <-time.After(30 * time.Second):
			t.Fatalf("message %d did not come", i)
		}
	}
	io, others := policies(t)
	if len(io) == 0 || io[other]+io[batch] == 0 {
		t.Errorf("threads of ZeroMQ have policies %v, want ordinary (%d) or batch (%d)", io, other,
			batch)
	}
	if len(others) != 1 || others[other] == 0 {
		t.Errorf("other threads have policies %v, want only ordinary ones", others)
	}
}
