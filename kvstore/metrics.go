package kvstore

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// metrics collects lines of Prometheus' text format, which wants all lines of one name together.
type metrics struct {
	node  string
	names []string
	lines map[string]*bytes.Buffer
}

// put adds a value; labels follow the label of the node, in the format's syntax.
func (m *metrics) put(name string, v any, labels string) {
	b := m.lines[name]
	if b == nil {
		b = new(bytes.Buffer)
		m.lines[name] = b
		m.names = append(m.names, name)
	}
	fmt.Fprintf(b, "gomx_%s{node=%q%s} %v\n", name, m.node, labels, v)
}

// counted are the names, or beginnings of names, of values that only grow.
var counted = []string{"pushes", "pulls", "resends", "stale", "duplicates", "early", "late",
	"rounds", "entries", "rejected", "refused", "barriers", "transport_"}

// write writes all that has been put, each name behind its type.
func (m *metrics) write(w io.Writer) {
	for _, name := range m.names {
		kind := "gauge"
		if slices.ContainsFunc(counted, func(c string) bool { return strings.HasPrefix(name, c) }) {
			kind = "counter"
		}
		fmt.Fprintf(w, "# TYPE gomx_%s %s\n", name, kind)
		_, _ = m.lines[name].WriteTo(w) // a reader that has gone away is no reason to do anything
	}
}

// writeMetrics writes a status in Prometheus' text format.
func writeMetrics(w io.Writer, st Status) {
	m := &metrics{node: st.Node, lines: map[string]*bytes.Buffer{}}
	m.put("up", 1, "")
	m.put("ready", bit(st.Ready), "")
	m.put("view", st.View, "")
	m.put("incarnation", st.Incarnation, "")
	m.put("seconds", st.Seconds, "")
	m.fields("", reflect.ValueOf(st.Stats))
	if st.Transport != nil {
		m.fields("transport_", reflect.ValueOf(*st.Transport))
	}
	slowest := st.slowest()
	for i := range st.Members {
		x := &st.Members[i]
		label := fmt.Sprintf(",member=%q", x.Node)
		m.put("member_alive", bit(x.Alive), label)
		m.put("member_silent_seconds", x.Silent, label)
		m.put("member_clock", x.Clock, label)
		m.put("member_queue_bytes", x.Queue, label)
		m.put("member_parked_pulls", x.Parked, label)
		m.put("member_waits_for_worker", x.Waiting, label)
		if x.works() {
			m.put("member_ahead_clocks", x.Clock-slowest, label)
		}
	}
	for i, s := range st.Shards {
		label := fmt.Sprintf(",shard=\"%d\"", i)
		m.put("shard_epoch", s.Epoch, label)
		m.put("shard_primary", s.Primary, label)
		m.put("shard_backup", s.Backup, label)
		m.put("shard_in_sync", bit(s.InSync), label)
		m.put("shard_lost", bit(s.Lost), label)
		m.put("shard_swapped", bit(s.Swapped), label)
	}
	m.write(w)
}

// fields puts the numbers of a struct or a map under their names in lower case.
func (m *metrics) fields(prefix string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			m.put(prefix+snake(v.Type().Field(i).Name), v.Field(i).Interface(), "")
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			m.put(prefix+snake(it.Key().String()), it.Value().Interface(), "")
		}
	}
}

// works reports whether a member is a worker that takes part.
func (m *StatusMember) works() bool {
	return m.Alive && !m.Left && strings.HasPrefix(m.Node, "worker")
}

// slowest returns the clock of the worker that is furthest behind, 0 if there is none.
func (s *Status) slowest() uint64 {
	slowest, found := uint64(0), false
	for i := range s.Members {
		if m := &s.Members[i]; m.works() && (!found || m.Clock < slowest) {
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
	if !m.works() {
		return 0
	}
	return m.Clock - s.slowest()
}

// snake writes SentBytes as sent_bytes.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
