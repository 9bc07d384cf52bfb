//go:build cgo && linux

package launch_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/hosts"
	"gomx/internal/output"
	"gomx/internal/viewtest"
	"gomx/kvstore/view"
	_ "gomx/kvstore/view/etcd"
)

// member is a member of an etcd cluster: a process, its folder and its addresses.
type member struct {
	name         string
	client, peer string // URLs
	program      string
	args         []string
	command      func(program string, args ...string) *exec.Cmd
	cmd          *exec.Cmd
	out          output.Buffer
	ended        chan struct{} // closed when the process has ended
}

// etcdTimes makes etcd elect its leader within half a second, and grant leases of one second.
var etcdTimes = []string{"--heartbeat-interval", "50", "--election-timeout", "500"}

// startEtcd starts a cluster of etcd on the loopback and waits until it answers.
func startEtcd(t *testing.T, members int, args ...string) []*member {
	t.Helper()
	var list []*member
	for i := range members {
		m := &member{name: fmt.Sprintf("m%d", i), command: exec.Command}
		m.client, m.peer = "http://127.0.0.1:"+freePort(t), "http://127.0.0.1:"+freePort(t)
		list = append(list, m)
	}
	startMembers(t, list, args...)
	return list
}

// startMembers starts the members of one cluster and waits until it answers.
func startMembers(t *testing.T, list []*member, args ...string) {
	t.Helper()
	program := hosts.Need(t, "etcd", "etcd-server")
	var all []string
	for _, m := range list {
		all = append(all, m.name+"="+m.peer)
	}
	for _, m := range list {
		m.program = program
		m.args = append([]string{"--name", m.name, "--data-dir", filepath.Join(t.TempDir(), m.name),
			"--listen-client-urls", m.client, "--advertise-client-urls", m.client,
			"--listen-peer-urls", m.peer, "--initial-advertise-peer-urls", m.peer,
			"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "new",
			"--log-level", "error"}, args...)
		m.start(t)
	}
	for _, m := range list {
		eventually(t, "etcd answers", func() bool {
			_, err := m.ask("/v3/kv/range", map[string]any{"key": encoded("x")})
			return err == nil
		})
	}
}

// start starts the process of a member, which is killed at the end of the test.
func (m *member) start(t *testing.T) {
	t.Helper()
	cmd := m.command(m.program, m.args...)
	cmd.Stdout, cmd.Stderr = &m.out, &m.out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	m.cmd, m.ended = cmd, ended
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(m.kill)
}

// kill ends the process at once.
func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	<-m.ended
}

// signal sends a signal to the process.
func (m *member) signal(s syscall.Signal) { _ = m.cmd.Process.Signal(s) }

// address is the address of a store in a cluster.
func address(list []*member, options string) string {
	var all []string
	for _, m := range list {
		all = append(all, strings.TrimPrefix(m.client, "http://"))
	}
	return "etcd://" + strings.Join(all, ",") + "/test" + options
}

// answer is a part of the answers of etcd's gateway, in which numbers are texts.
type answer struct {
	Kvs []struct {
		Value          []byte `json:"value"`
		CreateRevision string `json:"create_revision"`
		ModRevision    string `json:"mod_revision"`
		Lease          string `json:"lease"`
	} `json:"kvs"`
	Leader string `json:"leader"`
	Header struct {
		MemberID string `json:"member_id"`
	} `json:"header"`
}

// encoded is a key in the form in which etcd's gateway wants it.
func encoded(key string) string { return base64.StdEncoding.EncodeToString([]byte(key)) }

// ask asks a member over HTTP: the tests look at etcd with other eyes than the store.
func (m *member) ask(path string, question any) (a answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	b, err := json.Marshal(question)
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.client+path, bytes.NewReader(b))
	if err != nil {
		return a, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("etcd answers %s", resp.Status)
	}
	return a, json.NewDecoder(resp.Body).Decode(&a)
}

// key returns the value of a job's key and its revisions, 0 if it is not there.
func (m *member) key(t *testing.T, job uint64, name string) (value []byte, created, changed int64) {
	t.Helper()
	a, err := m.ask("/v3/kv/range", map[string]any{
		"key": encoded(fmt.Sprintf("/test/%x/%s", job, name))})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Kvs) == 0 {
		return nil, 0, 0
	}
	created, _ = strconv.ParseInt(a.Kvs[0].CreateRevision, 10, 64)
	changed, _ = strconv.ParseInt(a.Kvs[0].ModRevision, 10, 64)
	return a.Kvs[0].Value, created, changed
}

// leads reports whether a member is the leader of its cluster.
func (m *member) leads(t *testing.T) bool {
	t.Helper()
	a, err := m.ask("/v3/maintenance/status", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	return a.Leader != "" && a.Leader == a.Header.MemberID
}

// openEtcd opens the store of a job, which is closed at the end of the test.
func openEtcd(t *testing.T, addr string, job uint64) view.Store {
	t.Helper()
	s, err := view.Open(addr, job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestEtcdStore runs the tests of all stores on one member of etcd, and on three.
func TestEtcdStore(t *testing.T) {
	hosts.Named(t)
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			addr, job := address(startEtcd(t, members, etcdTimes...), "?ttl=1"), uint64(0)
			viewtest.Run(t, func(t *testing.T) func() view.Store {
				job++
				return func() view.Store { return openEtcd(t, addr, job) }
			})
		})
	}
}

// TestEtcdLeadEnds takes the key of a leader away, as the end of a lease does: the leader can save
// nothing, and the store keeps the view of the next one.
func TestEtcdLeadEnds(t *testing.T) {
	hosts.Named(t)
	list := startEtcd(t, 1, etcdTimes...)
	addr := address(list, "?ttl=1")
	first, err := openEtcd(t, addr, 1).Campaign(t.Context(), "a")
	if err == nil {
		err = first.Save(t.Context(), viewtest.Sample(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].ask("/v3/kv/deleterange",
		map[string]any{"key": encoded("/test/1/leader")}); err != nil {
		t.Fatal(err)
	}
	if err := first.Save(t.Context(), viewtest.Sample(2)); !errors.Is(err, view.ErrFenced) {
		t.Errorf("a leader without its key saves: %v, want %v", err, view.ErrFenced)
	}
	second, err := openEtcd(t, addr, 1).Campaign(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if second.Term() <= first.Term() {
		t.Errorf("term %d follows term %d", second.Term(), first.Term())
	}
	v, err := second.Load(t.Context())
	if err != nil || v.Number != 1 {
		t.Errorf("the next leader loads %+v, %v, want view 1", v, err)
	}
	if err := first.Save(t.Context(), viewtest.Sample(3)); !errors.Is(err, view.ErrFenced) {
		t.Errorf("a leader saves in the term of another one: %v, want %v", err, view.ErrFenced)
	}
	if err := second.Save(t.Context(), viewtest.Sample(4)); err != nil {
		t.Error(err)
	}
	// The lease of the first one lives; its end must not end the second lead.
	if err := first.Resign(t.Context()); err != nil {
		t.Error(err)
	}
	if err := second.Save(t.Context(), viewtest.Sample(5)); err != nil {
		t.Error(err)
	}
	record, _, _ := list[0].key(t, 1, "view")
	if v, err := view.Decode(record); err != nil || v.Number != 5 {
		t.Errorf("etcd has %+v, %v, want view 5", v, err)
	}
	over := viewtest.Sample(6)
	over.Workers[0].Left = true
	if err := second.Save(t.Context(), over); err != nil {
		t.Error(err)
	}
	if a, err := list[0].ask("/v3/kv/range", map[string]any{
		"key": encoded("/test/1/view")}); err != nil || len(a.Kvs) != 1 || a.Kvs[0].Lease == "" {
		t.Errorf("the view of a job that is over is %+v, %v, want it with a lease", a, err)
	}
	if err := second.Resign(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEtcdLeaseOutlivesASilence kills etcd for longer than a lease lives: etcd gives the lease its
// time again when it is back, and the leader goes on.
func TestEtcdLeaseOutlivesASilence(t *testing.T) {
	hosts.Named(t)
	list := startEtcd(t, 1, etcdTimes...)
	l, err := openEtcd(t, address(list, "?ttl=1"), 1).Campaign(t.Context(), "a")
	if err == nil {
		err = l.Save(t.Context(), viewtest.Sample(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	list[0].kill()
	if err := l.Save(t.Context(), viewtest.Sample(2)); err == nil ||
		errors.Is(err, view.ErrFenced) {
		t.Errorf("got %v from an etcd that is dead, want an error other than %v", err,
			view.ErrFenced)
	}
	time.Sleep(3 * time.Second)
	list[0].start(t)
	eventually(t, "the view is saved", func() bool {
		err := l.Save(t.Context(), viewtest.Sample(2))
		if errors.Is(err, view.ErrFenced) {
			t.Fatal(err)
		}
		return err == nil
	})
	select {
	case <-l.Lost():
		t.Error("the lead has ended")
	default:
	}
	if err := l.Resign(t.Context()); err != nil {
		t.Error(err)
	}
}

// freePort returns a free port of the loopback.
func freePort(t *testing.T) string {
	t.Helper()
	b := newByHand(t, 1, 1, 1)
	return strconv.Itoa(b.port)
}
