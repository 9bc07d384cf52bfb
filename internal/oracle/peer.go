package oracle

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"
)

//go:embed peer.py
var program string

// maxFrame bounds the answers of the peer, in bytes.
const maxFrame = 64 << 20

// Peer is a Python process that computes calls with MXNet. It is used by one goroutine.
type Peer struct {
	Patience time.Duration // that a call may take; then the process is ended and started again
	Crashes  int           // calls that ended MXNet
	Hangs    int           // calls that took longer than Patience
	Starts   int           // processes started

	python string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Reader
}

// NewPeer returns a peer that runs a Python interpreter which can import MXNet.
func NewPeer(python string) *Peer { return &Peer{Patience: 10 * time.Second, python: python} }

// start starts the process.
func (p *Peer) start() (err error) {
	p.cmd = exec.Command(p.python, "-c", program)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	p.Starts++
	isolate(p.cmd)
	return p.cmd.Start()
}

// Close ends the process.
func (p *Peer) Close() {
	if p.cmd != nil {
		p.in.Close()
		end(p.cmd)
		_ = p.cmd.Wait() // it was killed
		p.cmd = nil
	}
}

// Ask computes a call. An error means that the peer cannot be talked to; that MXNet refused or
// crashed is in the answer.
func (p *Peer) Ask(c *Call) (a Answer, err error) {
	request, err := c.request()
	if err != nil {
		return Answer{Error: err.Error()}, nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return a, err
	}
	patience := p.Patience
	if p.cmd == nil {
		patience += time.Minute // importing takes long
		if err := p.start(); err != nil {
			return a, fmt.Errorf("oracle: %w", err)
		}
	}
	late := false
	timer := time.AfterFunc(patience, func() { late = true; end(p.cmd) })
	a, err = p.exchange(body)
	if timer.Stop(); err == nil {
		if a.Crash != "" {
			p.Crashes++
		}
		return a, nil
	}
	p.Close()
	if late {
		p.Hangs++
		return Answer{Crash: "hangs"}, nil
	}
	return a, fmt.Errorf("oracle: the process of MXNet: %w", err)
}

// exchange sends a frame and receives one.
func (p *Peer) exchange(body []byte) (a Answer, err error) {
	frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	if _, err := p.in.Write(frame); err != nil {
		return a, err
	}
	var head [4]byte
	if _, err := io.ReadFull(p.out, head[:]); err != nil {
		return a, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return a, fmt.Errorf("an answer of %d bytes, want at most %d", n, maxFrame)
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, p.out, int64(n)); err != nil {
		return a, err
	}
	return a, json.Unmarshal(text.Bytes(), &a)
}
