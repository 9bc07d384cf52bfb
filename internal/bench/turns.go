package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// turns measures lines call by call, gomx and then each peer. Peers are sessions, which read and
// write files in a folder.
type turns struct {
	*Config
	ps       *programs
	sessions map[string]*session
	// has reports whether a peer has a line.
	has func(peer, line string) bool
	// least is the time for which a turn repeats its call; the best call counts. Peers do the same.
	least time.Duration
	// pause is the time before a turn, in which threads of the turn before stop spinning.
	pause time.Duration
	all   means
}

// call is one line of turns: a call of gomx, and the number of units in it.
type call struct {
	name, unit string
	n          int
	run        func() error
}

// startTurns starts the peers' processes, with names of the peer and of the folder as arguments.
// The environment of a peer may be nil.
func startTurns(ctx context.Context, c *Config, script string, known []string,
	env map[string][]string) (*turns, error) {
	for _, p := range c.Peers {
		if !slices.Contains(known, p.Name) {
			return nil, fmt.Errorf("bench: suite %s has no script for peer %s, only for %s", c.Suite,
				p.Name, strings.Join(known, ", "))
		}
	}
	ps, err := newPrograms()
	if err != nil {
		return nil, err
	}
	t := &turns{Config: c, ps: ps, sessions: map[string]*session{}}
	for _, p := range c.Peers {
		cmd, err := ps.of(ctx, script, p)
		if err != nil {
			t.close()
			return nil, err
		}
		cmd.args = append(slices.Clone(cmd.args), p.Name, ps.dir)
		if t.sessions[p.Name], err = startSession(cmd, env[p.Name]); err != nil {
			delete(t.sessions, p.Name)
			t.close()
			return nil, err
		}
	}
	return t, nil
}

// close ends the processes and removes the folder.
func (t *turns) close() {
	for s := range maps.Values(t.sessions) {
		s.close()
	}
	t.ps.close()
}

// measure measures one line and prints it.
func (t *turns) measure(ctx context.Context, l call) error {
	r := &result{by: map[string]float64{}}
	for round := range t.Rounds {
		time.Sleep(t.pause)
		v, err := t.own(l)
		if err != nil {
			return err
		}
		r.ours = better(l.unit, r.ours, v)
		logf(t.Log, "%s round %d: gomx %.4g %s\n", l.name, round+1, v, l.unit)
		for _, p := range t.Peers {
			if !t.has(p.Name, l.name) {
				continue
			}
			time.Sleep(t.pause)
			v, err := t.sessions[p.Name].ask(ctx, l.name)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			logf(t.Log, "%s round %d: %s %.4g %s\n", l.name, round+1, p.Name, v, l.unit)
			r.by[p.Name] = better(l.unit, r.by[p.Name], v)
			if b := better(l.unit, r.best, v); b != r.best {
				r.best, r.bestPeer = b, p.Name
			}
		}
	}
	w := &Workload{Name: l.name, Unit: l.unit}
	r.print(t.Out, w)
	t.all.add(w, r)
	return nil
}

// own returns the best figure of one turn of gomx.
func (t *turns) own(l call) (float64, error) {
	least, end := time.Duration(0), time.Now().Add(t.least)
	for {
		start := time.Now()
		if err := l.run(); err != nil {
			return 0, err
		}
		now := time.Now()
		if d := now.Sub(start); least == 0 || d < least {
			least = d
		}
		if !now.Before(end) {
			return float64(l.n) / least.Seconds(), nil
		}
	}
}
