package board

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"
)

//go:embed assets
var assets embed.FS

// Config selects the runs and jobs of a Board. The zero value of a field but Dir is its default.
type Config struct {
	Dir string // folder of runs; runs in folders below it are found
	// Jobs are folders of jobs of gomx launch, or addresses at which processes of a job serve their
	// health. Nil: all jobs of gomx launch that run on this machine.
	Jobs  []string
	Token string        // that requests must have; empty: requests to the loopback need none
	Every time.Duration // time between two looks at runs and jobs; 0: a second
}

// Board is an http.Handler. It may be used by any number of goroutines. Close ends its own.
type Board struct {
	cfg  Config
	mux  *http.ServeMux
	runs *collection
	jobs *watcher
	tell broadcast
	stop context.CancelFunc
	done sync.WaitGroup
}

// NewToken returns a random token.
func NewToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// New returns a board and begins to look at runs and jobs.
func New(c Config) (*Board, error) {
	if c.Dir == "" {
		return nil, errors.New("board: no folder of runs, want one such as runs")
	}
	if info, err := os.Stat(c.Dir); err != nil {
		return nil, fmt.Errorf("board: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("board: %s is a file, want a folder of runs", c.Dir)
	}
	if c.Every < 0 {
		return nil, fmt.Errorf("board: Every is %v, want a positive duration", c.Every)
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &Board{cfg: c, mux: http.NewServeMux(), runs: newCollection(c.Dir),
		jobs: newWatcher(c.Jobs), stop: stop}
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		stop()
		return nil, fmt.Errorf("board: %w", err)
	}
	b.mux.Handle("GET /", http.FileServerFS(files))
	b.mux.HandleFunc("GET /api/runs", b.listRuns)
	b.mux.HandleFunc("GET /api/curves", b.curves)
	b.mux.HandleFunc("GET /api/part", b.part)
	b.mux.HandleFunc("GET /api/jobs", b.listJobs)
	b.mux.HandleFunc("GET /api/stream", b.stream)
	b.runs.update()
	b.done.Go(func() { b.look(ctx) })
	return b, nil
}

// Close ends the board's goroutine and its streams, and closes the files.
func (b *Board) Close() error {
	b.stop()
	b.done.Wait()
	b.tell.close()
	return b.runs.close()
}

// look updates runs and jobs while somebody listens, and tells the listeners of changes.
func (b *Board) look(ctx context.Context) {
	t := time.NewTicker(b.cfg.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if b.tell.listeners() == 0 {
			continue
		}
		if b.runs.update() {
			b.tell.send(message{"runs", b.runs.versions()})
		}
		if b.jobs.update(ctx) {
			b.tell.send(message{"jobs", b.jobs.list()})
		}
	}
}

// ServeHTTP implements http.Handler.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; "+
		"frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "the board is read-only: want GET", http.StatusMethodNotAllowed)
		return
	}
	if b.admit(w, r) {
		b.mux.ServeHTTP(w, r)
	}
}
