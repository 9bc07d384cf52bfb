package bulk

import (
	"net"
	"net/netip"
	"strings"
)

// separator separates the base's address from the address for lines.
const separator = ";"

func splitAddress(addr string) (base, lines string) {
	base, lines, _ = strings.Cut(addr, separator)
	return base, lines
}

// advertised is the address that peers dial: the bound one, with another host if the bound one
// names all interfaces.
func advertised(bound net.Addr, host string) string {
	addr := bound.String()
	_, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return addr
	}
	if ap, err := netip.ParseAddrPort(addr); err == nil && ap.Addr().IsUnspecified() {
		return net.JoinHostPort(host, port)
	}
	return addr
}
