package rank

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is the place of a process among the processes that an engine has started together. The zero
// value says that no engine has started the process.
type Place struct {
	Engine  string // "openmpi", "slurm", "pmi", "pmix" or "kubernetes"; empty: none
	Rank    int    // 0 to Size-1
	Size    int    // number of processes; 0: the engine does not tell it
	Local   int    // number of these processes on this host; 0: the engine does not tell it
	OneHost bool   // all processes are on one host, for certain
	// Job is a name of this start of the processes, the same in all of them, that may be part of a
	// file name. Empty: the engine gives none.
	Job string
}

// variables are the names of an engine's variables.
type variables struct {
	engine, rank, size, local string
	job                       []string // parts of the name of the job
}

// engines are tried in this order.
var engines = []variables{
	{engine: "openmpi", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE",
		local: "OMPI_COMM_WORLD_LOCAL_SIZE", job: []string{"PMIX_NAMESPACE"}},
	{engine: "slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS",
		job: []string{"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
	{engine: "pmi", rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALNRANKS"},
	{engine: "pmix", rank: "PMIX_RANK", job: []string{"PMIX_NAMESPACE"}},
	{engine: "kubernetes", rank: "JOB_COMPLETION_INDEX"},
}

// Find returns the place of the process whose environment get reads.
func Find(get func(string) string) (Place, error) {
	for _, v := range engines {
		if get(v.rank) == "" || v.engine == "slurm" && !step(get) {
			continue
		}
		return v.place(get)
	}
	return Place{}, nil
}

// step reports whether srun has started the process. A batch script has a rank as well, but is one
// process. So has the daemon by which another mpirun starts processes on a node of Slurm; then the
// ranks of that mpirun count.
func step(get func(string) string) bool {
	return get("SLURM_STEP_NUM_TASKS") != "" && (get("PMI_RANK") == "" ||
		get("PMI_RANK") == get("SLURM_PROCID") && get("PMI_SIZE") == get("SLURM_STEP_NUM_TASKS"))
}

// place reads the variables of one engine.
func (v *variables) place(get func(string) string) (Place, error) {
	p := Place{Engine: v.engine}
	for _, n := range []struct {
		name string
		to   *int
		low  int
	}{{v.rank, &p.Rank, 0}, {v.size, &p.Size, 1}, {v.local, &p.Local, 1}} {
		text := ""
		if n.name != "" {
			text = get(n.name)
		}
		if text == "" {
			continue
		}
		var err error
		if *n.to, err = strconv.Atoi(text); err != nil || *n.to < n.low {
			return Place{}, fmt.Errorf("rank: %s=%q in the environment, want a number from %d",
				n.name, text, n.low)
		}
	}
	if p.Size > 0 && p.Rank >= p.Size {
		return Place{}, fmt.Errorf("rank: %s=%d in the environment, want a number below %s=%d",
			v.rank, p.Rank, v.size, p.Size)
	}
	p.OneHost = p.Size > 0 && p.Local == p.Size
	if v.engine == "slurm" {
		p.OneHost = get("SLURM_STEP_NUM_NODES") == "1"
		p.Local = onNode(get("SLURM_STEP_TASKS_PER_NODE"), get("SLURM_NODEID"))
	}
	p.Job = name(v.job, get)
	return p, nil
}

// onNode reads the number of processes on a node from Slurm's list, such as "2(x3),1": three nodes
// with two processes each, then one with one. It returns 0 if the list does not tell.
func onNode(list, node string) int {
	at, err := strconv.Atoi(node)
	if err != nil {
		return 0
	}
	for part := range strings.SplitSeq(list, ",") {
		tasks, rest, repeated := strings.Cut(part, "(x")
		times := 1
		if repeated {
			if times, err = strconv.Atoi(strings.TrimSuffix(rest, ")")); err != nil {
				return 0
			}
		}
		if at < times {
			n, err := strconv.Atoi(tasks)
			if err != nil || n < 0 {
				return 0
			}
			return n
		}
		at -= times
	}
	return 0
}

// name joins the values of variables to a name that may be part of a file name.
func name(vars []string, get func(string) string) string {
	var parts []string
	for _, v := range vars {
		if text := get(v); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '_':
			return r
		}
		return '-'
	}, strings.Join(parts, "."))
}
