//go:build cgo

package zmq

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"gomx/kvstore/wire"

	"github.com/zeromq/goczmq/v4"
)

// zapAddress is where ZeroMQ asks whether a peer may connect, one for the whole process (RFC 27).
const zapAddress = "inproc://zeromq.zap.01"

// gatekeeper answers those questions: a key opens the doors of the endpoints whose keyrings have
// it, and its owner's name is attached to every message of the connection. ZeroMQ has one such
// address per process, which is why this is the one variable of the package that changes.
type gatekeeper struct {
	mu      sync.Mutex
	domains map[string]map[string]wire.Node // by an endpoint's domain and public key
	next    int
	sock    *goczmq.Sock
	file    *os.File
	done    chan struct{}
}

var zap gatekeeper

// admit opens a domain for the owners of keys and returns its name.
func (g *gatekeeper) admit(owners map[string]wire.Node) (domain string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.domains) == 0 {
		if err := g.start(); err != nil {
			return "", err
		}
	}
	g.next++
	domain = "gomx." + strconv.Itoa(g.next)
	if g.domains == nil {
		g.domains = map[string]map[string]wire.Node{}
	}
	g.domains[domain] = owners
	return domain, nil
}

// forget closes a domain.
func (g *gatekeeper) forget(domain string) {
	g.mu.Lock()
	delete(g.domains, domain)
	last := len(g.domains) == 0
	file, done := g.file, g.done
	if last {
		g.file = nil
	}
	g.mu.Unlock()
	if last && file != nil {
		file.SetReadDeadline(time.Unix(1, 0))
		<-done
		file.Close()
	}
}

// start opens the address. The caller holds mu.
func (g *gatekeeper) start() error {
	if g.done != nil {
		done := g.done
		g.mu.Unlock()
		<-done // the previous goroutine is on its way out
		g.mu.Lock()
		if len(g.domains) > 0 {
			return nil
		}
	}
	sock := goczmq.NewSock(goczmq.Rep, goczmq.SockSetLinger(0))
	if _, err := sock.Bind(zapAddress); err != nil {
		sock.Destroy()
		return fmt.Errorf("zmq: something else in this process decides about keys already: %s "+
			"is taken", zapAddress)
	}
	file, err := pollable(goczmq.Fd(sock))
	if err != nil {
		sock.Destroy()
		return err
	}
	g.sock, g.file, g.done = sock, file, make(chan struct{})
	go g.serve(sock, file, g.done)
	return nil
}

// serve answers until the file's deadline has passed.
func (g *gatekeeper) serve(sock *goczmq.Sock, file *os.File, done chan struct{}) {
	defer close(done)
	defer sock.Destroy()
	defer sock.Unbind(zapAddress)
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	for err == nil {
		err = conn.Read(func(uintptr) bool {
			answered := false
			for sock.Pollin() {
				g.reply(sock)
				answered = true
			}
			return answered
		})
	}
}

// reply reads one question and answers it.
func (g *gatekeeper) reply(sock *goczmq.Sock) {
	q, err := sock.RecvMessage()
	if err != nil {
		return
	}
	// version, request, domain, address, routing id, mechanism, credentials
	if len(q) < 6 {
		q = make([][]byte, 6)
	}
	status, text, user := "400", "not a key of this job", ""
	if len(q) == 7 && string(q[5]) == "CURVE" && len(q[6]) == 32 {
		g.mu.Lock()
		node, known := g.domains[string(q[2])][z85(q[6])]
		g.mu.Unlock()
		if known {
			status, text, user = "200", "OK", formatUser(node)
		}
	}
	sock.SendMessage([][]byte{[]byte("1.0"), q[1], []byte(status), []byte(text), []byte(user), nil})
}

// formatUser spells a node as the user of a connection.
func formatUser(n wire.Node) string {
	return strconv.Itoa(int(n.Role)) + "." + strconv.Itoa(int(n.Rank))
}

// parseUser reads the text of formatUser, and returns the zero node for any other text.
func parseUser(s string) wire.Node {
	role, rank, _ := strings.Cut(s, ".")
	a, err1 := strconv.ParseUint(role, 10, 8)
	b, err2 := strconv.ParseUint(rank, 10, 16)
	if err1 != nil || err2 != nil || !wire.Role(a).Valid() {
		return nobody
	}
	return wire.Node{Role: wire.Role(a), Rank: uint16(b)}
}
