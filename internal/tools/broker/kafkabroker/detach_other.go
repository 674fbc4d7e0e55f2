//go:build !linux

package kafkabroker

import "os/exec"

// detach does nothing where a child cannot be tied to its parent's life.
func detach(*exec.Cmd) {}
