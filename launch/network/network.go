package network

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Family chooses between the two versions of the Internet protocol.
type Family int

// The families.
const (
	IPv4 Family = iota // the zero value
	IPv6
)

// has reports whether an address belongs to the family.
func (f Family) has(a netip.Addr) bool { return a.Is4() == (f == IPv4) }

// Any is the address at which a process listens on all interfaces.
func (f Family) Any() string {
	if f == IPv6 {
		return "::"
	}
	return "0.0.0.0"
}

// String returns IPv4 or IPv6.
func (f Family) String() string {
	if f == IPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// Of returns the address of the interface called name.
func Of(name string, f Family) (string, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		var names []string
		if list, err := net.Interfaces(); err == nil {
			for _, i := range list {
				names = append(names, i.Name)
			}
		}
		return "", fmt.Errorf("network: found no interface %q on this host, want one of %s", name,
			strings.Join(names, ", "))
	}
	for _, a := range addresses(i) {
		if f.has(a) && !a.IsLinkLocalUnicast() {
			return a.String(), nil
		}
	}
	return "", fmt.Errorf("network: interface %s has no %s address, want one", name, f)
}

// addresses returns the addresses of an interface.
func addresses(i *net.Interface) (list []netip.Addr) {
	all, err := i.Addrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			list = append(list, p.Addr().Unmap())
		}
	}
	return list
}

// Towards returns the address of this host from which packets to address travel, which is
// "host:port". No packet is sent.
func Towards(address string) (string, error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return "", fmt.Errorf("network: way to %s: %w", address, err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().String(), nil
}

// Own returns the address under which other hosts most likely reach this one: the address of its
// host name, else the first address of an interface that is up. A host that has the loopback only
// has the loopback's address.
func Own(f Family) string {
	if name, err := os.Hostname(); err == nil {
		if list, err := net.LookupIP(name); err == nil {
			for _, ip := range list {
				if a, ok := netip.AddrFromSlice(ip); ok && usable(a.Unmap(), f) && Has(a.Unmap()) {
					return a.Unmap().String()
				}
			}
		}
	}
	if list, err := net.Interfaces(); err == nil {
		for _, i := range list {
			if i.Flags&net.FlagUp == 0 {
				continue
			}
			for _, a := range addresses(&i) {
				if usable(a, f) {
					return a.String()
				}
			}
		}
	}
	if f == IPv6 {
		return "::1"
	}
	return "127.0.0.1"
}

// usable reports whether other hosts may reach an address.
func usable(a netip.Addr, f Family) bool {
	return f.has(a) && a.IsGlobalUnicast()
}

// Has reports whether an address is an address of this host.
func Has(a netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, own := range list {
		if p, err := netip.ParsePrefix(own.String()); err == nil && p.Addr().Unmap() == a {
			return true
		}
	}
	return false
}

// Ports are the ports at which processes may listen, the first and the last. The zero value is
// every port.
type Ports struct{ First, Last int }

// ParsePorts reads "A-B", or "A" for a single port. Empty text is the zero value.
func ParsePorts(text string) (Ports, error) {
	if text == "" {
		return Ports{}, nil
	}
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || a < 1 || b > 65535 || a > b {
		return Ports{}, fmt.Errorf("network: ports %q, want FIRST-LAST with numbers from 1 to "+
			"65535",
			text)
	}
	return Ports{a, b}, nil
}

// String returns the text that stands for the ports in an address: 0 for every port.
func (p Ports) String() string {
	switch {
	case p == Ports{}:
		return "0"
	case p.First == p.Last:
		return strconv.Itoa(p.First)
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}
