package launch_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"gomx/kvstore/wire"
	"gomx/launch"
)

func set(t *testing.T, vars ...string) {
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

func TestMXNetEnvironment(t *testing.T) {
	set(t, "DMLC_ROLE=worker", "DMLC_PS_ROOT_URI=10.0.0.1", "DMLC_PS_ROOT_PORT=9091",
		"DMLC_NUM_WORKER=3", "DMLC_NUM_SERVER=2", "PS_HEARTBEAT_INTERVAL=0.5")
	got, err := launch.FromEnviron()
	want := launch.Environ{Role: wire.Worker, Rank: -1, Workers: 3, Servers: 2,
		Scheduler: "tcp://10.0.0.1:9091", Replicas: 1, Heartbeat: time.Second / 2}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestEnvironmentSurvives(t *testing.T) {
	want := launch.Environ{Role: wire.Server, Rank: 1, Workers: 3, Servers: 2,
		Scheduler: "tcp://127.0.0.1:1234", Host: "h", Job: 0xabc,
		Replicas: 2, Shrink: true, Backups: 1, Memory: 1 << 33, Dir: "/d", Keys: "/k",
		Status: "off", Heartbeat: time.Second, Dead: 3 * time.Second, Patience: time.Minute,
		Verbose: 2, Threads: 3, BFloat16: "convolution,dense", Cache: "/c"}
	set(t, want.For(wire.Node{Role: wire.Server, Rank: 1})...)
	got, err := launch.FromEnviron()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestEnvironmentMistakes(t *testing.T) {
	good := []string{"DMLC_ROLE=worker", "DMLC_PS_ROOT_URI=h", "DMLC_PS_ROOT_PORT=1",
		"DMLC_NUM_WORKER=1", "DMLC_NUM_SERVER=1"}
	for _, bad := range []string{"DMLC_ROLE=boss", "DMLC_PS_ROOT_URI=", "DMLC_PS_ROOT_PORT=x",
		"DMLC_NUM_WORKER=0", "DMLC_NUM_SERVER=",
		"GOMX_REPLICAS=3", "GOMX_POLICY=give up", "GOMX_JOB=xyz", "PS_HEARTBEAT_TIMEOUT=-1",
		"GOMX_SERVER_MEMORY=8G", "GOMX_BFLOAT16=conv"} {
		t.Run(bad, func(t *testing.T) {
			set(t, append(good, bad)...)
			name, _, _ := strings.Cut(bad, "=")
			if e, err := launch.FromEnviron(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %+v, %v, want an error that names %s", e, err, name)
			}
		})
	}
}

func TestNoJob(t *testing.T) {
	if e, err := launch.FromEnviron(); err != nil || e.Role != wire.NoRole {
		t.Errorf("got %+v, %v, want no role", e, err)
	}
}
