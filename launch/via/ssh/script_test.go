//go:build linux

package ssh

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/launch"
)

// running is a script that a shell of this machine runs, as the shell of a host does.
type running struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out bytes.Buffer
}

// runScript starts a script in a shell.
func runScript(t *testing.T, shell string, p launch.Process, scratch string) *running {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("no %s on this machine", shell)
	}
	r := &running{cmd: exec.Command(shell, "-c", strings.Replace(bootstrap, "exec sh",
		"exec "+shell, 1))}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	r.cmd.WaitDelay = 5 * time.Second
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	if _, err := io.WriteString(r.in, script(p, t.TempDir(), scratch)+endOfScript+"\n"); err != nil {
		t.Fatal(err)
	}
	return r
}

func shells(t *testing.T, run func(t *testing.T, shell string)) {
	for _, shell := range []string{"dash", "bash"} {
		t.Run(shell, func(t *testing.T) { t.Parallel(); run(t, shell) })
	}
}

// TestScriptPassesTextOn wants arguments, variables and keys with every kind of character to arrive
// as they are, and the exit code to come back.
func TestScriptPassesTextOn(t *testing.T) {
	odd := []string{"plain", "", "a b", "it's", `"$HOME" $(id) ` + "`id`", "back\\slash", "*", "-n",
		"#end", "äöü", "!x", "a;b|c&d"}
	shells(t, func(t *testing.T, shell string) {
		scratch := filepath.Join(t.TempDir(), "job")
		r := runScript(t, shell, launch.Process{
			Program: append([]string{"sh", "-c", `for a; do echo "<$a>"; done; echo "v=$ODD"; ` +
				`stat -c %a "$GOMX_KEYS" "$GOMX_KEYS"/*; cat "$GOMX_KEYS"/self.json; ` +
				`stat -c %a "$GOMX_DIR"; echo "keys=$GOMX_KEYS"; exit 7`, "sh"}, odd...),
			Env:  []string{"ODD=" + odd[4] + "'", "GOMX_DIR=" + scratch},
			Keys: map[string][]byte{"self.json": []byte("{\"secret\": \"%d'\\n$x\"}\n")}}, scratch)
		_ = r.cmd.Wait()
		out := r.out.String()
		want := ""
		for _, a := range odd {
			want += "<" + a + ">\n"
		}
		want += "v=" + odd[4] + "'\n700\n600\n{\"secret\": \"%d'\\n$x\"}\n700\n"
		if !strings.HasPrefix(out, want) || r.cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("exit code %d and output\n%s\nwant 7 and\n%s", r.cmd.ProcessState.ExitCode(),
				out, want)
		}
		_, keys, _ := strings.Cut(out, "keys=")
		if _, err := os.Stat(strings.TrimSpace(keys)); !os.IsNotExist(err) {
			t.Errorf("folder %q of keys after the end: %v, want none", keys, err)
		}
	})
}

// alive reports whether a process lives. A process that has ended but that nobody has waited for
// does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(b, []byte(") Z "))
}

// TestScriptEndsGroup sends signals to a program and its child, and closes the script's input as
// the death of a launcher does. No process may be left.
func TestScriptEndsGroup(t *testing.T) {
	for name, c := range map[string]struct {
		program string // prints the numbers of two processes
		end     func(r *running)
		code    int
		dies    bool // the launcher: the script removes the folder of the job
	}{
		"TERM": {`sleep 600 & echo $$ $!; wait`,
			func(r *running) { _, _ = io.WriteString(r.in, "TERM\n") }, 143, false},
		"KILL": {`trap "" TERM; sleep 600 & echo $$ $!; wait; wait`,
			func(r *running) { _, _ = io.WriteString(r.in, "TERM\nKILL\n") }, 137, false},
		"launcher dies": {`sleep 600 & echo $$ $!; wait`,
			func(r *running) { r.in.Close() }, 143, true},
		"program ignores": {`trap "" TERM; sleep 600 & echo $$ $!; wait; wait`,
			func(r *running) { r.in.Close() }, 137, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shells(t, func(t *testing.T, shell string) {
				log := filepath.Join(t.TempDir(), "pids")
				scratch := filepath.Join(t.TempDir(), "job")
				r := runScript(t, shell, launch.Process{Program: []string{"sh", "-c",
					"exec >" + quote(log) + "; " + c.program}, Env: []string{"GOMX_DIR=" + scratch}},
					scratch)
				var pids []int
				for deadline := time.Now().Add(20 * time.Second); len(pids) < 2; {
					b, _ := os.ReadFile(log)
					pids = nil
					if bytes.HasSuffix(b, []byte("\n")) {
						for _, text := range strings.Fields(string(b)) {
							n, err := strconv.Atoi(text)
							if err != nil {
								t.Fatal(err)
							}
							pids = append(pids, n)
						}
					}
					if time.Now().After(deadline) {
						t.Fatalf("found no processes after 20 s: %s", r.out.String())
					}
					time.Sleep(5 * time.Millisecond)
				}
				c.end(r)
				_ = r.cmd.Wait()
				if code := r.cmd.ProcessState.ExitCode(); code != c.code {
					t.Errorf("exit code %d, want %d: %s", code, c.code, r.out.String())
				}
				for deadline := time.Now().Add(20 * time.Second); c.dies; {
					if _, err := os.Stat(scratch); os.IsNotExist(err) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatal("the folder of the job is left")
					}
					time.Sleep(5 * time.Millisecond)
				}
				for _, pid := range pids {
					for deadline := time.Now().Add(20 * time.Second); alive(pid); {
						if time.Now().After(deadline) {
							t.Fatalf("process %d is left", pid)
						}
						time.Sleep(5 * time.Millisecond)
					}
				}
			})
		})
	}
}
