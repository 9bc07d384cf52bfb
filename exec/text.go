package exec

import "fmt"

// String describes ex by the name of its first output's node and the numbers of its arrays.
func (ex *Executor) String() string {
	switch {
	case ex == nil:
		return "<Executor: nil>"
	case len(ex.net.Outputs) == 0:
		return "<Executor: not bound>"
	case ex.closed:
		return fmt.Sprintf("<Executor %s: closed>", ex.name())
	}
	on := ex.config.Device.String()
	if ex.spread != nil {
		on = "several devices"
	}
	return fmt.Sprintf("<Executor %s: %d arguments, %d gradients, %d auxiliary states on %s>",
		ex.name(), len(ex.Args), len(ex.Grads), len(ex.Aux), on)
}

// name returns the name of the node of the first output.
func (ex *Executor) name() string { return ex.net.Outputs[0].Node.Name }
