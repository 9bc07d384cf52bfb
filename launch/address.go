package launch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"

	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
	"gomx/launch/network"
)

// Ports of schedulers on the loopback. Systems do not give ports of this range to connections and
// to listeners without a port, so that none of these takes the port before the scheduler does.
const (
	firstPort = 16 << 10
	lastPort  = 32<<10 - 1
)

// freePort returns a free TCP port of the loopback. Another program may still ask for that port
// before the scheduler does; the scheduler then reports it.
func freePort() (int, error) {
	port := 0
	for range 100 {
		port = firstPort + rand.IntN(lastPort+1-firstPort)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("launch: found no free port from %d to %d on the loopback", firstPort,
		lastPort)
}

// family is the family of addresses of this process.
func (e *Environ) family() network.Family {
	if e.IPv6 {
		return network.IPv6
	}
	return network.IPv4
}

// schedulerHost returns the host in the address of the scheduler, empty for a local socket.
func (e *Environ) schedulerHost() string {
	host, _ := splitTCP(e.Scheduler)
	return host
}

// splitTCP splits tcp://host:port. Both parts are empty for other addresses.
func splitTCP(addr string) (host, port string) {
	rest, tcp := strings.CutPrefix(addr, "tcp://")
	if !tcp {
		return "", ""
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		return "", ""
	}
	return host, port
}

// onLoopback reports whether a host is a name or an address of the loopback.
func onLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// findHostFor is the time within which the name of the scheduler's host must be known. The names of
// Kubernetes are known some seconds after the start of a process.
const findHostFor = time.Minute

// findHost finds the address under which other processes reach this one: the address of the
// Interface, else the address from which packets to the scheduler travel.
func (e *Environ) findHost(ctx context.Context) error {
	host, port := splitTCP(e.Scheduler)
	if e.Interface != "" && e.Host == "" {
		var err error
		if e.Host, err = network.Of(e.Interface, e.family()); err != nil {
			return usageError{fmt.Errorf("launch: %s=%s: %w", envInterface, e.Interface, err)}
		}
		if e.Role == wire.Scheduler && host != "" {
			e.Scheduler = "tcp://" + net.JoinHostPort(e.Host, port)
		}
	}
	if e.Host != "" || e.Role != wire.Server || host == "" || onLoopback(host) {
		return nil
	}
	for deadline := time.Now().Add(findHostFor); ; {
		var err error
		if e.Host, err = network.Towards(net.JoinHostPort(host, port)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("launch: %w", err)
		}
	}
}

// listen returns the address at which a process listens. A worker listens in a job without servers
// only, for the other workers. Servers and such workers listen on a local socket if the scheduler
// does, else on TCP.
func (e *Environ) listen(n wire.Node) string {
	switch {
	case n.Role == wire.Worker && e.Servers > 0:
		return zmq.NoListen
	case n.Role == wire.Scheduler && (e.View == "" || strings.Contains(e.Scheduler, ":")):
		host, port := splitTCP(e.Scheduler)
		if host == "" {
			return e.Scheduler
		}
		return "tcp://" + net.JoinHostPort(e.bindHost(host), port)
	case e.Scheduler == "ipc", strings.HasPrefix(e.Scheduler, "ipc:"):
		return "ipc"
	case e.Host != "":
		return "tcp://" + net.JoinHostPort(e.bindHost(e.Host), e.Ports.String())
	case e.Ports != network.Ports{}:
		return "tcp://" + net.JoinHostPort("127.0.0.1", e.Ports.String())
	}
	return "" // the loopback
}

// bindHost returns the address at which a process listens that others reach as host: the same, if
// it is an address of this host. A name, or the address of a gateway before this host, stands for
// all addresses of this host.
func (e *Environ) bindHost(host string) string {
	a, err := netip.ParseAddr(host)
	switch {
	case onLoopback(host), err == nil && network.Has(a.Unmap()):
		return host
	case err == nil && a.Is6():
		return network.IPv6.Any()
	}
	return e.family().Any()
}
