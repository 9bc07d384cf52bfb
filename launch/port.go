package launch

import (
	"fmt"
	"net"
)

// freePort returns a free TCP port of the loopback. Another program may take the port before the
// scheduler does; the scheduler then reports it.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("launch: free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
