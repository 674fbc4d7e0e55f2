package kafkabroker

import (
	"net"
	"strings"
	"testing"
)

func TestProperties(t *testing.T) {
	s := settings("127.0.0.1:1", "127.0.0.1:2", `C:\data`, map[string]string{"min.insync.replicas": "2", "a": "two\nlines"})
	got := "\n" + properties(s)
	for _, line := range []string{
		"process.roles=broker,controller",
		"listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2",
		"controller.quorum.voters=1@127.0.0.1:2",
		"transaction.state.log.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		`log.dirs=C:\\data`,
		"min.insync.replicas=2", // replaced
		`a=two\nlines`,          // added
	} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no line %q in:%s", line, got)
		}
	}
	if n := strings.Count(got, "min.insync.replicas="); n != 1 {
		t.Errorf("min.insync.replicas is there %d times, want once", n)
	}
}

func TestClusterID(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		id := clusterID()
		if len(id) != 22 || id[0] == '-' || seen[id] {
			t.Fatalf("bad cluster id %q", id)
		}
		seen[id] = true
	}
}

func TestFreePorts(t *testing.T) {
	client, controller, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	if client == controller {
		t.Fatalf("both addresses are %s", client)
	}
	for _, addr := range []string{client, controller} {
		if host, _, err := net.SplitHostPort(addr); err != nil || host != "127.0.0.1" {
			t.Errorf("address %q, want one on 127.0.0.1", addr)
		}
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"a\n", "a"}, {"a\nb\nc\n", "b\nc"}, {"a\nb", "a\nb"},
	} {
		if got := string(tail([]byte(c.in), 2)); got != c.want {
			t.Errorf("tail(%q, 2) = %q, want %q", c.in, got, c.want)
		}
	}
}
