package kafkabroker

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's interrupt from the child, which is ours to stop,
// and ends it if we are killed ourselves.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
