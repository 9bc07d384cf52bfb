package kvstore

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// Every process of a job serves four pages: /healthz says that it lives, /readyz that it has its
// place in the job, /metrics is for Prometheus (JobConfig.Metrics), and gomx top reads /status.

// Status is the content of the page /status of a process.
type Status struct {
	Node        string           `json:"node"`
	Incarnation uint32           `json:"incarnation"`
	View        uint64           `json:"view"` // number of the view it knows
	Ready       bool             `json:"ready"`
	Seconds     float64          `json:"seconds"` // since it started
	Stats       any              `json:"stats"`
	Transport   *transport.Stats `json:"transport,omitempty"`
	Members     []StatusMember   `json:"members,omitempty"` // of a scheduler
	Shards      []StatusShard    `json:"shards,omitempty"`
	Copies      []StatusCopy     `json:"copies,omitempty"`  // of a server, for /status?copies
	Group       *StatusGroup     `json:"group,omitempty"`   // of a scheduler
	Changes     []Change         `json:"changes,omitempty"` // that the process has seen
}

// StatusGroup is the group of workers that rounds wait for, and the size that the job is to have.
type StatusGroup struct {
	Number uint64   `json:"number"`
	Round  uint64   `json:"round"` // rounds before its last change
	Ranks  []uint16 `json:"ranks"`
	// places of workers and servers that the job is to have; 0: as many as it began with
	Workers uint32 `json:"workers"`
	Servers uint32 `json:"servers"`
}

// StatusMember is the state of a process as the scheduler knows it.
type StatusMember struct {
	Node        string  `json:"node"`
	Incarnation uint32  `json:"incarnation"`
	Alive       bool    `json:"alive"`
	Left        bool    `json:"left"`
	Waits       bool    `json:"waits"`  // is not in the group yet
	Leaves      bool    `json:"leaves"` // is to leave
	Silent      float64 `json:"silent"` // seconds since it was heard of
	Clock       uint64  `json:"clock"`
	Queue       uint64  `json:"queue"`  // bytes held for others
	Parked      uint32  `json:"parked"` // pulls that wait
	// rank of the worker that its oldest round waits for, -1: none
	Waiting int32 `json:"waiting"`
}

// StatusShard says where a shard lives: ranks of servers, -1 for none.
type StatusShard struct {
	Epoch   uint64 `json:"epoch"`
	Primary int    `json:"primary"`
	Backup  int    `json:"backup"`
	InSync  bool   `json:"in_sync"`
	Lost    bool   `json:"lost"`
	Swapped bool   `json:"swapped"` // primary and backup change places just now
	Third   int    `json:"third"`   // copy that is to take the place of the backup
}

// StatusCopy is the state of a server's copy of a shard. Copies with the same index have the same
// checksum.
type StatusCopy struct {
	Shard    int    `json:"shard"`
	Index    uint64 `json:"index"`    // of the last log entry
	Checksum uint32 `json:"checksum"` // of the whole replicated state
}

// copies returns the state of a server's complete copies. It reads all values.
func (d *driver) copies() (list []StatusCopy) {
	d.do(func() {
		s, ok := d.machine.(*server.Server)
		if !ok || s.View() == nil {
			return
		}
		for i := range s.View().Shards {
			if index, sum, ok := s.Checksum(uint32(i)); ok {
				list = append(list, StatusCopy{i, index, sum})
			}
		}
	}, nil)
	return list
}

// Works reports whether a member is a worker that takes part.
func (m *StatusMember) Works() bool {
	return m.Alive && !m.Left && strings.HasPrefix(m.Node, "worker")
}

// slowest returns the clock of the worker that is furthest behind, 0 if there is none.
func (s *Status) slowest() uint64 {
	slowest, found := uint64(0), false
	for i := range s.Members {
		if m := &s.Members[i]; m.Works() && (!found || m.Clock < slowest) {
			slowest, found = m.Clock, true
		}
	}
	return slowest
}

// Leads returns how many shards a server serves as primary, and of how many it has the second copy.
func (s *Status) Leads(rank int) (primary, backup int) {
	for i := range s.Shards {
		if s.Shards[i].Primary == rank {
			primary++
		}
		if s.Shards[i].Backup == rank {
			backup++
		}
	}
	return primary, backup
}

// Ahead returns by how many clocks a member is ahead of the slowest worker. Its reads are at most
// so stale.
func (s *Status) Ahead(m *StatusMember) uint64 {
	if !m.Works() {
		return 0
	}
	return m.Clock - s.slowest()
}

// page adds the fields of one role to the status of a process. The driver's lock is held.
type page func(s *Status)

// schedulerPage shows all processes.
func schedulerPage(_ *driver, s *sched.Scheduler) page {
	return func(st *Status) {
		v := s.View()
		st.Ready = true
		add := func(list []wire.Member) {
			for _, m := range list {
				h, silent := s.Heartbeat(m.Node)
				st.Members = append(st.Members, StatusMember{Node: m.Node.String(),
					Incarnation: m.Incarnation, Alive: m.Alive, Left: m.Left, Waits: m.Waits,
					Leaves: m.Leaves,
					Silent: time.Duration(silent).Seconds(), Clock: h.Clock, Queue: h.Queue,
					Parked: h.Parked, Waiting: h.Waiting})
			}
		}
		add(v.Servers)
		add(v.Workers)
		st.Stats = map[string]uint64{"Barriers": v.Barrier, "Term": s.Term()}
		st.Group = &StatusGroup{Number: v.Group.Number, Round: v.Group.Round,
			Ranks: v.Group.Ranks, Workers: v.WantWorkers, Servers: v.WantServers}
		for _, sh := range v.Shards {
			x := StatusShard{Epoch: sh.Epoch, Primary: -1, Backup: -1, Third: -1, InSync: sh.InSync,
				Lost: sh.Lost, Swapped: sh.Swapped}
			if !sh.Primary.IsZero() {
				x.Primary = int(sh.Primary.Server)
			}
			if !sh.Backup.IsZero() {
				x.Backup = int(sh.Backup.Server)
			}
			if !sh.Third.IsZero() {
				x.Third = int(sh.Third.Server)
			}
			st.Shards = append(st.Shards, x)
		}
	}
}

// serverPage shows the counters of a server.
func serverPage(_ *driver, s *server.Server) page {
	return func(st *Status) {
		st.Incarnation, st.Ready, st.Stats = s.Incarnation(), s.Incarnation() != 0 &&
			!s.Fenced(), s.Stats()
	}
}

// workerPage shows the counters of a worker.
func workerPage(_ *driver, w *worker.Worker) page {
	return func(st *Status) {
		st.Incarnation, st.Ready, st.Stats = w.Incarnation(), w.Incarnation() != 0 &&
			w.MaxShards() > 0 && w.Err() == nil, w.Stats()
	}
}

// status describes the process now.
func (d *driver) status(p page) Status {
	st := Status{Node: d.self.String(), Seconds: time.Since(d.began).Seconds(),
		Changes: d.changes.after(0)}
	d.do(func() {
		if v := d.machine.View(); v != nil {
			st.View = v.Number
		}
		p(&st)
	}, nil)
	if m, ok := d.ep.(transport.Metered); ok {
		t := m.Stats()
		st.Transport = &t
	}
	return st
}

// idleTimeout is how long a connection of a reader of pages stays open that asks for nothing.
const idleTimeout = 15 * time.Second

// serveStatus begins to serve the pages, if the job wants them.
func (d *driver) serveStatus(c *JobConfig, p page, orders http.HandlerFunc) error {
	if c.Status == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.Status)
	if err != nil {
		return fmt.Errorf("kvstore: health and metrics of %s: %w", d.self, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !d.status(p).Ready {
			http.Error(w, "no place in the job yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if c.Metrics != nil {
		mux.Handle("/metrics", c.Metrics(func() Status { return d.status(p) }))
	}
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		st := d.status(p)
		if r.URL.Query().Has("copies") {
			st.Copies = d.copies()
		}
		w.Header().Set("Content-Type", "application/json")
		// A reader that has gone away is no reason to do anything.
		_ = json.NewEncoder(w).Encode(st)
	})
	if orders != nil {
		mux.HandleFunc("POST /orders", orders)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 *
		time.Second, IdleTimeout: idleTimeout}
	d.pages = server
	d.done.Go(func() { _ = server.Serve(l) }) // ends with ErrServerClosed
	d.log.Info().Str("addr", l.Addr().String()).Msg("health and metrics")
	if c.Announce != nil {
		c.Announce(l.Addr().String())
	}
	return nil
}

// ReadStatus reads the page /status of a process at an address such as 127.0.0.1:8080, for at most
// two seconds. The address may have the form of a URL.
func ReadStatus(ctx context.Context, addr string) (st Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	addr = strings.TrimSuffix(strings.TrimPrefix(addr, "http://"), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", nil)
	if err != nil {
		return st, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return st, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return st, fmt.Errorf("%s answers %s", addr, resp.Status)
	}
	return st, json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&st)
}

// Order changes the members of a running job.
type Order struct {
	// Workers and Servers are the numbers of workers and servers that the job is to have; 0: as
	// now. Processes with higher ranks leave. Processes for new places are started by the launcher
	// of the job, or by others.
	Workers int `json:"workers,omitempty"`
	Servers int `json:"servers,omitempty"`
	// Drain names a process that is to leave, such as "worker 3"; empty: none.
	Drain string `json:"drain,omitempty"`
}

// orderHeader carries the number of the job, which only its processes and its owner know.
const orderHeader = "Gomx-Job"

// Send gives the order to the scheduler of a job, whose pages are at an address, for at most five
// seconds.
func (o Order) Send(ctx context.Context, addr string, job uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	b, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("kvstore: order: %w", err)
	}
	addr = strings.TrimSuffix(strings.TrimPrefix(addr, "http://"), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/orders",
		bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("kvstore: order: %w", err)
	}
	req.Header.Set(orderHeader, strconv.FormatUint(job, 16))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("kvstore: order: %w", err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("kvstore: order: the scheduler answers %s: %s", resp.Status,
			strings.TrimSpace(string(text)))
	}
	return nil
}

// ordersPage carries out orders.
func ordersPage(d *driver, job uint64) http.HandlerFunc {
	want := strconv.FormatUint(job, 16)
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(orderHeader)), []byte(want)) != 1 {
			http.Error(w, "the order does not name the job", http.StatusForbidden)
			return
		}
		var o Order
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<12)).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		err := errClosed
		d.do(func() { err = o.give(d.now(), d.machine.(*scheduler).Scheduler) }, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// give carries out an order. The driver's lock is held.
func (o *Order) give(now ps.Time, s *sched.Scheduler) error {
	if o.Drain != "" {
		n, err := parseNode(o.Drain)
		if err != nil {
			return err
		}
		return s.Drain(now, n)
	}
	if o.Workers == 0 && o.Servers == 0 {
		return errors.New("kvstore: order: found neither workers nor servers, want one of them")
	}
	return s.Scale(now, o.Workers, o.Servers)
}

// parseNode parses the text of a server or worker.
func parseNode(text string) (wire.Node, error) {
	role, number, _ := strings.Cut(text, " ")
	rank, err := strconv.ParseUint(number, 10, 16)
	n := wire.Node{Role: map[string]wire.Role{"server": wire.Server, "worker": wire.Worker}[role],
		Rank: uint16(rank)}
	if err != nil || n.Role == wire.NoRole {
		return n, fmt.Errorf("kvstore: node %q, want server N or worker N", text)
	}
	return n, nil
}

// Change is something that has happened to the members or the shards of a job: a death, a takeover.
type Change struct {
	Number uint64    `json:"number"` // counts the changes that this process has seen, from 1
	Time   time.Time `json:"time"`   // when this process saw it
	View   uint64    `json:"view"`   // number of the view that shows it
	// Kind is joined, dead, left, takeover, moved, copy, lost or group.
	Kind string `json:"kind"`
	Node string `json:"node,omitempty"` // process that it is about
	Text string `json:"text"`
}

// mostChanges is the number of changes that are kept.
const mostChanges = 256

// changes finds out what differs between one view and the next. It may be used by any number of
// goroutines.
type changes struct {
	seen uint64 // number of the view whose members are connected; guarded by the driver's mu

	mu      sync.Mutex
	count   uint64
	list    []Change
	members map[wire.Node]wire.Member
	shards  []wire.Shard
	group   uint64
}

// after returns the changes that came after a number of them.
func (c *changes) after(n uint64) []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := len(c.list)
	for i > 0 && c.list[i-1].Number > n {
		i--
	}
	return slices.Clone(c.list[i:])
}

// see compares a view with the one before.
func (c *changes) see(v *wire.View, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.members == nil
	if first {
		c.members = map[wire.Node]wire.Member{}
	}
	add := func(kind, node, text string) {
		if first {
			return
		}
		c.count++
		c.list = append(c.list, Change{c.count, now, v.Number, kind, node, text})
		if len(c.list) > mostChanges {
			c.list = slices.Delete(c.list, 0, 1)
		}
	}
	for _, m := range slices.Concat(v.Servers, v.Workers) {
		c.member(m, add)
	}
	c.compare(v.Shards, add)
	if v.Group.Number > c.group {
		c.group = v.Group.Number
		add("group", "", fmt.Sprintf("rounds wait for the workers %v from round %d on",
			v.Group.Ranks, v.Group.Round))
	}
}

// member compares a member with its former state.
func (c *changes) member(m wire.Member, add func(kind, node, text string)) {
	old, node := c.members[m.Node], m.Node.String()
	switch {
	case m.Left && !old.Left && old.Incarnation != 0:
		add("left", node, node+" left the job")
	case m.Incarnation != old.Incarnation && m.Alive:
		text := fmt.Sprintf("%s joined as process %d", node, m.Incarnation)
		if old.Incarnation != 0 {
			text = fmt.Sprintf("%s is back as process %d", node, m.Incarnation)
		}
		if old.Alive && old.Incarnation != 0 {
			add("dead", node, fmt.Sprintf("%s died: process %d took its place", node,
				m.Incarnation))
		}
		add("joined", node, text)
	case old.Alive && !m.Alive && !m.Left:
		add("dead", node, fmt.Sprintf("%s is dead: process %d was silent for too long", node,
			m.Incarnation))
	case !old.Alive && m.Alive && m.Incarnation != 0 && !old.Left:
		add("joined", node, node+" is heard of again")
	}
	c.members[m.Node] = m
}

// compare compares shards with their former states. Shards that change alike are one change.
func (c *changes) compare(shards []wire.Shard, add func(kind, node, text string)) {
	type what struct{ kind, node, text string }
	found := map[what][]int{}
	for i := range shards {
		var old wire.Shard
		if i < len(c.shards) {
			old = c.shards[i]
		}
		var w what
		if w.kind, w.node, w.text = shardChange(&old, &shards[i]); w.kind != "" {
			found[w] = append(found[w], i)
		}
	}
	c.shards = slices.Clone(shards)
	for _, w := range slices.SortedFunc(maps.Keys(found), func(a, b what) int {
		return strings.Compare(b.kind+b.text, a.kind+a.text) // takeovers before copies
	}) {
		list := found[w]
		word := "shard"
		if len(list) > 1 {
			word = "shards"
		}
		add(w.kind, w.node, fmt.Sprintf(w.text, word+" "+strings.Trim(fmt.Sprint(list), "[]")))
	}
}

// shardChange says what has happened to a shard. The text has a place for its name.
func shardChange(old, now *wire.Shard) (kind, node, text string) {
	server := func(r wire.Replica) string { return fmt.Sprintf("server %d", r.Server) }
	switch {
	case now.Lost && !old.Lost:
		return "lost", "", "no copy is left of %s"
	case old.Primary.IsZero() || now.Primary.IsZero():
	case old.Primary.Server != now.Primary.Server && now.Backup == old.Primary:
		return "moved", server(now.Primary), server(now.Primary) + " leads %s, which " +
			server(old.Primary) + " led"
	case old.Primary.Server != now.Primary.Server:
		return "takeover", server(now.Primary), server(now.Primary) + " takes over %s from " +
			server(old.Primary)
	case now.InSync && !old.InSync && !now.Backup.IsZero():
		return "copy", server(now.Backup), server(now.Backup) + " has a second copy of %s"
	}
	return "", "", ""
}
