package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	images "gomx/examples/data"
	nd "gomx/ndarray"
)

const clients = 16

// client sends test images and counts the answers.
type client struct {
	url    string
	http   http.Client
	bodies [][]byte // requests
	digits []float32
	next   atomic.Int64 // request that is sent next

	answered, right, failed atomic.Int64
}

// classify sends one image. It returns an error if no answer comes.
func (c *client) classify(i int) error {
	r, err := c.http.Post(c.url+"/classify", "application/json", bytes.NewReader(c.bodies[i]))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var a reply
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.StatusCode != http.StatusOK {
		c.failed.Add(1)
		return errors.Join(fmt.Errorf("status %s", r.Status), err)
	}
	if c.answered.Add(1); a.Class == int(c.digits[i]) {
		c.right.Add(1)
	}
	return nil
}

// send lets all clients send images: all images once, or without end until an error comes.
func (c *client) send(endless bool) error {
	var errs [clients]error
	var all sync.WaitGroup
	for k := range clients {
		all.Go(func() {
			for errs[k] == nil {
				i := int(c.next.Add(1)) - 1
				if i >= len(c.bodies) && !endless {
					return
				}
				errs[k] = c.classify(i % len(c.bodies))
			}
		})
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// check sends all test images, looks at the metrics, and then sends images without end while
// SIGTERM comes: every request that the server has begun must have an answer.
func check(url string, b *batcher) error {
	_, test, err := images.Digits().Arrays()
	if err != nil {
		return err
	}
	c := &client{url: url, http: http.Client{Timeout: 30 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true}}}
	if c.digits, err = test[1].Float32s(); err != nil {
		return err
	}
	rows, err := nd.RowsOf[float32](test[0].Reshape(len(c.digits), -1))
	if err != nil {
		return err
	}
	for _, pixels := range rows {
		body, err := json.Marshal(map[string]any{"pixels": pixels})
		if err != nil {
			return err
		}
		c.bodies = append(c.bodies, body)
	}
	if err := c.send(false); err != nil {
		return err
	}
	accuracy := float64(c.right.Load()) / float64(len(rows))
	size := float64(c.answered.Load()) / float64(b.batches.Load())
	fmt.Printf("accuracy %.4f, %.1f requests in a batch\n", accuracy, size)
	if accuracy < least || size < 1.5 {
		return fmt.Errorf("want at least %v, and 1.5 requests in a batch", least)
	}
	if err := c.metrics(); err != nil {
		return err
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Signal(syscall.SIGTERM)
		}
	})
	_ = c.send(true) // ends when the server does not listen any more
	sent, got, failed := b.answered.Load(), c.answered.Load(), c.failed.Load()
	fmt.Printf("%d answers sent, %d received, %d failures\n", sent, got, failed)
	if sent != got || failed > 0 {
		return errors.New("want the same number, and no failure")
	}
	return nil
}

// metrics looks for the number of answers on the page of metrics.
func (c *client) metrics() error {
	r, err := c.http.Get(c.url + "/metrics")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	if want := fmt.Sprintf("\nserve_requests_total %d\n", c.answered.Load()); err != nil ||
		!strings.Contains(string(page), want) {
		return errors.Join(fmt.Errorf("metrics %q, want %q", page, want), err)
	}
	return nil
}
