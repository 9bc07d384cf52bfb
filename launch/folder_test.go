//go:build cgo && linux

package launch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
	"gomx/launch"
)

func init() {
	plays["idle"] = func(_, _ string) int { time.Sleep(time.Hour); return 0 }
	plays["launcher"] = func(_, dir string) int {
		self := os.Args[0]
		if w := os.Getenv("LAUNCH_TEST_WRAP"); w != "" {
			self = w
		}
		l := launch.Local{Program: []string{self}, Workers: 1, Servers: 1,
			Encrypt: launch.EncryptCurve,
			Dir:     os.Getenv("LAUNCH_TEST_JOB"),
			Env:     []string{"LAUNCH_TEST_PLAY=" + os.Getenv("LAUNCH_TEST_THEN")},
			Stdout:  os.Stdout,
			Stderr:  os.Stderr}
		l.Started = func(n wire.Node, pid int) {
			_ = os.WriteFile(filepath.Join(dir, n.Role.String()), []byte(strconv.Itoa(pid)), 0o600)
		}
		fmt.Println(l.Run(context.Background()))
		return 0
	}
	plays["environment"] = func(role, _ string) int {
		if role != "worker" {
			time.Sleep(time.Hour)
		}
		for _, name := range []string{"GOMX_STATUS", "GOMX_RESTORE", "DMLC_RANK",
			"GOMX_SERVER_MEMORY"} {
			fmt.Printf("%s=%q\n", name, os.Getenv(name))
		}
		return 0
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still waiting after 20 s:", what)
		}
	}
}

// startLauncher starts a launcher in a process of its own and waits until its job runs. It returns
// its pid.
func startLauncher(t *testing.T, tmp, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{"LAUNCH_TEST_PLAY=launcher", "LAUNCH_TEST_DIR=" +
		dir, "TMPDIR=" + tmp, "LAUNCH_TEST_THEN=idle"}, env...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "processes of the job", func() bool {
		list, _ := filepath.Glob(filepath.Join(dir, "*"))
		return len(list) == 3
	})
	return cmd
}

// TestTwoJobsInOneFolder wants the second job to be refused at once, and to run when the first is
// over.
func TestTwoJobsInOneFolder(t *testing.T) {
	dir := t.TempDir()
	cmd := startLauncher(t, t.TempDir(), t.TempDir(), "LAUNCH_TEST_JOB="+dir)
	var out output.Buffer
	l, _ := local(t, "work", nil)
	l.Stdout, l.Stderr, l.Dir = &out, &out, dir
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := l.Run(ctx)
	if !errors.Is(err, launch.ErrUsage) || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
		t.Errorf("the second job: got %v, want an error that names the folder and process %d", err,
			cmd.Process.Pid)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := l.Run(ctx); err != nil {
		t.Errorf("after the death of the first launcher: %v\n%s", err, out.String())
	}
}

// TestKilledLauncher wants the next launcher to remove the folders of a killed launcher, with its
// keys, and to keep the folders of a live one.
func TestKilledLauncher(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dead, alive := startLauncher(t, tmp, t.TempDir()), startLauncher(t, tmp, t.TempDir())
	secrets := func() []string {
		var list []string
		_ = filepath.WalkDir(tmp, func(path string, _ os.DirEntry, _ error) error {
			if filepath.Base(path) == "server-0.json" {
				list = append(list, path)
			}
			return nil
		})
		return list
	}
	if jobs, err := launch.Jobs(); err != nil || len(jobs) != 2 || len(secrets()) != 2 {
		t.Fatalf("got jobs %v, %v and keys %v, want two of each", jobs, err, secrets())
	}
	_ = dead.Process.Kill()
	_ = dead.Wait()
	jobs, err := launch.Jobs()
	if err != nil || len(jobs) != 1 || jobs[0].PID != alive.Process.Pid {
		t.Fatalf("got jobs %v, %v, want that of process %d", jobs, err, alive.Process.Pid)
	}
	startLauncher(t, tmp, t.TempDir())
	if list := secrets(); len(list) != 2 {
		t.Errorf("private keys are in %v, want those of the two that live", list)
	}
	if _, err := os.Stat(jobs[0].Dir); err != nil {
		t.Errorf("the folder of a launcher that lives: %v", err)
	}
}

// TestOrphans kills a launcher whose processes are started by a script, so that the kernel does not
// kill them with it: they end by themselves.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	pids := filepath.Join(dir, "pids")
	text := fmt.Sprintf("#!/bin/sh\n%s & echo $! >> %s\nwait\n", os.Args[0], pids)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := startLauncher(t, t.TempDir(), t.TempDir(), "LAUNCH_TEST_WRAP="+script,
		"LAUNCH_TEST_THEN=train", "LAUNCH_TEST_STEPS=1000000")
	read := func() []string {
		b, _ := os.ReadFile(pids)
		return strings.Fields(string(b))
	}
	eventually(t, "three processes behind scripts", func() bool { return len(read()) == 3 })
	time.Sleep(500 * time.Millisecond) // they call launch.Run
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, text := range read() {
		pid, _ := strconv.Atoi(text)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		eventually(t, "end of process "+text, func() bool { return !runs(pid) })
	}
}

// TestInheritedVariables starts a launcher as if it were part of another job itself.
func TestInheritedVariables(t *testing.T) {
	set(t, "GOMX_STATUS=127.0.0.1:7777", "GOMX_RESTORE=/elsewhere", "DMLC_RANK=5",
		"GOMX_SERVER_MEMORY=9", "DMLC_ROLE=server")
	var out output.Buffer
	l, _ := local(t, "environment", nil)
	l.Stdout, l.Stderr = &out, &out
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`GOMX_STATUS="127.0.0.1:0"`, `GOMX_RESTORE=""`, `DMLC_RANK=""`,
		`GOMX_SERVER_MEMORY=""`} {
		if strings.Count(out.String(), want) != l.Workers {
			t.Errorf("want %s in every worker:\n%s", want, out.String())
		}
	}
}

// TestStatusPortOfAll runs a job whose environment gives all processes one port for their status
// pages.
func TestStatusPortOfAll(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	set(t, "GOMX_STATUS="+busy.Addr().String())
	var out output.Buffer
	l := trainJob(1, 1, 1, 2, &out)
	l.Restarts = -1
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := l.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}
