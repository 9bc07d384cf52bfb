//go:build cgo

package zmq

/*
#include "box.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gomx/kvstore/wire"

	"github.com/zeromq/goczmq/v4"
)

// bind opens the listening sockets and sets addr.
func (e *endpoint) bind() error {
	listen := e.cfg.Listen
	switch listen {
	case NoListen:
		return nil
	case "":
		listen = "tcp://127.0.0.1:0,tcp://127.0.0.1:0"
	case "ipc":
		dir, err := socketFolder()
		if err != nil {
			return fmt.Errorf("zmq: folder for local sockets: %w", err)
		}
		e.dir = dir
		listen = "ipc://" + filepath.Join(dir, "data") + ",ipc://" + filepath.Join(dir, "control")
	}
	list, err := parseAddresses(listen)
	if err != nil {
		return err
	}
	if err := needKeys(list, e.opt.Keys); err != nil {
		return err
	}
	var bound []string
	for i, one := range list {
		z := e.socket(goczmq.Router, class(i), len(list) == 1, e.cfg.Self.Role == wire.Scheduler)
		if e.opt.Keys != nil {
			z.SetOption(goczmq.SockSetZapDomain(e.domain))
			z.SetOption(goczmq.SockSetCurveServer(1))
		}
		e.allow6(z, one)
		if err := e.makeFolder(one); err != nil {
			z.Destroy()
			return fmt.Errorf("zmq: %s cannot listen on %s: %w", e.cfg.Self, one, err)
		}
		port, ok := tryBind(z, one)
		if !ok {
			z.Destroy()
			return fmt.Errorf("zmq: %s cannot listen on %s: in use, or not an address of this host",
				e.cfg.Self, one)
		}
		if e.listen[i], err = e.add(z, true, e.opt.Keys != nil); err != nil {
			return err
		}
		e.bound[i] = advertised(one, "", port)
		bound = append(bound, advertised(one, e.opt.Advertise, port))
	}
	if len(list) == 1 {
		e.listen[control] = e.listen[data]
	}
	e.addr = strings.Join(bound, ",")
	return nil
}

// makeFolder makes the folder of a local socket if there is none. Then it is private, and removed
// in the end.
func (e *endpoint) makeFolder(addr string) error {
	path, ok := strings.CutPrefix(addr, "ipc://")
	if !ok || e.dir != "" {
		return nil
	}
	dir := filepath.Dir(path)
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		e.dir = dir
	} else if os.IsExist(err) {
		return nil
	}
	return err
}

// bindTimeout is how long an address may be in use: sockets are closed in the background, the
// socket of a predecessor too.
const bindTimeout = time.Second

// tryBind binds a socket and returns its port.
func tryBind(z *goczmq.Sock, addr string) (port int, ok bool) {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if port, err := z.Bind(bindable(addr)); err == nil {
			return port, true
		}
		if time.Since(start) > bindTimeout {
			return 0, false
		}
	}
}

// dial connects one socket to an address of a node. The caller holds mu.
func (e *endpoint) dial(to wire.Node, addr string, k class) (*sock, error) {
	z := e.socket(goczmq.Dealer, k, false, to.Role == wire.Scheduler)
	if e.opt.Keys != nil {
		public, known := e.opt.Keys.Nodes[to]
		if !known {
			z.Destroy()
			return nil, fmt.Errorf("zmq: %s connects to %s, whose key is not in the keyring",
				e.cfg.Self, to)
		}
		z.SetOption(goczmq.SockSetCurveServerkey(public))
	}
	e.allow6(z, addr)
	if err := z.Connect(addr); err != nil {
		z.Destroy()
		return nil, fmt.Errorf("zmq: %s connects to %s at %s: %w", e.cfg.Self, to, addr, err)
	}
	s, err := e.add(z, false, false)
	if err == nil {
		e.owner[s.slot] = to
	}
	return s, err
}

// allow6 lets a socket use IPv6 if its address is of IPv6, or if the names of hosts stand for
// addresses of IPv6.
func (e *endpoint) allow6(z *goczmq.Sock, addr string) {
	if e.opt.IPv6 || literal6(addr) {
		z.SetOption(goczmq.SockSetIpv6(1))
	}
}

// socket makes a socket with the limits of its class. Connections get their names from the socket
// that they reach, a fresh one for each, so that no peer can take over another's. A connection that
// lasts is closed by the kernel alone, when a process has ended, or at the end that has made it
// when the other host is silent: a process that stands still keeps it.
func (e *endpoint) socket(kind int, k class, both, lasts bool) *goczmq.Sock {
	frame := maxFrame(&e.cfg)
	if k == control && !both {
		frame = maxControl
	}
	ms := func(d interface{ Milliseconds() int64 }) int { return int(d.Milliseconds()) }
	options := []goczmq.SockOption{
		goczmq.SockSetMaxmsgsize(frame),
		goczmq.SockSetSndhwm(e.opt.Queue), goczmq.SockSetRcvhwm(e.opt.Queue),
		goczmq.SockSetHandshakeIvl(ms(e.opt.Handshake)),
		goczmq.SockSetReconnectIvl(20), goczmq.SockSetReconnectIvlMax(1000),
		goczmq.SockSetLinger(0),
	}
	switch {
	case lasts && kind == goczmq.Dealer:
		options = append(options, goczmq.SockSetTcpMaxrt(3*ms(e.opt.Heartbeat)))
	case !lasts:
		options = append(options, goczmq.SockSetHeartbeatIvl(ms(e.opt.Heartbeat)),
			goczmq.SockSetHeartbeatTimeout(3*ms(e.opt.Heartbeat)),
			goczmq.SockSetHeartbeatTtl(3*ms(e.opt.Heartbeat)))
	}
	if kind == goczmq.Router {
		options = append(options, goczmq.SockSetRouterMandatory(1))
	}
	if keys := e.opt.Keys; keys != nil {
		options = append(options, goczmq.SockSetCurvePublickey(keys.Self.Public),
			goczmq.SockSetCurveSecretkey(keys.Self.Secret))
	}
	return goczmq.NewSock(kind, options...)
}
