package launch

import (
	"fmt"
	"net"
)

// freePort returns a TCP port of the loopback that nobody listens on. Somebody else may take it
// before the scheduler does, which then says so; local sockets have no such gap.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("launch: looking for a port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
