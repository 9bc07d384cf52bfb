package ssh

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Host is a line of a hosts file.
type Host struct {
	Name      string // name that the ssh client knows, perhaps with a user: user@name
	Slots     int    // number of workers for which the host has room
	Address   string // name or address under which other processes reach the host; empty: Name
	Interface string // network interface whose address other processes use; empty: any
}

// hostName are names that no shell and no option parser misreads.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@%\[\]-]*$`)

// ReadHosts reads a hosts file.
func ReadHosts(path string) ([]Host, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ssh: hosts: %w", err)
	}
	defer f.Close()
	list, err := ParseHosts(f)
	if err != nil {
		return nil, fmt.Errorf("ssh: hosts in %s: %w", path, err)
	}
	return list, nil
}

// ParseHosts reads lines such as
//
//	node1 slots=4
//	user@node2 slots=2 address=10.0.0.2   # reached by the others at another address
//	node3 interface=ib0
//
// Slots are 1 if they are not given. Open MPI reads lines with slots, too.
func ParseHosts(r io.Reader) ([]Host, error) {
	var list []Host
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		h, err := parseHost(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, h)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("found no host, want at least one")
	}
	return list, nil
}

func parseHost(fields []string) (Host, error) {
	h := Host{Name: fields[0], Slots: 1}
	if !hostName.MatchString(h.Name) {
		return h, fmt.Errorf("host %q, want a name or an address", h.Name)
	}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "slots":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return h, fmt.Errorf("%s, want a number of workers", field)
			}
			h.Slots = n
		case "address":
			if h.Address = value; !hostName.MatchString(value) && !isIPv6(value) {
				return h, fmt.Errorf("%s, want a name or an address", field)
			}
		case "interface":
			if h.Interface = value; !hostName.MatchString(value) {
				return h, fmt.Errorf("%s, want the name of a network interface", field)
			}
		default:
			return h, fmt.Errorf("%q, want slots=N, address=A or interface=NAME", field)
		}
	}
	return h, nil
}

// isIPv6 reports whether text is an address of IPv6.
func isIPv6(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is6()
}

// address returns the name or the address under which other processes reach the host.
func (h *Host) address() string {
	if h.Address != "" {
		return h.Address
	}
	_, name, found := strings.Cut(h.Name, "@")
	if !found {
		name = h.Name
	}
	return strings.Trim(name, "[]")
}
