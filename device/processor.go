package device

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Processor names the model of the processor, with the numbers of its family and model where the
// system tells them: "AMD EPYC (family 25, model 17)". Several generations may have one name.
func Processor() string { return processor() }

var processor = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // other systems have no such file
	return processorIn(string(text))
})

// processorIn names the processor that the text of /proc/cpuinfo describes first. Some kernels use
// other keys on ARM.
func processorIn(cpuinfo string) string {
	found := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		key, value, ok := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); ok && found[key] == "" {
			found[key] = strings.TrimSpace(value)
		}
	}
	for _, key := range []string{"model name", "Model", "CPU part"} {
		name := found[key]
		if name == "" {
			continue
		}
		if family, model := found["cpu family"], found["model"]; family != "" && model != "" {
			name += fmt.Sprintf(" (family %s, model %s)", family, model)
		}
		return name
	}
	return runtime.GOARCH + " of an unknown model"
}
