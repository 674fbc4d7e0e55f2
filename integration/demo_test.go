//go:build integration

package integration

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMainJobOnRealBroker runs the main example against the broker: the same
// pipeline over Parquet and over Kafka gives the same answer.
func TestMainJobOnRealBroker(t *testing.T) {
	demo := exec.CommandContext(t.Context(), "go", "run", "../examples/adclicks", "-brokers", strings.Join(brokers(t), ","))
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "The runs agree") {
		t.Errorf("the program does not say that the runs agree:\n%s", out)
	}
}
