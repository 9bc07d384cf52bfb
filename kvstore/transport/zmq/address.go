package zmq

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// class tells the two kinds of traffic apart.
type class int

const (
	data class = iota
	control
	classes
)

// addresses are where an endpoint is reached: for data and for control messages, or one for both.
type addresses []string

// parseAddresses reads "tcp://host:port", "ipc:///path", or two of them with a comma between.
// Listeners may leave the port 0 and the path empty. Instead of a port they may have a range of
// ports, "first-last", of which they take a free one.
func parseAddresses(s string) (addresses, error) {
	a := addresses(strings.Split(s, ","))
	if len(a) > int(classes) {
		return nil, fmt.Errorf("zmq: address %q has %d parts, want one, or two for data and "+
			"control messages", s, len(a))
	}
	for _, one := range a {
		if err := checkAddress(one); err != nil {
			return nil, fmt.Errorf("zmq: address %q: %w", s, err)
		}
	}
	return a, nil
}

func checkAddress(s string) error {
	if strings.ContainsAny(s, "%@>") {
		return fmt.Errorf("%q has one of the characters %%, @ and >, which ZeroMQ would interpret",
			s)
	}
	if rest, ok := strings.CutPrefix(s, "ipc://"); ok {
		if len(rest) > 100 {
			return fmt.Errorf("path of %d bytes, local sockets have at most 100", len(rest))
		}
		return nil
	}
	rest, ok := strings.CutPrefix(s, "tcp://")
	if !ok {
		return fmt.Errorf("%q, want tcp://host:port or ipc:///path", s)
	}
	_, port, err := net.SplitHostPort(rest)
	if err != nil {
		return err
	}
	first, last, ranged := strings.Cut(port, "-")
	if !ranged {
		last = first
	}
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || a < 0 || b > 65535 || a > b || ranged && a == 0 {
		return fmt.Errorf("port %q, want 0 to 65535, or a range such as 5000-5999", port)
	}
	return nil
}

// literal6 reports whether the host of an address is a number of IPv6.
func literal6(addr string) bool {
	host, _, err := net.SplitHostPort(strings.TrimPrefix(addr, "tcp://"))
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is6()
}

// local reports whether an address cannot be reached from other hosts.
func local(addr string) bool {
	rest, tcp := strings.CutPrefix(addr, "tcp://")
	if !tcp {
		return true
	}
	host, _, err := net.SplitHostPort(rest)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// needKeys refuses plain text that would leave the host.
func needKeys(a addresses, keys *Keyring) error {
	if keys != nil {
		return nil
	}
	for _, one := range a {
		if !local(one) {
			return fmt.Errorf("zmq: %s can be reached from other hosts: it needs keys "+
				"(Options.Keys); without them only the loopback and local sockets are allowed", one)
		}
	}
	return nil
}

// advertised is the address that others use, given the port that was bound.
func advertised(listen, host string, port int) string {
	rest, tcp := strings.CutPrefix(listen, "tcp://")
	if !tcp {
		return listen
	}
	bound, _, err := net.SplitHostPort(rest)
	if err != nil {
		return listen
	}
	if ip, err := netip.ParseAddr(bound); host != "" && (bound == "*" || err == nil &&
		ip.IsUnspecified()) {
		bound = host
	}
	return "tcp://" + net.JoinHostPort(bound, strconv.Itoa(port))
}

// bindable is the form in which CZMQ is asked for a free port, or for a free port of a range.
func bindable(addr string) string {
	if !strings.HasPrefix(addr, "tcp://") {
		return addr
	}
	if before, ok := strings.CutSuffix(addr, ":0"); ok {
		return before + ":*"
	}
	i := strings.LastIndexByte(addr, ':')
	if ports := addr[i+1:]; strings.Contains(ports, "-") {
		return addr[:i] + ":*[" + ports + "]"
	}
	return addr
}
