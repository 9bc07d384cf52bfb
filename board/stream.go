package board

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// message is an event for the page.
type message struct {
	name string
	data any
}

// broadcast sends messages to all listeners. A listener that is slow misses messages: each is
// complete in itself.
type broadcast struct {
	mu   sync.Mutex
	to   map[chan message]bool
	over bool
}

// join adds a listener; nil after close.
func (b *broadcast) join() chan message {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil
	}
	if b.to == nil {
		b.to = map[chan message]bool{}
	}
	c := make(chan message, 16)
	b.to[c] = true
	return c
}

// leave removes a listener.
func (b *broadcast) leave(c chan message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.to, c)
}

func (b *broadcast) listeners() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.to)
}

func (b *broadcast) send(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.to {
		select {
		case c <- m:
		default:
		}
	}
}

// close ends all streams.
func (b *broadcast) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for c := range b.to {
		close(c)
	}
	b.to = nil
}

// aliveEvery is the time between two lines that keep an idle stream open.
const aliveEvery = 15 * time.Second

// stream sends server-sent events until the page goes away.
func (b *Board) stream(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Time{}) // a stream has no end; servers without deadlines refuse
	c := b.tell.join()
	if c == nil {
		http.Error(w, "the board ends", http.StatusServiceUnavailable)
		return
	}
	defer b.tell.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	write := func(m message) error {
		text, err := json.Marshal(m.data)
		if err == nil {
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", m.name, text)
		}
		if err == nil {
			err = out.Flush()
		}
		return err
	}
	err := write(message{"runs", b.runs.versions()})
	if b.jobs.update(r.Context()); err == nil {
		err = write(message{"jobs", b.jobs.list()})
	}
	t := time.NewTicker(aliveEvery)
	defer t.Stop()
	for err == nil {
		select {
		case m, ok := <-c:
			if !ok {
				return
			}
			err = write(m)
		case <-t.C:
			if _, err = fmt.Fprint(w, ": alive\n\n"); err == nil {
				err = out.Flush()
			}
		case <-r.Context().Done():
			return
		}
	}
}
