//go:build cgo && linux

package launch_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gomx/launch"
)

// TestFewOpenFiles starts a server and a launcher with a limit of 32 open files.
func TestFewOpenFiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for what, env := range map[string][]string{
		"a server": {"DMLC_ROLE=server", "DMLC_SERVER_ID=0", "DMLC_PS_ROOT_URI=127.0.0.1",
			fmt.Sprint("DMLC_PS_ROOT_PORT=", l.Addr().(*net.TCPAddr).Port),
			"DMLC_NUM_WORKER=3", "DMLC_NUM_SERVER=2", "LAUNCH_TEST_PLAY=train"},
		"the launcher": {"LAUNCH_TEST_PLAY=launcher", "LAUNCH_TEST_THEN=train", "LAUNCH_TEST_DIR=" +
			t.TempDir()},
	} {
		cmd := exec.Command("sh", "-c", "ulimit -n 32; exec "+os.Args[0])
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if what == "a server" && cmd.ProcessState.ExitCode() != launch.ExitUsage {
			t.Errorf("%s: got %v, want exit code %d", what, err, launch.ExitUsage)
		}
		if !strings.Contains(string(out), "open files") ||
			!strings.Contains(string(out), "ulimit -n ") {
			t.Errorf("%s: want the number of files that it needs:\n%s", what, out)
		}
	}
}
