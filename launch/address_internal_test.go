package launch

import "testing"

// Free ports are not of those that the system gives to connections.
func TestFreePort(t *testing.T) {
	for range 20 {
		port, err := freePort()
		if err != nil || port < firstPort || port > lastPort {
			t.Fatalf("port %d, %v, want one from %d to %d", port, err, firstPort, lastPort)
		}
	}
}
